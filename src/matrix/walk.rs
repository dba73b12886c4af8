//! Sums of walks.

/// The coefficients of T⁰, T¹, …, T^C for walks of up to C steps of which shorter ones count more:
/// `c_q = (C − q + 1) / Σ_j j`, and nothing for staying. They sum to one.
pub fn window_coefficients(window: usize) -> Vec<f64> {
    let total = (window * (window + 1) / 2) as f64;
    let steps = (1..=window).map(|step| (window - step + 1) as f64 / total);
    std::iter::once(0.0).chain(steps).collect()
}

/// The polynomial of at most this degree that its expansion in Chebyshev polynomials begins with, as coefficients of T⁰, T¹, …:
/// of all of that degree it is next to the nearest one on [−1, 1], where the eigenvalues of a step are. That of walks of up to ten
/// steps is 0.08 off with three steps, and 0.001 with seven.
pub fn economized(coefficients: &[f64], degree: usize) -> Vec<f64> {
    let mut economized = coefficients.to_vec();
    while economized.len() > degree + 1 {
        // The multiple of a Chebyshev polynomial that has the same last coefficient is the last one of the expansion.
        let Some(last) = economized.pop() else { break };
        let chebyshev = chebyshev(economized.len());
        let factor = last / chebyshev[economized.len()];
        economized.iter_mut().zip(&chebyshev).for_each(|(entry, term)| *entry -= factor * term);
    }
    economized
}

/// The coefficients of a Chebyshev polynomial.
fn chebyshev(degree: usize) -> Vec<f64> {
    let (mut before, mut now) = (Vec::new(), vec![1.0]);
    for step in 0..degree {
        let factor = if step == 0 { 1.0 } else { 2.0 };
        let mut next: Vec<f64> = std::iter::once(0.0).chain(now.iter().map(|entry| factor * entry)).collect();
        next.iter_mut().zip(&before).for_each(|(entry, term)| *entry -= term);
        before = std::mem::replace(&mut now, next);
    }
    now
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(coefficients: &[f64], at: f64) -> f64 {
        coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * at + coefficient)
    }

    /// The farthest that two polynomials are apart on [−1, 1].
    fn apart(one: &[f64], other: &[f64]) -> f64 {
        let points = (0..=2000).map(|point| f64::from(point - 1000) / 1000.0);
        points.map(|at| (value(one, at) - value(other, at)).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn chebyshev_polynomials_are_cosines() {
        for degree in 0..12 {
            for at in [-1.0f64, -0.3, 0.0, 0.6, 1.0] {
                assert!((value(&chebyshev(degree), at) - (degree as f64 * at.acos()).cos()).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_window_of_ten_is_nearly_one_of_fewer_steps() {
        let window = window_coefficients(10);
        for (degree, bound) in [(2, 0.187), (3, 0.081), (4, 0.032), (5, 0.012), (6, 0.0034), (7, 0.001), (10, 0.0)] {
            let economized = economized(&window, degree);
            assert_eq!(economized.len(), degree + 1);
            assert!(apart(&window, &economized) <= bound, "{degree}");
        }
    }

    proptest! {
        /// What is left out is a sum of Chebyshev polynomials: nowhere more than their coefficients together.
        #[test]
        fn what_is_left_out_is_bounded(coefficients in prop::collection::vec(-1.0f64..1.0, 1..12), degree in 0usize..12) {
            let economized = economized(&coefficients, degree);
            let (mut rest, mut bound) = (coefficients.clone(), 0.0);
            while rest.len() > degree + 1 {
                let (last, term) = (rest[rest.len() - 1], chebyshev(rest.len() - 1));
                let factor = last / term[rest.len() - 1];
                rest.iter_mut().zip(&term).for_each(|(entry, term)| *entry -= factor * term);
                rest.pop();
                bound += factor.abs();
            }
            prop_assert!(apart(&coefficients, &economized) <= bound + 1e-9);
        }
    }
}
