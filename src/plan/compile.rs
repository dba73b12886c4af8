//! Compiles an expression into steps.
//!
//! The compiler descends the expression with a scaled value, and returns the product as a sum of
//! terms. Only leaves make products. Scalars and diagonals become factors of terms, and a sum
//! becomes a panel only where a step needs one. Products are cached by node, so that shared parts
//! of the expression are shared in the program.

use std::collections::HashMap;
use std::sync::Arc;

use super::program::{Action, Diagonal, Epilogue, Program, RowRange, Side, SparseRole, Step, Term, Value};
use crate::graph::Sparse;
use crate::matrix::{Kind, Matrix, Shape};

/// A diagonal that is the product of two others.
pub(super) struct DiagonalProduct {
    pub(super) outer: Diagonal,
    pub(super) inner: Diagonal,
    pub(super) product: Diagonal,
}

/// The steps that multiply by `matrix` or by its transpose, without epilogues, and the products of
/// diagonals that were computed.
pub(super) fn steps(matrix: &Matrix, side: Side, is_written_out: bool) -> (Program, Vec<DiagonalProduct>) {
    let shape = side.shape_of(matrix);
    let mut compiler = Compiler { is_written_out, ..Compiler::default() };
    let sum = compiler.product(matrix, side, &Scaled { value: Value::INPUT, diagonal: None });
    let output = compiler.panel(&sum, shape.rows);
    (Program { input_rows: shape.columns, steps: compiler.steps, output }, compiler.diagonals)
}

/// A sum of terms; empty is zero.
pub(super) type Sum = Vec<Term>;

/// A value and a diagonal factor that is not applied yet.
#[derive(Clone)]
pub(super) struct Scaled {
    pub(super) value: Value,
    pub(super) diagonal: Option<Diagonal>,
}

/// Identifies a diagonal by the address of its values. The compiler keeps every diagonal alive, so
/// an address is not used again.
fn diagonal_key(diagonal: &Option<Diagonal>) -> usize {
    diagonal.as_ref().map_or(0, |diagonal| diagonal.values.as_ptr().addr())
}

/// Identifies a panel computed from others, so that it is computed once.
#[derive(PartialEq, Eq, Hash)]
enum Made {
    /// A sum: its rows, a value with its columns, and for each term the value, the diagonal and the
    /// bits of the coefficient.
    Sum(usize, Value, Vec<(Value, usize, u64)>),
    /// The column sums of a value.
    ColumnSums(Value),
    /// Rows of a value.
    Slice(RowRange),
}

/// Identifies a product by its matrix, the side, the value and its diagonal.
type ProductKey = (usize, Side, Value, usize);

#[derive(Default)]
pub(super) struct Compiler {
    pub(super) steps: Vec<Step>,
    products: HashMap<ProductKey, (Sum, Option<Diagonal>)>,
    made: HashMap<Made, (Value, Vec<Diagonal>)>,
    /// A value with the columns of the current products.
    pub(super) like: Value,
    /// Nothing is shared, and polynomials are sums of powers.
    is_written_out: bool,
    diagonals: Vec<DiagonalProduct>,
    /// Selection matrices, by row indices and number of columns.
    selections: HashMap<(Arc<[usize]>, usize), Arc<Sparse>>,
    /// The entries of matrices, by matrix.
    pub(super) formed: HashMap<usize, Sum>,
}

impl Compiler {
    pub(super) fn push(&mut self, rows: usize, action: Action) -> Value {
        self.steps.push(Step { rows, action });
        Value(self.steps.len())
    }

    /// `matrix · x` or `matrixᵀ · x`, as a sum of terms.
    pub(super) fn product(&mut self, matrix: &Matrix, side: Side, x: &Scaled) -> Sum {
        let key = (matrix.identity_key(), side, x.value, diagonal_key(&x.diagonal));
        if let Some((sum, _)) = self.products.get(&key)
            && !self.is_written_out
        {
            return sum.clone();
        }
        let sum = self.compute_product(matrix, side, x);
        self.products.insert(key, (sum.clone(), x.diagonal.clone()));
        sum
    }

