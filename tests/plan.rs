//! Programs against the matrices that they are compiled from, without workers: an interpreter in f64 runs every step as it
//! reads. Catches what fusing and sharing can get wrong, on many more expressions than whole runs could.

mod common;

use common::{Numbers, Table, expression, form, pooled_expression};
use isvd_dist::matrix::Matrix;
use isvd_dist::plan::{Action, Diagonal, Epilogue, Program, Side, Source, Term, Value};
use proptest::prelude::*;

/// Runs a program step by step.
fn interpret(program: &Program, input: &Table) -> Table {
    let mut values = vec![input.clone()];
    for step in program.steps() {
        let made = run(&step.action, step.rows, &values);
        assert_eq!(made.rows, step.rows, "{step}");
        values.push(made);
    }
    values[program.output().0].clone()
}

fn run(action: &Action, rows: usize, values: &[Table]) -> Table {
    let value = |value: &Value| &values[value.0];
    let finish = |product: Table, epilogue: &Epilogue| {
        let scaled = scaled(&product, epilogue.alpha, epilogue.left.as_ref());
        epilogue.add.as_ref().map_or(scaled.clone(), |add| scaled.plus(&term(add, values), 1.0))
    };
    match action {
        Action::Sparse { matrix, right, input, epilogue, .. } => {
            let x = scaled(value(input), 1.0, right.as_ref());
            let mut product = Table::new(rows, x.columns, |_, _| 0.0);
            matrix.for_each(|row, column, weight| {
                for k in 0..x.columns {
                    product.data[row * x.columns + k] += f64::from(weight) * x.at(column, k);
                }
            });
            finish(product, epilogue)
        }
        Action::Dense { matrix, input, epilogue, .. } => finish(Table::of_dense(matrix).times(value(input)), epilogue),
        Action::Project { matrix, input, .. } => Table::of_dense(matrix).t().times(value(input)),
        Action::ColumnSums { input } => Table::new(1, value(input).rows, |_, _| 1.0).times(value(input)),
        Action::Spread { input, epilogue } => finish(value(input).clone(), epilogue),
        Action::RankOne { input, epilogue } => finish(Table::new(rows, 1, |_, _| 1.0).times(value(input)), epilogue),
        Action::Combine { terms, like } => {
            let columns = values[terms.first().map_or(*like, |first| first.value).0].columns;
            let zero = Table::new(rows, columns, |_, _| 0.0);
            terms.iter().fold(zero, |sum, next| sum.plus(&term(next, values), 1.0))
        }
        Action::Arrange { pieces } => {
            let of = |value: Value, first: usize, rows: usize| {
                let width = values[value.0].columns;
                values[value.0].data[first * width..(first + rows) * width].to_vec()
            };
            let data = pieces.iter().flat_map(|piece| of(piece.value, piece.first_row, piece.rows)).collect();
            let columns = pieces.first().map_or(0, |piece| values[piece.value.0].columns);
            Table { rows, columns, data }
        }
        Action::Stored { source: Source::Dense { matrix, mask: None }, .. } => Table::of_dense(matrix),
        Action::Stored { source: Source::Sparse(matrix), .. } => {
            let mut table = Table::new(rows, matrix.cols(), |_, _| 0.0);
            matrix.for_each(|row, column, weight| table.data[row * matrix.cols() + column] += f64::from(weight));
            table
        }
        Action::Stored { source: Source::Identity, .. } => Table::new(rows, rows, |i, j| f64::from(u8::from(i == j))),
        Action::Beside { values } => {
            let columns = values.iter().map(|part| value(part).columns).sum();
            let data = (0..rows).flat_map(|row| values.iter().flat_map(move |part| row_of(value(part), row)));
            Table { rows, columns, data: data.collect() }
        }
        other => panic!("the interpreter does not know {}", other.verb()),
    }
}

fn row_of(table: &Table, row: usize) -> Vec<f64> {
    table.data[row * table.columns..(row + 1) * table.columns].to_vec()
}

fn scaled(table: &Table, coefficient: f64, diagonal: Option<&Diagonal>) -> Table {
    let factor = |row: usize| coefficient * diagonal.map_or(1.0, |diagonal| f64::from(diagonal.values[row]));
    Table::new(table.rows, table.columns, |row, column| factor(row) * table.at(row, column))
}

