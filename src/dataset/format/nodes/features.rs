use std::path::Path;

use crate::dataset::SparseFeatures;
use crate::dataset::format::input::Input;
use crate::dataset::format::{Format, FormatError, npy, npz, text};

/// Features as a file has them: one row a node.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Features {
    /// Every value.
    Dense {
        /// How many rows there are.
        rows: usize,
        /// How many features each has.
        columns: usize,
        /// The values, row after row.
        values: Vec<f32>,
    },
    /// Those values that are not zero.
    Sparse(SparseFeatures),
}

impl Features {
    /// How many nodes have features.
    pub fn rows(&self) -> usize {
        match self {
            Self::Dense { rows, .. } => *rows,
            Self::Sparse(features) => features.rows,
        }
    }
}

/// Reads features: a numpy matrix, a scipy matrix (which stays sparse), or lines of numbers with
/// commas, semicolons, tabs or blanks between them, plain or gzip.
///
/// ```
/// use isvd_dist::dataset::format::{Features, read_features};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("features.csv");
/// std::fs::write(&path, "0.5,1\n-2,3e-1\n")?;
/// let values = vec![0.5, 1.0, -2.0, 0.3];
/// assert_eq!(read_features(&path)?, Features::Dense { rows: 2, columns: 2, values });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_features(path: &Path) -> Result<Features, FormatError> {
    let input = Input::open(path)?;
    match input.format() {
        Format::NumpyPairs => {
            let array = npy::read_array(input)?;
            let &[rows, columns] = &array.shape[..] else {
                let found = format!("an array of shape {:?}", array.shape);
                let remedy = "save a matrix, of shape [nodes, features]";
                return Err(FormatError::content(path, found, "a row of features for each node", remedy));
            };
            Ok(Features::Dense { rows, columns, values: array.floats()? })
        }
        Format::ScipySparse => npz::read_features(input).map(Features::Sparse),
        Format::MatrixMarket => {
            let remedy = "save it with `scipy.sparse.save_npz`";
            Err(FormatError::content(path, "a Matrix Market file", "features as .npy, .npz or text", remedy))
        }
        Format::Text => {
            let text::Table { columns, values, reserved } = text::read_separated(input)?;
            reserved.keep();
            Ok(Features::Dense { rows: values.len() / columns.max(1), columns, values })
        }
    }
}