    fn compute_product(&mut self, matrix: &Matrix, side: Side, x: &Scaled) -> Sum {
        let Shape { rows, columns } = side.shape_of(matrix);
        match matrix.kind() {
            Kind::Zero => Sum::new(),
            Kind::Identity => vec![Term { coefficient: 1.0, diagonal: x.diagonal.clone(), value: x.value }],
            Kind::Diagonal { name, values } => {
                let outer = Diagonal { name: name.clone(), values: values.clone() };
                let diagonal = match &x.diagonal {
                    None => outer,
                    Some(inner) => self.diagonal_product(outer, inner),
                };
                vec![Term { coefficient: 1.0, diagonal: Some(diagonal), value: x.value }]
            }
            Kind::Sparse { name, data } => {
                let (name, data) = match side {
                    Side::Plain => (name.to_string(), data.clone()),
                    Side::Transposed if data.is_symmetric() => (name.to_string(), data.clone()),
                    Side::Transposed => (format!("{name}ᵀ"), data.transposed()),
                };
                self.sparse(SparseRole::Multiply, name, data, x)
            }
            Kind::Dense { name, data, mask } => {
                let name = if mask.is_none() { name.to_string() } else { matrix.to_string() };
                let (data, mask, input) = (data.clone(), *mask, self.applied(x, columns));
                let value = match side {
                    Side::Plain => {
                        let epilogue = Epilogue::default();
                        self.push(rows, Action::Dense { name, matrix: data, mask, input, epilogue })
                    }
                    Side::Transposed => {
                        let name = format!("{name}ᵀ");
                        let sums = self.push(rows, Action::Project { name, matrix: data, mask, input });
                        self.push(rows, Action::Spread { input: sums, epilogue: Epilogue::default() })
                    }
                };
                vec![Term::plain(value)]
            }
            Kind::Own { name, map } => {
                let name = if side == Side::Plain { name.to_string() } else { format!("{name}ᵀ") };
                let (map, input, epilogue) = (map.clone(), self.applied(x, columns), Epilogue::default());
                vec![Term::plain(self.push(rows, Action::Map { name, map, side, input, epilogue }))]
            }
            Kind::Ones => {
                let input = self.applied(x, columns);
                let sums = self.make(Made::ColumnSums(input), Vec::new(), 1, || Action::ColumnSums { input });
                let value = self.push(rows, Action::RankOne { input: sums, epilogue: Epilogue::default() });
                vec![Term::plain(value)]
            }
            Kind::Sum(left, right) => {
                let left = self.product(left, side, x);
                add(left, self.product(right, side, x))
            }
            Kind::Difference(left, right) => {
                let left = self.product(left, side, x);
                add(left, scale(self.product(right, side, x), -1.0))
            }
            Kind::Scaled(coefficient, inner) => scale(self.product(inner, side, x), *coefficient),
            Kind::Product(left, right) => {
                let (first, last) = match side {
                    Side::Plain => (right, left),
                    Side::Transposed => (left, right),
                };
                let inner = self.product(first, side, x);
                self.product_of_sum(last, side, inner)
            }
            Kind::Power(base, exponent) => {
                let start = vec![Term { coefficient: 1.0, diagonal: x.diagonal.clone(), value: x.value }];
                (0..*exponent).fold(start, |sum, _| self.product_of_sum(base, side, sum))
            }
            Kind::Transpose(inner) => self.product(inner, side.flipped(), x),
            Kind::Polynomial { coefficients, base } => self.horner(coefficients, base, side, x),
            Kind::Hstack(parts) => match side {
                Side::Plain => self.sum_of_slices(parts, side, x, columns),
                Side::Transposed => self.stack(parts, side, x, rows),
            },
            Kind::Vstack(parts) => match side {
                Side::Plain => self.stack(parts, side, x, rows),
                Side::Transposed => self.sum_of_slices(parts, side, x, columns),
            },
            Kind::Rows(inner, indices) => {
                let selection = self.selection(indices, inner.shape().rows);
                match side {
                    Side::Plain => {
                        let product = self.product(inner, side, x);
                        self.select(SparseRole::Gather, selection, product)
                    }
                    Side::Transposed => {
                        let placed = self.sparse(SparseRole::Scatter, "scatter".into(), selection.transposed(), x);
                        self.product_of_sum(inner, side, placed)
                    }
                }
            }
            Kind::Columns(inner, indices) => {
                let selection = self.selection(indices, inner.shape().columns);
                match side {
                    Side::Plain => {
                        let placed = self.sparse(SparseRole::Scatter, "scatter".into(), selection.transposed(), x);
                        self.product_of_sum(inner, side, placed)
                    }
                    Side::Transposed => {
                        let product = self.product(inner, side, x);
                        self.select(SparseRole::Gather, selection, product)
                    }
                }
            }
        }
    }