fn term(term: &Term, values: &[Table]) -> Table {
    scaled(&values[term.value.0], term.coefficient, term.diagonal.as_ref())
}

fn check(matrix: &Matrix) {
    for side in [Side::Plain, Side::Transposed] {
        let (formed, magnitude) = match side {
            Side::Plain => (form(matrix, false), form(matrix, true)),
            Side::Transposed => (form(matrix, false).t(), form(matrix, true).t()),
        };
        let program = Program::compile(matrix, side);
        let input = Table::new(formed.columns, 2, |row, column| ((row * 7 + column * 3) % 11) as f64 - 5.0);
        let (got, want) = (interpret(&program, &input), formed.times(&input));
        let bound = magnitude.times(&input.absolute());
        for entry in 0..want.data.len() {
            // Diagonals are multiplied together in 32 bits.
            let allowed = 1e-5 * bound.data[entry] + 1e-9;
            assert!((got.data[entry] - want.data[entry]).abs() <= allowed, "{matrix} {side:?} gives\n{program}");
        }
    }
    let program = Program::form(matrix);
    let (got, want) = (interpret(&program, &Table::new(0, 0, |_, _| 0.0)), form(matrix, false));
    let bound = form(matrix, true);
    assert_eq!((got.rows, got.columns), (want.rows, want.columns), "{matrix} is formed by\n{program}");
    for entry in 0..want.data.len() {
        let allowed = 1e-5 * bound.data[entry] + 1e-9;
        assert!((got.data[entry] - want.data[entry]).abs() <= allowed, "{matrix} is formed by\n{program}");
    }
}

/// A product whose scaling moved into it, read bare by one and scaled by another.
#[test]
fn a_hoisted_product_with_two_readers() {
    let numbers = &mut Numbers(5);
    let a = Matrix::sparse("A", common::sparse(5, 5, false, numbers));
    let x = Matrix::dense("X", common::dense(5, 5, numbers)).unwrap();
    let d = Matrix::diagonal("d", vec![0.5, 2.0, -1.0, 3.0, 0.25]).unwrap();
    let y = &d * &a;
    check(&(&x * &y + &y * 2.0 + &x));
    check(&(Matrix::ones(5, 5) * &y + &y * 2.0));
}

#[test]
fn a_sum_is_formed_once_for_all_its_powers() {
    let numbers = &mut Numbers(6);
    let t = Matrix::sparse("A", common::sparse(5, 5, false, numbers))
        + Matrix::sparse("W", common::sparse(5, 5, true, numbers));
    let matrix = t.pow(2) + t.pow(3);
    check(&matrix);
    let program = Program::compile(&matrix, Side::Plain);
    assert_eq!(products(&program), 6, "\n{program}");
}

fn products(program: &Program) -> usize {
    program.steps().iter().filter(|step| step.action.verb() == "spmm").count()
}

/// `[X, T·X, T·(T·X), …]` takes one product a power each way, and to be formed: 15, not 120.
#[test]
fn powers_side_by_side_share_their_products() {
    let numbers = &mut Numbers(7);
    let layers = 15;
    let x = Matrix::dense("X", common::dense(6, 2, numbers)).unwrap();
    let scale = Matrix::diagonal("S", (0..6).map(|_| numbers.next() as f32).collect()).unwrap();
    let a = Matrix::sparse("A", common::sparse(6, 6, true, numbers));
    for t in [&a * 0.5, &scale * &(&a + &Matrix::identity(6)) * &scale] {
        let mut blocks = vec![x.clone()];
        for step in 0..layers {
            blocks.push(&t * &blocks[step]);
        }
        let matrix = Matrix::beside(&blocks);
        check(&matrix);
        let compiled = [Side::Plain, Side::Transposed].map(|side| Program::compile(&matrix, side));
        for program in [&compiled[0], &compiled[1], &Program::form(&matrix)] {
            assert_eq!(products(program), layers, "\n{program}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]
    #[test]
    fn programs_of_shared_expressions(seed in any::<u64>(), size in 1usize..6, nodes in 1usize..12) {
        check(&pooled_expression(size, nodes, &mut Numbers(seed)));
    }

    #[test]
    fn programs_of_expressions_of_any_shape(seed in any::<u64>(), rows in 1usize..6, columns in 1usize..6, depth in 0usize..4) {
        check(&expression(rows, columns, depth, &mut Numbers(seed)));
    }
}
