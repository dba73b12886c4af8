//! Programs, compared with the matrices that they are compiled from. An interpreter in f64 runs
//! every step without workers. Catches errors of fusing and sharing, on many more expressions than
//! complete runs could test.

use isvd_dist::config::{Experiment, shipped::SHIPPED};
use isvd_dist::dataset::{self, EdgeList, LoadError};
use isvd_dist::graph::{Graph, Import};
use isvd_dist::matrix::Matrix;
use isvd_dist::model::classifier::{Design, Labels};
use isvd_dist::model::embedding::{self, Normalize, Walks};
use isvd_dist::model::propagation::Propagation;
use isvd_dist::plan::{Action, Diagonal, Effort, Epilogue, Program, Side, Source, Term, Value};
use proptest::prelude::*;

use crate::common::{self, Numbers, Table, expression, form, pooled_expression};
use crate::support::data_folder;
use crate::support::need::{Need, found_or_skip};

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
        Action::HStack { values } => {
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
    check_products(matrix, &[Effort::Shared, Effort::Planned]);
    check_forming(matrix);
}

fn check_products(matrix: &Matrix, efforts: &[Effort]) {
    for side in [Side::Plain, Side::Transposed] {
        let (formed, magnitude) = match side {
            Side::Plain => (form(matrix, false), form(matrix, true)),
            Side::Transposed => (form(matrix, false).t(), form(matrix, true).t()),
        };
        let input = Table::new(formed.columns, 2, |row, column| ((row * 7 + column * 3) % 11) as f64 - 5.0);
        let want = formed.times(&input);
        let bound = magnitude.times(&input.absolute());
        for &effort in efforts {
            let program = Program::compile_with(matrix, side, effort);
            let got = interpret(&program, &input);
            for entry in 0..want.data.len() {
                // Diagonals are multiplied in f32, which overflows at 3e38.
                let is_close = (got.data[entry] - want.data[entry]).abs() <= 1e-5 * bound.data[entry] + 1e-9;
                let is_beyond = bound.data[entry] > f64::from(f32::MAX);
                assert!(is_close || is_beyond, "{matrix} {side:?} {effort:?} gives\n{program}");
            }
        }
        let [shared, planned] =
            [Effort::Shared, Effort::Planned].map(|effort| Program::compile_with(matrix, side, effort));
        let (fewest, got) = (shared.sparse_products(), planned.sparse_products());
        assert!(got <= fewest, "{matrix} {side:?} was\n{shared}\nand became\n{planned}");
    }
}

fn check_forming(matrix: &Matrix) {
    let program = Program::form(matrix);
    let (got, want) = (interpret(&program, &Table::new(0, 0, |_, _| 0.0)), form(matrix, false));
    let bound = form(matrix, true);
    assert_eq!((got.rows, got.columns), (want.rows, want.columns), "{matrix} is formed by\n{program}");
    for entry in 0..want.data.len() {
        let allowed = 1e-5 * bound.data[entry] + 1e-9;
        assert!((got.data[entry] - want.data[entry]).abs() <= allowed, "{matrix} is formed by\n{program}");
    }
}

/// A product that one step reads with its scaling fused and another without.
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

/// Coefficients of a value in a sum are added first, for inputs and for products.
#[test]
fn terms_of_one_value_are_one() {
    let numbers = &mut Numbers(8);
    let a = Matrix::sparse("A", common::sparse(5, 5, false, numbers));
    let [d, e] = ["d", "e"]
        .map(|name| Matrix::diagonal(name, (0..5).map(|_| numbers.next() as f32).collect()).expect("finite entries"));
    let identity = Matrix::identity(5);
    for (matrix, steps) in [
        (&d * &a + &a * 2.0 - &e * &a, 1),
        (&d * &a + &d * 2.0 + &e + &identity * 0.5, 1),
        (&d * 2.0 + &e * 0.5 + &identity, 1),
        (&d * 2.0 - &d, 1),
    ] {
        check(&matrix);
        let program = Program::compile(&matrix, Side::Plain);
        assert_eq!(program.steps().len(), steps, "\n{program}");
        let terms = |action: &Action| if let Action::Combine { terms, .. } = action { terms.len() } else { 1 };
        assert!(program.steps().iter().all(|step| terms(&step.action) == 1), "\n{program}");
    }
}

#[test]
fn a_sum_is_formed_once_for_all_its_powers() {
    let numbers = &mut Numbers(6);
    let t = Matrix::sparse("A", common::sparse(5, 5, false, numbers))
        + Matrix::sparse("W", common::sparse(5, 5, true, numbers));
    let matrix = t.pow(2) + t.pow(3);
    check(&matrix);
    let program = Program::compile(&matrix, Side::Plain);
    assert_eq!(program.sparse_products(), 6, "\n{program}");
}

