//! The small matrix that a basis leaves of a large one.

use serde::{Deserialize, Serialize};

use super::super::options::SvdError;
use super::Bases;
use crate::engine::Session;
use crate::kernel::banded::{Banded, Eigenpair};
use crate::kernel::factor::FactorError;
use crate::kernel::largest::{Reduced, largest_eigen};
use crate::kernel::small::{Eigen, SmallSvd, extended_gram, small_product, small_svd, symmetric_eigen};

/// A squared singular value below this part of the largest one is not taken from TᵀT: vectors would be off by more than
/// 32-bit numbers are.
const LEAST_SQUARE: f64 = 1e-8;
/// Parts in which eigenvectors are looked for, by as many workers if there are. What each does for itself is half of the work: more of them
/// would gain little.
const PARTS: usize = 2;
/// How far from orthogonal vectors of different parts may be: what they rotate is known to 32 bits.
const SKEW: f64 = 1e-8;

/// `T` of `MᵀU = V·T`, a column for each column of U; or of `MᵀM·V = V·T`, a column for each column of V, where U is not kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Projected {
    bases: Bases,
    /// Column after column; what is missing at the end of a column is zero.
    columns: Vec<Vec<f64>>,
    /// Where there are two bases: the products of the first so many columns with each other, as far as somebody asked for them.
    #[serde(skip)]
    gram: Vec<f64>,
}

/// What rotates bases into singular vectors: the SVD of T, or its eigenvectors where V is the only one.
pub(super) struct Rotations {
    bases: Bases,
    pub(super) singular_values: Vec<f64>,
    /// One row a column of U, one column a triplet; none if that is not kept.
    pub(super) left: Vec<f64>,
    /// One row a column of V.
    pub(super) right: Vec<f64>,
}

impl Projected {
    /// Nothing yet.
    pub(super) fn new(bases: Bases) -> Self {
        Self { bases, columns: Vec::new(), gram: Vec::new() }
    }

    /// Whether it is that of these bases.
    pub(super) fn is_of(&self, bases: Bases) -> bool {
        self.bases == bases
    }

    /// How many columns it has.
    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// The images of new columns, row after row, one row a column of V.
    pub(super) fn push(&mut self, coefficients: &[f64], width: usize) {
        let column = |place: usize| coefficients.iter().skip(place).step_by(width).copied().collect();
        self.columns.extend((0..width).map(column));
    }

    /// How many times as long MᵀM makes some column of V as any of the last so many; 1 while there are none.
    pub(super) fn stretch(&self, last: usize) -> f64 {
        let longest = |columns: &[Vec<f64>]| {
            let squares = columns.iter().map(|column| column.iter().map(|entry| entry * entry).sum::<f64>());
            squares.fold(0.0, f64::max)
        };
        let (all, last) = (longest(&self.columns), longest(&self.columns[self.columns.len().saturating_sub(last)..]));
        if last > 0.0 { (all / last).sqrt() } else { 1.0 }
    }

    /// When the bases are rotated, what is left of T is its first singular values, or their squares.
    pub(super) fn restart(&mut self, singular_values: &[f64]) {
        let column = |(place, value): (usize, &f64)| {
            let mut column = vec![0.0; place];
            column.push(if self.bases == Bases::Both { *value } else { value * value });
            column
        };
        self.columns = singular_values.iter().enumerate().map(column).collect();
        self.gram.clear();
    }

    /// TᵀT, row after row. Products that are known stay: a look at a basis that has grown takes those of what it has grown by.
    fn gram(&mut self) -> &[f64] {
        if self.gram.len() < self.columns.len().pow(2) {
            self.gram = extended_gram(&self.gram, &self.columns);
        }
        &self.gram
    }

    /// T of one basis, row after row. It is symmetric but for rounding: entries are those of the later of two columns, and
    /// means within a block.
    fn symmetric(&self) -> Vec<f64> {
        let order = self.columns.len();
        let mut entries = vec![0.0; order * order];
        let mut first = 0;
        for (place, column) in self.columns.iter().enumerate() {
            // Columns of one block have the same rows.
            if self.columns[first].len() != column.len() {
                first = place;
            }
            let row = &mut entries[place * order..][..=place];
            row.iter_mut().zip(column).for_each(|(entry, coefficient)| *entry = *coefficient);
            for (entry, other) in row[first..].iter_mut().zip(&self.columns[first..]) {
                *entry = 0.5 * (*entry + other.get(place).copied().unwrap_or_default());
            }
        }
        for row in 0..order {
            for column in row + 1..order {
                entries[row * order + column] = entries[column * order + row];
            }
        }
        entries
    }

