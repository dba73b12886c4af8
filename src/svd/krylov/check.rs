//! When to look whether the triplets are good enough.
//!
//! To look costs the eigenvectors of a small matrix, which on a small graph is as much work as a step. So the next look is
//! after as many steps as the last two let expect. On a large graph it is next to nothing, and every step is looked at.

use serde::{Deserialize, Serialize};

/// What a step leaves of the worst residual, where nothing is known yet: on matrices of graphs it is about that.
const LIKELY_RATIO: f64 = 0.55;
/// The most that a step is expected to leave: the further a basis has grown, the more each step gains.
const SLOWEST_RATIO: f64 = 0.75;
/// The longest way to the next look, as a part of the steps before: what was expected may come sooner.
const LONGEST_GAP: usize = 2;
/// To look takes some operations for the cube of the columns of a basis, and a step some for each row, column of a basis and
/// column of a block. It is cheap if so many times the one is no more than the other.
const CHEAP: usize = 20;
/// Halvings that leave less of an interval than matters.
const HALVINGS: usize = 30;

/// The looks taken so far.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Checks {
    last: Option<Check>,
    /// The step of the next one.
    next: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Check {
    step: usize,
    worst: f64,
}

impl Checks {
    /// Whether to look after this step.
    pub(super) fn is_due(&self, step: usize) -> bool {
        step >= self.next
    }

    /// Whether to look at a basis of so many rows and columns costs nothing beside the step that makes a block of so many
    /// columns.
    pub(super) fn is_cheap(rows: usize, columns: usize, width: usize) -> bool {
        CHEAP.saturating_mul(columns).saturating_mul(columns) <= rows.saturating_mul(width)
    }

    /// Notes what a look found, and plans the next one: after the next step, if it is cheap.
    pub(super) fn note(&mut self, step: usize, worst: f64, tolerance: f64, is_cheap: bool) {
        let ratio = self.last.map_or(LIKELY_RATIO, |before| ratio(before, Check { step, worst }).min(SLOWEST_RATIO));
        self.last = Some(Check { step, worst });
        let longest = if is_cheap { 1 } else { (step / LONGEST_GAP).max(1) };
        // As many steps as come nearest to the tolerance, or one.
        let (mut left, mut steps) = (worst * ratio * ratio.sqrt(), 1);
        while left > tolerance && steps < longest {
            left *= ratio;
            steps += 1;
        }
        self.next = step + steps;
    }
}

/// What a step left of the residual between two looks. Where it did not fall, another triplet has come among the wanted ones
/// and will soon be as good as the others. Only operations that round alike on every machine are used: all processes have to
/// find the same.
fn ratio(before: Check, now: Check) -> f64 {
    let (gap, of_all) = (now.step - before.step, now.worst / before.worst);
    if of_all.is_nan() || of_all >= 1.0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if power(middle, gap) > of_all { high = middle } else { low = middle }
    }
    high
}

fn power(base: f64, exponent: usize) -> f64 {
    (0..exponent).fold(1.0, |power, _| power * base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_graph_is_looked_at_after_every_step() {
        assert!(Checks::is_cheap(1 << 18, 200, 16) && Checks::is_cheap(usize::MAX, 256, 16));
        assert!(!Checks::is_cheap(8_638, 96, 16) && !Checks::is_cheap(4_267, 192, 32));
        let mut checks = Checks::default();
        checks.note(6, 0.8, 0.05, true);
        assert_eq!(checks.next, 7);
    }

    #[test]
    fn looks_come_as_often_as_they_may_tell_something() {
        let mut checks = Checks::default();
        assert!(checks.is_due(4));
        checks.note(4, 0.8, 0.05, false);
        assert_eq!(checks.next, 6, "more are expected, but not without a look");
        checks.note(6, 0.4, 0.05, false);
        assert_eq!(checks.next, 9);
        checks.note(9, 0.08, 0.05, false);
        assert_eq!(checks.next, 10);
        checks.note(10, 0.07, 0.05, false);
        assert_eq!(checks.next, 11, "what was slow once may not be so again");
        let mut checks = Checks::default();
        checks.note(6, 0.06, 0.05, false);
        assert_eq!(checks.next, 7, "soon");
        let mut checks = Checks::default();
        checks.note(24, 0.8, 0.05, false);
        checks.note(30, 0.4, 0.05, false);
        assert_eq!(checks.next, 37);
        checks.note(45, 0.06, 0.05, false);
        assert_eq!(checks.next, 46);
        checks.note(47, 0.07, 0.05, false);
        assert_eq!(checks.next, 48, "it rose");
        checks.note(48, f64::NAN, 0.05, false);
        assert_eq!(checks.next, 49);
    }
}
