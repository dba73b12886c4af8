use super::*;
use crate::kernel::random::{bits, normal};
use proptest::prelude::*;
use std::collections::BTreeMap;

type Places = BTreeMap<(usize, usize), f64>;

fn drawn(seed: u64, rows: usize, cols: usize, count: usize) -> Vec<(u32, u32)> {
    let pick = |n: usize, axis: u32, of: usize| (bits(seed, 1, n as u64, axis) % of as u64) as u32;
    (0..count).map(|n| (pick(n, 0, rows), pick(n, 1, cols))).collect()
}

fn weights(seed: u64, count: usize) -> Vec<f32> {
    (0..count).map(|n| normal(seed, 2, n as u64, 0)).collect()
}

fn summed(entries: &[(u32, u32)], values: Option<&[f32]>) -> Places {
    let mut places = Places::new();
    for (n, &(row, col)) in entries.iter().enumerate() {
        *places.entry((row as usize, col as usize)).or_default() += f64::from(values.map_or(1.0, |v| v[n]));
    }
    places
}

fn stored(sparse: &Sparse) -> Places {
    let mut places = Places::new();
    sparse.for_each(|row, col, value| assert!(places.insert((row, col), f64::from(value)).is_none()));
    places
}

fn same(a: &Places, b: &Places) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|((p, x), (q, y))| p == q && (x - y).abs() < 1e-5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn entries_are_stored_and_transposed(
        seed: u64, rows in 1usize..400, cols in 1usize..400, count in 0usize..600, weighted: bool,
    ) {
        let entries = drawn(seed, rows, cols, count);
        let values = weighted.then(|| weights(seed, count));
        let wanted = summed(&entries, values.as_deref());
        let sparse = Arc::new(Sparse::from_triplets(rows, cols, entries, values).unwrap());
        prop_assert_eq!((sparse.rows(), sparse.cols(), sparse.nonzeros()), (rows, cols, wanted.len()));
        prop_assert!(same(&stored(&sparse), &wanted));
        prop_assert_eq!(sparse.is_weighted(), wanted.values().any(|&v| v != 1.0));
        let transposed = sparse.transposed();
        let turned: Places = wanted.iter().map(|(&(r, c), &v)| ((c, r), v)).collect();
        prop_assert!(same(&stored(&transposed), &turned));
        prop_assert_eq!(sparse.is_symmetric(), rows == cols && stored(&sparse) == stored(&transposed));
        prop_assert!(sparse.is_symmetric() || Arc::ptr_eq(&transposed, &sparse.transposed()));
        prop_assert_eq!(sparse.row_sums().len(), rows);
        for (a, b) in sparse.row_sums().iter().zip(transposed.column_sums()) {
            prop_assert!((a - b).abs() < 1e-9);
        }
        let per_tile: usize = (0..sparse.tiling().count()).map(|t| sparse.tile_nonzeros(t)).sum();
        prop_assert_eq!(per_tile, sparse.nonzeros());
    }

    #[test]
    fn pairs_are_mirrored(seed: u64, rows in 1usize..200, count in 0usize..400, weighted: bool) {
        let pairs = drawn(seed, rows, rows, count);
        let values = weighted.then(|| weights(seed, count));
        let mut both = summed(&pairs, values.as_deref());
        let turned: Vec<_> = pairs.iter().map(|&(r, c)| (c, r)).collect();
        for (place, value) in summed(&turned, values.as_deref()) {
            if place.0 != place.1 {
                *both.entry(place).or_default() += value;
            }
        }
        let sparse = Arc::new(Sparse::symmetric_from_pairs(rows, pairs, values).unwrap());
        prop_assert!(sparse.is_symmetric() && Arc::ptr_eq(&sparse, &sparse.transposed()));
        prop_assert!(same(&stored(&sparse), &both));
        prop_assert!(sparse.transpose_now().tiles == sparse.tiles);
    }
}

