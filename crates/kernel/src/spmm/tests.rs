use super::by_tile::multiply_cell;
use super::*;
use crate::LANES;
use crate::panel::tests::panel_of;
use crate::random::{normal, uniform};
use crate::stride;
use crate::tile::{Parts, Tile};
use proptest::prelude::*;

const SEED: u64 = 12;

/// A random tile of one strip, and the same as a dense matrix.
fn random_tile(height: usize, width: usize, density: f64, weighted: bool) -> (Tile, Vec<f64>) {
    let mut dense = vec![0.0; height * width];
    let (mut rows, mut counts, mut columns, mut values) = (vec![], vec![], vec![], vec![]);
    for i in 0..height {
        let before = columns.len();
        // Every third row is empty.
        for j in (0..width).filter(|&j| i % 3 != 1 && uniform(SEED, 1, i as u64, j as u32) < density) {
            let value = if weighted { normal(SEED, 2, i as u64, j as u32) } else { 1.0 };
            dense[i * width + j] = f64::from(value);
            columns.push(j as u16);
            values.push(value);
        }
        if columns.len() > before {
            rows.push(i as u16);
            counts.push((columns.len() - before) as u16);
        }
    }
    let parts = Parts {
        starts: vec![[0, 0], [rows.len() as u32, columns.len() as u32]].into(),
        rows: rows.into(),
        counts: counts.into(),
        columns: columns.into(),
        values: weighted.then_some(values.into()),
    };
    (Tile::new(height, width, width, parts).unwrap(), dense)
}

