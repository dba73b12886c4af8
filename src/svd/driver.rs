//! The loop of the Krylov methods: expand, check, stop or shrink.

use serde::{Deserialize, Serialize};

use super::basis::Block;
use super::certificate::{Certificate, ConvergenceCheck, PRODUCT_ROUNDING};
use super::completeness::CompletenessCheck;
use super::factorization::{Factorization, Kind};
use super::keep::{Keep, NormProbe};
use super::operator::{ColumnCount, Operator};
use super::options::{Options, SvdError};
use super::prepared::Prepared;
use super::rayleigh::Ritz;
use super::run::Progress;
use super::scale::check_length;
use super::search::Outcome;
use super::small::combine;
use super::stopping::{Decision, Position, RoundingPlateau, Sizes, StoppingRule};
use super::triplets::Projection;
use super::tuning::CHECK_INTERVAL;
use crate::engine::checkpoint::{CheckpointLog, State};
use crate::engine::{Session, Shard};

/// A run of a Krylov method.
pub(super) struct Driver<'a> {
    prepared: &'a Prepared,
    progress: &'a Progress,
    /// What the bases are grown with: M, or a surrogate of it.
    pub(super) operator: Operator,
    /// About ‖(M − N)v‖ / ‖Mv‖ of a surrogate N; 0 without one.
    pub(super) surrogate_error: f64,
    /// The options, with the tolerance that the bases have to meet.
    pub(super) options: Options,
    pub(super) sizes: Sizes,
    rule: StoppingRule,
    /// The check that found nothing missing.
    pub(super) completeness: Option<CompletenessCheck>,
    pub(super) state: RunState,
}

/// What changes from step to step, and what a checkpoint holds.
#[derive(Serialize, Deserialize)]
pub(super) struct RunState {
    pub(super) factorization: Factorization,
    pub(super) steps: usize,
    /// The most columns to multiply by; grows where missing triplets were found.
    pub(super) limit: f64,
    /// The next check comes after this step at the earliest.
    pub(super) next_check: usize,
    plateau: RoundingPlateau,
    /// Random blocks drawn so far.
    pub(super) draws: u32,
    /// Searches for missing triplets made so far.
    pub(super) searches: usize,
    /// What ‖M‖² is estimated with, and the estimate, where a rule for the rank needs it.
    probe: Option<Block>,
    total: Option<f64>,
    history: Vec<ConvergenceCheck>,
}

impl RunState {
    fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        self.factorization.blocks_mut().chain(&mut self.probe)
    }
}

/// Grows bases until the Ritz triplets are good enough; `None` where rounding errors of MᵀM hide
/// the wanted ones. The columns counted `before` do not count against the work limit.
pub(super) fn grow(
    session: &mut Session<'_>,
    prepared: &Prepared,
    count: &ColumnCount,
    before: f64,
    progress: &Progress,
    log: &mut CheckpointLog,
) -> Result<Option<Projection>, SvdError> {
    let mut driver = Driver::new(prepared, count, before, progress);
    let is_resumed = match log.resume(session)? {
        Some((numbers, panels)) => driver.resume(numbers, panels),
        None => false,
    };
    if !is_resumed {
        driver.start(session)?;
    }
    let Some(ritz) = driver.run(session, log)? else { return Ok(None) };
    let RunState { factorization, steps, total, history, .. } = driver.state;
    let Factorization { left, right, .. } = factorization;
    Ok(Some(Projection {
        left: left.panels(),
        left_rotation: ritz.left,
        right: right.panels(),
        right_rotation: ritz.right,
        singular_values: ritz.values,
        total,
        iterations: steps,
        certificate: Certificate { history, completeness: driver.completeness, ..Certificate::default() },
    }))
}

impl<'a> Driver<'a> {
    fn new(prepared: &'a Prepared, count: &ColumnCount, before: f64, progress: &'a Progress) -> Self {
        let (operator, surrogate_error) = prepared.growing_operator(count);
        let options = Options { tolerance: prepared.growing_tolerance(), ..prepared.options.clone() };
        let sizes = Sizes::new(&options, operator.columns, prepared.block);
        let state = RunState {
            factorization: Factorization::new(prepared.kind, options.tolerance, sizes.width),
            steps: 0,
            limit: before + sizes.columns as f64,
            next_check: 0,
            plateau: RoundingPlateau::default(),
            draws: 0,
            searches: 0,
            probe: None,
            total: None,
            history: Vec::new(),
        };
        let rule = StoppingRule::new(&options, sizes);
        Self { prepared, progress, operator, surrogate_error, options, sizes, rule, completeness: None, state }
    }

