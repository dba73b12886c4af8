//! When to look whether the triplets are good enough.
//!
//! To look costs the SVD of the small matrix, which on a small graph is as much work as a step. So the next look is after as
//! many steps as the last two let expect.

use serde::{Deserialize, Serialize};

/// Steps from the first look to the second, as a part of those before.
const FIRST_GAP: usize = 4;
/// The longest way to the next look, as a part of the steps before: what was expected may come sooner.
const LONGEST_GAP: usize = 3;

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

    /// Notes what a look found, and plans the next one.
    pub(super) fn note(&mut self, step: usize, worst: f64, tolerance: f64) {
        let steps = match self.last.replace(Check { step, worst }) {
            None => step / FIRST_GAP,
            Some(before) => expected(before, Check { step, worst }, tolerance),
        };
        self.next = step + steps.clamp(1, (step / LONGEST_GAP).max(1));
    }
}

/// Steps until the tolerance is met, if residuals go on to fall as they did: they fall ever faster.
fn expected(before: Check, now: Check, tolerance: f64) -> usize {
    let (gap, mut worst, mut steps) = (now.step - before.step, now.worst, 0);
    let ratio = before.worst / now.worst;
    // Not so where they do not fall, or are no numbers.
    while worst > tolerance && ratio > 1.0 && steps < now.step {
        worst /= ratio;
        steps += gap;
    }
    steps.saturating_sub(gap / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_come_as_often_as_they_may_tell_something() {
        let mut checks = Checks::default();
        assert!(checks.is_due(4));
        checks.note(4, 0.8, 0.05);
        assert_eq!(checks.next, 5);
        checks.note(5, 0.4, 0.05);
        assert_eq!(checks.next, 6, "three more are expected, but not without a look");
        let mut checks = Checks::default();
        checks.note(24, 0.8, 0.05);
        checks.note(30, 0.4, 0.05);
        assert_eq!(checks.next, 40);
        checks.note(40, 0.06, 0.05);
        assert_eq!(checks.next, 45);
        checks.note(45, f64::NAN, 0.05);
        assert_eq!(checks.next, 46);
    }
}
