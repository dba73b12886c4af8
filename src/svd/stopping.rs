//! When a run stops, and when it checks whether it can.

use serde::{Deserialize, Serialize};

use super::keep::Keep;
use super::options::Options;
use super::tuning::{
    BASIS_LIMIT, BASIS_LIMIT_SMALL, BLOCK_WIDTH, CHECK_COST, CHECK_INTERVAL, DEFAULT_DEPTH, EXPECTED_RANK,
    EXPECTED_RATIO, LEAST_BLOCKS, NARROW_WIDTH, RANK_PER_COLUMN, SLOWEST_RATIO,
};

/// Checks after which triplets that look like rounding are taken for that.
const UNCHANGED: usize = 3;
/// Halvings that leave less of an interval than matters.
const HALVINGS: usize = 30;

/// The sizes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Columns of a block.
    pub(super) width: usize,
    /// The most columns of a basis; beyond, it is restarted.
    pub(super) basis: usize,
    /// The most columns to multiply by.
    pub(super) columns: usize,
}

impl Sizes {
    /// The sizes for a matrix with a short side of `side`.
    pub(super) fn new(options: &Options, side: usize, block_columns: usize) -> Self {
        // A rule is likely to choose a rank far below the most.
        let rank = if options.keep == Keep::All { options.rank } else { options.rank.min(EXPECTED_RANK) };
        let width = match rank {
            0..=NARROW_WIDTH => NARROW_WIDTH,
            rank => rank.div_ceil(RANK_PER_COLUMN).next_multiple_of(BLOCK_WIDTH),
        };
        let width = width.min(side);
        let (small, rows) = BASIS_LIMIT_SMALL;
        let limit = BASIS_LIMIT.0 * options.rank + BASIS_LIMIT.1 + if side <= rows { small } else { 0 };
        let wanted = options.basis.unwrap_or(limit.max(depth(options.rank, width)));
        let first = options.start.as_ref().map_or(width, |start| start.columns().max(width));
        // U can span the range of M and directions that rounding adds.
        let basis = wanted.max(options.rank + LEAST_BLOCKS * first).min(2 * side + width);
        let steps = options.iterations.saturating_add(1);
        let columns = block_columns.max(width).saturating_mul(steps).saturating_mul(2);
        Self { width, basis, columns }
    }

    /// Columns that a restart of a basis of `columns` keeps: half of them, or the wanted ones and a
    /// quarter of the others.
    pub(super) fn restart(columns: usize, rank: usize) -> usize {
        (columns / 2).max(rank.min(columns) + columns.saturating_sub(rank) / 4)
    }
}

/// Columns of a basis without a tolerance.
pub(super) fn depth(rank: usize, width: usize) -> usize {
    (DEFAULT_DEPTH.0 * rank + DEFAULT_DEPTH.1).next_multiple_of(width)
}

/// Where a run is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    /// Columns of T.
    pub(super) dimension: usize,
    /// Columns multiplied by M or its transpose.
    pub(super) operator_columns: usize,
    /// Columns of F that are multiplied next.
    pub(super) next: usize,
    /// Whether V spans the whole space, and nothing is left to multiply.
    pub(super) is_whole: bool,
}

/// What follows from a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Continue,
    /// The triplets are good enough.
    Converged,
    /// The work limit is reached before they are.
    Exhausted,
}

/// The one place that decides whether a run goes on.
#[derive(Debug, Clone)]
pub(super) struct StoppingRule {
    tolerance: Option<f64>,
    keep: Keep,
    rank: usize,
    sizes: Sizes,
    /// Columns of the start block, if one was given.
    started: Option<usize>,
    /// The most columns to multiply by; grows where missing triplets were found.
    pub(super) limit: usize,
}

impl StoppingRule {
    pub(super) fn new(options: &Options, sizes: Sizes) -> Self {
        let Options { tolerance, keep, rank, .. } = *options;
        let started = options.start.as_ref().map(|start| start.columns());
        Self { tolerance, keep, rank, sizes, started, limit: sizes.columns }
    }

    /// Whether residuals or a rule for the rank decide, and not the size of the basis alone.
    pub(super) fn needs_checks(&self) -> bool {
        self.tolerance.is_some() || self.keep != Keep::All
    }

    /// Whether no further step follows, whatever the residuals are, unless a search finds a missing triplet.
    pub(super) fn is_final(&self, at: Position) -> bool {
        let is_deep = !self.needs_checks() && at.dimension >= self.enough(self.rank);
        at.is_whole || is_deep || at.operator_columns + 2 * at.next > self.limit
    }

    /// Whether a basis is too large to take the next block.
    pub(super) fn is_full(&self, at: Position) -> bool {
        at.dimension + at.next.max(1) > self.sizes.basis
    }

    /// Whether `wanted` triplets with this worst residual are an answer.
    pub(super) fn decide(&self, at: Position, wanted: usize, residual: f64) -> Decision {
        let is_deep = at.dimension >= self.enough(wanted);
        // An invariant subspace has no residuals, but may miss triplets.
        let is_conclusive = is_deep || at.next > 0 || self.is_final(at);
        let converged = match self.tolerance {
            Some(tolerance) => residual <= tolerance && is_conclusive,
            None => is_deep,
        };
        match (converged || at.is_whole, self.is_final(at)) {
            (true, _) => Decision::Converged,
            (false, true) => Decision::Exhausted,
            (false, false) => Decision::Continue,
        }
    }

