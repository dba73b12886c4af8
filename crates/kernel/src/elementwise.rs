//! Linear combinations of panels, softmax, and checks for non-finite entries.

use super::panel::LANES;
use super::simd::faster;
use super::{Panel, PanelMut};

/// One term of a linear combination: `coefficient · diag(diagonal) · panel`.
#[derive(Clone, Copy, Debug)]
pub struct Term<'a> {
    /// The scalar factor.
    pub coefficient: f32,
    /// A factor for each row.
    pub diagonal: Option<&'a [f32]>,
    /// The panel.
    pub panel: Panel<'a>,
}

impl Term<'_> {
    /// The factor of a row.
    #[inline(always)]
    fn factor(&self, row: usize) -> f32 {
        self.coefficient * self.diagonal.map_or(1.0, |diagonal| diagonal[row])
    }
}

/// `out` = the sum of the terms, in their order; zero without terms.
///
/// # Panics
/// If a term has another shape than `out`.
pub fn combine(terms: &[Term], out: PanelMut) {
    for term in terms {
        assert_eq!(
            (term.panel.rows(), term.panel.cols()),
            (out.rows(), out.cols()),
            "terms have the shape of their sum"
        );
        assert!(term.diagonal.is_none_or(|d| d.len() == out.rows()), "one factor a row");
    }
    faster!(combine_rows(terms: &[Term], out: PanelMut));
}

#[inline(always)]
fn combine_rows(terms: &[Term], mut out: PanelMut) {
    match *terms {
        [] => out.data_mut().fill(0.0),
        [a] => add_up([a], out),
        [a, b] => add_up([a, b], out),
        [a, b, c] => add_up([a, b, c], out),
        [a, b, c, ref others @ ..] => {
            add_up([a, b, c], out.reborrow());
            others.iter().for_each(|&term| scale_rows(1.0, None, Some(term), out.reborrow()));
        }
    }
}

/// The sum of a fixed number of terms. A run-time number would take most of the time to check at
/// every row.
#[inline(always)]
fn add_up<const TERMS: usize>(terms: [Term; TERMS], mut out: PanelMut) {
    let parts = out.stride() / LANES;
    let to = out.data_mut().as_chunks_mut::<LANES>().0;
    let panels = terms.map(|term| &lanes(term.panel.data())[..to.len()]);
    for (row, to) in to.chunks_exact_mut(parts.max(1)).enumerate() {
        let factors = terms.map(|term| term.factor(row));
        for (part, to) in to.iter_mut().enumerate() {
            let at = row * parts + part;
            let first = scaled(factors[0], &panels[0][at]);
            *to = (1..TERMS).fold(first, |sum, term| plus(sum, scaled(factors[term], &panels[term][at])));
        }
    }
}

/// A row, or a part of it, that fits a register.
type Lanes = [f32; LANES];

/// The rows of a panel, each in as many parts as its columns need.
#[inline(always)]
fn lanes(panel: &[f32]) -> &[Lanes] {
    panel.as_chunks().0
}

#[inline(always)]
fn scaled(factor: f32, lanes: &Lanes) -> Lanes {
    lanes.map(|entry| factor * entry)
}

#[inline(always)]
fn plus(one: Lanes, other: Lanes) -> Lanes {
    std::array::from_fn(|lane| one[lane] + other[lane])
}

/// `out` = `alpha · diag(left) · out` plus the added term.
///
/// # Panics
/// If `left` is not as long as the panel is high, or the term has another shape.
pub fn scale_and_add(alpha: f32, left: Option<&[f32]>, add: Option<Term>, out: PanelMut) {
    let (rows, stride) = (out.rows(), out.stride());
    assert!(left.is_none_or(|left| left.len() == rows), "one factor a row");
    assert!(add.is_none_or(|add| add.panel.rows() == rows && add.panel.stride() == stride), "a term of the same shape");
    faster!(scale_rows(alpha: f32, left: Option<&[f32]>, add: Option<Term>, out: PanelMut));
}

#[inline(always)]
fn scale_rows(alpha: f32, left: Option<&[f32]>, add: Option<Term>, mut out: PanelMut) {
    let parts = out.stride() / LANES;
    let from = add.map(|add| lanes(add.panel.data()));
    for (row, to) in out.data_mut().as_chunks_mut::<LANES>().0.chunks_exact_mut(parts.max(1)).enumerate() {
        let factor = alpha * left.map_or(1.0, |left| left[row]);
        match (add, from) {
            (Some(add), Some(from)) => {
                let scale = add.factor(row);
                for (to, from) in to.iter_mut().zip(&from[row * parts..]) {
                    *to = plus(scaled(factor, to), scaled(scale, from));
                }
            }
            _ => to.iter_mut().for_each(|to| *to = scaled(factor, to)),
        }
    }
}

/// Every row of `out` = `alpha · left · row` plus the added term; `row` is as wide as the panel is
/// apart.
///
/// # Panics
/// If the row has another width, `left` is not as long as the panel is high, or the term has
/// another shape.
pub fn repeat_and_add(row: &[f32], alpha: f32, left: Option<&[f32]>, add: Option<Term>, out: PanelMut) {
    let (rows, stride) = (out.rows(), out.stride());
    assert_eq!(row.len(), stride, "a row of the panel");
    assert!(left.is_none_or(|left| left.len() == rows), "one factor a row");
    assert!(add.is_none_or(|add| add.panel.rows() == rows && add.panel.stride() == stride), "a term of the same shape");
    faster!(repeat_rows(row: &[f32], alpha: f32, left: Option<&[f32]>, add: Option<Term>, out: PanelMut));
}

