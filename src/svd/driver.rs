//! The loop of the Krylov methods: expand, check, stop or shrink.

use super::certificate::{Certificate, ConvergenceCheck, PRODUCT_ROUNDING};
use super::completeness::CompletenessCheck;
use super::factorization::{Factorization, GolubKahan, Kind, Normal, Ritz, Selection};
use super::keep::{Keep, NormProbe};
use super::operator::Operator;
use super::options::{Options, SvdError};
use super::prepared::{Failure, Prepared};
use super::run::Progress;
use super::scale::check_length;
use super::search::Outcome;
use super::stopping::{CheckSchedule, Decision, Position, RoundingPlateau, Sizes, StoppingRule};
use super::subspace::{Projection, rotate};
use crate::engine::Session;
use crate::engine::checkpoint::CheckpointLog;

/// A run of a Krylov method.
pub(super) struct Driver<'a> {
    prepared: &'a Prepared,
    /// What the bases are grown with: M, or a surrogate of it.
    pub(super) operator: Operator,
    /// About ‖(M − N)v‖ / ‖Mv‖ of a surrogate N; 0 without one.
    pub(super) surrogate_error: f64,
    /// The options, with the tolerance that the bases have to meet.
    pub(super) options: Options,
    pub(super) sizes: Sizes,
    pub(super) rule: StoppingRule,
    pub(super) schedule: CheckSchedule,
    /// The directions of F that the next step multiplies, where not all.
    pub(super) selection: Option<Selection>,
    pub(super) steps: usize,
    pub(super) plateau: RoundingPlateau,
    /// Random blocks drawn so far.
    pub(super) draws: u32,
    /// Searches for missing triplets made so far.
    pub(super) searches: usize,
    /// The check that found nothing missing.
    pub(super) completeness: Option<CompletenessCheck>,
    /// What ‖M‖² is estimated with, and the estimate, where a rule for the rank needs it.
    pub(super) probe: Option<NormProbe>,
    pub(super) total: Option<f64>,
    pub(super) history: Vec<ConvergenceCheck>,
}

/// What an iteration leaves.
pub(super) enum Growth {
    Bases(Projection),
    /// Rounding errors of MᵀM hide the wanted triplets: this many columns were multiplied in vain.
    RoundingDominates(usize),
}

/// Grows bases until the Ritz triplets are good enough.
pub(super) fn grow(
    session: &mut Session<'_>,
    prepared: &Prepared,
    progress: &Progress,
    journal: &mut CheckpointLog,
) -> Result<Growth, SvdError> {
    let mut driver = Driver::new(prepared);
    let (operator, tolerance, width) = (driver.operator, driver.options.tolerance, driver.sizes.width);
    let mut normal;
    let mut golub_kahan;
    let factorization: &mut dyn Factorization = match prepared.kind() {
        Kind::Normal => {
            normal = Normal::new(session, operator, tolerance, width)?;
            &mut normal
        }
        Kind::GolubKahan => {
            golub_kahan = GolubKahan::new(session, operator, tolerance, width)?;
            &mut golub_kahan
        }
    };
    let is_resumed = match journal.resume(session)? {
        Some((numbers, panels)) => driver.resume(factorization, numbers, panels),
        None => false,
    };
    if !is_resumed {
        let block = driver.start_block(session, factorization)?;
        let length = factorization.initialize(session, block)?;
        if prepared.options.start.is_none() {
            driver.check_scale(length)?;
        } else if driver.position(factorization).next == 0 {
            // The given vectors lie in the null space of M.
            let block = driver.random_block(session, factorization)?;
            factorization.initialize(session, block)?;
        }
    }
    let ritz = driver.run(session, factorization, progress, journal)?;
    let cost = |columns: usize| (columns as f64 * operator.cost).ceil() as usize;
    driver.history.iter_mut().for_each(|check| check.operator_columns = cost(check.operator_columns));
    let parts = factorization.parts_mut();
    let Some(Ritz { values, left, right }) = ritz else {
        return Ok(Growth::RoundingDominates(cost(parts.operator_columns)));
    };
    Ok(Growth::Bases(Projection {
        left: std::mem::take(&mut parts.left).into_panels(),
        left_rotation: left,
        right: std::mem::take(&mut parts.right).into_panels(),
        right_rotation: right,
        singular_values: values,
        total: driver.total,
        iterations: driver.steps,
        operator_columns: cost(parts.operator_columns),
        history: driver.history,
        completeness: driver.completeness,
    }))
}

