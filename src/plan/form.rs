//! Programs that compute the entries of a matrix, where it is small enough to be stored.
//!
//! A product `A·B` is formed by multiplying the entries of B by A, so `[X, T·X, T·(T·X)]` takes two
//! products with the columns of X. Common sub-expressions are formed once. A matrix whose entries
//! are not stored is multiplied by the identity.

use super::compile::{Compiler, Scaled, Sum, add, scale};
use super::fuse::fuse;
use super::program::{Action, Program, RowRange, Side, Source, SparseRole, Term, Value};
use crate::graph::Sparse;
use crate::matrix::{Kind, Matrix};

impl Program {
    /// The program that computes the entries of `matrix`. Its input has no rows.
    ///
    /// ```
    /// use isvd_dist::matrix::{Dense, Matrix};
    /// use isvd_dist::plan::Program;
    ///
    /// let t = Matrix::dense("T", Dense::new(2, 2, vec![0.0, 1.0, 0.5, 0.5])?)?;
    /// let x = Matrix::dense("X", Dense::new(2, 3, vec![1.0; 6])?)?;
    /// let once = &t * &x;
    /// let twice = &t * &once;
    /// let program = Program::form(&Matrix::hstack(&[x, once, twice]));
    /// let steps: Vec<String> = program.steps().iter().map(ToString::to_string).collect();
    /// assert_eq!(steps, ["load X", "gemm T·v1", "gemm T·v2", "hstack [v1, v2, v3]"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn form(matrix: &Matrix) -> Program {
        let mut compiler = Compiler::default();
        let output = compiler.formed_panel(matrix);
        fuse(Program { input_rows: 0, steps: compiler.steps, output })
    }
}

impl Compiler {
    /// The entries of a matrix in one panel.
    fn formed_panel(&mut self, matrix: &Matrix) -> Value {
        self.form_if_any(matrix).unwrap_or_else(|| self.zeros(matrix))
    }

    /// The entries of a matrix in one panel, unless all of them are zero.
    fn form_if_any(&mut self, matrix: &Matrix) -> Option<Value> {
        let sum = self.form(matrix);
        (!sum.is_empty()).then(|| self.panel(&sum, matrix.shape().rows))
    }

    /// The entries of a matrix, as a sum of terms.
    fn form(&mut self, matrix: &Matrix) -> Sum {
        if let Some(sum) = self.formed.get(&matrix.identity_key()) {
            return sum.clone();
        }
        let sum = self.form_anew(matrix);
        self.formed.insert(matrix.identity_key(), sum.clone());
        sum
    }

    fn form_anew(&mut self, matrix: &Matrix) -> Sum {
        let rows = matrix.shape().rows;
        match matrix.kind() {
            Kind::Zero => Sum::new(),
            Kind::Dense { data, mask, .. } => self.stored(matrix, Source::Dense { matrix: data.clone(), mask: *mask }),
            Kind::Sparse { data, .. } => self.stored(matrix, Source::Sparse(data.clone())),
            Kind::Identity => self.stored(matrix, Source::Identity),
            Kind::Sum(left, right) => add(self.form(left), self.form(right)),
            Kind::Difference(left, right) => add(self.form(left), scale(self.form(right), -1.0)),
            Kind::Scaled(coefficient, inner) => scale(self.form(inner), *coefficient),
            Kind::Product(left, right) => {
                let Some(value) = self.form_if_any(right) else { return Sum::new() };
                self.product_of_entries(left, value)
            }
            Kind::Hstack(parts) => {
                let values = parts.iter().map(|part| self.formed_panel(part)).collect();
                vec![Term::plain(self.push(rows, Action::HStack { values }))]
            }
            Kind::Vstack(parts) => {
                let pieces = parts.iter().map(|part| {
                    let value = self.formed_panel(part);
                    RowRange { value, first_row: 0, rows: part.shape().rows }
                });
                let pieces = pieces.collect();
                vec![Term::plain(self.push(rows, Action::Arrange { pieces }))]
            }
            Kind::Rows(inner, indices) => {
                let selection = self.selection(indices, inner.shape().rows);
                let sum = self.form(inner);
                self.select(SparseRole::Gather, selection, sum)
            }
            Kind::Diagonal { .. }
            | Kind::Own { .. }
            | Kind::Ones
            | Kind::Power(..)
            | Kind::Transpose(_)
            | Kind::Columns(..)
            | Kind::Polynomial { .. } => {
                let identity = Matrix::identity(matrix.shape().columns);
                let value = self.push(matrix.shape().columns, load(&identity, Source::Identity));
                self.product_of_entries(matrix, value)
            }
        }
    }

    /// `matrix · value`, where the value need not have the columns of the input.
    fn product_of_entries(&mut self, matrix: &Matrix, value: Value) -> Sum {
        let like = std::mem::replace(&mut self.like, value);
        let sum = self.product(matrix, Side::Plain, &Scaled { value, diagonal: None });
        self.like = like;
        sum
    }

    fn stored(&mut self, matrix: &Matrix, source: Source) -> Sum {
        vec![Term::plain(self.push(matrix.shape().rows, load(matrix, source)))]
    }

    fn zeros(&mut self, matrix: &Matrix) -> Value {
        let shape = matrix.shape();
        let none = Sparse::from_triplets(shape.rows, shape.columns, Vec::new(), None);
        let none = none.expect("there is no entry that could be out of range");
        self.push(shape.rows, load(&Matrix::zero(shape.rows, shape.columns), Source::Sparse(none.into())))
    }
}

fn load(matrix: &Matrix, source: Source) -> Action {
    Action::Stored { name: matrix.to_string(), source }
}