/// `[X, T·X, T·(T·X), …]` takes one product per power in each direction and when it is formed: 15,
/// not 120.
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
        let matrix = Matrix::hstack(&blocks);
        check(&matrix);
        let compiled = [Side::Plain, Side::Transposed].map(|side| Program::compile(&matrix, side));
        for program in [&compiled[0], &compiled[1], &Program::form(&matrix)] {
            assert_eq!(program.sparse_products(), layers, "\n{program}");
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
        let matrix = expression(rows, columns, depth, &mut Numbers(seed));
        check(&matrix);
        check_products(&matrix, &[Effort::Written]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn programs_of_deep_expressions(seed in any::<u64>(), rows in 1usize..6, columns in 1usize..6, depth in 4usize..7) {
        check(&expression(rows, columns, depth, &mut Numbers(seed)));
    }

    #[test]
    fn programs_of_large_shared_expressions(seed in any::<u64>(), size in 1usize..6, nodes in 12usize..24) {
        check(&pooled_expression(size, nodes, &mut Numbers(seed)));
    }
}

/// A graph whose last nodes are isolated, with the diagonals that models derive from its degrees.
fn small_graph(nodes: u32) -> Graph {
    let edges = (0..nodes - 3).flat_map(|node| [(node, (node + 1) % (nodes - 3)), (node, (node * node) % (nodes - 3))]);
    let edges: Vec<(u32, u32)> = edges.filter(|(from, to)| from != to).collect();
    let list = EdgeList { nodes: nodes as usize, edges, directed: false, ..EdgeList::default() };
    Graph::from_edges(&list, Import::default()).unwrap()
}

fn embedding(graph: &Graph, normalize: Normalize, degree_weighted: bool, self_loops: bool) -> Matrix {
    let (walks, svd) = (Walks::Window(10), isvd_dist::svd::Options::of_rank(1));
    let options = embedding::Options { walks, negative: 0.02, normalize, degree_weighted, self_loops, svd };
    embedding::matrix(graph, &options).unwrap()
}

fn design(graph: &Graph, layers: usize, label_classes: usize, is_soft: bool) -> Matrix {
    let nodes = graph.degrees.len();
    let numbers = &mut Numbers(8);
    let features = Matrix::dense("X", common::dense(nodes, 3, numbers)).unwrap();
    let propagation = Propagation::new(graph).unwrap();
    let labels: Vec<u32> = (0..nodes as u32).map(|node| node % 2).collect();
    let labels = match is_soft {
        true => Labels::Soft(common::dense(nodes, 2, numbers).into()),
        false => Labels::known(&labels, &[0, 1, 2, 4], 2),
    };
    let design = Design { propagation, features, layers, label_classes };
    design.matrix((label_classes > 0).then_some(&labels)).unwrap()
}

/// `[X, ÂX, …, Â^LX, ZY, Z²Y]` with Z = Â − (D + I)⁻¹: label re-use as published, including
/// returning walks.
fn published_design(graph: &Graph, layers: usize) -> Matrix {
    let numbers = &mut Numbers(8);
    let nodes = graph.degrees.len();
    let [features, labels] = [("X", 3), ("Y", 2)]
        .map(|(name, columns)| Matrix::dense(name, common::dense(nodes, columns, numbers)).unwrap());
    let propagation = Propagation::new(graph).unwrap();
    let (average, neighbours) = (propagation.average().unwrap(), propagation.neighbours().unwrap());
    let powers = (0..=layers).map(|power| average.pow(power as u32) * &features);
    let blocks: Vec<Matrix> = powers.chain([1, 2].map(|power| neighbours.pow(power) * &labels)).collect();
    Matrix::try_hstack(&blocks).unwrap()
}

/// The numbers of sparse products of M and of Mᵀ, with sharing alone and by the planner.
#[test]
fn sparse_products_a_multiplication() {
    let graph = &small_graph(12);
    let numbers = &mut Numbers(9);
    let [a, b] = [0; 2].map(|_| common::sparse(12, 12, true, numbers));
    // Every leaf is a separate node, so that only its stored data shows that two leaves are equal.
    let a = || Matrix::sparse("A", a.clone());
    let b = || Matrix::sparse("B", b.clone());
    let [x, y] = ["B", "C"].map(|name| Matrix::dense(name, common::dense(12, 2, numbers)).unwrap());
    let table = [
        ("embedding, D⁻¹A", embedding(graph, Normalize::Row, false, false), [10, 11], [10, 10]),
        ("embedding, weighted by degree", embedding(graph, Normalize::Symmetric, true, false), [11, 11], [10, 10]),
        // A·G and A·D^-½·G share no product.
        ("embedding, symmetric", embedding(graph, Normalize::Symmetric, false, false), [11, 11], [11, 11]),
        ("embedding, self-loops", embedding(graph, Normalize::Row, false, true), [10, 11], [10, 10]),
        ("classifier, L = 15", design(graph, 15, 0, false), [15, 15], [15, 15]),
        // Labels need no further product with the graph. Two products are with the sparse matrix of
        // labels.
        ("classifier, labels", design(graph, 15, 2, false), [20, 20], [17, 17]),
        ("classifier, soft labels", design(graph, 15, 2, true), [18, 17], [15, 15]),
        // Z²Y takes one product more than the second step of labels in the classifier.
        ("classifier, labels as published", published_design(graph, 15), [123, 17], [16, 16]),
        ("A·B + A²·C", a() * &x + a().pow(2) * &y, [3, 3], [2, 2]),
        ("A·B + A·A·C", a() * &x + a() * (a() * &y), [3, 3], [2, 2]),
        ("A·(B + A·C)", a() * (&x + a() * &y), [2, 2], [2, 2]),
        ("(A + B)²", (a() + b()).pow(2), [4, 4], [4, 4]),
        ("(A + B)² written out", a() * a() + a() * b() + b() * a() + b() * b(), [8, 8], [4, 4]),
    ];
    for (name, matrix, shared, planned) in &table {
        check_products(matrix, &[Effort::Written, Effort::Shared, Effort::Planned]);
        let products = |effort: Effort| {
            [Side::Plain, Side::Transposed].map(|side| Program::compile_with(matrix, side, effort).sparse_products())
        };
        assert_eq!((products(Effort::Shared), products(Effort::Planned)), (*shared, *planned), "{name}");
    }
    // Without sharing, every power is computed from the start.
    let written = |matrix: &Matrix| {
        [Side::Plain, Side::Transposed]
            .map(|side| Program::compile_with(matrix, side, Effort::Written).sparse_products())
    };
    assert_eq!(written(&embedding(graph, Normalize::Row, false, false)), [1 + 10 * 11 / 2; 2]);
    assert_eq!(written(&design(graph, 15, 0, false)), [15 * 16 / 2; 2]);
}

/// Planning is fast for matrices of any depth.
#[test]
fn planning_is_fast() {
    let graph = &small_graph(12);
    for matrix in [design(graph, 60, 0, false), design(graph, 60, 2, false)] {
        for side in [Side::Plain, Side::Transposed] {
            let started = std::time::Instant::now();
            Program::compile(&matrix, side);
            let time = started.elapsed();
            assert!(time.as_millis() <= 200, "{time:?}");
        }
    }
}

/// The matrices of the shipped configs: each step of a walk is one product in both directions, and
/// the number of other steps is proportional to the length of the walk.
#[test]
fn programs_of_shipped_configs_grow_with_their_walks_alone() {
    let mut planned = 0;
    for config in SHIPPED {
        let experiment = Experiment::load(config.name.as_ref(), &[]).unwrap();
        // Templates name files of the user.
        if matches!(experiment.dataset, dataset::Source::Edges(_)) {
            continue;
        }
        let loaded = experiment.dataset.load(Some(&data_folder()), experiment.seed);
        let missing = |error| match error {
            LoadError::Catalog(_) => experiment.dataset.to_string(),
            _ => panic!("{}: {error}", config.name),
        };
        let Some(mut dataset) = found_or_skip(Need::Data, loaded.map_err(missing)) else { continue };
        if experiment.nodes.is_some() {
            dataset.graph.forget_direction();
        }
        let graph = Graph::from_edges(dataset.graph.list().unwrap(), experiment.import).unwrap();
        let (matrix, length) = match (&experiment.nodes, &experiment.embedding.walks) {
            (Some(task), _) => {
                let layers = task.classifier.layers;
                let classes = if task.classifier.label_reuse { 2 } else { 0 };
                (design(&graph, layers, classes, true), layers)
            }
            (None, Walks::Window(window)) => (embedding::matrix(&graph, &experiment.embedding).unwrap(), *window),
            (None, walks) => panic!("{}: {walks:?}", config.name),
        };
        for side in [Side::Plain, Side::Transposed] {
            let [shared, planned] =
                [Effort::Shared, Effort::Planned].map(|effort| Program::compile_with(&matrix, side, effort));
            assert_eq!(planned.sparse_products(), length, "{}, {side:?}", config.name);
            assert!(planned.sparse_products() <= shared.sparse_products(), "{}, {side:?}", config.name);
            assert!(planned.steps().len() <= 4 * length + 8, "{}, {side:?}: {planned}", config.name);
        }
        planned += 1;
    }
    assert!(planned > 0, "the demo needs no data");
}
