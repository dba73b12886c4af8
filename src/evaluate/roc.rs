use super::{EvaluateError, check, descending};

/// The area under the ROC curve: how often an edge outscores a non-edge, a tie counting half.
///
/// Exact: wins and ties are counted as whole numbers and divided once.
///
/// ```
/// use isvd_dist::evaluate::roc_auc;
/// assert_eq!(roc_auc(&[3.0, 1.0], &[2.0, 1.0])?, 0.625);
/// # Ok::<(), isvd_dist::evaluate::EvaluateError>(())
/// ```
pub fn roc_auc(positive: &[f32], negative: &[f32]) -> Result<f64, EvaluateError> {
    check(positive, negative)?;
    let (positive, negative) = (descending(positive), descending(negative));
    // Both numbers only grow as the scores of edges fall.
    let (mut above, mut not_below) = (0, 0);
    let mut half_wins = 0u128;
    for score in &positive {
        above += negative[above..].iter().take_while(|other| *other > score).count();
        not_below = not_below.max(above);
        not_below += negative[not_below..].iter().take_while(|other| *other >= score).count();
        let (below, ties) = (negative.len() - not_below, not_below - above);
        half_wins += 2 * below as u128 + ties as u128;
    }
    Ok(half_wins as f64 / (2 * positive.len() as u128 * negative.len() as u128) as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::evaluate::oracle;

    proptest! {
        #[test]
        fn equals_counting_every_pair(positive in oracle::scores(), negative in oracle::scores()) {
            let auc = roc_auc(&positive, &negative).unwrap();
            prop_assert!((auc - oracle::auc(&positive, &negative)).abs() < 1e-12);
        }

        #[test]
        fn swapping_the_sides_mirrors_it(positive in oracle::scores(), negative in oracle::scores()) {
            let sum = roc_auc(&positive, &negative).unwrap() + roc_auc(&negative, &positive).unwrap();
            prop_assert!((sum - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn extremes() {
        assert_eq!(roc_auc(&[2.0], &[1.0]), Ok(1.0));
        assert_eq!(roc_auc(&[1.0], &[2.0]), Ok(0.0));
        assert_eq!(roc_auc(&[0.0], &[-0.0]), Ok(0.5));
    }
}