#[test]
fn many_strips_and_the_order_of_input_does_not_show() {
    let (rows, cols, count) = (300, 3 * STRIP_COLUMNS + 17, 20_000);
    let entries = drawn(3, rows, cols, count);
    let values = weights(3, count);
    let wanted = summed(&entries, Some(&values));
    let order: Vec<usize> = (0..count).rev().collect();
    let (turned, turned_values) = order.iter().map(|&n| (entries[n], values[n])).unzip();
    let sparse = Sparse::from_triplets(rows, cols, entries, Some(values)).unwrap();
    let again = Sparse::from_triplets(rows, cols, turned, Some(turned_values)).unwrap();
    assert_eq!(sparse.strips(), 4);
    assert_eq!(sparse.strip_range(3).end, cols);
    assert!(same(&stored(&sparse), &wanted));
    assert_eq!(sparse.tiles, again.tiles);
}

#[test]
fn a_symmetric_list_is_recognised() {
    let entries = vec![(0, 1), (1, 0), (2, 2), (1, 2), (2, 1)];
    assert!(Sparse::from_triplets(3, 3, entries.clone(), None).unwrap().is_symmetric());
    let values = vec![2.0, 2.0, 1.0, 3.0, 4.0];
    assert!(!Sparse::from_triplets(3, 3, entries, Some(values)).unwrap().is_symmetric());
    assert!(Sparse::from_triplets(0, 0, vec![], None).unwrap().is_symmetric());
}

#[test]
fn selections_repeat_and_reach_every_column() {
    let selection = Arc::new(Sparse::selection(&[3, 0, 3, 2], 5).unwrap());
    assert_eq!(stored(&selection).into_keys().collect::<Vec<_>>(), [(0, 3), (1, 0), (2, 3), (3, 2)]);
    assert_eq!(selection.column_sums(), [1.0, 0.0, 1.0, 2.0, 0.0]);
    assert!(!selection.is_weighted());
    assert_eq!(selection.transposed().rows(), 5);
    assert!(matches!(Sparse::selection(&[1, 5], 5), Err(GraphError::OutOfRange { entry: 1, col: 5, .. })));
}

#[test]
fn shapes_without_rows_or_columns_work() {
    for (rows, cols) in [(0, 0), (0, 5), (5, 0), (1, 70_000)] {
        let sparse = Arc::new(Sparse::from_triplets(rows, cols, vec![], None).unwrap());
        assert_eq!((sparse.nonzeros(), sparse.strips()), (0, cols.div_ceil(STRIP_COLUMNS).max(1)));
        let transposed = sparse.transposed();
        assert_eq!((transposed.rows(), transposed.cols()), (cols, rows));
    }
    let wide = Arc::new(Sparse::from_triplets(1, 70_000, vec![(0, 69_999), (0, 0)], None).unwrap());
    assert_eq!(wide.transposed().row_sums()[69_999], 1.0);
}

#[test]
fn bad_entries_have_errors_that_say_where() {
    let error = |entries, values| Sparse::from_triplets(2, 3, entries, values).unwrap_err();
    assert!(matches!(error(vec![(0, 0), (2, 1)], None), GraphError::OutOfRange { entry: 1, row: 2, .. }));
    assert!(matches!(error(vec![(0, 3)], None), GraphError::OutOfRange { entry: 0, col: 3, .. }));
    assert!(matches!(error(vec![(0, 0)], Some(vec![])), GraphError::ValueCount { entries: 1, values: 0 }));
    let bad = error(vec![(0, 0), (1, 2)], Some(vec![1.0, f32::NAN]));
    assert!(bad.to_string().starts_with("entry 1, at (1, 2), has the value NaN"), "{bad}");
    let huge = error(vec![(0, 0), (0, 0)], Some(vec![f32::MAX, f32::MAX]));
    assert!(matches!(huge, GraphError::Overflow { row: 0, col: 0, .. }));
    assert!(matches!(Sparse::from_triplets(1 << 33, 1, vec![], None), Err(GraphError::TooLarge { .. })));
}
