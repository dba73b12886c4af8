use crate::kernel::elementwise::largest;
use crate::matrix::Dense;

/// The share of some nodes whose class has the largest score, or is the first of those that have;
/// `None` without nodes.
///
/// ```
/// use isvd_dist::evaluate::accuracy;
/// use isvd_dist::matrix::Dense;
/// let scores = Dense::new(3, 2, vec![0.1, 0.9, 0.8, 0.2, 0.5, 0.5])?;
/// assert_eq!(accuracy(&scores, &[1, 1, 0], &[0, 1, 2]), Some(2.0 / 3.0));
/// # Ok::<(), isvd_dist::matrix::MatrixError>(())
/// ```
///
/// # Panics
/// If there is no such node.
pub fn accuracy(scores: &Dense, labels: &[u32], nodes: &[u32]) -> Option<f64> {
    let is_found = |&&node: &&u32| largest(scores.row(node as usize)) == labels[node as usize] as usize;
    (!nodes.is_empty()).then(|| nodes.iter().filter(is_found).count() as f64 / nodes.len() as f64)
}
