//! The small matrix T that a factorisation leaves of the operator, and its Ritz triplets.

use serde::{Deserialize, Serialize};

use super::Kind;
use crate::engine::Session;
use crate::kernel::banded::{Banded, Eigenpair};
use crate::kernel::factor::FactorError;
use crate::kernel::largest::{Reduced, largest_eigen};
use crate::kernel::small::{Eigen, SmallSvd, extended_gram, small_product, small_svd, symmetric_eigen};
use crate::svd::options::SvdError;
use crate::svd::tuning::{LEAST_SQUARE, PARTS, SKEW};

/// T, of `MᵀM·V ≈ V·T` or of `MᵀU = V·T`: one column for each column of V or of U.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::svd) struct RayleighQuotient {
    kind: Kind,
    /// Column after column; entries beyond the end of a column are zero. Of the symmetric T of
    /// [`Kind::Normal`] a column ends with the diagonal block.
    columns: Vec<Vec<f64>>,
    /// The width of the widest block, which is the bandwidth as long as T is block tridiagonal.
    bandwidth: usize,
    /// Whether T is block tridiagonal.
    is_banded: bool,
    /// TᵀT for the first columns, as far as it was asked for.
    #[serde(skip)]
    gram: Vec<f64>,
}

/// Ritz values, and what rotates the bases into Ritz vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::svd) struct Ritz {
    /// Approximate singular values, from the largest down.
    pub(in crate::svd) values: Vec<f64>,
    /// One row for each column of U, one column for each value; empty where U is not kept.
    pub(in crate::svd) left: Vec<f64>,
    /// One row for each column of V.
    pub(in crate::svd) right: Vec<f64>,
}

impl RayleighQuotient {
    pub(in crate::svd) fn new(kind: Kind) -> Self {
        Self { kind, columns: Vec::new(), bandwidth: 0, is_banded: true, gram: Vec::new() }
    }

    pub(in crate::svd) fn kind(&self) -> Kind {
        self.kind
    }

    /// The number of columns.
    pub(in crate::svd) fn order(&self) -> usize {
        self.columns.len()
    }

    /// Adds `width` columns, given row after row, one row for each column of V.
    pub(in crate::svd) fn push(&mut self, coefficients: &[f64], width: usize) {
        let column = |place: usize| coefficients.iter().skip(place).step_by(width).copied().collect();
        self.columns.extend((0..width).map(column));
        self.bandwidth = self.bandwidth.max(width);
    }

    /// Notes that the next columns couple to more than the last block.
    pub(in crate::svd) fn no_longer_banded(&mut self) {
        self.is_banded = false;
    }

    /// The quotient after the bases were rotated into the Ritz vectors of these values.
    pub(in crate::svd) fn restart(&mut self, values: &[f64]) {
        let column = |(place, value): (usize, &f64)| {
            let mut column = vec![0.0; place];
            column.push(if self.kind == Kind::Normal { value * value } else { *value });
            column
        };
        self.columns = values.iter().enumerate().map(column).collect();
        self.is_banded = false;
        self.gram.clear();
    }

    /// How many times as long the longest column of T is as the longest of the last `count`.
    pub(in crate::svd) fn stretch(&self, count: usize) -> f64 {
        let longest = |columns: &[Vec<f64>]| {
            let squares = columns.iter().map(|column| column.iter().map(|entry| entry * entry).sum::<f64>());
            squares.fold(0.0, f64::max)
        };
        let (all, last) = (longest(&self.columns), longest(&self.columns[self.columns.len().saturating_sub(count)..]));
        if last > 0.0 { (all / last).sqrt() } else { 1.0 }
    }

    /// The Ritz triplets: the first `count` of them, or all.
    pub(in crate::svd) fn ritz(
        &mut self,
        session: &mut Session<'_>,
        rows: usize,
        count: Option<usize>,
    ) -> Result<Ritz, SvdError> {
        if let (Kind::Normal, Some(count)) = (self.kind, count)
            && let Some(found) = self.ritz_in_parts(session, count)?
        {
            return Ok(found);
        }
        session.on_leader(|| {
            let ritz = match count {
                Some(count) => self.decompose_first(rows, count)?,
                None => self.decompose(rows)?,
            };
            Ok(ritz)
        })
    }

    /// The Ritz pair at position `place` alone, by bisection and inverse iteration on the banded T; `None`
    /// where T is not banded or the pair is not found.
    pub(in crate::svd) fn one(&self, place: usize) -> Option<Ritz> {
        if self.kind != Kind::Normal || !self.is_banded {
            return None;
        }
        let banded = Banded::new(self.order(), self.bandwidth, |row, column| {
            let entry = |one: usize, other: usize| self.columns[one].get(other).copied();
            let known = entry(row, column).unwrap_or_default();
            // Both triangles are stored within a diagonal block alone.
            entry(column, row).map_or(known, |other| 0.5 * (known + other))
        });
        let Eigenpair { value, vector } = banded.eigenpair(place)?;
        Some(Ritz::of_squares(Eigen { values: vec![value], vectors: vector }))
    }

