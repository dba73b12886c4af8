use super::*;
use crate::kernel::panel::tests::panel_of;
use crate::kernel::random::{normal, uniform};
use crate::kernel::stride;
use crate::kernel::tile::{Parts, Tile};
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
        weighted: bool, left: bool, right: bool, start in 0..4, fast: bool,
    ) {
        let (tile, dense) = random_tile(height, width, density, weighted);
        let panel = |stream, rows| panel_of(rows, cols, |i, j| normal(SEED, stream, i as u64, j as u32));
        let (x, z, before) = (panel(3, width), panel(4, height), panel(5, height));
        let (l, r, d) = (vector(6, height), vector(7, width), vector(8, height));
        let factors = Factors { alpha: -1.5, left: left.then_some(&l), right: right.then_some(&r) };
        let z = Panel::new(height, cols, &z);
        let start = match start {
            0 => Start::Zero,
            1 => Start::Accumulate,
            2 => Start::Add { beta: 0.5, diagonal: None, panel: z },
            _ => Start::Add { beta: 0.5, diagonal: Some(&d), panel: z },
        };
        let simd = if fast { Simd::best() } else { Simd::portable() };
        let accumulate = matches!(start, Start::Accumulate);
        let mut y = if accumulate { before.clone() } else { vec![f32::NAN; before.len()] };
        for columns in blocks(cols) {
            let y = PanelMut::new(height, cols, &mut y);
            multiply_columns(simd, tile.cell(0), Panel::new(width, cols, &x), &factors, start, y, columns);
        }
        for i in 0..height {
            for j in 0..stride(cols) {
                let at = i * stride(cols) + j;
                let mut wanted = match start {
                    Start::Zero => 0.0,
                    Start::Accumulate => f64::from(before[at]),
                    Start::Add { diagonal, .. } => 0.5 * f64::from(diagonal.map_or(1.0, |d| d[i])) * f64::from(z.data()[at]),
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
    multiply(tile.cell(0), Panel::new(width, cols, &x), &factors, Start::Zero, PanelMut::new(height, cols, &mut whole));
    for step in [8, 16, 24, 40, 56] {
        for shift in 0..3 {
            let moved = [vec![0.0; shift], x.clone()].concat();
            let mut y = vec![0.0; shift + height * stride(cols)];
            for start in (0..cols).step_by(step) {
                let x = Panel::new(width, cols, &moved[shift..]);
                let y = PanelMut::new(height, cols, &mut y[shift..]);
                multiply_columns(
                    Simd::best(),
                    tile.cell(0),
                    x,
                    &factors,
                    Start::Zero,
                    y,
                    start..cols.min(start + step),
                );
            }
            assert_eq!(y[shift..], whole);
        }
    }
}

/// Cells whose rows all have entries go another way where a panel is as wide as the block.
#[test]
fn a_full_cell_has_the_bits_of_any_other() {
    let (height, width, wide) = (40, 50, 72);
    let columns: Vec<u16> =
        (0..height).flat_map(|i| (0..=i % 7).map(move |j| ((i * 11 + j * 7) % width) as u16)).collect();
    let counts: Vec<u16> = (0..height).map(|i| (i % 7 + 1) as u16).collect();
    let parts = Parts {
        starts: vec![[0, 0], [height as u32, columns.len() as u32]].into(),
        rows: (0..height as u16).collect::<Vec<_>>().into(),
        counts: counts.into(),
        columns: columns.into(),
        values: None,
    };
    let tile = Tile::new(height, width, width, parts).unwrap();
    let panel = |stream, rows, cols| panel_of(rows, cols, |i, j| normal(SEED, stream, i as u64, j as u32));
    let (l, d) = (vector(6, height), vector(8, height));
    for case in 0..6 {
        let multiply = |cols: usize, columns: Range<usize>| {
            let (x, z) = (panel(3, width, cols), panel(4, height, cols));
            let z = Panel::new(height, cols, &z);
            let start = match case / 2 {
                0 => Start::Zero,
                1 => Start::Add { beta: 0.5, diagonal: None, panel: z },
                _ => Start::Add { beta: 0.5, diagonal: Some(&d), panel: z },
            };
            let factors = Factors { alpha: -1.5, left: (case % 2 == 0).then_some(&l), right: None };
            let mut y = vec![f32::NAN; height * stride(cols)];
            let out = PanelMut::new(height, cols, &mut y);
            multiply_columns(Simd::best(), tile.cell(0), Panel::new(width, cols, &x), &factors, start, out, columns);
            y
        };
        for cols in [8, 16, 32] {
            let (full, part) = (multiply(cols, 0..cols), multiply(wide, 0..cols));
            for row in 0..height {
                assert_eq!(full[row * cols..][..cols], part[row * wide..][..cols], "case {case}, row {row}");
            }
        }
    }
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
