//! The planner: compiles a symbolic matrix M into a program of steps.
//!
//! [`Program::compile`] turns a symbolic [`Matrix`](crate::matrix::Matrix) into the steps that
//! multiply a panel of columns by it, or by its transpose:
//!
//! - transposes are pushed down to the leaves,
//! - scalars and diagonals are folded into adjacent products,
//! - common sub-products are computed once,
//! - polynomials are evaluated by Horner's rule,
//! - products of the same stored matrix are merged where algebra allows.
//!
//! [`Effort`] selects which of these rewrites are applied. [`Program::form`] compiles the other
//! kind of program: it computes the entries of a matrix that is small enough to be stored.
//!
//! [`cost`] estimates time, memory and network traffic of a program. [`Layouts`] assigns rows to
//! workers, and [`needs`] counts the rows that a process needs from the others.
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

mod algebra;
mod compile;
pub mod cost;
pub(crate) mod count;
mod display;
mod effort;
mod expression;
mod form;
pub mod forming;
mod fuse;
mod layout;
pub mod needs;
mod program;
mod runs;

pub use count::Count;
pub use effort::Effort;
pub use expression::Rewritten;
pub use layout::{Layout, Layouts, TileWeight};
pub use program::{
    Access, Action, Diagonal, Epilogue, Leaf, Program, RowRange, Side, Source, SparseRole, Step, Term, Value,
};
pub use runs::Runs;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::graph::Sparse;
    use crate::matrix::{Dense, Matrix};

    /// A directed ring of four nodes with a chord.
    fn ring() -> Matrix {
        let edges = vec![(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)];
        Matrix::sparse("A", Arc::new(Sparse::from_triplets(4, 4, edges, None).unwrap()))
    }

    fn diagonal(name: &str) -> Matrix {
        Matrix::diagonal(name, vec![0.5, 1.0, 1.0, 1.0]).unwrap()
    }

    fn text(matrix: &Matrix, side: Side) -> String {
        Program::compile(matrix, side).to_string()
    }

    #[test]
    fn the_embedding_matrix_is_one_product_a_power() {
        let a = ring();
        let t = &diagonal("d") * &a;
        let m = t.polynomial(&[0.0, 0.5, 0.25, 0.25]) - (Matrix::ones(4, 4) - &a) * 0.5;
        // A·G serves the first step of the walk and the edges in the last term.
        let plain = "v1 = spmm A·G\n\
                     v2 = add 0.25·G + 0.25·d·v1\n\
                     v3 = spmm d·A·v2 + 0.5·G\n\
                     v4 = spmm d·A·v3 + 0.5·v1\n\
                     v5 = column-sums 1ᵀ·G\n\
                     v6 = rank-one -0.5·1·v5 + v4\n\
                     answer v6";
        assert_eq!(text(&m, Side::Plain), plain);
        // Aᵀ·G joins the last step of the walk.
        let transposed = "v1 = spmm 0.25·d·Aᵀ·d·G + 0.25·d·G\n\
                          v2 = spmm d·Aᵀ·v1 + (0.5 + 0.5·d)·G\n\
                          v3 = spmm Aᵀ·v2\n\
                          v4 = column-sums 1ᵀ·G\n\
                          v5 = rank-one -0.5·1·v4 + v3\n\
                          answer v5";
        assert_eq!(text(&m, Side::Transposed), transposed);
    }

    #[test]
    fn a_shared_product_is_computed_once() {
        let a = ring();
        let squared = &a * &a;
        assert_eq!(Program::compile(&(&squared + &squared * 2.0), Side::Plain).steps().len(), 2);
        assert_eq!(
            text(&(a.pow(2) + a.pow(3)), Side::Plain),
            "v1 = spmm A·G\nv2 = spmm A·v1\nv3 = spmm A·v2 + v2\nanswer v3"
        );
        let mut doubled = a;
        for _ in 0..200 {
            doubled = &doubled + &doubled;
        }
        assert_eq!(Program::compile(&doubled, Side::Plain).steps().len(), 1, "coefficients add up");
    }

    #[test]
    fn a_diagonal_is_folded_into_the_adjacent_product() {
        let (a, d, e) = (ring(), diagonal("d"), diagonal("e"));
        assert_eq!(text(&(&d * &a * &e * 2.0), Side::Plain), "v1 = spmm 2·d·A·e·G\nanswer v1");
        assert_eq!(text(&(&d * &a * &e * 2.0), Side::Transposed), "v1 = spmm 2·e·Aᵀ·d·G\nanswer v1");
        assert_eq!(text(&(&d * &a * &d * &a), Side::Plain), "v1 = spmm d·A·G\nv2 = spmm d·A·v1\nanswer v2");
    }

    /// A value with a diagonal and without one: a single sum merges both terms; two steps must not
    /// change the value for each other.
    #[test]
    fn a_product_that_is_read_with_and_without_a_diagonal_is_not_scaled() {
        let (a, d) = (ring(), diagonal("d"));
        assert_eq!(text(&(&d * &a + &a), Side::Plain), "v1 = spmm (d + 1)·A·G\nanswer v1");
        let apart = "v1 = spmm A·G\nv2 = scale d·v1\nv3 = stack v1[0..4]; v2[0..4]\nanswer v3";
        assert_eq!(text(&Matrix::vstack(&[a.clone(), &d * &a]), Side::Plain), apart);
    }

    #[test]
    fn trivial_matrices_need_no_product() {
        assert_eq!(text(&Matrix::identity(4), Side::Plain), "answer G");
        assert_eq!(text(&(Matrix::identity(4) * 2.0), Side::Plain), "v1 = scale 2·G\nanswer v1");
        assert_eq!(text(&Matrix::zero(4, 4), Side::Plain), "v1 = add 0\nanswer v1");
        assert_eq!(text(&(ring() * 0.0), Side::Plain), "v1 = add 0\nanswer v1");
        assert_eq!(text(&(ring() - ring()).pow(0), Side::Plain), "answer G");
    }

    #[test]
    fn steps_are_counted() {
        let x = Matrix::dense("X", Dense::new(4, 3, vec![1.0; 12]).unwrap()).unwrap();
        let program = Program::compile(&(ring() * x * 2.0), Side::Plain);
        let count = program.count(8);
        // X·G, then 2·A·(X·G): five non-zeros, and a scaling of four rows.
        assert_eq!(count.flops, 2 * 12 * 8 + 2 * 5 * 8 + 4 * 8);
        assert_eq!(count.temporaries, 1);
        assert_eq!(count.temporary_bytes, 4 * 8 * 4);
        let panels = (3 + 4) * 32 + (4 + 4) * 32;
        let Action::Sparse { matrix, .. } = &program.steps()[1].action else { unreachable!() };
        assert_eq!(count.bytes, 12 * 4 + matrix.bytes() as u64 + panels);
    }
}
