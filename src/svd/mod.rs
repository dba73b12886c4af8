//! The truncated SVD of a matrix M that can only be multiplied by.
//!
//! [`decompose`] finds the k largest singular triplets `Mv = σu`, `Mᵀu = σv` from products of M and
//! Mᵀ with blocks of columns. Below, M has at least as many rows as columns; a wider one is
//! replaced by its transpose. Every answer carries a [`Certificate`].
//!
//! # Methods
//!
//! | [`Method`] | computes | use it |
//! |---|---|---|
//! | [`Krylov`](Method::Krylov) | Ritz triplets in a block Krylov space | by default |
//! | [`Gram`](Method::Gram) | eigenvectors of MᵀM, formed | where the short side is a few thousand at most |
//! | [`Subspace`](Method::Subspace) | Ritz triplets in the last block alone | to repeat the paper: its Algorithm 1 |
//! | [`Auto`](Method::Auto) | Gram where that is less work and its residuals are small, else Krylov | if in doubt |
//!
//! # Block Krylov methods
//!
//! *Block Golub–Kahan bidiagonalisation* grows orthonormal bases U and V from a random block such
//! that
//!
//! ```text
//! MᵀU = V·T,   M·V = U·Tᵀ + F·C                                                  (1)
//! ```
//!
//! where F is orthonormal and orthogonal to U. A step multiplies F by Mᵀ; F joins U, and what V
//! lacks of the images joins V. M times these new columns gives the next F. *Block Lanczos on MᵀM*
//! grows V alone:
//!
//! ```text
//! MᵀM·V = V·T + F·C                                                              (2)
//! ```
//!
//! with T symmetric and block tridiagonal. It takes half of the memory and of the
//! orthogonalisation, but the rounding errors of products are relative to σ₁². It is used for
//! tolerances from 1e-3; a fallback to (1) follows where the measured residuals show that rounding
//! was too large, as PRIMME's two-stage method does (Wu, Romero & Stathopoulos 2017).
//!
//! With the SVD `T = Y·Σ·Xᵀ` of (1), or the eigenvalues `T = Y·Σ²·Yᵀ` of (2), the Ritz triplets are
//!
//! ```text
//! σ = Σᵢᵢ,   v = V·y,   u = U·x, or u = M·v/σ for (2)                            (3)
//! ```
//!
//! Their residuals follow from small matrices, because F is orthonormal:
//!
//! ```text
//! ‖Mv − σu‖ = ‖C·y‖ for (1),   ‖Mᵀu − σv‖ = ‖C·y‖/σ for (2)                      (4)
//! ```
//!
//! These are estimates: they hold as far as the bases are orthonormal. Loss of orthogonality is
//! monitored, and blocks are orthogonalised again where it matters (Simon 1984; Larsen 1998; module
//! `orthogonalize`).
//!
//! A basis that has become too large is rotated into its first Ritz vectors, of which T is
//! diagonal, and expanded further by the same F (thick restart: Baglama & Reichel 2005; Hernández,
//! Román & Tomás 2008).
//!
//! Where approximate singular vectors are given ([`Options::start`]), they are the first block of
//! (2). After one step most of them have converged. The following steps multiply only those
//! directions of F that hold residuals above the tolerance; the others stay in F, and (2) and (4)
//! hold all the same.
//!
//! A [`Surrogate`] N that is less work to multiply by takes the place of M in (2). The answer does
//! not depend on its error, since triplets are found again with M itself (6).
//!
//! # Subspace iteration
//!
//! ```text
//! Q ← orth(M·Q),  Q ← orth(Mᵀ·Q),  …;   B = QᵀM = U_B·Σ·Vᵀ,   u = Q·U_B          (5)
//! ```
//!
//! # Certificate
//!
//! After (2), Rayleigh–Ritz with M itself in the span of the right vectors X solves
//!
//! ```text
//! (M·X)ᵀ(M·X)·z = σ²·(XᵀX)·z,   v = X·z,   u = M·v/σ                             (6)
//! ```
//!
//! and ‖Mᵀu − σv‖ is measured. `Mv = σu` holds by construction up to ε·σ₁; where that is not far
//! below the tolerance it is measured, too. After (1) and (5) both residuals are measured. Values
//! that are rounding errors of σ₁ are dropped. A search with a random block shows that no larger
//! singular value is missing (module `completeness`).
//!
//! # References
//!
//! - J. Baglama, L. Reichel, "Augmented implicitly restarted Lanczos bidiagonalization methods",
//!   SIAM J. Sci. Comput. 27, 2005.
//! - G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th edition, 2013: sections 8.6, 10.3 and
//!   10.4.
//! - N. Halko, P. G. Martinsson, J. A. Tropp, "Finding structure with randomness", SIAM Review 53,
//!   2011.
//! - V. Hernández, J. E. Román, A. Tomás, "A robust and efficient parallel SVD solver based on
//!   restarted Lanczos bidiagonalization", ETNA 31, 2008.
//! - R. M. Larsen, "Lanczos bidiagonalization with partial reorthogonalization", DAIMI PB-357,
//!   1998.
//! - H. D. Simon, "The Lanczos algorithm with partial reorthogonalization", Math. Comp. 42, 1984.
//! - L. Wu, E. Romero, A. Stathopoulos, "PRIMME_SVDS: a high-performance preconditioned SVD
//!   solver", SIAM J. Sci. Comput. 39, 2017.
//!
//! # Example
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

mod basis;
mod certificate;
mod completeness;
mod demand;
mod driver;
mod factorization;
mod gram;
mod keep;
mod operator;
mod options;
mod orthogonalize;
mod planned;
mod prepared;
mod rayleigh;
mod run;
mod scale;
mod search;
mod small;
mod solve;
mod start;
mod stopping;
mod subspace;
mod triplets;
mod tuning;

pub use certificate::{Certificate, ConvergenceCheck, Evidence, Verdict, worst_residual};
pub use completeness::{Completeness, CompletenessCheck};
pub use keep::Keep;
pub use operator::Surrogate;
pub use options::{DEFAULT_ITERATIONS, DEFAULT_OVERSAMPLE_LIMIT, Method, Options, SvdError};
pub use planned::{Planned, observe_plans, show_plan};
pub use prepared::{Prepared, TRUSTED_RESIDUAL};
pub use run::{Progress, decompose, decompose_on, decompose_sharded, decompose_with};
pub use solve::{Solution, solve_on};
pub use triplets::{Svd, Triplets};
