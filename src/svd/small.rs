//! Small matrices in f64, and their products with panels.

use faer::{Mat, MatRef};

use super::options::SvdError;
use crate::engine::{Session, Shard};
use crate::kernel::factor::FactorError;
use crate::kernel::largest::largest_eigen;
use crate::kernel::small::{Eigen, SmallSvd, small_svd, symmetric_eigen};

/// Eigenvalues of a symmetric matrix, from the largest down, and one column of vectors for each.
pub(super) struct Eigenpairs {
    pub(super) values: Vec<f64>,
    pub(super) vectors: Mat<f64>,
}

/// A matrix whose entries are given row after row.
pub(super) fn from_rows(entries: &[f64], rows: usize, columns: usize) -> Mat<f64> {
    MatRef::from_row_major_slice(entries, rows, columns).to_owned()
}

/// The entries row after row.
pub(super) fn to_rows(small: MatRef<'_, f64>) -> Vec<f64> {
    (0..small.nrows()).flat_map(|row| (0..small.ncols()).map(move |column| small[(row, column)])).collect()
}

/// All eigenpairs.
pub(super) fn eigen(symmetric: MatRef<'_, f64>) -> Result<Eigenpairs, FactorError> {
    let order = symmetric.nrows();
    Ok(eigenpairs(symmetric_eigen(&to_rows(symmetric), order)?, order))
}

/// The largest eigenpairs.
pub(super) fn largest(symmetric: MatRef<'_, f64>, count: usize) -> Result<Eigenpairs, FactorError> {
    let order = symmetric.nrows();
    Ok(eigenpairs(largest_eigen(&to_rows(symmetric), order, count)?, order))
}

fn eigenpairs(Eigen { values, vectors }: Eigen, order: usize) -> Eigenpairs {
    let vectors = from_rows(&vectors, order, values.len());
    Eigenpairs { values, vectors }
}

/// Left vectors, values from the largest down, right vectors.
pub(super) type ThinSvd = (Mat<f64>, Vec<f64>, Mat<f64>);

/// The thin SVD.
pub(super) fn svd(small: MatRef<'_, f64>) -> Result<ThinSvd, FactorError> {
    let (rows, columns) = small.shape();
    let SmallSvd { left, values, right } = small_svd(&to_rows(small), rows, columns)?;
    let count = values.len();
    Ok((from_rows(&left, rows, count), values, from_rows(&right, columns, count)))
}

/// The squared length of every column.
pub(super) fn column_squares(small: MatRef<'_, f64>) -> Vec<f64> {
    small.col_iter().map(|column| column.squared_norm_l2()).collect()
}

/// `[Y₁ Y₂ …]·small`.
pub(super) fn combine(session: &mut Session<'_>, panels: &[&Shard], small: MatRef<'_, f64>) -> Result<Shard, SvdError> {
    Ok(match panels {
        [panel] => session.times_small(panel, &rounded(small), small.ncols())?,
        _ => session.blocks_times_small(panels, &rounded(small), small.ncols())?,
    })
}

/// The entries row after row, in the precision of panels.
pub(super) fn rounded(small: MatRef<'_, f64>) -> Vec<f32> {
    to_rows(small).into_iter().map(|entry| entry as f32).collect()
}

/// The form of a matrix in checkpoints and messages.
pub(super) mod stored {
    use faer::Mat;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::svd) fn serialize<S: Serializer>(small: &Mat<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        (small.nrows(), small.ncols(), super::to_rows(small.as_ref())).serialize(serializer)
    }

    pub(in crate::svd) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mat<f64>, D::Error> {
        let (rows, columns, entries) = <(usize, usize, Vec<f64>)>::deserialize(deserializer)?;
        match rows.checked_mul(columns) == Some(entries.len()) {
            true => Ok(super::from_rows(&entries, rows, columns)),
            false => Err(serde::de::Error::custom("a matrix of another size")),
        }
    }
}