    /// The first `count` eigenpairs of a symmetric T, [`PARTS`] parts of them by as many workers; `None`
    /// where that does not pay, or the parts are not orthogonal to each other.
    fn ritz_in_parts(&self, session: &mut Session<'_>, count: usize) -> Result<Option<Ritz>, SvdError> {
        let order = self.order();
        if count < PARTS || !Reduced::pays(order, count) {
            return Ok(None);
        }
        let places = |part: usize| part * count / PARTS..(part + 1) * count / PARTS;
        let mut reduced = None;
        // Whether each part was found, the eigenvalues, and the rows of the vectors.
        let mut numbers = session.sum_over(PARTS, PARTS + count + count * order, |part, numbers| {
            let reduced = reduced.get_or_insert_with(|| Reduced::for_some(&self.symmetric(), order, count));
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
        let are_orthogonal = are_found && (1..PARTS).all(|part| skew(&vectors, count, places(part).start) <= SKEW);
        Ok(are_orthogonal.then(|| Ritz::of_squares(Eigen { values, vectors })))
    }

    fn decompose(&self, rows: usize) -> Result<Ritz, FactorError> {
        if self.kind == Kind::Normal {
            return Ok(Ritz::of_squares(symmetric_eigen(&self.symmetric(), self.order())?));
        }
        let SmallSvd { left, values, right } = small_svd(&self.entries(rows), rows, self.order())?;
        Ok(Ritz { values, left: right, right: left })
    }

    /// The first `count` triplets. Of a T that is not symmetric they are eigenvectors of TᵀT, which take a
    /// fraction of the time, where the squares of the values are far above rounding.
    fn decompose_first(&mut self, rows: usize, count: usize) -> Result<Ritz, FactorError> {
        let order = self.order();
        if self.kind == Kind::Normal {
            return Ok(Ritz::of_squares(largest_eigen(&self.symmetric(), order, count)?));
        }
        if count > 0 && count <= order.min(rows) {
            if self.gram.len() < order * order {
                self.gram = extended_gram(&self.gram, &self.columns);
            }
            let Eigen { values, vectors: left } = largest_eigen(&self.gram, order, count)?;
            if values[count - 1] > LEAST_SQUARE * values[0] {
                let values: Vec<f64> = values.iter().map(|value| value.sqrt()).collect();
                let mut right = small_product(&self.entries(rows), &left, rows, order, count);
                for row in right.chunks_exact_mut(count) {
                    row.iter_mut().zip(&values).for_each(|(entry, value)| *entry /= value);
                }
                return Ok(Ritz { values, left, right });
            }
        }
        Ok(self.decompose(rows)?.first(count))
    }

    /// A symmetric T, row after row: the mean of both triangles within a diagonal block, and elsewhere the
    /// entry of the later column.
    fn symmetric(&self) -> Vec<f64> {
        let order = self.order();
        let mut entries = vec![0.0; order * order];
        let mut first = 0;
        for (place, column) in self.columns.iter().enumerate() {
            // Columns of one block have the same number of rows.
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

    /// T, row after row.
    fn entries(&self, rows: usize) -> Vec<f64> {
        let order = self.order();
        let mut entries = vec![0.0; rows * order];
        for (place, column) in self.columns.iter().enumerate() {
            for (row, entry) in column.iter().enumerate() {
                entries[row * order + place] = *entry;
            }
        }
        entries
    }
}

impl Ritz {
    /// From the eigenpairs of the symmetric T of MᵀM.
    fn of_squares(Eigen { values, vectors: right }: Eigen) -> Self {
        let values = values.into_iter().map(|value| value.max(0.0).sqrt()).collect();
        Self { values, left: Vec::new(), right }
    }

    /// Of bases that are Ritz vectors themselves.
    pub(in crate::svd) fn of_rotated_bases(kind: Kind, values: &[f64]) -> Self {
        let count = values.len();
        let right: Vec<f64> = (0..count * count).map(|entry| f64::from(u8::from(entry % (count + 1) == 0))).collect();
        let left = if kind == Kind::Normal { Vec::new() } else { right.clone() };
        Self { values: values.to_vec(), left, right }
    }

    /// The first `count` triplets.
    pub(in crate::svd) fn first(mut self, count: usize) -> Self {
        let count = count.min(self.values.len());
        let [left, right] = [self.left(count), self.right(count)];
        self.values.truncate(count);
        Self { left, right, ..self }
    }

    /// The first `count` columns of what rotates U.
    pub(in crate::svd) fn left(&self, count: usize) -> Vec<f64> {
        first_columns(&self.left, self.values.len(), count)
    }

    /// The first `count` columns of what rotates V.
    pub(in crate::svd) fn right(&self, count: usize) -> Vec<f64> {
        first_columns(&self.right, self.values.len(), count)
    }
}

/// The first `count` of the columns of a small matrix.
fn first_columns(matrix: &[f64], columns: usize, count: usize) -> Vec<f64> {
    matrix.chunks_exact(columns.max(1)).flat_map(|row| &row[..count]).copied().collect()
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

    /// A T that is diagonal but for a rotation of every two neighbours.
    fn rotated_pairs(values: &[f64]) -> RayleighQuotient {
        let mut quotient = RayleighQuotient::new(Kind::Normal);
        for (block, pair) in values.chunks_exact(2).enumerate() {
            let (mean, half) = (0.5 * (pair[0] + pair[1]), 0.5 * (pair[0] - pair[1]));
            let mut coefficients = vec![0.0; 4 * block];
            coefficients.extend([mean, half, half, mean]);
            quotient.push(&coefficients, 2);
        }
        quotient
    }

    /// Catches vectors of one part that are not orthogonal to those of the other, where an eigenvalue of
    /// each is next to equal.
    #[test]
    fn vectors_found_in_parts_are_those_found_at_once() {
        let (order, count) = (90, 32);
        let falling = |place: usize| 9.0 - 0.1 * place as f64;
        let twice = |place: usize| if place == 16 { falling(15) - 1e-12 } else { falling(place) };
        for values in [(0..order).map(falling).collect::<Vec<_>>(), (0..order).map(twice).collect()] {
            let whole = rotated_pairs(&values).decompose_first(order, count).unwrap();
            let mut first = None;
            for workers in [1, 2, 3] {
                let quotient = rotated_pairs(&values);
                let found = run(Cluster::threads(workers), Vec::new(), move |session| {
                    quotient.clone().ritz(session, order, Some(count))
                });
                let found: Ritz = found.unwrap_or_else(|error: SvdError| panic!("{error}"));
                for (one, other) in found.values.iter().zip(&whole.values) {
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

    /// A banded T of blocks with these widths, coupled by triangles.
    fn banded(widths: &[usize]) -> RayleighQuotient {
        let block_of: Vec<usize> = widths.iter().enumerate().flat_map(|(block, &width)| vec![block; width]).collect();
        let place_in = |row: usize| row - widths[..block_of[row]].iter().sum::<usize>();
        let drawn = |row: usize, column: usize| f64::from(normal(5, 1, row as u64, column as u32));
        let entry = |row: usize, column: usize| match block_of[row] - block_of[column] {
            0 if row == column => 5.0 + 0.3 * drawn(row, column),
            0 => 0.1 * drawn(row, column),
            1 if place_in(row) <= place_in(column) => 0.5 * drawn(row, column),
            _ => 0.0,
        };
        let mut quotient = RayleighQuotient::new(Kind::Normal);
        let mut end = 0;
        for &width in widths {
            let columns = end..end + width;
            end = columns.end;
            let row = |row: usize| columns.clone().map(move |column| (row.max(column), row.min(column)));
            let coefficients: Vec<f64> = (0..end).flat_map(row).map(|(row, column)| entry(row, column)).collect();
            quotient.push(&coefficients, width);
        }
        quotient
    }

    /// Catches a pair that is found alone and is not the one found with all others, and a bandwidth that is
    /// that of the newest block where an earlier one is wider.
    #[test]
    fn a_pair_found_alone_is_the_one_found_with_all() {
        let rank = 10;
        for widths in [vec![4; 9], vec![4, 4, 4, 4, 4, 3, 2, 1]] {
            let mut quotient = banded(&widths);
            let order = quotient.order();
            let all = quotient.decompose_first(order, rank).unwrap();
            let one = quotient.one(rank - 1).expect("it is positive");
            assert!((one.values[0] - all.values[rank - 1]).abs() < 1e-4 * one.values[0], "{widths:?}");
            let product: f64 =
                one.right.iter().zip(all.right.iter().skip(rank - 1).step_by(rank)).map(|(a, b)| a * b).sum();
            assert!((product.abs() - 1.0).abs() < 1e-3, "{widths:?}: {product}");
        }
        let mut quotient = banded(&[4; 9]);
        quotient.restart(&[3.0, 2.0]);
        assert!(quotient.one(0).is_none(), "after a restart T is an arrowhead");
    }
}
