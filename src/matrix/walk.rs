//! Polynomials of a transition matrix.

use std::f64::consts::PI;

/// Points of [−1, 1] at which polynomials are compared.
const POINTS: usize = 256;
/// Largest accepted rounding error, relative to the accepted error of a polynomial.
const MOST_ROUNDING: f64 = 0.1;

/// The coefficients `c_q = (C − q + 1) / Σ_j j` of T¹, …, T^C, and c₀ = 0: shorter walks have
/// larger weights. They sum to one.
pub fn window_coefficients(window: usize) -> Vec<f64> {
    let total = (window * (window + 1) / 2) as f64;
    let steps = (1..=window).map(|step| (window - step + 1) as f64 / total);
    std::iter::once(0.0).chain(steps).collect()
}

/// Some points of [−1, 1], dense where polynomials vary most.
fn points() -> impl Iterator<Item = f64> {
    (0..POINTS).map(|point| libm::cos(PI * (point as f64 + 0.5) / POINTS as f64))
}

/// The polynomial q of least degree without a constant term whose relative error |q/p − 1| on [−1,
/// 1] is at most `most`, and that error; p has the given coefficients of T⁰, T¹, …. The error is
/// relative because wanted singular values may be small compared with the largest. `None` if q
/// would have the degree of p, or if p has a zero other than T = 0.
pub fn relative_approximation(coefficients: &[f64], most: f64) -> Option<(Vec<f64>, f64)> {
    // Both polynomials are divided by T, and the quotient of p must have no zero.
    let quotient = coefficients.strip_prefix(&[0.0])?;
    let points: Vec<f64> = points().collect();
    let wanted: Vec<f64> = points.iter().map(|&at| value(quotient, at)).collect();
    if wanted.iter().any(|&value| value * wanted[0] <= 0.0) {
        return None;
    }
    // A least-squares fit by polynomials that are orthogonal on the points, weighted by 1/p². It is
    // nearly the minimax fit, because these are Chebyshev points.
    let within = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().zip(other).zip(&wanted).map(|((one, other), wanted)| one * other / (wanted * wanted)).sum()
    };
    let mut found: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    let (mut fitted, mut fit) = (Vec::new(), vec![0.0; POINTS]);
    let (mut term, mut at_points) = (vec![1.0], vec![1.0; POINTS]);
    while found.len() + 1 < quotient.len() {
        for (other, at_other) in &found {
            let part = within(&at_points, at_other);
            term.iter_mut().zip(other).for_each(|(entry, other)| *entry -= part * other);
            at_points.iter_mut().zip(at_other).for_each(|(value, other)| *value -= part * other);
        }
        let length = within(&at_points, &at_points).sqrt();
        term.iter_mut().chain(&mut at_points).for_each(|entry| *entry /= length);
        let part = within(&wanted, &at_points);
        fitted.push(0.0);
        fitted.iter_mut().zip(&term).for_each(|(entry, term)| *entry += part * term);
        fit.iter_mut().zip(&at_points).for_each(|(value, term)| *value += part * term);
        let off = fit.iter().zip(&wanted).map(|(fit, wanted)| (fit / wanted - 1.0).abs());
        let off = off.fold(0.0, |worst, off| if off <= worst { worst } else { off });
        if off <= most {
            // Large coefficients of both signs cancel, and f32 products lose their digits.
            let rounding = f64::from(f32::EPSILON) * fitted.iter().map(|entry| entry.abs()).sum::<f64>();
            let least = wanted.iter().map(|value| value.abs()).fold(f64::INFINITY, f64::min);
            if rounding > MOST_ROUNDING * most * least {
                return None;
            }
            return Some((std::iter::once(0.0).chain(fitted).collect(), off));
        }
        let next: (Vec<f64>, Vec<f64>) = (
            std::iter::once(0.0).chain(term.iter().copied()).collect(),
            at_points.iter().zip(&points).map(|(value, at)| value * at).collect(),
        );
        found.push((term, at_points));
        (term, at_points) = next;
    }
    None
}

fn value(coefficients: &[f64], at: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * at + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_ten_is_nearly_one_of_seven_in_proportion() {
        let window = window_coefficients(10);
        for (most, steps) in [(0.03, 6), (0.0125, 7), (0.0075, 7), (0.002, 8)] {
            let (shorter, off) = relative_approximation(&window, most).unwrap();
            assert_eq!(shorter.len() - 1, steps, "{off}");
            for point in -1000..=1000 {
                let at = f64::from(point) / 1000.0;
                let distance = (value(&shorter, at) - value(&window, at)).abs();
                assert!(distance <= 1.01 * off * value(&window, at).abs() + 1e-12, "{steps} at {at}");
            }
        }
        assert_eq!(relative_approximation(&window, 1e-9), None, "nothing shorter is so near");
        assert!(relative_approximation(&window_coefficients(20), 0.003).is_some());
        assert_eq!(relative_approximation(&window_coefficients(200), 0.003), None, "coefficients are too large");
        assert_eq!(relative_approximation(&[0.0, f64::NAN, 1.0, 1.0], 0.1), None);
        assert_eq!(relative_approximation(&[0.0, 0.5, 1.0], 0.1), None, "zero at -1/2");
        assert_eq!(relative_approximation(&[1.0, 1.0], 0.1), None);
        assert_eq!(relative_approximation(&[], 0.1), None);
        assert_eq!(relative_approximation(&[0.0], 0.1), None);
    }
}