impl<'a> Driver<'a> {
    fn new(prepared: &'a Prepared) -> Self {
        let (operator, surrogate_error) = prepared.growing_operator();
        let options = Options { tolerance: prepared.growing_tolerance(), ..prepared.options.clone() };
        let sizes = Sizes::new(&options, operator.columns, prepared.block);
        Self {
            prepared,
            operator,
            surrogate_error,
            rule: StoppingRule::new(&options, sizes),
            options,
            sizes,
            schedule: CheckSchedule::default(),
            selection: None,
            steps: 0,
            plateau: RoundingPlateau::default(),
            draws: 0,
            searches: 0,
            completeness: None,
            probe: None,
            total: None,
            history: Vec::new(),
        }
    }

    fn run(
        &mut self,
        session: &mut Session<'_>,
        factorization: &mut dyn Factorization,
        progress: &Progress,
        journal: &mut CheckpointLog,
    ) -> Result<Option<Ritz>, SvdError> {
        loop {
            if self.position(factorization).next == 0 {
                // F is empty: no residual is left to multiply, but triplets may be missing.
                let ritz = factorization.ritz(session, None)?;
                if self.rounding_dominates(&ritz, self.options.rank) {
                    return Ok(None);
                }
                match self.check_completeness(session, factorization, ritz, self.options.rank, 0.0)? {
                    Outcome::Complete(ritz) => return Ok(Some(ritz)),
                    Outcome::Incomplete if self.position(factorization).next == 0 => {
                        return factorization.ritz(session, None).map(Some);
                    }
                    Outcome::Incomplete => {}
                }
            }
            journal.keep(session, || self.state(factorization))?;
            let selection = self.selection.take();
            let length = factorization.expand(session, selection.as_ref())?;
            self.steps += 1;
            if self.steps == 1 {
                self.check_scale(length)?;
            }
            let at = self.position(factorization);
            let is_due = self.rule.needs_checks()
                && (self.rule.is_final(at) || at.dimension >= self.rule.least() && self.schedule.is_due(self.steps));
            let mut worst = if is_due && !self.rule.is_final(at) { self.early_rejection(factorization) } else { None };
            let is_checked = worst.is_none() && (is_due || self.rule.is_final(at));
            if is_checked || self.rule.is_full(at) {
                let ritz = factorization.ritz(session, self.needed_triplets(at))?;
                if is_checked {
                    let wanted = if self.rule.is_final(at) {
                        self.options.rank
                    } else {
                        self.wanted(session, factorization, &ritz)?
                    };
                    if self.rounding_dominates(&ritz, wanted) {
                        return Ok(None);
                    }
                    let residual = self.worst_residual(factorization, &ritz, wanted);
                    worst = Some(residual).filter(|residual| residual.is_finite());
                    self.record(factorization, residual, at);
                    match self.rule.decide(at, wanted, residual) {
                        Decision::Continue => {}
                        Decision::Exhausted => {
                            self.tell(session, progress, worst);
                            return Ok(Some(ritz));
                        }
                        Decision::Converged => {
                            self.tell(session, progress, worst);
                            match self.check_completeness(session, factorization, ritz, wanted, residual)? {
                                Outcome::Complete(ritz) => return Ok(Some(ritz)),
                                Outcome::Incomplete => continue,
                            }
                        }
                    }
                    if self.options.start.is_some() {
                        self.selection = self.selection(session, factorization, &ritz)?;
                    }
                }
                if self.rule.is_full(at) {
                    let count = Sizes::restart(at.dimension, self.options.rank).min(ritz.values.len());
                    factorization.shrink(session, &ritz, count);
                }
            }
            self.tell(session, progress, worst);
            if at.next == 0 {
                let block = self.random_block(session, factorization)?;
                factorization.initialize(session, block)?;
            }
        }
    }

    /// The worst estimated residual of the wanted triplets relative to σ, without those that are rounding;
    /// infinite if there are fewer.
    fn worst_residual(&mut self, factorization: &dyn Factorization, ritz: &Ritz, wanted: usize) -> f64 {
        let Some(values) = ritz.values.get(..wanted) else { return f64::INFINITY };
        let relative_residuals = factorization.parts().residual_norms(ritz, wanted);
        let mut certificate = Certificate { relative_residuals, ..Certificate::default() };
        let count = self.plateau.count(certificate.count_real(values), wanted);
        certificate.relative_residuals.truncate(count);
        certificate.worst()
    }

    /// Whether rounding errors of MᵀM hide the last wanted triplet, so that both bases are needed. A vector
    /// v that is orthogonal to the dominant ones has rounding errors of up to [`PRODUCT_ROUNDING`]·σ₁ along
    /// them in M·v, and the square of that in MᵀM·v.
    fn rounding_dominates(&self, ritz: &Ritz, wanted: usize) -> bool {
        let first = ritz.values.first().copied().unwrap_or(0.0);
        let last = wanted.checked_sub(1).and_then(|place| ritz.values.get(place)).copied().unwrap_or(0.0);
        let is_too_small = |tolerance: f64| PRODUCT_ROUNDING * first > tolerance.sqrt() * last;
        self.options.tolerance.is_some_and(is_too_small) && self.prepared.fallback(Failure::Rounding).is_some()
    }

