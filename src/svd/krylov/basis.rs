//! An orthonormal basis that grows by blocks.

use super::super::options::SvdError;
use crate::engine::{Session, Shard};
use crate::kernel::factor::{UpperFactor, factor, scale_to_unit};

/// A column of which less is left, as a part of its squared length, is what rounding makes of nothing.
const NOTHING: f64 = 1e-12;
/// A direction with a squared pivot below this, in a block of unit columns, depends on those before it.
const DEPENDENT_PIVOT: f64 = 1e-10;
/// Squared pivots above which a difference of squares can be trusted: a basis is never orthonormal to the last bit.
const TRUSTED_PIVOT: f64 = 1e-2;
/// How far from orthonormal a pass leaves a block that was nearly orthonormal before.
const ROUNDING: f64 = 2e-7;
/// How far from orthonormal a block may be.
const ENOUGH: f64 = 5e-6;
/// Passes after which a block is taken as it is: three are enough, but for contrived blocks.
const MOST_PASSES: usize = 6;

/// Orthonormal columns, in blocks.
#[derive(Default)]
pub(super) struct Basis {
    blocks: Vec<Shard>,
    /// What no other block of the run is called.
    names: Vec<String>,
    columns: usize,
    /// How far from orthonormal each column is, about.
    errors: Vec<f64>,
}

/// A block X in terms of a basis Y that it was made orthonormal to: `X = Y·within + fresh·upper`.
pub(super) struct Split {
    pub(super) fresh: Shard,
    /// Row after row: one row a column of the basis and, below, one a column of `fresh`; one column a column of X.
    pub(super) coefficients: Vec<f64>,
    /// How far from orthonormal `fresh` is, about.
    pub(super) error: f64,
}

impl Basis {
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// A block that is orthonormal, and to all the others.
    pub(super) fn push(&mut self, name: String, block: Shard, error: f64) {
        if block.cols() > 0 || self.blocks.is_empty() {
            self.columns += block.cols();
            self.errors.resize(self.columns, error);
            self.blocks.push(block);
            self.names.push(name);
        }
    }

    /// The blocks with their names, and how far from orthonormal each column is.
    pub(super) fn parts(&self) -> (impl Iterator<Item = (String, &Shard)>, &[f64]) {
        (self.names.iter().cloned().zip(&self.blocks), &self.errors)
    }

    /// The basis that had these parts.
    pub(super) fn from_parts(names: Vec<String>, blocks: Vec<Shard>, errors: Vec<f64>) -> Self {
        Self { blocks, names, columns: errors.len(), errors }
    }

    /// The panels.
    pub(super) fn blocks(&self) -> &[Shard] {
        &self.blocks
    }

    /// The panels, to be rotated.
    pub(super) fn into_blocks(self) -> Vec<Shard> {
        self.blocks
    }

    /// The columns of this basis that a small matrix picks, as a basis of one block.
    pub(super) fn rotated(
        &self,
        session: &mut Session<'_>,
        name: String,
        small: &[f64],
        columns: usize,
    ) -> Result<Self, SvdError> {
        let panels: Vec<&Shard> = self.blocks.iter().collect();
        let small: Vec<f32> = small.iter().map(|&entry| entry as f32).collect();
        let block = session.blocks_times_small(&panels, &small, columns)?;
        Ok(Self { columns, blocks: vec![block], names: vec![name], errors: vec![ENOUGH; columns] })
    }

    /// What a block has that the basis has not, as at most `most` orthonormal columns. Columns that depend on the others
    /// are left out, down to none.
    ///
    /// One sum over all rows gives what the block has in common with the basis and its Gram matrix; the difference of
    /// their squares is the Gram matrix of what is left, so a pass subtracts and divides at once. Where that difference is
    /// too small to be trusted a pass only subtracts. Passes are repeated until the block is orthonormal enough.
    pub(super) fn split(&self, session: &mut Session<'_>, block: Shard, most: usize) -> Result<Split, SvdError> {
        let (width, known) = (block.cols(), self.columns);
        let mut split = Split { fresh: block, coefficients: vec![0.0; known * width], error: 0.0 };
        let mut upper = identity(width);
        let mut squares = Vec::new();
        for pass in 0..MOST_PASSES {
            let order = split.fresh.cols();
            if order == 0 {
                break;
            }
            let mut sums = session.gram_against(&self.blocks, &split.fresh)?;
            let (shared, own) = sums.split_at_mut(known * order);
            if pass == 0 {
                squares = own.iter().step_by(order + 1).copied().collect();
            }
            drop_nothing(own, &squares);
            let left = remainder(shared, own, order, if pass == 0 { 0.0 } else { DEPENDENT_PIVOT }, most)?;
            let pivot = left.factor.smallest_pivot;
            let is_divided = pass > 0 || pivot > TRUSTED_PIVOT;
            let small = if is_divided { left.divisor(shared) } else { difference(shared, order) };
            let kept = small.len() / (known + order);
            let panels: Vec<&Shard> = self.blocks.iter().chain([&split.fresh]).collect();
            split.fresh = session.blocks_times_small(&panels, &small, kept)?;
            add_product(&mut split.coefficients, shared, &upper, width);
            if is_divided {
                upper = left.upper_times(&upper, width);
                squares = vec![1.0; kept];
                let error = (ROUNDING + self.shared_error(shared, own, order)) / pivot;
                split.error = error.clamp(ROUNDING, ENOUGH);
                if pivot > 0.0 && error < ENOUGH {
                    break;
                }
            }
        }
        split.coefficients.extend(upper);
        Ok(split)
    }

