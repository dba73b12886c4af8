//! What most programs use: `use isvd_dist::prelude::*;`.
//!
//! ```
//! use isvd_dist::prelude::*;
//! use std::sync::Arc;
//!
//! let ring = Sparse::symmetric_from_pairs(6, (0..6).map(|i| (i, (i + 1) % 6)).collect(), None)?;
//! let a = Matrix::sparse("A", Arc::new(ring));
//! let svd = decompose(&a, &SvdOptions::of_rank(1), Cluster::threads(1))?;
//! assert!((svd.singular_values[0] - 2.0).abs() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "experiment")]
pub use crate::config::Experiment;
pub use crate::dataset::{Dataset, EdgeList, Source};
pub use crate::engine::{Cluster, Monitor};
pub use crate::evaluate::Metric;
#[cfg(feature = "experiment")]
pub use crate::experiment::{Event, Found, Observer, Outcome, RunError, Settings};
pub use crate::graph::{Graph, Import, Sparse};
pub use crate::matrix::{Dense, Matrix, Shape};
pub use crate::model::embedding::{Embedding, Normalize, Options as EmbeddingOptions, Walks, embed, embed_matrix};
pub use crate::svd::{Certificate, Options as SvdOptions, Svd, SvdError, decompose};