    /// `matrix · sum`. The coefficient of a single term is applied to the product; several terms
    /// are summed first.
    pub(super) fn product_of_sum(&mut self, matrix: &Matrix, side: Side, sum: Sum) -> Sum {
        self.with_scaled(sum, side.shape_of(matrix).columns, |compiler, x| compiler.product(matrix, side, x))
    }

    /// Applies a linear function of one scaled value to a sum.
    fn with_scaled(&mut self, sum: Sum, rows: usize, linear: impl FnOnce(&mut Self, &Scaled) -> Sum) -> Sum {
        match sum.as_slice() {
            [] => Sum::new(),
            [term] => {
                let x = Scaled { value: term.value, diagonal: term.diagonal.clone() };
                scale(linear(self, &x), term.coefficient)
            }
            _ => {
                let value = self.panel(&sum, rows);
                linear(self, &Scaled { value, diagonal: None })
            }
        }
    }

    /// `Σ c_q · T^q · x` as `c₀·x + T·(c₁·x + T·(c₂·x + …))`.
    fn horner(&mut self, coefficients: &[f64], base: &Matrix, side: Side, x: &Scaled) -> Sum {
        let x_term = |coefficient| match coefficient {
            0.0 => Sum::new(),
            _ => vec![Term { coefficient, diagonal: x.diagonal.clone(), value: x.value }],
        };
        if self.is_written_out {
            let powers = coefficients.iter().enumerate().map(|(exponent, &coefficient)| {
                (0..exponent).fold(x_term(coefficient), |sum, _| self.product_of_sum(base, side, sum))
            });
            return powers.fold(Sum::new(), add);
        }
        let mut reversed = coefficients.iter().rev();
        let Some(&highest) = reversed.next() else { return Sum::new() };
        reversed.fold(x_term(highest), |sum, &coefficient| {
            let product = self.product_of_sum(base, side, sum);
            add(product, x_term(coefficient))
        })
    }

    fn sparse(&mut self, role: SparseRole, name: String, matrix: Arc<Sparse>, x: &Scaled) -> Sum {
        let rows = matrix.rows();
        let (right, input, epilogue) = (x.diagonal.clone(), x.value, Epilogue::default());
        let value = self.push(rows, Action::Sparse { role, name, matrix, right, input, epilogue });
        vec![Term::plain(value)]
    }

    pub(super) fn select(&mut self, role: SparseRole, selection: Arc<Sparse>, sum: Sum) -> Sum {
        let rows = selection.cols();
        self.with_scaled(sum, rows, |compiler, x| compiler.sparse(role, "gather".into(), selection, x))
    }

    /// `[A, B]·x = A·x₁ + B·x₂`, where x₁ and x₂ are the corresponding rows of x.
    fn sum_of_slices(&mut self, parts: &[Matrix], side: Side, x: &Scaled, rows: usize) -> Sum {
        let value = self.applied(x, rows);
        let mut first_row = 0;
        let mut products = Vec::with_capacity(parts.len());
        for part in parts {
            let rows = side.shape_of(part).columns;
            let piece = RowRange { value, first_row, rows };
            let slice = self.make(Made::Slice(piece), Vec::new(), rows, || Action::Arrange { pieces: vec![piece] });
            products.push((part.clone(), slice));
            first_row += rows;
        }
        self.sum_of_products(products, side)
    }

