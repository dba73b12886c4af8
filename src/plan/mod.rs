//! How to multiply by M: the program.
//!
//! [`Program::compile`] turns a symbolic [`Matrix`](crate::matrix::Matrix) into the list of steps that multiplies a panel
//! of columns by it, or by its transpose. Transposes end up at the leaves, scalars and diagonals are folded into the
//! products next to them, a sub-product that is used twice is computed once, and a polynomial runs by Horner's rule.
//! Every step knows what it costs ([`Program::count`]).
//!
//! ```
//! use isvd_dist::matrix::{Dense, Matrix};
//! use isvd_dist::plan::{Program, Side};
//!
//! let t = Matrix::dense("T", Dense::new(2, 2, vec![0.0, 1.0, 0.5, 0.5])?)?;
//! let program = Program::compile(&t.polynomial(&[0.0, 0.5, 0.3, 0.2]), Side::Plain);
//! assert_eq!(program.steps().len(), 3, "Horner's rule: one product a power");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compile;
mod count;
mod display;
mod fuse;
mod program;

pub use count::Count;
pub use program::{Action, Diagonal, Epilogue, Piece, Program, Side, SparseRole, Step, Term, Value};