    fn position(&self, factorization: &dyn Factorization) -> Position {
        let parts = factorization.parts();
        Position {
            dimension: parts.quotient.order(),
            operator_columns: parts.operator_columns,
            next: parts.residual.panel.cols(),
            is_whole: self.is_whole(factorization),
        }
    }

    /// Whether V spans the whole space, and U the range of M.
    pub(super) fn is_whole(&self, factorization: &dyn Factorization) -> bool {
        let parts = factorization.parts();
        parts.right.columns() >= self.operator.columns && parts.residual.panel.cols() == 0
    }

    /// How many Ritz triplets a check or a restart needs; all for a rule for the rank.
    fn needed_triplets(&self, at: Position) -> Option<usize> {
        let given = self.options.start.as_ref().map_or(0, |start| start.columns());
        let wanted = self.options.rank.max(given);
        let count =
            if self.rule.is_full(at) { Sizes::restart(at.dimension, self.options.rank).max(wanted) } else { wanted };
        (self.options.keep == Keep::All).then_some(count)
    }

    /// The residual of the last wanted Ritz pair, where it alone shows that the tolerance is not met. It is
    /// next to always among the worst, and takes a tenth of the time of a check.
    fn early_rejection(&mut self, factorization: &dyn Factorization) -> Option<f64> {
        let Options { keep, rank, tolerance, .. } = self.options;
        let (parts, tolerance) = (factorization.parts(), tolerance?);
        let order = parts.quotient.order();
        let is_warm = self.options.start.is_some();
        if is_warm || keep != Keep::All || CheckSchedule::is_cheap(self.operator.columns, order, self.sizes.width) {
            return None;
        }
        let last = parts.quotient.one(rank.checked_sub(1)?)?;
        let residual = *parts.residual_norms(&last, 1).first()?;
        (residual > tolerance).then(|| {
            self.history.push(self.check(factorization, residual));
            self.schedule.record(self.steps, residual, tolerance, false);
            residual
        })
    }

    /// How many triplets are wanted, as far as the values found tell: all until a rule for the rank is met.
    fn wanted(
        &mut self,
        session: &mut Session<'_>,
        factorization: &mut dyn Factorization,
        ritz: &Ritz,
    ) -> Result<usize, SvdError> {
        let Options { keep, rank, seed, .. } = self.options;
        if keep.is_by_energy() {
            let parts = factorization.parts_mut();
            if self.probe.is_none() && !ritz.values.is_empty() {
                let first = rotate(session, &parts.right.panels().iter().collect::<Vec<_>>(), &ritz.right, 1)?;
                let probe = NormProbe::new(session, &self.operator, &first, seed)?;
                parts.operator_columns += probe.columns();
                self.probe = Some(probe);
            }
            if let Some(probe) = &self.probe {
                let within: f64 = ritz.values.iter().map(|value| value * value).sum();
                self.total = Some(within + probe.beyond(session, &parts.left.panels())?);
            }
        }
        let kept = keep.count(&ritz.values[..rank.min(ritz.values.len())], self.total);
        Ok(if keep == Keep::All || !kept.is_met { rank } else { kept.count })
    }

    /// Fails where the first product shows that M has to be scaled.
    fn check_scale(&self, length: f64) -> Result<(), SvdError> {
        if self.draws <= 1 { check_length(self.prepared, length) } else { Ok(()) }
    }

    /// Records what a check found, and plans the next one. Fewer triplets than are wanted have no residual.
    fn record(&mut self, factorization: &dyn Factorization, residual: f64, at: Position) {
        if self.rule.needs_checks() && residual.is_finite() {
            self.history.push(self.check(factorization, residual));
        }
        let is_cheap = self.options.start.is_some()
            || CheckSchedule::is_cheap(self.operator.columns, at.dimension, self.sizes.width);
        self.schedule.record(self.steps, residual, self.options.tolerance.unwrap_or(0.0), is_cheap);
    }

    fn check(&self, factorization: &dyn Factorization, worst_residual: f64) -> ConvergenceCheck {
        let operator_columns = factorization.parts().operator_columns;
        ConvergenceCheck { iterations: self.steps, operator_columns, worst_residual }
    }

    fn tell(&self, session: &Session<'_>, progress: &Progress, worst: Option<f64>) {
        if session.worker() == 0 {
            let of = self.rule.enough(self.options.rank).div_ceil(self.sizes.width).max(self.steps);
            progress(self.steps, of, worst);
        }
    }
}
