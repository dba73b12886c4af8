//! Sums of walks.

/// The coefficients of T⁰, T¹, …, T^C for walks of up to C steps of which shorter ones count more:
/// `c_q = (C − q + 1) / Σ_j j`, and nothing for staying. They sum to one.
pub fn window_coefficients(window: usize) -> Vec<f64> {
    let total = (window * (window + 1) / 2) as f64;
    let steps = (1..=window).map(|step| (window - step + 1) as f64 / total);
    std::iter::once(0.0).chain(steps).collect()
}
