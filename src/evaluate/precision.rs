use super::{EvaluateError, check, descending};

/// Average precision, Σ (Rₙ − Rₙ₋₁) Pₙ over the distinct scores from the highest down, without
/// interpolation; this is scikit-learn's `average_precision_score`.
///
/// ```
/// use isvd_dist::evaluate::average_precision;
/// assert_eq!(average_precision(&[3.0, 1.0], &[2.0])?, 0.5 * (1.0 + 2.0 / 3.0));
/// # Ok::<(), isvd_dist::evaluate::EvaluateError>(())
/// ```
pub fn average_precision(positive: &[f32], negative: &[f32]) -> Result<f64, EvaluateError> {
    check(positive, negative)?;
    let (positive, negative) = (descending(positive), descending(negative));
    let (mut found, mut wrong) = (0, 0);
    let mut sum = 0.0;
    for tied in positive.chunk_by(|a, b| a == b) {
        found += tied.len();
        wrong += negative[wrong..].iter().take_while(|&&score| score >= tied[0]).count();
        sum += tied.len() as f64 * (found as f64 / (found + wrong) as f64);
    }
    Ok(sum / positive.len() as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::evaluate::oracle;

    proptest! {
        #[test]
        fn equals_every_threshold_tried(positive in oracle::scores(), negative in oracle::scores()) {
            let precision = average_precision(&positive, &negative).unwrap();
            prop_assert!((precision - oracle::average_precision(&positive, &negative)).abs() < 1e-12);
        }
    }

    /// scikit-learn's own documented example: `y_true = [0, 0, 1, 1]`, `y_scores = [0.1, 0.4, 0.35,
    /// 0.8]` gives 0.83.
    #[test]
    fn agrees_with_a_published_value() {
        let precision = average_precision(&[0.35, 0.8], &[0.1, 0.4]).unwrap();
        assert!((precision - 0.833_333_333).abs() < 1e-8);
    }
}
