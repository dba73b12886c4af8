//! A Gaussian kernel over the powers of the singular values.
//!
//! A pair is scored by `uᵢ·S·vⱼ`. Here S is replaced by the mean of `S^x` over a normal
//! distribution of x, cut off to [0.5, 2] and taken at [`POWERS`] points. With the mean at 1 and no
//! spread nothing changes; a mean above 1 widens the gaps between singular values, one below closes
//! them. Two numbers are trained.

use serde::{Deserialize, Serialize};

/// Points at which the distribution is taken, from power 0.5 to power 2.
pub const POWERS: usize = 301;
const LEAST_POWER: f64 = 0.5;
const LARGEST_POWER: f64 = 2.0;
/// The sharpness is kept between 0 and this.
pub const MOST_SPREAD: f64 = 20.0;

/// The parameters of the distribution of powers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// μ
    pub mean: f64,
    /// s̄: the weight of power x is proportional to `exp(−(x − μ)²·e^s̄)`.
    pub sharpness: f64,
}

impl Default for Kernel {
    /// Nearly the identity: scores hardly change.
    fn default() -> Self {
        Self { mean: 1.0, sharpness: 5.0 }
    }
}

impl Kernel {
    /// Factors of the terms of a score, by which the mean powers replace the singular values.
    pub fn weights(self, singular_values: &[f32]) -> Vec<f64> {
        let values: Vec<f64> = singular_values.iter().map(|&value| f64::from(value)).collect();
        let spectrum = PowerTable::new(&values).under(self);
        spectrum.values.iter().zip(&values).map(|(mean, value)| mean / value).collect()
    }
}

/// The mean power of each singular value, and its derivatives.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spectrum {
    pub(super) values: Vec<f64>,
    pub(super) by_mean: Vec<f64>,
    pub(super) by_sharpness: Vec<f64>,
}

/// The powers `S^x` of some singular values, which training does not change.
#[derive(Debug, Clone)]
pub(super) struct PowerTable {
    /// One row a singular value, one column a power.
    entries: Vec<f64>,
}

fn power(point: usize) -> f64 {
    LEAST_POWER + (LARGEST_POWER - LEAST_POWER) * point as f64 / (POWERS - 1) as f64
}

impl PowerTable {
    pub(super) fn new(singular_values: &[f64]) -> Self {
        let row = |&value: &f64| (0..POWERS).map(move |point| value.powf(power(point)));
        Self { entries: singular_values.iter().flat_map(row).collect() }
    }

    /// The mean powers under a kernel, with their derivatives.
    pub(super) fn under(&self, kernel: Kernel) -> Spectrum {
        let precision = kernel.sharpness.exp();
        let distance = |point: usize| power(point) - kernel.mean;
        let exponents: Vec<f64> = (0..POWERS).map(|point| -distance(point).powi(2) * precision).collect();
        let largest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut weights: Vec<f64> = exponents.iter().map(|exponent| (exponent - largest).exp()).collect();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        // A softmax: the derivative of a weight is the weight times how much its exponent moves
        // beyond the average.
        let moves = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let average: f64 = weights.iter().enumerate().map(|(point, weight)| weight * of(point)).sum();
            weights.iter().enumerate().map(|(point, weight)| weight * (of(point) - average)).collect()
        };
        let by_mean = moves(&|point| 2.0 * distance(point) * precision);
        let by_sharpness = moves(&|point| exponents[point]);
        let average = |weights: &[f64]| -> Vec<f64> {
            let rows = self.entries.chunks_exact(POWERS);
            rows.map(|row| row.iter().zip(weights).map(|(entry, weight)| entry * weight).sum()).collect()
        };
        Spectrum { values: average(&weights), by_mean: average(&by_mean), by_sharpness: average(&by_sharpness) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sharp_kernel_takes_one_power() {
        let table = PowerTable::new(&[4.0, 0.25]);
        let spectrum = table.under(Kernel { mean: 1.5, sharpness: MOST_SPREAD });
        assert!((spectrum.values[0] - 8.0).abs() < 1e-6 && (spectrum.values[1] - 0.125).abs() < 1e-6, "{spectrum:?}");
    }

    proptest! {
        /// Derivatives against finite differences.
        #[test]
        fn derivatives_are_right(mean in 0.6f64..1.9, sharpness in 0.5f64..8.0, value in 0.01f64..100.0) {
            let table = PowerTable::new(&[value]);
            let at = |mean, sharpness| table.under(Kernel { mean, sharpness }).values[0];
            let spectrum = table.under(Kernel { mean, sharpness });
            let step = 1e-5;
            let by_mean = (at(mean + step, sharpness) - at(mean - step, sharpness)) / (2.0 * step);
            let by_sharpness = (at(mean, sharpness + step) - at(mean, sharpness - step)) / (2.0 * step);
            let close = |a: f64, b: f64| (a - b).abs() < 1e-5 * (1.0 + value.powi(2));
            prop_assert!(close(spectrum.by_mean[0], by_mean), "{} {by_mean}", spectrum.by_mean[0]);
            prop_assert!(close(spectrum.by_sharpness[0], by_sharpness), "{} {by_sharpness}", spectrum.by_sharpness[0]);
        }
    }
}
