//! Matrices stated as text.
//!
//! `walk(S, 10) @ diag(sqrt(degree)) - 0.02 * (J - A)` means what the same expression means in
//! Rust: every operator and function calls the `try_` builder of [`Matrix`] that the Rust operator
//! calls, in the same order, so the matrix is the same down to the bits of whatever is computed
//! from it. What is written twice becomes one node.
//!
//! | text | meaning |
//! |---|---|
//! | `a + b`, `a - b`, `-a` | sum, difference, negative |
//! | `2 * a`, `a * 2` | a multiple; numbers among themselves have `+ - * / ^` |
//! | `a @ b` | the product |
//! | `a^3`, `a.T` | a power, the transpose; they bind tightest, then the minus of one operand, `* / @`, `+ -` |
//! | `[a, b]`, `[a; b]` | side by side, one above the other |
//! | `rows(M, set)`, `cols(M, set)` | the rows or columns of a named set, or of a list `[0, 2, 5]` |
//! | `walk(T, C)` | `Σ_q (C − q + 1) / Σ_j j · T^q`, q from 1 to C |
//! | `diag(v)`, `sqrt(v)`, `inv(v)` | a diagonal matrix; vectors entry by entry |
//! | `center(X)` | X less the mean of every column |
//! | `dropout(M, rate)`, `dropout(M, rate, copy)` | M with entries dropped at random |
//! | `I(n)`, `J(r, c)` | the identity, all ones |
//!
//! A [`Formula`] is a text that was read; what its names stand for is asked of [`Names`] when it is
//! evaluated. A text that is wrong is refused with the place:
//!
//! ```
//! use isvd_dist::matrix::text::Formula;
//!
//! assert!(Formula::parse("0.5 * (J - A)").is_ok());
//! let error = Formula::parse("0.5 * (J - A").unwrap_err();
//! assert_eq!(error.to_string(), "\
//! this `(` is never closed
//!   |
//!   | 0.5 * (J - A
//!   |       ^
//!   = help: add `)`");
//! ```

mod caret;
mod error;
mod evaluate;
mod function;
mod hint;
mod parse;
mod syntax;
mod token;
mod value;

use std::fmt;
use std::sync::Arc;

use super::Matrix;
use error::Fault;
use evaluate::Evaluator;

pub use error::{Found, Problem, TextError};
pub use syntax::{Expression, Form, Operator};
pub use value::{Names, Refusal, Value, Vector};

/// The longest text that is read, in bytes.
pub const MOST_BYTES: usize = 10_000;
/// The most forms inside each other: reading, planning and dropping them recurses.
pub const MOST_DEPTH: usize = 100;
/// The highest power, and the longest walk.
pub const MOST_POWER: usize = 1000;
/// The most products with leaves that a multiplication may take, written out: powers of powers add
/// up to a lifetime.
pub const MOST_PRODUCTS: u64 = 100_000;
/// The most rows or columns that can be asked for by number.
const MOST_ROWS: usize = u32::MAX as usize;
/// The number of the last copy that a dropout can be told to be.
const MOST_COPIES: usize = 4095;

/// A text that states a matrix, read and not yet evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Formula {
    text: Arc<str>,
    root: Expression,
}

impl Formula {
    /// Reads a text.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let shared: Arc<str> = text.into();
        match parse::parse(text) {
            Ok(root) => Ok(Self { text: shared, root }),
            Err(fault) => Err(TextError::new(&shared, fault)),
        }
    }

    /// What the text says.
    pub fn expression(&self) -> &Expression {
        &self.root
    }

    /// The matrix, with what its names stand for.
    pub fn evaluate(&self, names: &mut dyn Names) -> Result<Matrix, TextError> {
        let fault = |fault| TextError::new(&self.text, fault);
        let matrix = Evaluator::new(names).matrix(&self.root).map_err(fault)?;
        match matrix.written_products() {
            0..=MOST_PRODUCTS => Ok(matrix),
            products => Err(fault(Fault::new(self.root.span.clone(), Problem::TooManyProducts { products }))),
        }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