#[inline(always)]
fn repeat_rows(row: &[f32], alpha: f32, left: Option<&[f32]>, add: Option<Term>, mut out: PanelMut) {
    let repeated = lanes(row);
    let parts = repeated.len();
    let from = add.map(|add| lanes(add.panel.data()));
    for (row, to) in out.data_mut().as_chunks_mut::<LANES>().0.chunks_exact_mut(parts.max(1)).enumerate() {
        let factor = alpha * left.map_or(1.0, |left| left[row]);
        match (add, from) {
            (Some(add), Some(from)) => {
                let scale = add.factor(row);
                for ((to, repeated), from) in to.iter_mut().zip(repeated).zip(&from[row * parts..]) {
                    *to = plus(scaled(factor, repeated), scaled(scale, from));
                }
            }
            _ => to.iter_mut().zip(repeated).for_each(|(to, repeated)| *to = scaled(factor, repeated)),
        }
    }
}

/// The position of the largest entry, the first of equals.
pub fn largest(values: &[f32]) -> usize {
    (1..values.len()).fold(0, |best, place| if values[place] > values[best] { place } else { best })
}

/// Scores become probabilities: their exponentials, scaled to add up to one.
pub fn softmax(values: &mut [f32]) {
    let largest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    values.iter_mut().for_each(|value| *value = (*value - largest).exp());
    let total: f32 = values.iter().sum();
    values.iter_mut().for_each(|value| *value /= total);
}

/// Whether every entry is a finite number.
pub fn all_finite(values: &[f32]) -> bool {
    // All exponent bits set means infinity or NaN; a block is compared without branches.
    values.chunks(4096).all(|block| !block.iter().fold(false, |bad, x| bad | (x.to_bits() << 1 >= 0xff00_0000)))
}

/// The position of the first non-finite entry.
pub fn first_non_finite(values: &[f32]) -> Option<usize> {
    const BLOCK: usize = 4096;
    let block = values.chunks(BLOCK).position(|block| !all_finite(block))?;
    let inside = values[block * BLOCK..].iter().position(|x| !x.is_finite())?;
    Some(block * BLOCK + inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::tests::panel_of;

    #[test]
    fn terms_are_scaled_and_added() {
        let a = panel_of(4, 11, |i, j| (i * 11 + j) as f32);
        let b = panel_of(4, 11, |i, j| (i + j) as f32);
        let diagonal = [1.0, 0.0, -1.0, 2.0];
        let terms = [
            Term { coefficient: 2.0, diagonal: None, panel: Panel::new(4, 11, &a) },
            Term { coefficient: -1.0, diagonal: Some(&diagonal), panel: Panel::new(4, 11, &b) },
        ];
        let mut out = vec![f32::NAN; a.len()];
        combine(&terms, PanelMut::new(4, 11, &mut out));
        assert_eq!(out, panel_of(4, 11, |i, j| 2.0 * (i * 11 + j) as f32 - diagonal[i] * (i + j) as f32));
        combine(&[], PanelMut::new(4, 11, &mut out));
        assert!(out.iter().all(|&x| x == 0.0));
    }

    #[test]
    fn a_panel_is_scaled_in_place_and_added_to() {
        let b = panel_of(2, 3, |i, j| (i + j) as f32);
        let mut out = panel_of(2, 3, |i, j| (10 * i + j) as f32);
        let add = Term { coefficient: -1.0, diagonal: Some(&[1.0, 0.0]), panel: Panel::new(2, 3, &b) };
        scale_and_add(2.0, Some(&[1.0, 0.5]), Some(add), PanelMut::new(2, 3, &mut out));
        assert_eq!(out, panel_of(2, 3, |i, j| if i == 0 { j as f32 } else { (10 + j) as f32 }));
        scale_and_add(3.0, None, None, PanelMut::new(2, 3, &mut out));
        assert_eq!(out[0..3], [0.0, 3.0, 6.0]);
    }

    #[test]
    fn a_row_is_repeated_and_added_to() {
        let b = panel_of(2, 3, |i, j| (i + j) as f32);
        let row = panel_of(1, 3, |_, j| j as f32 + 1.0);
        let mut out = vec![f32::NAN; b.len()];
        let add = Term { coefficient: -1.0, diagonal: Some(&[1.0, 0.0]), panel: Panel::new(2, 3, &b) };
        repeat_and_add(&row, 2.0, Some(&[1.0, 0.5]), Some(add), PanelMut::new(2, 3, &mut out));
        assert_eq!(out, panel_of(2, 3, |i, j| if i == 0 { j as f32 + 2.0 } else { j as f32 + 1.0 }));
        repeat_and_add(&row, 3.0, None, None, PanelMut::new(2, 3, &mut out));
        assert_eq!(out, panel_of(2, 3, |_, j| 3.0 * (j as f32 + 1.0)));
    }

    #[test]
    fn probabilities_of_scores() {
        let mut values = [1000.0, 1000.0, -1000.0];
        softmax(&mut values);
        assert_eq!(values, [0.5, 0.5, 0.0]);
        assert_eq!((largest(&values), largest(&[-2.0, -1.0, -1.0]), largest(&[7.0])), (0, 1, 0));
    }

    #[test]
    fn numbers_that_are_none_are_found() {
        let mut values = vec![f32::MAX; 10_000];
        values[17] = f32::MIN_POSITIVE / 2.0;
        assert!(all_finite(&values) && first_non_finite(&values).is_none() && all_finite(&[]));
        for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for place in [0, 4095, 4096, 9999] {
                let mut values = values.clone();
                values[place] = bad;
                assert!(!all_finite(&values));
                assert_eq!(first_non_finite(&values), Some(place));
            }
        }
    }
}
