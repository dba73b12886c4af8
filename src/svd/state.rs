//! What a checkpoint of a Krylov method holds.

use serde::{Deserialize, Serialize};

use super::certificate::ConvergenceCheck;
use super::driver::Driver;
use super::factorization::{Factorization, PartsNumbers, Selection};
use super::keep::NormProbe;
use super::stopping::{CheckSchedule, RoundingPlateau};
use crate::engine::Shard;
use crate::engine::checkpoint::State;

/// All of a run that is no panel. The panels are those of the factorisation, and the probe of ‖M‖ if
/// there is one.
#[derive(Serialize, Deserialize)]
pub(super) struct DriverNumbers {
    parts: PartsNumbers,
    steps: usize,
    draws: u32,
    searches: usize,
    limit: usize,
    total: Option<f64>,
    schedule: CheckSchedule,
    plateau: RoundingPlateau,
    history: Vec<ConvergenceCheck>,
    has_probe: bool,
    selection: Option<(Vec<f64>, usize)>,
}

impl Driver<'_> {
    pub(super) fn state<'a>(&'a self, factorization: &'a dyn Factorization) -> State<'a, DriverNumbers> {
        let parts = factorization.parts();
        let probe = self.probe.as_ref().map(|probe| ("probe".to_owned(), probe.images()));
        let numbers = DriverNumbers {
            parts: parts.numbers(),
            steps: self.steps,
            draws: self.draws,
            searches: self.searches,
            limit: self.rule.limit,
            total: self.total,
            schedule: self.schedule,
            plateau: self.plateau,
            history: self.history.clone(),
            has_probe: self.probe.is_some(),
            selection: self.selection.clone().map(|Selection { rotation, count }| (rotation, count)),
        };
        State { numbers, panels: parts.panels().chain(probe).collect() }
    }

    /// Takes a state up again; false, and nothing has changed, if its panels do not fit.
    pub(super) fn resume(
        &mut self,
        factorization: &mut dyn Factorization,
        numbers: DriverNumbers,
        panels: Vec<Shard>,
    ) -> bool {
        let mut panels = panels.into_iter();
        let kind = factorization.parts().quotient.kind();
        let Some(parts) = numbers.parts.with(kind, &mut panels) else { return false };
        let probe = panels.next().map(NormProbe::of_images);
        if probe.is_some() != numbers.has_probe || panels.next().is_some() {
            return false;
        }
        *factorization.parts_mut() = parts;
        (self.probe, self.total, self.history) = (probe, numbers.total, numbers.history);
        (self.steps, self.draws, self.searches) = (numbers.steps, numbers.draws, numbers.searches);
        (self.rule.limit, self.schedule, self.plateau) = (numbers.limit, numbers.schedule, numbers.plateau);
        self.selection = numbers.selection.map(|(rotation, count)| Selection { rotation, count });
        true
    }
}
