//! Features of nodes as the input of a classifier: principal components, and concatenation with
//! embeddings.
//!
//! The components are the right singular vectors of `X − 1·meanᵀ`. The centring is a rank-one term
//! of the expression, so sparse features stay sparse.

use std::sync::Arc;

use crate::dataset::Dataset;
use crate::engine::{Cluster, EngineError, Monitor, product};
use crate::graph::{GraphError, Sparse};
use crate::matrix::{Dense, Kind, Matrix, MatrixError, Shape};
use crate::plan::Side;
use crate::svd::{self, Certificate, Method, Prepared, Progress, SvdError};

/// Differences between rows of less than this, relative to their mean, are rounding.
const ROUNDING: f64 = 16.0 * f32::EPSILON as f64;

/// Why features cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FeatureError {
    /// The dataset has no features.
    #[error("the nodes carry no features")]
    None,
    /// All rows are equal, so the centred matrix is zero.
    #[error("the features of all nodes are the same: there is nothing to tell them apart by")]
    Constant,
    /// The model was trained on another number of features.
    #[error("the nodes carry {found} features, and the model was made for {expected}: give features of the same kind")]
    OtherColumns {
        /// Features of the dataset.
        found: usize,
        /// Features of the model.
        expected: usize,
    },
    /// The sparse features are not a valid matrix.
    #[error("the sparse features make no matrix")]
    Sparse(#[from] GraphError),
    /// The matrix cannot be stated.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The decomposition failed.
    #[error(transparent)]
    Svd(#[from] SvdError),
    /// The workers failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The features of a dataset as a matrix, one row a node; sparse ones stay sparse.
pub fn of_dataset(dataset: &Dataset) -> Result<Matrix, FeatureError> {
    let (nodes, columns) = (dataset.graph.nodes(), dataset.feature_count);
    if let Some(dense) = &dataset.features {
        return Ok(Matrix::dense("X", Dense::new(nodes, columns, dense.clone())?)?);
    }
    let sparse = dataset.sparse_features.as_ref().ok_or(FeatureError::None)?;
    let rows = sparse.starts.windows(2).enumerate();
    let row_of_entry = rows.flat_map(|(row, bounds)| std::iter::repeat_n(row as u32, bounds[1] - bounds[0]));
    let places = row_of_entry.zip(sparse.columns.iter().copied()).collect();
    let values = Some(sparse.values.clone());
    let matrix = Sparse::from_triplets(nodes, columns, places, values)?;
    Ok(Matrix::sparse("X", Arc::new(matrix)))
}

/// `[X, L, R]`: features and the vectors of an embedding, side by side.
pub fn with_embedding(features: &Matrix, (left, right): &(Dense, Dense)) -> Result<Matrix, FeatureError> {
    let (left, right) = (Matrix::dense("L", left.clone())?, Matrix::dense("R", right.clone())?);
    Ok(Matrix::try_hstack(&[features.clone(), left, right])?)
}

/// A projection of features: subtract the mean, multiply by the directions.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduction {
    /// The mean of every column.
    pub mean: Dense,
    /// One column a direction.
    pub directions: Arc<Dense>,
}

/// A reduction, and the decomposition that it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduced {
    /// The projection.
    pub reduction: Reduction,
    /// The singular value of every direction.
    pub singular_values: Vec<f64>,
    /// Their certificate.
    pub certificate: Certificate,
    /// Iterations of the solver.
    pub iterations: usize,
    /// Columns multiplied by the features or their transpose.
    pub operator_columns: usize,
}

/// Finds the directions in which features differ most, at most `options.rank` of them.
pub fn reduce(
    features: &Matrix,
    options: &svd::Options,
    cluster: Cluster,
    watch: Monitor<Progress>,
) -> Result<Reduced, FeatureError> {
    let mean = column_means(features, cluster)?;
    let centred = centred(features, &mean)?;
    let rank = options.rank.min(features.shape().smaller_side());
    let mut options = svd::Options { rank, ..options.clone() };
    // The last of many components are next to nothing, and their residuals relative to that are
    // large: no reason to iterate where one pass has found all that matters.
    if options.method == Method::Auto && Prepared::new(&centred, &options, cluster)?.is_gram() {
        options.method = Method::Gram;
    }
    let svd = svd::decompose_with(&centred, None, &options, cluster, watch)?;
    // Subtracting leaves rounding of what was there before.
    let squares = mean.data().iter().map(|&entry| f64::from(entry).powi(2)).sum::<f64>() * features.shape().rows as f64;
    if svd.singular_values.first().is_none_or(|largest| *largest <= ROUNDING * squares.sqrt()) {
        return Err(FeatureError::Constant);
    }
    Ok(Reduced {
        reduction: Reduction { mean, directions: Arc::new(svd.right) },
        singular_values: svd.singular_values,
        certificate: svd.certificate,
        iterations: svd.iterations,
        operator_columns: svd.operator_columns,
    })
}

impl Reduction {
    /// `(X − 1·meanᵀ)·V`.
    pub fn apply(&self, features: &Matrix, cluster: Cluster) -> Result<Dense, FeatureError> {
        let (found, expected) = (features.shape().columns, self.mean.columns());
        if found != expected {
            return Err(FeatureError::OtherColumns { found, expected });
        }
        Ok(product(&centred(features, &self.mean)?, Side::Plain, &self.directions, cluster)?)
    }
}

/// A matrix less the mean of every column.
pub fn center(matrix: &Matrix, cluster: Cluster) -> Result<Matrix, FeatureError> {
    Ok(centred(matrix, &column_means(matrix, cluster)?)?)
}

/// `X − 1·meanᵀ`.
fn centred(features: &Matrix, mean: &Dense) -> Result<Matrix, MatrixError> {
    let mean = Matrix::ones(features.shape().rows, 1).try_multiply(&Matrix::dense("meanᵀ", mean.clone())?)?;
    features.try_subtract(&mean)
}

/// The mean of every column, as a row.
fn column_means(features: &Matrix, cluster: Cluster) -> Result<Dense, FeatureError> {
    let rows = features.shape().rows.max(1) as f64;
    let means = column_sums(features, cluster)?.into_iter().map(|sum| (sum / rows) as f32).collect();
    Ok(Dense::new(1, features.shape().columns, means)?)
}

/// The sum of every column. What is stored is summed in f64: of 32-bit sums of a million numbers,
/// three digits are right.
fn column_sums(features: &Matrix, cluster: Cluster) -> Result<Vec<f64>, FeatureError> {
    let Shape { rows, columns } = features.shape();
    let mut sums = vec![0.0; columns];
    match features.kind() {
        Kind::Sparse { data, .. } => data.for_each(|_, column, value| sums[column] += f64::from(value)),
        Kind::Dense { data, mask: None, .. } => {
            for row in data.data().chunks_exact(columns.max(1)) {
                sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
            }
        }
        Kind::Hstack(parts) => {
            let parts: Result<Vec<_>, _> = parts.iter().map(|part| column_sums(part, cluster)).collect();
            sums = parts?.concat();
        }
        _ => {
            let ones = Arc::new(Dense::new(rows, 1, vec![1.0; rows])?);
            let product = product(features, Side::Transposed, &ones, cluster)?;
            sums = product.data().iter().map(|&sum| f64::from(sum)).collect();
        }
    }
    Ok(sums)
}
