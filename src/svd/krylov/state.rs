//! The bases on the disk, to go on from.

use serde::{Deserialize, Serialize};

use super::super::certificate::Look;
use super::super::keep::Probe;
use super::basis::Basis;
use super::check::Checks;
use super::project::Projected;
use super::{Bases, Growth, Next, name};
use crate::engine::Shard;
use crate::engine::checkpoint::State;

/// All of a [`Growth`] that is no panel. The panels are the blocks of U, those of V, the next one, and the probe if there is
/// one.
#[derive(Serialize, Deserialize)]
pub(super) struct Numbers {
    left: BasisNumbers,
    right: BasisNumbers,
    projected: Projected,
    operator_columns: usize,
    drawn: u32,
    steps: usize,
    total: Option<f64>,
    checks: Checks,
    looks: Vec<Look>,
    next_error: f64,
    next_step: usize,
    has_probe: bool,
    limit: usize,
    searches: usize,
}

#[derive(Serialize, Deserialize)]
struct BasisNumbers {
    /// What each block is called.
    names: Vec<String>,
    errors: Vec<f64>,
    /// How many at the beginning others were reduced to.
    best: usize,
}

impl BasisNumbers {
    fn of(basis: &Basis) -> Self {
        let (blocks, errors) = basis.parts();
        Self { names: blocks.map(|(name, _)| name).collect(), errors: errors.to_vec(), best: basis.best() }
    }

    /// The basis, from the first panels; `None` if there are too few.
    fn with(self, panels: &mut Vec<Shard>) -> Option<Basis> {
        let blocks =
            (self.names.len() <= panels.len()).then(|| panels.drain(..self.names.len()).collect::<Vec<_>>())?;
        let columns: usize = blocks.iter().map(Shard::cols).sum();
        (columns == self.errors.len()).then(|| Basis::from_parts(self.names, blocks, self.errors, self.best))
    }
}

impl Growth<'_> {
    pub(super) fn state<'a>(&'a self, next: &'a Next) -> State<'a, Numbers> {
        let (left, right) = (self.left.parts().0, self.right.parts().0);
        let probe = self.probe.as_ref().map(|probe| ("probe".to_owned(), probe.images()));
        State {
            numbers: Numbers {
                left: BasisNumbers::of(&self.left),
                right: BasisNumbers::of(&self.right),
                projected: self.projected.clone(),
                operator_columns: self.operator_columns,
                drawn: self.drawn,
                steps: self.steps,
                total: self.total,
                checks: self.checks,
                looks: self.looks.clone(),
                next_error: next.error,
                next_step: next.step,
                has_probe: self.probe.is_some(),
                limit: self.limit,
                searches: self.searches,
            },
            panels: left.chain(right).chain([(self.name_of(next), &next.block)]).chain(probe).collect(),
        }
    }

    /// What the next block will be called in its basis.
    fn name_of(&self, next: &Next) -> String {
        name(if self.bases == Bases::Both { "left" } else { "right" }, next.step)
    }

    /// Takes a state up again; `None`, and nothing has changed, if its panels are not those that it should have.
    pub(super) fn resume(&mut self, numbers: Numbers, mut panels: Vec<Shard>) -> Option<Next> {
        let (left, right) = (numbers.left.with(&mut panels)?, numbers.right.with(&mut panels)?);
        let mut rest = panels.into_iter();
        let block = rest.next()?;
        let probe = rest.next().map(Probe::of_images);
        if probe.is_some() != numbers.has_probe || !numbers.projected.is_of(self.bases) {
            return None;
        }
        (self.left, self.right, self.probe) = (left, right, probe);
        (self.projected, self.checks, self.looks) = (numbers.projected, numbers.checks, numbers.looks);
        (self.operator_columns, self.total) = (numbers.operator_columns, numbers.total);
        (self.drawn, self.steps) = (numbers.drawn, numbers.steps);
        (self.limit, self.searches) = (numbers.limit, numbers.searches);
        Some(Next { block, error: numbers.next_error, step: numbers.next_step })
    }
}
