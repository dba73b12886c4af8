//! The algorithm: the truncated SVD of a matrix that can only be multiplied by.
//!
//! [`decompose`] finds the k largest singular triplets from what M and Mᵀ make of a random block in turn. Every answer carries its
//! [`Certificate`]: ‖Mv − σu‖ or ‖Mᵀu − σv‖ of every triplet, measured, relative to its own σ. (The other one is zero by construction
//! and says nothing.)
//!
//! [`Method::Krylov`] keeps every block on the way, and M is projected on all of them: it needs a fraction of the products of
//! [`Method::Subspace`], the iteration of the paper (its Algorithm 1), for the same residuals. It stops when the residuals are
//! below the tolerance, or after as many blocks as graphs commonly need.
//!
//! [`Options::start`] gives vectors of a matrix that is nearly this one: rounds from there multiply by what has changed and little
//! more.
//!
//! Where one side is short, the Gram matrix of that side gives every triplet in one pass ([`Method::Gram`]). [`solve_on`] goes on to the least-norm solution of `M·W ≈ T`.
//!
//! ```
//! use isvd_dist::engine::Cluster;
//! use isvd_dist::matrix::{Dense, Matrix};
//! use isvd_dist::svd::{Options, decompose};
//!
//! let m = Matrix::dense("X", Dense::new(3, 2, vec![3.0, 0.0, 0.0, 2.0, 0.0, 0.0])?)?;
//! let svd = decompose(&m, &Options::of_rank(2), Cluster::threads(2))?;
//! assert!((svd.singular_values[0] - 3.0).abs() < 1e-5);
//! assert!(svd.certificate.worst() < 1e-5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod certificate;
mod complete;
mod completeness;
mod demand;
mod gram;
mod keep;
mod krylov;
mod options;
mod orthonormal;
mod prepared;
mod run;
mod scale;
mod solve;
mod subspace;
mod warm;
mod wide;

pub use certificate::{Certificate, Look, worst_residual};
pub use completeness::{Completeness, CompletenessCheck};
pub use keep::Keep;
pub use options::{DEFAULT_ITERATIONS, DEFAULT_OVERSAMPLE_LIMIT, Method, Options, Orthonormalize, SvdError};
pub use prepared::{Beside, Near, Prepared, TRUSTED_RESIDUAL};
pub use run::{Progress, Svd, Triplets, decompose, decompose_beside, decompose_on, decompose_watched};
pub use solve::{Solution, solve_on};