    /// All numbers, and the columns multiplied so far, with the panels.
    fn stored(&self) -> State<'_, (&RunState, f64)> {
        let blocks = self.state.factorization.blocks().chain(&self.state.probe);
        let panels = blocks.map(|block| (block.name.clone(), &block.panel)).collect();
        State { numbers: (&self.state, self.operator.count().get()), panels }
    }

    /// Takes a state up again; false, and nothing has changed, if its panels do not fit.
    fn resume(&mut self, (mut state, columns): (RunState, f64), panels: Vec<Shard>) -> bool {
        let fits = state.factorization.kind() == self.prepared.kind && state.blocks_mut().count() == panels.len();
        if fits {
            state.blocks_mut().zip(panels).for_each(|(block, panel)| block.panel = panel);
            self.operator.count().set(columns);
            self.state = state;
        }
        fits
    }

    fn run(&mut self, session: &mut Session<'_>, log: &mut CheckpointLog) -> Result<Option<Ritz>, SvdError> {
        let rank = self.options.rank;
        loop {
            if self.state.factorization.next() == 0 {
                // The Krylov space is exhausted; the short side may have other directions.
                let block = self.random_block(session)?;
                self.state.factorization.append(session, &self.operator, block)?;
            }
            if self.state.factorization.next() == 0 {
                // No residual is left to multiply, but triplets may be missing.
                let ritz = self.state.factorization.ritz(session, None)?;
                if self.rounding_dominates(&ritz, rank) {
                    return Ok(None);
                }
                match self.check_completeness(session, ritz, rank, 0.0)? {
                    Outcome::Complete(ritz) => return Ok(Some(ritz)),
                    Outcome::Incomplete if self.state.factorization.next() == 0 => {
                        return self.state.factorization.ritz(session, None).map(Some);
                    }
                    Outcome::Incomplete => {}
                }
            }
            log.keep(session, || self.stored())?;
            let length = self.state.factorization.expand(session, &self.operator)?;
            self.state.steps += 1;
            if self.state.steps == 1 {
                self.check_scale(length)?;
            }
            let at = self.position();
            let is_final = self.rule.is_final(at, self.state.limit);
            let is_due = self.rule.needs_checks()
                && at.dimension >= self.rule.least()
                && self.state.steps >= self.state.next_check;
            let mut worst = if is_due && !is_final { self.early_rejection() } else { None };
            let is_checked = is_final || is_due && worst.is_none();
            if is_checked || self.rule.is_full(at) {
                let ritz = self.state.factorization.ritz(session, self.needed_triplets(at))?;
                if is_checked {
                    let wanted = if is_final { rank } else { self.wanted(session, &ritz)? };
                    if self.rounding_dominates(&ritz, wanted) {
                        return Ok(None);
                    }
                    let residual = self.worst_residual(&ritz, wanted);
                    worst = Some(residual).filter(|residual| residual.is_finite());
                    if self.rule.needs_checks() {
                        self.record(worst);
                    }
                    match self.rule.decide(at, is_final, wanted, residual) {
                        Decision::Continue => {
                            self.state.next_check = self.state.steps + (self.state.steps / CHECK_INTERVAL).max(1)
                        }
                        Decision::Exhausted => {
                            self.tell(session, worst);
                            return Ok(Some(ritz));
                        }
                        Decision::Converged => {
                            self.tell(session, worst);
                            match self.check_completeness(session, ritz, wanted, residual)? {
                                Outcome::Complete(ritz) => return Ok(Some(ritz)),
                                Outcome::Incomplete => continue,
                            }
                        }
                    }
                    if self.options.start.is_some() {
                        self.select(session, &ritz)?;
                    }
                }
                if self.rule.is_full(at) {
                    let count = Sizes::restart(at.dimension, rank).min(ritz.values.len());
                    self.state.factorization.shrink(session, &ritz, count);
                }
            }
            self.tell(session, worst);
        }
    }

    /// The worst estimated residual of the wanted triplets relative to σ, without those that are
    /// rounding; infinite if there are fewer.
    fn worst_residual(&mut self, ritz: &Ritz, wanted: usize) -> f64 {
        let Some(values) = ritz.values.get(..wanted) else { return f64::INFINITY };
        let relative_residuals = self.state.factorization.residual_norms(ritz, wanted);
        let certificate = Certificate { relative_residuals, ..Certificate::default() };
        let count = self.state.plateau.count(certificate.count_real(values), wanted);
        certificate.truncated(count).worst()
    }

    /// Whether rounding errors of MᵀM hide the last wanted triplet, so that both bases are needed. A
    /// vector v that is orthogonal to the dominant ones has rounding errors of up to
    /// [`PRODUCT_ROUNDING`]·σ₁ along them in M·v, and the square of that in MᵀM·v.
    fn rounding_dominates(&self, ritz: &Ritz, wanted: usize) -> bool {
        let first = ritz.values.first().copied().unwrap_or(0.0);
        let last = wanted.checked_sub(1).and_then(|place| ritz.values.get(place)).copied().unwrap_or(0.0);
        let is_too_small = |tolerance: f64| PRODUCT_ROUNDING * first > tolerance.sqrt() * last;
        self.options.tolerance.is_some_and(is_too_small) && self.prepared.with_both_bases().is_some()
    }

    fn position(&self) -> Position {
        let factorization = &self.state.factorization;
        let next = factorization.next();
        Position {
            dimension: factorization.quotient.order(),
            columns_after_step: self.operator.count().get() + self.operator.cost_of_step(next),
            next,
            is_whole: factorization.is_whole(&self.operator),
        }
    }

    /// How many Ritz triplets a check or a restart needs; all for a rule for the rank.
    fn needed_triplets(&self, at: Position) -> Option<usize> {
        let given = self.options.start.as_ref().map_or(0, |start| start.columns());
        let wanted = self.options.rank.max(given);
        let count =
            if self.rule.is_full(at) { Sizes::restart(at.dimension, self.options.rank).max(wanted) } else { wanted };
        (self.options.keep == Keep::All).then_some(count)
    }

    /// The residual of the last wanted Ritz pair, where it alone shows that the tolerance is not met.
    /// It is next to always among the worst, and takes a tenth of the time of a check.
    fn early_rejection(&mut self) -> Option<f64> {
        let Options { keep, rank, tolerance, .. } = self.options;
        if self.options.start.is_some() || keep != Keep::All {
            return None;
        }
        let last = self.state.factorization.quotient.one(rank - 1)?;
        let residual = self.state.factorization.residual_norms(&last, 1)[0];
        let is_rejected = tolerance.is_some_and(|tolerance| residual > tolerance);
        is_rejected.then(|| {
            self.record(Some(residual));
            residual
        })
    }

    /// How many triplets are wanted, as far as the values found tell: all until a rule for the rank is
    /// met.
    fn wanted(&mut self, session: &mut Session<'_>, ritz: &Ritz) -> Result<usize, SvdError> {
        let Options { keep, rank, seed, .. } = self.options;
        if keep.is_by_energy() && !ritz.values.is_empty() {
            let right = self.state.factorization.right.panels();
            if self.state.probe.is_none() {
                let first = combine(session, &right.iter().collect::<Vec<_>>(), ritz.right.subcols(0, 1))?;
                let panel = NormProbe::new(session, &self.operator, &first, seed)?.images;
                self.state.probe = Some(Block { panel, name: "probe".to_owned(), loss: 0.0 });
            }
            let images = self.state.probe.as_ref().map(|block| block.panel.clone()).unwrap_or_default();
            let beyond = NormProbe { images }.beyond(session, &self.state.factorization.left.panels())?;
            self.state.total = Some(ritz.values.iter().map(|value| value * value).sum::<f64>() + beyond);
        }
        let kept = keep.count(&ritz.values[..rank.min(ritz.values.len())], self.state.total);
        Ok(if keep == Keep::All || !kept.is_met { rank } else { kept.count })
    }

    /// Fails where the first product shows that M has to be scaled.
    pub(super) fn check_scale(&self, length: f64) -> Result<(), SvdError> {
        if self.state.draws <= 1 { check_length(self.prepared, length) } else { Ok(()) }
    }

    /// Records what a check found. Fewer triplets than are wanted have no residual.
    fn record(&mut self, worst: Option<f64>) {
        let (iterations, operator_columns) = (self.state.steps, self.operator.count().columns());
        let check = |worst_residual| ConvergenceCheck { iterations, operator_columns, worst_residual };
        self.state.history.extend(worst.map(check));
    }

    fn tell(&self, session: &Session<'_>, worst: Option<f64>) {
        if session.worker() == 0 {
            let of = self.rule.enough(self.options.rank).div_ceil(self.sizes.width).max(self.state.steps);
            (self.progress)(self.state.steps, of, worst);
        }
    }

    /// Whether the operator is applied squared: rounding errors are then relative to σ₁².
    pub(super) fn kind(&self) -> Kind {
        self.state.factorization.kind()
    }
}