    /// T of one basis that was never reduced, as far as it is more than rounding: entries of blocks that are not next to each other are
    /// none, and those of two blocks lie within so many diagonals as a block has columns.
    pub(super) fn banded(&self, width: usize) -> Banded {
        Banded::new(self.columns.len(), width, |row, column| {
            let entry = |one: usize, other: usize| self.columns[one].get(other).copied();
            let known = entry(row, column).unwrap_or_default();
            // The one above the diagonal is there within a block alone.
            entry(column, row).map_or(known, |other| 0.5 * (known + other))
        })
    }

    /// T, row after row, of which there are `rows`.
    fn entries(&self, rows: usize) -> Vec<f64> {
        let width = self.columns.len();
        let mut entries = vec![0.0; rows * width];
        for (place, column) in self.columns.iter().enumerate() {
            for (row, entry) in column.iter().enumerate() {
                entries[row * width + place] = *entry;
            }
        }
        entries
    }

    /// Decomposes T, which has `rows` rows.
    pub(super) fn decompose(&self, rows: usize) -> Result<Rotations, FactorError> {
        if self.bases == Bases::Right {
            return Ok(Rotations::of_square(symmetric_eigen(&self.symmetric(), self.columns.len())?));
        }
        let SmallSvd { left, values, right } = small_svd(&self.entries(rows), rows, self.columns.len())?;
        Ok(Rotations { bases: self.bases, singular_values: values, left: right, right: left })
    }

    /// The first `count` triplets of T, or all if there are no more. Eigenvectors of TᵀT take a fraction of the time, and are
    /// as good where the squares of the singular values are far from rounding.
    pub(super) fn decompose_first(&mut self, rows: usize, count: usize) -> Result<Rotations, FactorError> {
        let width = self.columns.len();
        if self.bases == Bases::Right {
            return Ok(Rotations::of_square(largest_eigen(&self.symmetric(), width, count)?));
        }
        if count > 0 && count <= width.min(rows) {
            let Eigen { values, vectors: left } = largest_eigen(self.gram(), width, count)?;
            let (largest, smallest) = (values[0], values[count - 1]);
            if smallest > LEAST_SQUARE * largest {
                let singular_values: Vec<f64> = values.iter().map(|value| value.sqrt()).collect();
                let mut right = small_product(&self.entries(rows), &left, rows, width, count);
                for row in right.chunks_exact_mut(count) {
                    row.iter_mut().zip(&singular_values).for_each(|(entry, value)| *entry /= value);
                }
                return Ok(Rotations { bases: self.bases, singular_values, left, right });
            }
        }
        let Rotations { bases, mut singular_values, left, right } = self.decompose(rows)?;
        let of = singular_values.len();
        let count = count.min(of);
        singular_values.truncate(count);
        let [left, right] = [left, right].map(|rotation| Rotations::first(&rotation, of, count));
        Ok(Rotations { bases, singular_values, left, right })
    }
}

impl Rotations {
    /// From the eigenvectors of the small matrix of MᵀM.
    fn of_square(Eigen { values, vectors: right }: Eigen) -> Self {
        let singular_values = values.into_iter().map(|value| value.max(0.0).sqrt()).collect();
        Self { bases: Bases::Right, singular_values, left: Vec::new(), right }
    }

    /// Of bases that are singular vectors already.
    pub(super) fn diagonal(bases: Bases, values: &[f64]) -> Self {
        let count = values.len();
        let identity: Vec<f64> =
            (0..count * count).map(|entry| f64::from(u8::from(entry % (count + 1) == 0))).collect();
        let left = if bases == Bases::Both { identity.clone() } else { Vec::new() };
        Self { bases, singular_values: values.to_vec(), left, right: identity }
    }

    /// A single triplet of that matrix.
    pub(super) fn of_last(Eigenpair { value, vector }: Eigenpair) -> Self {
        Self::of_square(Eigen { values: vec![value], vectors: vector })
    }

