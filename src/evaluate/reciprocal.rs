use super::{EvaluateError, check, descending};

/// The mean, over edges, of one over the place that the edge takes among all non-edges, the best
/// place being 1. Among equal scores an edge takes the middle.
///
/// ```
/// use isvd_dist::evaluate::mean_reciprocal_rank;
/// // Above all three non-edges, and below one of them.
/// assert_eq!(mean_reciprocal_rank(&[0.9, 0.5], &[0.7, 0.3, 0.1])?, (1.0 + 0.5) / 2.0);
/// # Ok::<(), isvd_dist::evaluate::EvaluateError>(())
/// ```
pub fn mean_reciprocal_rank(positive: &[f32], negative: &[f32]) -> Result<f64, EvaluateError> {
    check(positive, negative)?;
    let sorted = descending(negative);
    let place = |&score: &f32| {
        let above = sorted.partition_point(|&other| other > score);
        let not_below = sorted.partition_point(|&other| other >= score);
        1.0 + above as f64 + (not_below - above) as f64 / 2.0
    };
    Ok(positive.iter().map(|score| 1.0 / place(score)).sum::<f64>() / positive.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_agrees_with_counting(positive in prop::collection::vec(0u8..9, 1..20), negative in prop::collection::vec(0u8..9, 1..20)) {
            let (positive, negative): (Vec<f32>, Vec<f32>) =
                (positive.into_iter().map(f32::from).collect(), negative.into_iter().map(f32::from).collect());
            let mut sum = 0.0;
            for score in &positive {
                let above = negative.iter().filter(|other| *other > score).count() as f64;
                let equal = negative.iter().filter(|other| *other == score).count() as f64;
                sum += 1.0 / (1.0 + above + equal / 2.0);
            }
            let expected = sum / positive.len() as f64;
            prop_assert!((mean_reciprocal_rank(&positive, &negative).unwrap() - expected).abs() < 1e-12);
        }
    }
}
