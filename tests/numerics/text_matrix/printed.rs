//! Random matrices, printed to text and read again.

use isvd_dist::matrix::text::{MOST_BYTES, Value, Vector};
use isvd_dist::matrix::{Kind, Matrix};
use proptest::prelude::*;

use super::world::World;
use crate::common::{Numbers, expression, form, pooled_expression};

/// The precedence of a printed expression.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Sum,
    Product,
    Signed,
    Raised,
}

/// Prints with the fewest parentheses, and names the unnamed matrices.
#[derive(Default)]
struct Printer {
    world: World,
}

impl Printer {
    fn name(&mut self, letter: char, value: Value) -> String {
        let name = format!("{letter}{}", self.world.0.len());
        self.world.add(&name, value);
        name
    }

    fn set(&mut self, indices: &[usize]) -> String {
        match indices.len() % 2 {
            0 if !indices.is_empty() => format!("{indices:?}"),
            _ => self.name('s', Value::Indices(indices.into())),
        }
    }

    fn print(&mut self, matrix: &Matrix, least: Level) -> String {
        let (text, level) = self.print_free(matrix);
        if level < least { format!("({text})") } else { text }
    }

    fn print_free(&mut self, matrix: &Matrix) -> (String, Level) {
        use Level::{Product, Raised, Signed, Sum};
        let shape = matrix.shape();
        match matrix.kind() {
            Kind::Diagonal { name, values } => {
                // Vectors of equal names must be equal.
                let vector = Vector { name: format!("{name}{}", self.world.0.len()), values: values.clone() };
                (format!("diag({})", self.name('v', Value::Vector(vector))), Raised)
            }
            Kind::Identity => (format!("I({})", shape.rows), Raised),
            Kind::Ones => (format!("J({}, {})", shape.rows, shape.columns), Raised),
            Kind::Sum(a, b) => (format!("{} + {}", self.print(a, Sum), self.print(b, Product)), Sum),
            Kind::Difference(a, b) => (format!("{} - {}", self.print(a, Sum), self.print(b, Product)), Sum),
            Kind::Scaled(c, a) if *c == -1.0 => (format!("-{}", self.print(a, Signed)), Signed),
            Kind::Scaled(c, a) if *c < 0.0 => (format!("{} * {c:?}", self.print(a, Product)), Product),
            Kind::Scaled(c, a) => (format!("{c:?}*{}", self.print(a, Signed)), Product),
            Kind::Product(a, b) => (format!("{}@{}", self.print(a, Product), self.print(b, Signed)), Product),
            // A power of a power needs its parentheses.
            Kind::Power(a, n) if matches!(a.kind(), Kind::Power(..)) => {
                (format!("({})^{n}", self.print(a, Sum)), Raised)
            }
            Kind::Power(a, n) => (format!("{}^{n}", self.print(a, Raised)), Raised),
            Kind::Transpose(a) => (format!("{}.T", self.print(a, Raised)), Raised),
            Kind::Hstack(parts) => (format!("[{}]", self.list(parts, ", ")), Raised),
            Kind::Vstack(parts) => (format!("[{}]", self.list(parts, "; ")), Raised),
            Kind::Rows(a, indices) => (format!("rows({}, {})", self.print(a, Sum), self.set(indices)), Raised),
            Kind::Columns(a, indices) => (format!("cols({}, {})", self.print(a, Sum), self.set(indices)), Raised),
            Kind::Polynomial { coefficients, base } => {
                let base = self.print(base, Signed);
                let term = |(power, c): (usize, &f64)| format!("({c:?}) * ({base})^{power}");
                let terms: Vec<String> = coefficients.iter().enumerate().map(term).collect();
                (terms.join(" + "), Sum)
            }
            _ => (self.name('m', Value::Matrix(matrix.clone())), Raised),
        }
    }

    fn list(&mut self, parts: &[Matrix], separator: &str) -> String {
        parts.iter().map(|part| self.print(part, Level::Sum)).collect::<Vec<_>>().join(separator)
    }
}

fn assert_read_back(matrix: &Matrix) {
    let mut printer = Printer::default();
    let text = printer.print(matrix, Level::Sum);
    if text.len() > MOST_BYTES {
        return;
    }
    let back = printer.world.read(&text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(back.shape(), matrix.shape(), "{text}");
    // Terms of polynomials are added in the same order, so all bits are equal except the signs of
    // zeros.
    assert_eq!(form(&back, false).distance(&form(matrix, false)), 0.0, "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn trees_of_any_shape(seed: u64, rows in 1usize..12, columns in 1usize..12, depth in 0usize..4) {
        assert_read_back(&expression(rows, columns, depth, &mut Numbers(seed)));
    }

    #[test]
    fn expressions_that_share_their_parts(seed: u64, size in 1usize..9, nodes in 0usize..7) {
        assert_read_back(&pooled_expression(size, nodes, &mut Numbers(seed)));
    }
}