    /// What one worker found, on all of them: on the same core, eight workers would take eight times as long for it.
    pub(super) fn shared(
        session: &mut Session<'_>,
        projected: &mut Projected,
        rows: usize,
        count: Option<usize>,
    ) -> Result<Self, SvdError> {
        let (bases, width) = (projected.bases, projected.columns.len());
        if let (Bases::Right, Some(count)) = (bases, count)
            && let Some(found) = Self::in_parts(session, projected, count)?
        {
            return Ok(found);
        }
        let left_rows = if bases == Bases::Both { width } else { 0 };
        let mut find = || match count {
            Some(count) => projected.decompose_first(rows, count),
            None => projected.decompose(rows),
        };
        let most = count.unwrap_or(usize::MAX).min(width).min(rows);
        // How many there are, and the numbers of so many.
        let length = 1 + most * (1 + left_rows + rows);
        let numbers = session.sum_over(1, length, |_, numbers| {
            if let Ok(Self { singular_values, left, right, .. }) = find() {
                numbers[0] = singular_values.len() as f64;
                let found = singular_values.iter().chain(&left).chain(&right);
                numbers[1..].iter_mut().zip(found).for_each(|(number, found)| *number = *found);
            }
        })?;
        let found = numbers[0] as usize;
        if found == 0 {
            // Everybody finds the same error, or nothing.
            return Ok(find()?);
        }
        let (singular_values, vectors) = numbers[1..].split_at(found);
        let (left, right) = vectors.split_at(left_rows * found);
        Ok(Self {
            bases,
            singular_values: singular_values.to_vec(),
            left: left.to_vec(),
            right: right[..rows * found].to_vec(),
        })
    }

    /// The first `count` from the small matrix of MᵀM, a part of them by each of some workers; `None` if they are not to be had so.
    fn in_parts(session: &mut Session<'_>, projected: &Projected, count: usize) -> Result<Option<Self>, SvdError> {
        let order = projected.columns.len();
        if count < PARTS || !Reduced::pays(order, count) {
            return Ok(None);
        }
        let places = |part: usize| part * count / PARTS..(part + 1) * count / PARTS;
        let mut reduced = None;
        // Whether each part was found, the eigenvalues, and the rows of the vectors.
        let mut numbers = session.sum_over(PARTS, PARTS + count + count * order, |part, numbers| {
            let reduced = reduced.get_or_insert_with(|| Reduced::for_some(&projected.symmetric(), order, count));
            if let Some(found) = reduced.as_ref().and_then(|reduced| reduced.find(places(part))) {
                numbers[part] = 1.0;
                let rows = numbers[PARTS..].chunks_exact_mut(count);
                let found_rows =
                    [&found.values, &found.vectors].into_iter().flat_map(|of| of.chunks_exact(places(part).len()));
                rows.zip(found_rows).for_each(|(row, found)| row[places(part)].copy_from_slice(found));
            }
        })?;
        let vectors = numbers.split_off(PARTS + count);
        let values = numbers.split_off(PARTS);
        let are_found = numbers.iter().all(|&flag| flag == 1.0) && values.is_sorted_by(|one, next| one >= next);
        let is_found = are_found && (1..PARTS).all(|part| skew(&vectors, count, places(part).start) <= SKEW);
        Ok(is_found.then(|| Self::of_square(Eigen { values, vectors })))
    }

    /// The first `count` columns of a rotation.
    pub(super) fn first(rotation: &[f64], of: usize, count: usize) -> Vec<f64> {
        rotation.chunks_exact(of.max(1)).flat_map(|row| &row[..count]).copied().collect()
    }

    /// ‖Mv − σu‖/σ of the first `count` triplets, from what M makes of the last columns of V beyond U: `coupling`, with as
    /// many columns. M makes nothing of the others beyond U. Where V is the only basis, ‖MᵀMv − σ²v‖/σ² from what MᵀM makes of them
    /// beyond V: that is ‖Mᵀu − σv‖/σ of u = Mv/σ.
    pub(super) fn relative_residuals(&self, coupling: &[f64], width: usize, count: usize) -> Vec<f64> {
        let of = self.singular_values.len();
        let last = &self.right[self.right.len() - width * of..];
        let mut squares = vec![0.0; count];
        let mut sums = vec![0.0; count];
        for row in coupling.chunks_exact(width.max(1)) {
            sums.fill(0.0);
            for (factor, entries) in row.iter().zip(last.chunks_exact(of)) {
                sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += factor * entry);
            }
            squares.iter_mut().zip(&sums).for_each(|(square, sum)| *square += sum * sum);
        }
        let relative = |(square, value): (&f64, &f64)| match self.bases {
            Bases::Both => square.sqrt() / value,
            Bases::Right => square.sqrt() / (value * value),
        };
        squares.iter().zip(&self.singular_values).map(relative).collect()
    }
}

