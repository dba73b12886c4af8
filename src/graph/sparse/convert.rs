//! Sparse matrices from and to the compressed rows and columns of `sprs`.

use sprs::{CsMat, CsMatI, SpIndex, TriMat};

use super::{GraphError, Sparse};

/// Entries at the same place add up. Whether the matrix is symmetric is found out.
///
/// ```
/// use isvd_dist::graph::Sparse;
/// let eye = sprs::CsMat::<f32>::eye(3);
/// let sparse = Sparse::try_from(&eye)?;
/// assert!(sparse.is_symmetric() && !sparse.is_weighted());
/// assert_eq!(sprs::CsMat::from(&sparse), eye);
/// # Ok::<(), isvd_dist::graph::GraphError>(())
/// ```
impl<I: SpIndex> TryFrom<&CsMatI<f32, I>> for Sparse {
    type Error = GraphError;

    fn try_from(matrix: &CsMatI<f32, I>) -> Result<Self, GraphError> {
        let (rows, cols) = matrix.shape();
        if rows > u32::MAX as usize || cols > u32::MAX as usize {
            return Err(GraphError::TooLarge { rows, cols });
        }
        let place = |(_, (row, column)): (&f32, (I, I))| (row.index() as u32, column.index() as u32);
        let values: Vec<f32> = matrix.iter().map(|(&value, _)| value).collect();
        let values = Some(values).filter(|values| values.iter().any(|&value| value != 1.0));
        Self::from_triplets(rows, cols, matrix.iter().map(place).collect(), values)
    }
}

/// Compressed rows. An outline has no entries.
impl From<&Sparse> for CsMat<f32> {
    fn from(matrix: &Sparse) -> Self {
        let mut entries = TriMat::with_capacity((matrix.rows(), matrix.cols()), matrix.nonzeros());
        matrix.for_each(|row, column, value| entries.add_triplet(row, column, value));
        entries.to_csr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_come_back_as_they_went() {
        let entries = vec![(0, 3), (2, 0), (1, 1), (2, 3)];
        let sparse = Sparse::from_triplets(3, 4, entries, Some(vec![0.5, 2.0, -1.0, 4.0])).unwrap();
        let rows = CsMat::from(&sparse);
        assert_eq!((rows.shape(), rows.nnz(), rows.get(2, 3)), ((3, 4), 4, Some(&4.0)));
        for other in [rows.clone(), rows.to_csc()] {
            assert_eq!(Sparse::try_from(&other).unwrap().tiles, sparse.tiles);
        }
    }
}
