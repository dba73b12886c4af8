//! Short walks in place of longer ones.

use crate::matrix::walk::{apart, economized};

/// Walks of fewer steps are short themselves.
const LONG: usize = 6;
/// The fewest steps.
const LEAST_STEPS: usize = 2;
/// How far off they may be, as a part of the tolerance and of what they come to at most: with more steps fewer rounds follow, and it comes to as
/// much work.
const PART_OF_TOLERANCE: f64 = 2.0 / 3.0;
/// How far off they may be without a tolerance.
const OFF: f64 = 0.1;
/// The longest where eigenvalues of a step need not be real: a polynomial that is near others on real numbers only is of no use then.
const DIRECTED_STEPS: usize = 4;

/// The coefficients of T⁰, T¹, … of a matrix that is somewhat like that of these walks, and a fraction of the work. `None` if they
/// are short themselves.
pub(super) fn short_walks(coefficients: &[f64], is_directed: bool, tolerance: Option<f64>) -> Option<Vec<f64>> {
    // To take more than half of the steps is hardly less.
    let most = coefficients.len().saturating_sub(1) / 2;
    if 2 * most < LONG {
        return None;
    }
    if is_directed {
        // All that are longer count as the longest.
        return (DIRECTED_STEPS <= most).then(|| {
            let mut short = coefficients[..=DIRECTED_STEPS].to_vec();
            short[DIRECTED_STEPS] += coefficients[DIRECTED_STEPS + 1..].iter().sum::<f64>();
            short
        });
    }
    let off = tolerance.map_or(OFF, |tolerance| PART_OF_TOLERANCE * tolerance) * apart(coefficients, &[]);
    let mut shorter = (LEAST_STEPS..=most).map(|steps| economized(coefficients, steps)).peekable();
    while let Some(short) = shorter.next() {
        if shorter.peek().is_none() || apart(&short, coefficients) <= off {
            return Some(short);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::walk::window_coefficients;

    #[test]
    fn short_walks_count_as_much_as_all_of_them() {
        for (is_directed, off) in [(true, 1e-12), (false, 0.09)] {
            let short = short_walks(&window_coefficients(10), is_directed, Some(0.15)).expect("ten steps are long");
            assert!((short.iter().sum::<f64>() - 1.0).abs() < off);
        }
    }

    #[test]
    fn the_finer_the_residuals_the_more_steps() {
        let steps = |window, is_directed, tolerance| {
            short_walks(&window_coefficients(window), is_directed, tolerance).map(|short| short.len() - 1)
        };
        let undirected = [Some(0.3), Some(0.2), Some(0.15), None, Some(0.05), Some(0.02), Some(1e-6)];
        assert_eq!(undirected.map(|tolerance| steps(10, false, tolerance)), [2, 3, 3, 3, 4, 5, 5].map(Some));
        assert_eq!(steps(10, true, Some(1e-6)), Some(DIRECTED_STEPS));
        assert_eq!([(5, false), (7, true)].map(|(window, is_directed)| steps(window, is_directed, None)), [None, None]);
        assert_eq!(
            [(6, false), (8, true)].map(|(window, is_directed)| steps(window, is_directed, None)),
            [Some(3), Some(4)]
        );
    }
}
