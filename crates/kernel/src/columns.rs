//! Sums and peaks of the columns of a panel, and distances between columns.

use super::simd::faster;
use super::{LANES, Panel};

/// `out[j]` = the sum of column `j`, in f64.
///
/// # Panics
/// If `out` is not as long as the panel is wide.
pub fn column_sums(a: Panel, out: &mut [f64]) {
    faster!(sums(a: Panel, out: &mut [f64]));
}

#[inline(always)]
fn sums(a: Panel, out: &mut [f64]) {
    assert_eq!(out.len(), a.cols(), "one number a column");
    sums_of(a.data().chunks_exact(a.stride().max(1)), out);
}

/// `out[j]` = the sum of column `j` over some rows, in their order.
///
/// # Panics
/// If `out` is not as long as the panel is wide, or there is no such row.
pub fn column_sums_of(a: Panel, rows: &[u16], out: &mut [f64]) {
    faster!(picked_sums(a: Panel, rows: &[u16], out: &mut [f64]));
}

#[inline(always)]
fn picked_sums(a: Panel, rows: &[u16], out: &mut [f64]) {
    assert_eq!(out.len(), a.cols(), "one number a column");
    let (data, stride) = (a.data(), a.stride());
    sums_of(rows.iter().map(|&row| &data[usize::from(row) * stride..][..stride]), out);
}

#[inline(always)]
fn sums_of<'a>(rows: impl Iterator<Item = &'a [f32]> + Clone, out: &mut [f64]) {
    for (group, out) in out.chunks_mut(LANES).enumerate() {
        // Kept in registers: a store that is soon loaded again stalls.
        let mut kept = [0.0; LANES];
        for row in rows.clone() {
            let entries = &row[group * LANES..(group + 1) * LANES];
            kept.iter_mut().zip(entries).for_each(|(sum, &entry)| *sum += f64::from(entry));
        }
        out.copy_from_slice(&kept[..out.len()]);
    }
}

/// `out[j]` = the entry of column `j` of largest magnitude, with its sign; the first one of equals,
/// zero without rows.
///
/// # Panics
/// If `out` is not as long as the panel is wide.
pub fn column_peaks(a: Panel, out: &mut [f64]) {
    fold(a, out, |peak: f64, x| if f64::from(x).abs() > peak.abs() { f64::from(x) } else { peak });
}

/// `out[j]` = the squared length of column `j` of `A − B · diag(scale)`, in f64.
///
/// # Panics
/// If the panels differ in shape, or `scale` or `out` is not as long as they are wide.
pub fn distance_squares(a: Panel, b: Panel, scale: &[f64], out: &mut [f64]) {
    assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()), "two panels of one shape");
    assert!(scale.len() == a.cols() && out.len() == a.cols(), "one number a column");
    faster!(distances(a: Panel, b: Panel, scale: &[f64], out: &mut [f64]));
}

#[inline(always)]
fn distances(a: Panel, b: Panel, scale: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for i in 0..a.rows() {
        for (((o, &s), &x), &y) in out.iter_mut().zip(scale).zip(a.row(i)).zip(b.row(i)) {
            let distance = f64::from(x) - s * f64::from(y);
            *o += distance * distance;
        }
    }
}

#[inline(always)]
fn fold<T: Copy + Default>(a: Panel, out: &mut [T], f: impl Fn(T, f32) -> T) {
    assert_eq!(out.len(), a.cols(), "one number a column");
    out.fill(T::default());
    for i in 0..a.rows() {
        for (o, &x) in out.iter_mut().zip(a.row(i)) {
            *o = f(*o, x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::tests::panel_of;

    #[test]
    fn columns_are_summed_searched_and_compared() {
        let data = panel_of(5, 3, |i, j| [1.0, -2.0, 3.0, -3.0, 0.5][i] * (j as f32 - 1.0));
        let panel = Panel::new(5, 3, &data);
        let mut sums = [9.0; 3];
        column_sums(panel, &mut sums);
        assert_eq!(sums, [0.5, 0.0, -0.5]);
        column_sums_of(panel, &[3, 0], &mut sums);
        assert_eq!(sums, [2.0, 0.0, -2.0]);
        let mut peaks = [9.0; 3];
        column_peaks(panel, &mut peaks);
        assert_eq!(peaks, [-3.0, 0.0, 3.0]);
        let mut distances = [9.0; 3];
        distance_squares(panel, panel, &[2.0, 5.0, 1.0], &mut distances);
        assert_eq!(distances, [1.0 + 4.0 + 9.0 + 9.0 + 0.25, 0.0, 0.0]);
        column_peaks(Panel::new(0, 3, &[]), &mut peaks);
        assert_eq!(peaks, [0.0; 3]);
    }
}
