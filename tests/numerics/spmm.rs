//! Sparse products over tiles, strips and segments, compared with a direct sum.

use std::ops::Range;

use isvd_dist::graph::{STRIP_COLUMNS, Sparse};
use isvd_kernel::elementwise::Term;
use isvd_kernel::random::{bits, fill_normal, normal};
use isvd_kernel::spmm::{Factors, LengthSortedRows, Operand, Segments, spmm};
use isvd_kernel::{Buffer, Panel, PanelMut, stride};
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
fn segments<'a>(x: &'a [f32], cols: usize, ends: &[usize]) -> Segments<'a> {
    let rows = x.len() / stride(cols);
    let mut bounds: Vec<usize> = ends.iter().map(|e| e % (rows + 1)).chain([0, rows]).collect();
    bounds.sort_unstable();
    let parts = bounds.windows(2).map(|w| (w[0], &x[w[0] * stride(cols)..w[1] * stride(cols)])).collect();
    Segments { cols, parts }
}

/// A product with some tiles, by rows sorted by length where that pays.
fn product(sparse: &Sparse, tiles: Range<usize>, x: &Segments, factors: Factors, added: Option<Term>) -> Vec<f32> {
    let rows = sparse.tiling().rows_of(tiles.clone());
    let mut y = vec![f32::NAN; rows.len() * stride(x.cols)];
    let is_narrow = sparse.strips() == 1;
    let sorted = is_narrow.then(|| LengthSortedRows::new(tiles.clone().map(|tile| sparse.cell(tile, 0)))).flatten();
    let operand = Operand::new(tiles.map(|tile| sparse.tile(tile)), sorted.as_ref());
    let part = Factors { left: factors.left.map(|left| &left[rows.clone()]), ..factors };
    let added = added.map(|Term { coefficient, diagonal, panel }| {
        let numbers = &panel.data()[rows.start * panel.stride()..rows.end * panel.stride()];
        let panel = Panel::new(rows.len(), panel.cols(), numbers);
        Term { coefficient, diagonal: diagonal.map(|diagonal| &diagonal[rows.clone()]), panel }
    });
    spmm(&operand, x, &part, added, &mut y, &mut Buffer::default());
    y
}

fn whole_product(sparse: &Sparse, x: &Segments, factors: Factors, added: Option<Term>) -> Vec<f32> {
    product(sparse, 0..sparse.tiling().count(), x, factors, added)
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
        let factors = Factors { alpha: 0.5, left: scaled.then_some(&left), right: scaled.then_some(&right) };
        let panel = Panel::new(rows, width, &z);
        let term = Term { coefficient: -2.0, diagonal: (added > 1).then_some(&diagonal), panel };
        let add = (added > 0).then_some(term);
        let y = whole_product(&sparse, &segments(&x, width, &[]), factors, add);

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
        let mut again = product(&sparse, 0..cut, &parts, factors, add);
        again.extend(product(&sparse, cut..sparse.tiling().count(), &parts, factors, add));
        prop_assert_eq!(again, y);
    }
}

#[test]
fn many_strips_and_one_tile_at_a_time() {
    let n = 2 * STRIP_COLUMNS + 5000;
    let sparse = matrix(n, n, 300_000, true);
    assert!(sparse.strips() > 2);
    let x = panel(3, n, 12);
    let y = whole_product(&sparse, &segments(&x, 12, &[]), Factors::default(), None);
    let mut wanted = vec![0.0f64; y.len()];
    sparse.for_each(|row, col, value| {
        (0..12).for_each(|j| wanted[row * 16 + j] += f64::from(value) * f64::from(x[col * 16 + j]));
    });
    assert!(y.iter().zip(&wanted).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-4 * (1.0 + b.abs())));
    for ends in [vec![n / 2], vec![1, 100, n - 1], (0..n).step_by(777).collect()] {
        assert_eq!(whole_product(&sparse, &segments(&x, 12, &ends), Factors::default(), None), y);
    }
    let parts = segments(&x, 12, &[n / 3]);
    let tile = |tile: usize| product(&sparse, tile..tile + 1, &parts, Factors::default(), None);
    let single: Vec<f32> = (0..sparse.tiling().count()).flat_map(tile).collect();
    assert_eq!(single, y);
}

#[test]
fn a_matrix_without_columns_still_adds() {
    let sparse = matrix(5, 1, 0, false);
    let narrow = Sparse::from_triplets(5, 0, vec![], None).unwrap();
    let z = panel(4, 5, 3);
    let add = Term { coefficient: 2.0, diagonal: None, panel: Panel::new(5, 3, &z) };
    let doubled: Vec<f32> = z.iter().map(|v| 2.0 * v).collect();
    assert_eq!(
        whole_product(&sparse, &Segments { cols: 3, parts: vec![(0, &[0.0; 8])] }, Factors::default(), Some(add)),
        doubled
    );
    assert_eq!(whole_product(&narrow, &Segments { cols: 3, parts: vec![] }, Factors::default(), Some(add)), doubled);
    assert_eq!(whole_product(&narrow, &Segments { cols: 3, parts: vec![] }, Factors::default(), None), [0.0; 40]);
}
