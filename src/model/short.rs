//! Short walks in place of longer ones.

use crate::matrix::walk::economized;

/// The longest, where the eigenvalues of a step are real.
const STEPS: usize = 3;
/// The longest where they need not be: a polynomial that is near others on real numbers only is of no use then.
const DIRECTED_STEPS: usize = 4;
/// How far off a matrix of such walks is in proportion: its smaller singular values are others.
pub(super) const SHORT_OFF: f64 = 1.0;

/// The coefficients of T⁰, T¹, … of a matrix that is nearly that of these walks, and a fraction of the work. `None` if they
/// are short themselves.
pub(super) fn short_walks(coefficients: &[f64], is_directed: bool) -> Option<Vec<f64>> {
    let steps = if is_directed { DIRECTED_STEPS } else { STEPS };
    (coefficients.len() > 2 * steps).then(|| {
        if !is_directed {
            return economized(coefficients, steps);
        }
        // All that are longer count as the longest.
        let mut short = coefficients[..=steps].to_vec();
        short[steps] += coefficients[steps + 1..].iter().sum::<f64>();
        short
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::walk::window_coefficients;

    #[test]
    fn short_walks_count_as_much_as_all_of_them() {
        for (is_directed, steps, off) in [(true, DIRECTED_STEPS, 1e-12), (false, STEPS, 0.09)] {
            let short = short_walks(&window_coefficients(10), is_directed).expect("ten steps are long");
            assert_eq!(short.len(), steps + 1);
            assert!((short.iter().sum::<f64>() - 1.0).abs() < off);
            let most = 2 * steps - 1;
            assert_eq!(
                short_walks(&window_coefficients(most), is_directed),
                None,
                "to take half of the steps is hardly less"
            );
        }
    }
}
