//! Dense matrices from and to those of `faer`, and of `ndarray` where the library is built with
//! that feature.

use faer::{Mat, MatRef};

use super::Dense;

impl Dense {
    /// The same entries as a matrix of `faer`, without a copy.
    ///
    /// ```
    /// use isvd_dist::matrix::Dense;
    /// let x = Dense::new(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// assert_eq!(x.as_faer()[(1, 0)], 4.0);
    /// assert_eq!(Dense::from(x.as_faer().transpose()), x.transposed());
    /// # Ok::<(), isvd_dist::matrix::MatrixError>(())
    /// ```
    ///
    /// # Panics
    /// If only the shape is known.
    pub fn as_faer(&self) -> MatRef<'_, f32> {
        MatRef::from_row_major_slice(&self.data, self.rows, self.columns)
    }
}

impl From<MatRef<'_, f32>> for Dense {
    fn from(matrix: MatRef<'_, f32>) -> Self {
        let (rows, columns) = (matrix.nrows(), matrix.ncols());
        let data = (0..rows).flat_map(|row| (0..columns).map(move |column| matrix[(row, column)])).collect();
        Self { rows, columns, data }
    }
}

impl From<&Mat<f32>> for Dense {
    fn from(matrix: &Mat<f32>) -> Self {
        matrix.as_ref().into()
    }
}

impl From<&Dense> for Mat<f32> {
    fn from(matrix: &Dense) -> Self {
        matrix.as_faer().to_owned()
    }
}

#[cfg(feature = "ndarray")]
impl From<ndarray::ArrayView2<'_, f32>> for Dense {
    fn from(matrix: ndarray::ArrayView2<'_, f32>) -> Self {
        let (rows, columns) = matrix.dim();
        Self { rows, columns, data: matrix.iter().copied().collect() }
    }
}

#[cfg(feature = "ndarray")]
impl From<Dense> for ndarray::Array2<f32> {
    /// # Panics
    /// If only the shape is known.
    fn from(matrix: Dense) -> Self {
        let shape = (matrix.rows, matrix.columns);
        ndarray::Array2::from_shape_vec(shape, matrix.data).expect("the shape of a matrix is that of its entries")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_come_back_as_they_went() {
        let x = Dense::new(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(Dense::from(&Mat::from(&x)), x);
        let empty = Dense::new(0, 3, Vec::new()).unwrap();
        assert_eq!(Dense::from(empty.as_faer()), empty);
        #[cfg(feature = "ndarray")]
        assert_eq!(Dense::from(ndarray::Array2::from(x.clone()).view()), x);
    }
}
