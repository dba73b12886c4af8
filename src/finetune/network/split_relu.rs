//! `[p]₊ − [n]₊`, where `[p | n] = x·[W₊ | W₋] + [b₊ | b₋]`.

/// What becomes of what was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    Replace,
    Add,
}

/// Adds the biases to a row of `[p | n]`, and writes `[p]₊ − [n]₊`.
#[inline]
pub(super) fn activate(both: &mut [f32], biases: &[f32], out: &mut [f32], store: Store) {
    both.iter_mut().zip(biases).for_each(|(entry, bias)| *entry += bias);
    let (positive, negative) = both.split_at(out.len());
    let pairs = out.iter_mut().zip(positive).zip(negative);
    match store {
        Store::Replace => pairs.for_each(|((out, p), n)| *out = p.max(0.0) - n.max(0.0)),
        Store::Add => pairs.for_each(|((out, p), n)| *out += p.max(0.0) - n.max(0.0)),
    }
}

/// Turns a row of `[p | n]` into its derivatives, given those of `[p]₊ − [n]₊`.
#[inline]
pub(super) fn differentiate(both: &mut [f32], slopes: &[f32]) {
    let (positive, negative) = both.split_at_mut(slopes.len());
    // Products, not branches: half of the signs are a surprise.
    positive.iter_mut().zip(slopes).for_each(|(p, slope)| *p = if *p > 0.0 { 1.0 } else { 0.0 } * slope);
    negative.iter_mut().zip(slopes).for_each(|(n, slope)| *n = if *n > 0.0 { -1.0 } else { 0.0 } * slope);
}