    /// `Σ Aᵢ·xᵢ`. A common left factor is applied once: `T·B₁·x₁ + T·B₂·x₂ = T·(B₁·x₁ + B₂·x₂)`, so
    /// that `[X, T·X, T·(T·X), …]` takes one product a power.
    fn sum_of_products(&mut self, mut products: Vec<(Matrix, Value)>, side: Side) -> Sum {
        let split = |matrix: &Matrix| {
            let Kind::Product(left, right) = matrix.kind() else { return None };
            Some(match side {
                Side::Plain => (left.clone(), right.clone()),
                Side::Transposed => (right.clone(), left.clone()),
            })
        };
        let mut sum = Sum::new();
        while !products.is_empty() {
            let (first, slice) = products.remove(0);
            let last = split(&first).map(|(last, _)| last);
            let is_written_out = self.is_written_out;
            let is_shared = |matrix: &Matrix| {
                let own = split(matrix).map(|(last, _)| last.identity_key());
                !is_written_out && own.is_some() && own == last.as_ref().map(Matrix::identity_key)
            };
            let sharing: Vec<(Matrix, Value)> = products.extract_if(.., |(matrix, _)| is_shared(matrix)).collect();
            let product = match last.filter(|_| !sharing.is_empty()) {
                None => self.product(&first, side, &Scaled { value: slice, diagonal: None }),
                Some(last) => {
                    let all = std::iter::once((first, slice)).chain(sharing);
                    let rest = all.filter_map(|(matrix, value)| Some((split(&matrix)?.1, value))).collect();
                    let inner = self.sum_of_products(rest, side);
                    self.product_of_sum(&last, side, inner)
                }
            };
            sum = add(sum, product);
        }
        sum
    }

    /// `[A; B]·x = [A·x; B·x]`.
    fn stack(&mut self, parts: &[Matrix], side: Side, x: &Scaled, rows: usize) -> Sum {
        let mut pieces = Vec::with_capacity(parts.len());
        for part in parts {
            let part_rows = side.shape_of(part).rows;
            let product = self.product(part, side, x);
            let value = self.panel(&product, part_rows);
            pieces.push(RowRange { value, first_row: 0, rows: part_rows });
        }
        vec![Term::plain(self.push(rows, Action::Arrange { pieces }))]
    }

    /// The panel of a scaled value.
    fn applied(&mut self, x: &Scaled, rows: usize) -> Value {
        self.panel(&vec![Term { coefficient: 1.0, diagonal: x.diagonal.clone(), value: x.value }], rows)
    }

    /// The panel of a sum.
    pub(super) fn panel(&mut self, sum: &Sum, rows: usize) -> Value {
        if let [term] = sum.as_slice()
            && term.is_plain()
        {
            return term.value;
        }
        let key = |term: &Term| (term.value, diagonal_key(&term.diagonal), term.coefficient.to_bits());
        let sum_key = Made::Sum(rows, self.like, sum.iter().map(key).collect());
        let diagonals = sum.iter().filter_map(|term| term.diagonal.clone()).collect();
        let like = self.like;
        self.make(sum_key, diagonals, rows, || Action::Combine { terms: sum.clone(), like })
    }

    /// The matrix that selects rows `indices` of `columns` rows. `Matrix` checks the indices.
    pub(super) fn selection(&mut self, indices: &Arc<[usize]>, columns: usize) -> Arc<Sparse> {
        let make = || Sparse::selection(indices, columns).expect("the indices were checked when the matrix was built");
        self.selections.entry((indices.clone(), columns)).or_insert_with(|| Arc::new(make())).clone()
    }

    /// The product of two diagonals, computed once.
    fn diagonal_product(&mut self, outer: Diagonal, inner: &Diagonal) -> Diagonal {
        if let Some(made) = self.diagonals.iter().find(|made| made.outer == outer && made.inner == *inner) {
            return made.product.clone();
        }
        let product = outer.times(inner);
        self.diagonals.push(DiagonalProduct { outer, inner: inner.clone(), product: product.clone() });
        product
    }

    /// The value of a panel, computed if it was not before. `diagonals` are those whose addresses
    /// are part of the key; they stay alive with it.
    fn make(&mut self, key: Made, diagonals: Vec<Diagonal>, rows: usize, action: impl FnOnce() -> Action) -> Value {
        if let Some((value, _)) = self.made.get(&key) {
            return *value;
        }
        let value = self.push(rows, action());
        self.made.insert(key, (value, diagonals));
        value
    }
}

pub(super) fn scale(mut sum: Sum, coefficient: f64) -> Sum {
    for term in &mut sum {
        term.coefficient *= coefficient;
    }
    sum.retain(|term| term.coefficient != 0.0);
    sum
}

/// The sum of two sums, with terms of the same value and diagonal merged.
pub(super) fn add(mut left: Sum, right: Sum) -> Sum {
    for term in right {
        let twin = left.iter_mut().find(|other| other.value == term.value && other.diagonal == term.diagonal);
        match twin {
            Some(twin) => twin.coefficient += term.coefficient,
            None => left.push(term),
        }
    }
    left.retain(|term| term.coefficient != 0.0);
    left
}
