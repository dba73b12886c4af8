use crate::kernel::elementwise::largest;
use crate::matrix::Dense;

/// How many of some nodes of each class (rows) were put in each class (columns); nodes without a
/// class are passed over.
///
/// ```
/// use isvd_dist::evaluate::confusion;
/// use isvd_dist::matrix::Dense;
/// let scores = Dense::new(3, 2, vec![0.1, 0.9, 0.8, 0.2, 0.5, 0.5])?;
/// assert_eq!(confusion(&scores, &[1, 1, 0], &[0, 1, 2], 2), [[1, 0], [1, 1]]);
/// # Ok::<(), isvd_dist::matrix::MatrixError>(())
/// ```
///
/// # Panics
/// If there is no such node.
pub fn confusion(scores: &Dense, labels: &[u32], nodes: &[u32], classes: usize) -> Vec<Vec<u64>> {
    let mut counts = vec![vec![0; classes]; classes];
    for &node in nodes {
        if let Some(row) = counts.get_mut(labels[node as usize] as usize) {
            row[largest(scores.row(node as usize))] += 1;
        }
    }
    counts
}
