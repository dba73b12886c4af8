//! A bound on the cost of a multiplication.

use std::collections::HashMap;

use super::{Kind, Matrix};

impl Matrix {
    /// The number of products with leaves that a multiplication takes if no node is shared.
    /// Polynomials count by Horner's rule.
    pub fn written_products(&self) -> u64 {
        products(self, &mut HashMap::new())
    }
}

fn products(matrix: &Matrix, known: &mut HashMap<usize, u64>) -> u64 {
    if let Some(&count) = known.get(&matrix.identity_key()) {
        return count;
    }
    let mut of = |inner: &Matrix| products(inner, known);
    let count = match matrix.kind() {
        Kind::Sparse { .. } | Kind::Dense { .. } | Kind::Own { .. } | Kind::Ones => 1,
        Kind::Diagonal { .. } | Kind::Identity | Kind::Zero => 0,
        Kind::Sum(left, right) | Kind::Difference(left, right) | Kind::Product(left, right) => {
            of(left).saturating_add(of(right))
        }
        Kind::Scaled(_, inner) | Kind::Transpose(inner) | Kind::Rows(inner, _) | Kind::Columns(inner, _) => of(inner),
        // Even a product with nothing but diagonals is a step.
        Kind::Power(base, exponent) => of(base).max(1).saturating_mul(u64::from(*exponent)),
        Kind::Polynomial { coefficients, base } => of(base).max(1).saturating_mul(coefficients.len() as u64),
        Kind::Hstack(parts) | Kind::Vstack(parts) => {
            parts.iter().fold(0, |sum: u64, part| sum.saturating_add(of(part)))
        }
    };
    known.insert(matrix.identity_key(), count);
    count
}
