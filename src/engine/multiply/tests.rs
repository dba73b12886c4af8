use super::*;
use crate::graph::STRIP_COLUMNS;
use crate::kernel::random::{bits, fill_normal, normal};
use proptest::prelude::*;

const SEED: u64 = 21;

fn matrix(rows: usize, cols: usize, count: usize, weighted: bool) -> Sparse {
    let pick = |n: usize, axis: u32, of: usize| (bits(SEED, 1, n as u64, axis) % of as u64) as u32;
    let entries = (0..count).map(|n| (pick(n, 0, rows), pick(n, 1, cols))).collect();
    let values = weighted.then(|| (0..count).map(|n| normal(SEED, 2, n as u64, 0)).collect());
    Sparse::from_triplets(rows, cols, entries, values).unwrap()
}

fn panel(stream: u32, rows: usize, cols: usize) -> Vec<f32> {
    let mut data = vec![0.0; rows * stride(cols)];
    fill_normal(SEED, stream, 0, PanelMut::new(rows, cols, &mut data));
    data
}

fn vector(stream: u32, len: usize) -> Vec<f32> {
    (0..len).map(|i| normal(SEED, stream, i as u64, 0)).collect()
}

/// Segments that end at the given rows.
fn segments<'a>(x: &'a [f32], cols: usize, ends: &[usize]) -> Rows<'a> {
    let rows = x.len() / stride(cols);
    let mut bounds: Vec<usize> = ends.iter().map(|e| e % (rows + 1)).chain([0, rows]).collect();
    bounds.sort_unstable();
    let parts = bounds.windows(2).map(|w| (w[0], &x[w[0] * stride(cols)..w[1] * stride(cols)])).collect();
    Rows { cols, parts }
}

fn whole_product(sparse: &Sparse, x: &Rows, scaling: Scaling, add: Option<Add>) -> Vec<f32> {
    let mut y = vec![f32::NAN; sparse.rows() * stride(x.cols)];
    multiply_tiles(sparse, 0..sparse.tiling().count(), x, scaling, add, &mut y, &mut Scratch::default());
    y
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn products_match_and_bits_do_not_depend_on_segments_or_calls(
        rows in 1usize..500, cols in 1usize..500, width in 1usize..=130, count in 0usize..2000,
        weighted: bool, scaled: bool, added in 0..3, ends in prop::collection::vec(any::<usize>(), 0..6), cut: usize,
    ) {
        let sparse = matrix(rows, cols, count, weighted);
        let (x, z) = (panel(3, cols, width), panel(4, rows, width));
        let (left, right, diagonal) = (vector(5, rows), vector(6, cols), vector(7, rows));
        let scaling = Scaling { alpha: 0.5, left: scaled.then_some(&left), right: scaled.then_some(&right) };
        let add = (added > 0).then_some(Add { beta: -2.0, diagonal: (added > 1).then_some(&diagonal), panel: &z });
        let y = whole_product(&sparse, &segments(&x, width, &[]), scaling, add);

        let step = stride(width);
        let mut wanted: Vec<f64> = (0..y.len()).map(|at| add.map_or(0.0, |a| {
            -2.0 * f64::from(a.diagonal.map_or(1.0, |d| d[at / step])) * f64::from(z[at])
        })).collect();
        sparse.for_each(|row, col, value| {
            let scale = if scaled { f64::from(left[row]) * f64::from(right[col]) } else { 1.0 } * 0.5 * f64::from(value);
            (0..width).for_each(|j| wanted[row * step + j] += scale * f64::from(x[col * step + j]));
        });
        for (got, wanted) in y.iter().zip(&wanted) {
            prop_assert!((f64::from(*got) - wanted).abs() < 1e-4 * (1.0 + wanted.abs()));
        }

        let parts = segments(&x, width, &ends);
        let cut = cut % (sparse.tiling().count() + 1);
        let middle = sparse.tiling().rows_of(0..cut).end * step;
        let mut again = vec![f32::NAN; y.len()];
        let (above, below) = again.split_at_mut(middle);
        let mut scratch = Scratch::default();
        let upper = add.map(|a| Add { panel: &z[..middle], ..a });
        let lower = add.map(|a| Add { panel: &z[middle..], ..a });
        multiply_tiles(&sparse, 0..cut, &parts, scaling, upper, above, &mut scratch);
        multiply_tiles(&sparse, cut..sparse.tiling().count(), &parts, scaling, lower, below, &mut scratch);
        prop_assert_eq!(again, y);
    }
}

#[test]
fn many_strips_and_one_tile_at_a_time() {
    let n = 2 * STRIP_COLUMNS + 5000;
    let sparse = matrix(n, n, 300_000, true);
    assert!(sparse.strips() > 2);
    let x = panel(3, n, 12);
    let y = whole_product(&sparse, &segments(&x, 12, &[]), Scaling::default(), None);
    let mut wanted = vec![0.0f64; y.len()];
    sparse.for_each(|row, col, value| {
        (0..12).for_each(|j| wanted[row * 16 + j] += f64::from(value) * f64::from(x[col * 16 + j]));
    });
    assert!(y.iter().zip(&wanted).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-4 * (1.0 + b.abs())));
    for ends in [vec![n / 2], vec![1, 100, n - 1], (0..n).step_by(777).collect()] {
        assert_eq!(whole_product(&sparse, &segments(&x, 12, &ends), Scaling::default(), None), y);
    }
    let mut single = vec![f32::NAN; y.len()];
    let mut scratch = Scratch::default();
    for tile in 0..sparse.tiling().count() {
        let range = sparse.tiling().range(tile);
        let y = &mut single[range.start * 16..range.end * 16];
        multiply_tiles(&sparse, tile..tile + 1, &segments(&x, 12, &[n / 3]), Scaling::default(), None, y, &mut scratch);
    }
    assert_eq!(single, y);
}

#[test]
fn a_matrix_without_columns_still_adds() {
    let sparse = matrix(5, 1, 0, false);
    let narrow = Sparse::from_triplets(5, 0, vec![], None).unwrap();
    let z = panel(4, 5, 3);
    let add = Add { beta: 2.0, diagonal: None, panel: &z };
    let doubled: Vec<f32> = z.iter().map(|v| 2.0 * v).collect();
    assert_eq!(
        whole_product(&sparse, &Rows { cols: 3, parts: vec![(0, &[0.0; 8])] }, Scaling::default(), Some(add)),
        doubled
    );
    assert_eq!(whole_product(&narrow, &Rows { cols: 3, parts: vec![] }, Scaling::default(), Some(add)), doubled);
    assert_eq!(whole_product(&narrow, &Rows { cols: 3, parts: vec![] }, Scaling::default(), None), [0.0; 40]);
}