fn vector(stream: u32, len: usize) -> Vec<f32> {
    (0..len).map(|i| normal(SEED, stream, i as u64, 0)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn products_match_the_obvious_sum(
        height in 1usize..40, width in 1usize..60, cols in 1usize..=130, density in 0.0f64..0.5,
        weighted: bool, left: bool, right: bool, start in 0usize..4, fast: bool,
    ) {
        let (tile, dense) = random_tile(height, width, density, weighted);
        let panel = |stream, rows| panel_of(rows, cols, |i, j| normal(SEED, stream, i as u64, j as u32));
        let (x, z, before) = (panel(3, width), panel(4, height), panel(5, height));
        let (l, r, d) = (vector(6, height), vector(7, width), vector(8, height));
        let factors = Factors { alpha: -1.5, left: left.then_some(&l), right: right.then_some(&r) };
        let z = Panel::new(height, cols, &z);
        let start = start_of(start, &d, z);
        let simd = if fast { Simd::best() } else { Simd::portable() };
        let accumulate = matches!(start, Start::Accumulate);
        let mut y = if accumulate { before.clone() } else { vec![f32::NAN; before.len()] };
        for columns in blocks(cols) {
            let y = PanelMut::new(height, cols, &mut y);
            multiply_cell(simd, tile.cell(0), Panel::new(width, cols, &x), &factors, start, y, columns);
        }
        for i in 0..height {
            for j in 0..stride(cols) {
                let at = i * stride(cols) + j;
                let mut wanted = match start {
                    Start::Zero => 0.0,
                    Start::Accumulate => f64::from(before[at]),
                    Start::Add(Term { diagonal, .. }) => 0.5 * f64::from(diagonal.map_or(1.0, |d| d[i])) * f64::from(z.data()[at]),
                };
                for k in 0..width {
                    let scale = if left { f64::from(l[i]) } else { 1.0 } * if right { f64::from(r[k]) } else { 1.0 };
                    wanted -= 1.5 * scale * dense[i * width + k] * f64::from(x[k * stride(cols) + j]);
                }
                prop_assert!((wanted - f64::from(y[at])).abs() < 1e-4 * (1.0 + wanted.abs()), "{i} {j}: {wanted} {}", y[at]);
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_blocks_or_alignment() {
    let (height, width, cols) = (30, 50, 120);
    let (tile, _) = random_tile(height, width, 0.3, true);
    let x = panel_of(width, cols, |i, j| normal(SEED, 3, i as u64, j as u32));
    let factors = Factors { alpha: 0.7, left: None, right: None };
    let mut whole = vec![0.0; height * stride(cols)];
    let panel = Segments::whole(Panel::new(width, cols, &x));
    spmm(&Operand::new([&tile], None), &panel, &factors, None, &mut whole, &mut Buffer::default());
    for step in [8, 16, 24, 40, 56] {
        for shift in 0..3 {
            let moved = [vec![0.0; shift], x.clone()].concat();
            let mut y = vec![0.0; shift + height * stride(cols)];
            for start in (0..cols).step_by(step) {
                let x = Panel::new(width, cols, &moved[shift..]);
                let y = PanelMut::new(height, cols, &mut y[shift..]);
                multiply_cell(Simd::best(), tile.cell(0), x, &factors, Start::Zero, y, start..cols.min(start + step));
            }
            assert_eq!(y[shift..], whole);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Rows in another order have the same sums, in AVX-512 registers too.
    #[test]
    fn sorted_rows_have_the_bits_of_their_tiles(
        heights in prop::collection::vec(1usize..40, 1..4), width in 1usize..60, cols in 1usize..=32, density in 0.0f64..0.5,
        weighted: bool, left: bool, right: bool, start in 0usize..3,
    ) {
        let height: usize = heights.iter().sum();
        // Of weighted and unweighted tiles one after the other, if any are weighted.
        let tiles: Vec<Tile> = heights
            .iter()
            .enumerate()
            .map(|(number, &height)| random_tile(height, width, density, weighted && number % 2 == 0).0)
            .collect();
        let sorted = LengthSortedRows::new(tiles.iter().map(|tile| tile.cell(0))).unwrap();
        let panel = |stream, rows| panel_of(rows, cols, |i, j| normal(SEED, stream, i as u64, j as u32));
        let (x, z) = (panel(3, width), panel(4, height));
        let (l, r, d) = (vector(6, height), vector(7, width), vector(8, height));
        let x = Panel::new(width, cols, &x);
        for simd in [Simd::best(), Simd::best().without_wide(), Simd::portable()] {
            if !sorted.suits(simd, cols) {
                prop_assert!(!simd.is_fast() || stride(cols) == 24);
                continue;
            }
            let mut by_length = vec![f32::NAN; z.len()];
            let factors = Factors { alpha: -1.5, left: left.then_some(&l), right: right.then_some(&r) };
            let all = Panel::new(height, cols, &z);
            let begin = start_of([0, 2, 3][start], &d, all);
            sorted.spmm(simd, x, &factors, begin, PanelMut::new(height, cols, &mut by_length));
            let mut first = 0;
            for tile in &tiles {
                let (rows, width) = (first..first + tile.rows(), stride(cols));
                let part = rows.start * width..rows.end * width;
                let factors = Factors { left: left.then_some(&l[rows.clone()]), ..factors };
                let begin = start_of([0, 2, 3][start], &d[rows.clone()], Panel::new(rows.len(), cols, &z[part.clone()]));
                let mut by_rows = vec![f32::NAN; part.len()];
                for columns in blocks(cols) {
                    let y = PanelMut::new(rows.len(), cols, &mut by_rows);
                    multiply_cell(simd, tile.cell(0), x, &factors, begin, y, columns);
                }
                prop_assert_eq!(&by_rows, &by_length[part]);
                first = rows.end;
            }
        }
    }
}

/// P(Ax) = (PAPᵀ)(Px), bit for bit.
#[test]
fn permuted_products_have_the_bits_of_plain_ones() {
    let (height, cols) = (61, 8);
    for (weighted, right) in [(false, false), (false, true), (true, true)] {
        let (tile, _) = random_tile(height, height, 0.3, weighted);
        let sorted = LengthSortedRows::new([tile.cell(0)].into_iter()).unwrap();
        if !sorted.suits(Simd::best(), cols) {
            return;
        }
        let (permutation, permuted) = sorted.permuted().expect("the matrix is square");
        let panel = |stream| panel_of(height, cols, |i, j| normal(SEED, stream, i as u64, j as u32));
        let (x, z) = (panel(3), panel(4));
        let (l, r, d) = (vector(6, height), vector(7, height), vector(8, height));
        let multiply = |a: &Operand, [x, z]: [&[f32]; 2], [l, r, d]: [&[f32]; 3]| {
            let factors = Factors { alpha: -1.5, left: Some(l), right: right.then_some(r) };
            let added = Term { coefficient: 0.5, diagonal: Some(d), panel: Panel::new(height, cols, z) };
            let mut y = vec![f32::NAN; z.len()];
            let x = Segments::whole(Panel::new(height, cols, x));
            spmm(a, &x, &factors, Some(added), &mut y, &mut Buffer::default());
            y
        };
        let permute = |panel: &[f32]| {
            let mut permuted = vec![f32::NAN; panel.len()];
            permutation.permute_rows(cols, panel.chunks_exact(stride(cols)), &mut permuted);
            permuted
        };
        let plain = multiply(&Operand::new([&tile], Some(&sorted)), [&x, &z], [&l, &r, &d]);
        let ([px, pz], [pl, pr, pd]) = ([&x, &z].map(|x| permute(x)), [&l, &r, &d].map(|d| permutation.permute(d)));
        let made = multiply(&Operand::sorted(&permuted), [&px, &pz], [&pl, &pr, &pd]);
        assert_eq!(made, permute(&plain));
        let mut restored = vec![f32::NAN; made.len()];
        permutation.restore_rows(cols, &made, &mut restored);
        assert_eq!(restored, plain);
    }
    let (tile, _) = random_tile(height, height + 1, 0.3, false);
    assert!(LengthSortedRows::new([tile.cell(0)].into_iter()).unwrap().permuted().is_none(), "not square");
}

/// One of the things that a product can be added to.
fn start_of<'a>(number: usize, diagonal: &'a [f32], panel: Panel<'a>) -> Start<'a> {
    match number {
        0 => Start::Zero,
        1 => Start::Accumulate,
        2 => Start::Add(Term { coefficient: 0.5, diagonal: None, panel }),
        _ => Start::Add(Term { coefficient: 0.5, diagonal: Some(diagonal), panel }),
    }
}

#[test]
fn sorted_rows_are_not_for_many_entries_or_columns() {
    let (tile, _) = random_tile(30, 200, 0.9, false);
    assert!(LengthSortedRows::new([tile.cell(0)].into_iter()).is_none(), "a hundred entries a row");
    assert!(LengthSortedRows::new(std::iter::empty()).is_none());
    let (tile, _) = random_tile(30, 10_000, 0.001, false);
    let sorted = LengthSortedRows::new([tile.cell(0)].into_iter()).unwrap();
    assert_eq!(sorted.suits(Simd::best(), 16), Simd::best().is_fast());
    assert!(!sorted.suits(Simd::best(), 32), "the panel is in no nearby cache");
}

#[test]
fn blocks_cover_the_padded_columns() {
    let of = |cols| blocks(cols).collect::<Vec<_>>();
    assert!(of(0).is_empty());
    assert_eq!(of(3), vec![0..stride(3)]);
    assert_eq!(of(64), vec![0..stride(64)]);
    assert_eq!(of(120), [0..64, 64..120]);
    for cols in 1..700 {
        let (blocks, stride) = (of(cols), stride(cols));
        assert!(blocks[0].start == 0 && blocks[blocks.len() - 1].end == stride);
        assert!(blocks.windows(2).all(|w| w[0].end == w[1].start));
        assert!(blocks.iter().all(|b| b.len() <= BLOCK && b.len() % LANES == 0 && !b.is_empty()));
    }
    assert_eq!(of(200), [0..56, 56..104, 104..152, 152..200]);
}

/// A worker may own no tile of a small matrix.
#[test]
fn a_product_without_tiles_has_no_rows() {
    let (x, right) = (panel_of(5, 3, |_, _| 1.0), vector(7, 5));
    let factors = Factors { alpha: 1.0, left: None, right: Some(&right) };
    let x = Segments::whole(Panel::new(5, 3, &x));
    spmm(&Operand::new([], None), &x, &factors, None, &mut [], &mut Buffer::default());
}
