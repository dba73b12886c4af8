use std::num::NonZeroUsize;

use super::{EvaluateError, check};

/// Hits@K by the rule of the Open Graph Benchmark: the share of edges that score strictly above the
/// `k`-th best non-edge, and 1 when there are fewer than `k` non-edges.
///
/// ```
/// use std::num::NonZeroUsize;
/// use isvd_dist::evaluate::hits_at;
/// assert_eq!(hits_at(NonZeroUsize::MIN, &[3.0, 2.0], &[2.0, 0.0])?, 0.5);
/// # Ok::<(), isvd_dist::evaluate::EvaluateError>(())
/// ```
pub fn hits_at(k: NonZeroUsize, positive: &[f32], negative: &[f32]) -> Result<f64, EvaluateError> {
    check(positive, negative)?;
    if negative.len() < k.get() {
        return Ok(1.0);
    }
    let mut negative = negative.to_vec();
    // −0 and 0 may come in either order: the comparison below takes them as equal.
    let (_, &mut threshold, _) = negative.select_nth_unstable_by(k.get() - 1, |a, b| b.total_cmp(a));
    let hits = positive.iter().filter(|&&score| score > threshold).count();
    Ok(hits as f64 / positive.len() as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::evaluate::oracle;

    proptest! {
        #[test]
        fn equals_counting_the_non_edges_above(
            k in 1usize..40,
            positive in oracle::scores(),
            negative in oracle::scores(),
        ) {
            let hits = hits_at(NonZeroUsize::new(k).unwrap(), &positive, &negative).unwrap();
            prop_assert_eq!(hits, oracle::hits_at(k, &positive, &negative));
        }
    }

    #[test]
    fn a_tie_with_the_threshold_is_no_hit() {
        assert_eq!(hits_at(NonZeroUsize::MIN, &[1.0, 0.0], &[1.0]), Ok(0.0));
    }

    #[test]
    fn too_few_non_edges_make_every_edge_a_hit() {
        assert_eq!(hits_at(NonZeroUsize::new(2).unwrap(), &[0.0], &[1.0]), Ok(1.0));
    }
}
