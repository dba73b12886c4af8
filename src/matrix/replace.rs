//! Parts of an expression, visited and replaced.

use std::collections::HashMap;

use super::{Kind, Matrix};

impl Matrix {
    /// Calls `f` for every matrix that this one is made of, from the left.
    pub fn for_each_part(&self, mut f: impl FnMut(&Matrix)) {
        match self.kind() {
            Kind::Sum(left, right) | Kind::Difference(left, right) | Kind::Product(left, right) => {
                f(left);
                f(right);
            }
            Kind::Scaled(_, inner)
            | Kind::Power(inner, _)
            | Kind::Transpose(inner)
            | Kind::Rows(inner, _)
            | Kind::Columns(inner, _)
            | Kind::Polynomial { base: inner, .. } => f(inner),
            Kind::Hstack(parts) | Kind::Vstack(parts) => parts.iter().for_each(f),
            Kind::Sparse { .. } | Kind::Dense { .. } | Kind::Diagonal { .. } | Kind::Own { .. } => {}
            Kind::Identity | Kind::Ones | Kind::Zero => {}
        }
    }

    /// The matrix with other matrices in place of some of its parts, by their
    /// [identity](Matrix::identity_key).
    ///
    /// # Panics
    /// If one of them has another shape than the part it stands for.
    pub fn with_parts(&self, parts: &HashMap<usize, Matrix>) -> Matrix {
        self.replaced(parts, &mut HashMap::new())
    }

    fn replaced(&self, parts: &HashMap<usize, Matrix>, done: &mut HashMap<usize, Matrix>) -> Matrix {
        let key = self.identity_key();
        if let Some(part) = parts.get(&key).or(done.get(&key)) {
            assert_eq!(part.shape(), self.shape(), "a part and what stands for it");
            return part.clone();
        }
        let mut is_changed = false;
        let mut inner = |matrix: &Matrix| {
            let replaced = matrix.replaced(parts, done);
            is_changed |= replaced.identity_key() != matrix.identity_key();
            replaced
        };
        let kind = match self.kind() {
            Kind::Sum(left, right) => Kind::Sum(inner(left), inner(right)),
            Kind::Difference(left, right) => Kind::Difference(inner(left), inner(right)),
            Kind::Product(left, right) => Kind::Product(inner(left), inner(right)),
            Kind::Scaled(coefficient, matrix) => Kind::Scaled(*coefficient, inner(matrix)),
            Kind::Power(matrix, exponent) => Kind::Power(inner(matrix), *exponent),
            Kind::Transpose(matrix) => Kind::Transpose(inner(matrix)),
            Kind::Rows(matrix, indices) => Kind::Rows(inner(matrix), indices.clone()),
            Kind::Columns(matrix, indices) => Kind::Columns(inner(matrix), indices.clone()),
            Kind::Hstack(parts) => Kind::Hstack(parts.iter().map(inner).collect()),
            Kind::Vstack(parts) => Kind::Vstack(parts.iter().map(inner).collect()),
            Kind::Polynomial { coefficients, base } => {
                Kind::Polynomial { coefficients: coefficients.clone(), base: inner(base) }
            }
            leaf => leaf.clone(),
        };
        let replaced = if is_changed { Self::node(self.shape(), kind) } else { self.clone() };
        done.insert(key, replaced.clone());
        replaced
    }
}