/// The largest product of one of the first `cut` columns with one of the others.
fn skew(rows: &[f64], count: usize, cut: usize) -> f64 {
    let mut products = vec![0.0; cut * (count - cut)];
    for row in rows.chunks_exact(count.max(1)) {
        let (first, others) = row.split_at(cut);
        for (products, factor) in products.chunks_exact_mut((count - cut).max(1)).zip(first) {
            products.iter_mut().zip(others).for_each(|(product, other)| *product += factor * other);
        }
    }
    products.into_iter().fold(0.0, |largest, product| largest.max(product.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Cluster, run};
    use crate::kernel::random::normal;

    /// T of one basis that is diagonal but for a turn of every two neighbours.
    fn projected(values: &[f64]) -> Projected {
        let mut projected = Projected::new(Bases::Right);
        for (block, pair) in values.chunks_exact(2).enumerate() {
            let (mean, half) = (0.5 * (pair[0] + pair[1]), 0.5 * (pair[0] - pair[1]));
            let mut coefficients = vec![0.0; 4 * block];
            coefficients.extend([mean, half, half, mean]);
            projected.push(&coefficients, 2);
        }
        projected
    }

    /// Catches vectors of one part that are not orthogonal to those of the other, where an eigenvalue of each is next to equal.
    #[test]
    fn what_is_found_in_parts_is_what_is_found_at_once() {
        let (order, count) = (90, 32);
        let falling = |place: usize| 9.0 - 0.1 * place as f64;
        let twice = |place: usize| if place == 16 { falling(15) - 1e-12 } else { falling(place) };
        for values in [(0..order).map(falling).collect::<Vec<_>>(), (0..order).map(twice).collect()] {
            let whole = projected(&values).decompose_first(order, count).unwrap();
            let mut first = None;
            for workers in [1, 2, 3] {
                let projected = projected(&values);
                let found = run(Cluster::threads(workers), Vec::new(), move |session| {
                    let mut projected = projected.clone();
                    Rotations::shared(session, &mut projected, order, Some(count))
                });
                let found: Rotations = found.unwrap_or_else(|error: SvdError| panic!("{error}"));
                for (one, other) in found.singular_values.iter().zip(&whole.singular_values) {
                    assert!((one - other).abs() < 1e-12);
                }
                for (place, wanted) in (0..count * count).map(|e| (e, f64::from(u8::from(e / count == e % count)))) {
                    let rows = found.right.chunks_exact(count);
                    let product: f64 = rows.map(|row| row[place / count] * row[place % count]).sum();
                    assert!((product - wanted).abs() < 1e-8, "{place}: {product}");
                }
                assert_eq!(*first.get_or_insert_with(|| found.right.clone()), found.right, "{workers} workers");
            }
        }
    }

    /// Catches a residual of the last triplet that is not the one that a look finds.
    #[test]
    fn the_last_triplet_alone_is_that_of_all() {
        let (width, blocks, rank) = (4, 9, 10);
        let order = width * blocks;
        let drawn = |row: usize, column: usize| f64::from(normal(5, 1, row as u64, column as u32));
        // Blocks next to each other are coupled by triangles.
        let entry = |row: usize, column: usize| match row / width - column / width {
            0 if row == column => 5.0 + 0.3 * drawn(row, column),
            0 => 0.1 * drawn(row, column),
            1 if row % width <= column % width => 0.5 * drawn(row, column),
            _ => 0.0,
        };
        let mut projected = Projected::new(Bases::Right);
        for block in 0..blocks {
            let columns = block * width..(block + 1) * width;
            let rows = 0..columns.end;
            let row = |row: usize| columns.clone().map(move |column| (row.max(column), row.min(column)));
            let coefficients: Vec<f64> = rows.flat_map(row).map(|(row, column)| entry(row, column)).collect();
            projected.push(&coefficients, width);
        }
        let coupling: Vec<f64> = (0..width * width).map(|place| 0.1 * drawn(place, 0)).collect();
        let all = projected.decompose_first(order, rank).unwrap();
        let last = Rotations::of_last(projected.banded(width).eigenpair(rank - 1).expect("it is positive"));
        let close = |one: f64, other: f64| assert!((one - other).abs() <= 1e-4 * other, "{one} is {other}");
        close(last.singular_values[0], all.singular_values[rank - 1]);
        let of_all = all.relative_residuals(&coupling, width, rank);
        assert!(of_all[rank - 1] > 1e-4, "something of it is in the last block");
        close(last.relative_residuals(&coupling, width, 1)[0], of_all[rank - 1]);
    }
}
