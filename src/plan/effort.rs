//! Levels of optimisation.

use super::algebra;
use super::compile;
use super::fuse::fuse;
use super::program::{Program, Side};
use crate::matrix::Matrix;

/// Which rewrites a program goes through. All give the same result up to rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Effort {
    /// None: a common factor is multiplied every time it occurs, and a polynomial computes each
    /// power from the beginning. The number of steps can grow exponentially; for comparison only.
    Written,
    /// Common sub-products are computed once, and polynomials use Horner's rule.
    Shared,
    /// As [`Shared`](Effort::Shared), and products of the same matrix are merged where algebra
    /// allows.
    #[default]
    Planned,
}

impl Program {
    /// The program that multiplies by `matrix`, or by its transpose, with the fewest sparse
    /// products that the planner finds.
    pub fn compile(matrix: &Matrix, side: Side) -> Program {
        Self::compile_with(matrix, side, Effort::default())
    }

    /// The program after the rewrites of `effort`.
    ///
    /// ```
    /// use isvd_dist::graph::Sparse;
    /// use isvd_dist::matrix::Matrix;
    /// use isvd_dist::plan::{Effort, Program, Side};
    /// use std::sync::Arc;
    ///
    /// let a = Matrix::sparse("A", Arc::new(Sparse::from_triplets(2, 2, vec![(0, 1)], None)?));
    /// let b = Matrix::sparse("B", Arc::new(Sparse::from_triplets(2, 2, vec![(1, 1)], None)?));
    /// let square = &a * &a + &a * &b + &b * &a + &b * &b;
    /// let program = |effort| Program::compile_with(&square, Side::Plain, effort);
    /// let products = |effort| program(effort).sparse_products();
    /// assert_eq!([Effort::Written, Effort::Shared, Effort::Planned].map(products), [8, 6, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compile_with(matrix: &Matrix, side: Side, effort: Effort) -> Program {
        let (program, diagonals) = compile::steps(matrix, side, effort == Effort::Written);
        match effort {
            Effort::Written | Effort::Shared => fuse(program),
            Effort::Planned => algebra::plan(&program, &diagonals),
        }
    }
}