    /// The fewest columns of a basis that are worth a check.
    pub(super) fn least(&self) -> usize {
        let least = match (self.started, self.keep) {
            (None, Keep::All) => depth(self.rank, self.sizes.width) * 3 / 4,
            (None, _) => 2 * self.sizes.width,
            (Some(_), _) => self.rank,
        };
        least.min(self.sizes.basis)
    }

    /// Columns of a basis that are enough for `wanted` triplets without a tolerance. A start block of
    /// approximate vectors is enough itself.
    pub(super) fn enough(&self, wanted: usize) -> usize {
        let enough = match self.started {
            None => depth(wanted, self.sizes.width),
            Some(columns) if columns >= wanted => wanted,
            Some(_) => depth(wanted, self.sizes.width),
        };
        enough.min(self.sizes.basis)
    }
}

/// How many triplets count. A small triplet that is still to converge looks like a rounding error of σ₁:
/// only where several checks in a row find the same number of triplets that do not look so are the others
/// left out.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct RoundingPlateau {
    /// Triplets that the last check found to be more than rounding.
    real: usize,
    /// Checks before it that found as many.
    unchanged: usize,
}

impl RoundingPlateau {
    /// The number of triplets, of `all`, whose residuals count after a check that found `real` of them to be
    /// more than rounding.
    pub(super) fn count(&mut self, real: usize, all: usize) -> usize {
        self.unchanged = if real == self.real { self.unchanged + 1 } else { 0 };
        self.real = real;
        if self.unchanged >= UNCHANGED { real } else { all }
    }
}

/// When residuals are checked. A check takes the eigenvectors of a small matrix, which on a small graph is
/// as much work as a step: the next one comes after as many steps as the last two checks let expect. On a
/// large graph it is next to nothing, and follows every step.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct CheckSchedule {
    last: Option<Check>,
    /// The step after which the next check comes.
    next: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Check {
    step: usize,
    worst: f64,
}

impl CheckSchedule {
    pub(super) fn is_due(&self, step: usize) -> bool {
        step >= self.next
    }

    /// Whether a check of a basis with this many rows and columns costs nothing beside a step with a block
    /// of `width` columns.
    pub(super) fn is_cheap(rows: usize, columns: usize, width: usize) -> bool {
        CHECK_COST.saturating_mul(columns).saturating_mul(columns) <= rows.saturating_mul(width)
    }

    /// Records the worst residual that a check found, and plans the next check: after the next step, if
    /// checks are cheap.
    pub(super) fn record(&mut self, step: usize, worst: f64, tolerance: f64, is_cheap: bool) {
        let now = Check { step, worst };
        let ratio = self.last.map_or(EXPECTED_RATIO, |before| ratio_per_step(before, now).min(SLOWEST_RATIO));
        self.last = Some(now);
        let longest = if is_cheap { 1 } else { (step / CHECK_INTERVAL).max(1) };
        // The number of steps that comes nearest to the tolerance.
        let (mut left, mut steps) = (worst * ratio * ratio.sqrt(), 1);
        while left > tolerance && steps < longest {
            left *= ratio;
            steps += 1;
        }
        self.next = step + steps;
    }
}

/// The part of the residual that a step left between two checks; 0 where it did not fall, because another
/// triplet has come among the wanted ones and will soon be as good as the others. Bisection rounds alike on
/// all machines, which have to plan the same steps.
fn ratio_per_step(before: Check, now: Check) -> f64 {
    let (steps, of_all) = (now.step - before.step, now.worst / before.worst);
    if of_all.is_nan() || of_all >= 1.0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle: f64 = (low + high) / 2.0;
        let power = (0..steps).fold(1.0, |power, _| power * middle);
        if power > of_all { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches triplets that are taken for rounding as soon as they look so.
    #[test]
    fn triplets_that_look_like_rounding_count_for_three_checks() {
        let mut plateau = RoundingPlateau::default();
        let counts = [7, 8, 8, 8, 8, 9].map(|real| plateau.count(real, 10));
        assert_eq!(counts, [10, 10, 10, 10, 8, 10]);
    }

    #[test]
    fn a_large_graph_is_checked_after_every_step() {
        assert!(CheckSchedule::is_cheap(1 << 18, 200, 16) && CheckSchedule::is_cheap(usize::MAX, 256, 16));
        assert!(!CheckSchedule::is_cheap(8_638, 96, 16) && !CheckSchedule::is_cheap(4_267, 192, 32));
        let mut schedule = CheckSchedule::default();
        schedule.record(6, 0.8, 0.05, true);
        assert_eq!(schedule.next, 7);
    }

    /// Catches checks that come too often, or too late.
    #[test]
    fn checks_come_when_the_tolerance_is_expected_to_be_met() {
        // The step, the residual and the next check, of one run after another.
        let runs: [&[(usize, f64, usize)]; 3] = [
            &[(4, 0.8, 6), (6, 0.4, 9), (9, 0.08, 10), (10, 0.07, 11)],
            &[(6, 0.06, 7)],
            &[(24, 0.8, 36), (30, 0.4, 37), (45, 0.06, 46), (47, 0.07, 48), (48, f64::NAN, 49)],
        ];
        for run in runs {
            let mut schedule = CheckSchedule::default();
            assert!(schedule.is_due(4));
            for (number, &(step, worst, next)) in run.iter().enumerate() {
                schedule.record(step, worst, 0.05, false);
                // The longest interval of a late first check is bounded by the expected ratio.
                assert!(schedule.next == next || (number == 0 && step == 24), "{step}: {}", schedule.next);
            }
        }
    }
}