    /// How far from orthonormal the basis is where the columns of a block lie within it.
    fn shared_error(&self, shared: &[f64], own: &[f64], order: usize) -> f64 {
        let mut errors = vec![0.0; order];
        for (row, error) in shared.chunks_exact(order).zip(&self.errors) {
            errors.iter_mut().zip(row).for_each(|(sum, entry)| *sum += error * entry * entry);
        }
        let squares = own.iter().step_by(order + 1);
        let relative = |(error, square): (&f64, &f64)| if *square > 0.0 { error / square } else { 0.0 };
        errors.iter().zip(squares).map(relative).fold(0.0, f64::max)
    }
}

/// Takes columns of which next to nothing is left out of a Gram matrix, given what their squares were.
fn drop_nothing(gram: &mut [f64], squares: &[f64]) {
    let order = squares.len();
    for (place, square) in squares.iter().enumerate() {
        if gram[place * order + place] <= NOTHING * square {
            gram[place * order..(place + 1) * order].fill(0.0);
            gram.iter_mut().skip(place).step_by(order).for_each(|entry| *entry = 0.0);
        }
    }
}

/// What subtracts from a block what it has in common with the basis beside it: `[−shared; 1]`.
fn difference(shared: &[f64], order: usize) -> Vec<f32> {
    shared.iter().map(|&entry| -entry as f32).chain(identity(order).into_iter().map(|entry| entry as f32)).collect()
}

/// What is left of a block when its part within the basis is taken off, factored.
struct Remainder {
    factor: UpperFactor,
    /// One over the lengths of the columns as they came.
    inverse_norms: Vec<f64>,
}

/// Factors `own − sharedᵀ·shared`, scaled by the lengths that `own` tells.
fn remainder(shared: &[f64], own: &[f64], order: usize, limit: f64, most: usize) -> Result<Remainder, SvdError> {
    let mut gram = own.to_vec();
    let inverse_norms = scale_to_unit(&mut gram, order);
    let mut scaled = vec![0.0; order];
    for row in shared.chunks_exact(order) {
        scaled.iter_mut().zip(row).zip(&inverse_norms).for_each(|((to, from), inverse)| *to = from * inverse);
        for (sums, left) in gram.chunks_exact_mut(order).zip(&scaled) {
            sums.iter_mut().zip(&scaled).for_each(|(sum, right)| *sum -= left * right);
        }
    }
    let mut factor = factor(&gram, order, 0.0, limit)?;
    // The last columns make room first.
    factor.kept.truncate(most);
    factor.upper.truncate(factor.kept.len() * order);
    Ok(Remainder { factor, inverse_norms })
}

impl Remainder {
    /// What to multiply the basis and the block with, side by side: `[−shared; 1]·scale·R⁻¹`.
    fn divisor(&self, shared: &[f64]) -> Vec<f32> {
        let (order, kept) = (self.factor.order, self.factor.kept.len());
        let mut own = self.factor.orthonormaliser();
        for (row, inverse) in own.chunks_exact_mut(kept.max(1)).zip(&self.inverse_norms) {
            row.iter_mut().for_each(|entry| *entry *= inverse);
        }
        let mut all = vec![0.0; shared.len() / order * kept];
        add_product(&mut all, shared, &own, kept);
        all.iter().map(|&entry| -entry as f32).chain(own.iter().map(|&entry| entry as f32)).collect()
    }

    /// `R·scale⁻¹·upper`
    fn upper_times(&self, upper: &[f64], width: usize) -> Vec<f64> {
        let mut rows = self.factor.upper.clone();
        for row in rows.chunks_exact_mut(self.factor.order) {
            for (entry, inverse) in row.iter_mut().zip(&self.inverse_norms) {
                *entry = if *inverse == 0.0 { 0.0 } else { *entry / inverse };
            }
        }
        let mut product = vec![0.0; self.factor.kept.len() * width];
        add_product(&mut product, &rows, upper, width);
        product
    }
}

/// `sum += left·right`, where `right` and `sum` have `width` columns.
pub(super) fn add_product(sum: &mut [f64], left: &[f64], right: &[f64], width: usize) {
    let depth = right.len().checked_div(width).unwrap_or(0);
    if depth == 0 {
        return;
    }
    for (sums, row) in sum.chunks_exact_mut(width).zip(left.chunks_exact(depth)) {
        for (factor, entries) in row.iter().zip(right.chunks_exact(width)).filter(|(factor, _)| **factor != 0.0) {
            sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += factor * entry);
        }
    }
}

fn identity(size: usize) -> Vec<f64> {
    (0..size * size).map(|entry| if entry / size == entry % size { 1.0 } else { 0.0 }).collect()
}
