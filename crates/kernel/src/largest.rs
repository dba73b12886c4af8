//! The largest eigenpairs of a symmetric matrix, in f64.
//!
//! Most of a full decomposition computes vectors. Here the matrix is reduced to tridiagonal form,
//! eigenvalues are found by bisection and vectors by inverse iteration, and only the wanted vectors
//! are transformed back. After the reduction eigenpairs are independent, so several workers can
//! compute some each.

use std::ops::Range;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::tridiag::{tridiag_in_place, tridiag_in_place_scratch};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as back_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as take_back,
};
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::{Conj, Mat, MatRef, Par};

use super::factor::{FactorError, check_finite};
use super::simd::faster;
use super::small::{Eigen, dot, symmetric_eigen};

/// With more than one vector in this many rows the full decomposition is as fast.
const ROWS_A_VECTOR: usize = 2;

/// Eigenvalues bisected side by side, to overlap divisions.
const LANES: usize = 16;
/// Bisections until the widest interval is as narrow as rounding.
const BISECTIONS: usize = 96;
/// Relative width of an interval at which inverse iteration starts; the Rayleigh quotient is far
/// more accurate.
const NARROW: f64 = 1e-9;
/// Steps of inverse iteration. The first removes all but the neighbouring eigenvectors.
const SOLUTIONS: usize = 2;
/// Most orthogonalisations against other vectors, and the fraction of the norm that the last must
/// leave.
const SUBTRACTIONS: usize = 3;
const MOST_LEFT: f64 = 0.5;
/// Largest accepted ‖Av − λv‖ relative to the largest eigenvalue: in a cluster any basis will do.
const RESIDUAL: f64 = 1e-11;
/// Largest accepted loss of orthogonality.
const SKEW: f64 = 1e-12;

/// A symmetric tridiagonal matrix.
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// The entries beside it, one fewer.
    beside: Vec<f64>,
}

/// The `count` largest eigenvalues of a symmetric `order × order` matrix, row-major, or all if
/// there are no more; their vectors have as many columns.
///
/// # Panics
/// If `a` has another size.
pub fn largest_eigen(a: &[f64], order: usize, count: usize) -> Result<Eigen, FactorError> {
    assert_eq!(a.len(), order * order, "a matrix of order {order}");
    check_finite(a, order)?;
    if let Some(found) = Reduced::for_some(a, order, count).and_then(|reduced| reduced.find(0..count)) {
        return Ok(found);
    }
    let Eigen { mut values, vectors } = symmetric_eigen(a, order)?;
    values.truncate(count);
    let vectors = vectors.chunks_exact(order.max(1)).flat_map(|row| &row[..values.len()]).copied().collect();
    Ok(Eigen { values, vectors })
}

/// A symmetric matrix in tridiagonal form.
pub struct Reduced {
    /// The Householder vectors below the diagonal, and their block coefficients.
    reflectors: Mat<f64>,
    factors: Mat<f64>,
    matrix: Tridiagonal,
}

impl Reduced {
    /// Whether `count` eigenpairs are found sooner than all.
    pub fn pays(order: usize, count: usize) -> bool {
        count > 0 && count * ROWS_A_VECTOR <= order
    }

    /// Reduces an `order × order` row-major matrix, to find `count` eigenpairs; `None` if the full
    /// decomposition is as fast, or entries are not finite.
    pub fn for_some(a: &[f64], order: usize, count: usize) -> Option<Self> {
        if !Self::pays(order, count) || check_finite(a, order).is_err() {
            return None;
        }
        let mut reflectors = MatRef::from_row_major_slice(a, order, order).to_owned();
        let mut factors = Mat::zeros(recommended_block_size::<f64>(order, order), order.checked_sub(1)?);
        let mut memory = MemBuffer::new(tridiag_in_place_scratch::<f64>(order, Par::Seq, Default::default()));
        let memory = MemStack::new(&mut memory);
        tridiag_in_place(reflectors.as_mut(), factors.as_mut(), Par::Seq, memory, Default::default());
        let matrix = Tridiagonal {
            diagonal: (0..order).map(|row| reflectors[(row, row)]).collect(),
            beside: (1..order).map(|row| reflectors[(row, row - 1)]).collect(),
        };
        Some(Self { reflectors, factors, matrix })
    }

    /// The eigenpairs at these places, counted from the largest; `None` if one did not converge.
    /// Vectors of different calls are as orthogonal as rounding leaves eigenvectors.
    pub fn find(&self, places: Range<usize>) -> Option<Eigen> {
        let (order, count) = (self.matrix.diagonal.len(), places.len());
        let found = self.matrix.find(places)?;
        let mut vectors = Mat::from_fn(order, count, |row, place| found[place].1[row]);
        let below = self.reflectors.submatrix(1, 0, order - 1, order - 1);
        let to = vectors.as_mut().subrows_mut(1, order - 1);
        let mut memory = MemBuffer::new(back_scratch::<f64>(order - 1, self.factors.nrows(), count));
        take_back(below, self.factors.as_ref(), Conj::No, to, Par::Seq, MemStack::new(&mut memory));
        let values = found.into_iter().map(|(value, _)| value).collect();
        let rows = (0..order).flat_map(|row| (0..count).map(move |place| (row, place)));
        Some(Eigen { values, vectors: rows.map(|place| vectors[place]).collect() })
    }
}

impl Tridiagonal {
    /// The eigenpairs at these places, descending, with orthonormal vectors; `None` if one did not
    /// converge.
    fn find(&self, places: Range<usize>) -> Option<Vec<(f64, Vec<f64>)>> {
        #[inline(always)]
        fn plainly(matrix: &Tridiagonal, places: Range<usize>, found: &mut Option<Vec<(f64, Vec<f64>)>>) {
            *found = matrix.vectors(&matrix.largest(places));
        }
        fn quickly(matrix: &Tridiagonal, places: Range<usize>, found: &mut Option<Vec<(f64, Vec<f64>)>>) {
            faster!(plainly(matrix: &Tridiagonal, places: Range<usize>, found: &mut Option<Vec<(f64, Vec<f64>)>>));
        }
        let mut found = None;
        quickly(self, places, &mut found);
        found
    }

    /// The ∞-norm, a bound of all eigenvalues.
    fn norm(&self) -> f64 {
        let beside = |row: usize| self.beside.get(row).map_or(0.0, |entry| entry.abs());
        let before = |row: usize| row.checked_sub(1).map_or(0.0, beside);
        self.diagonal.iter().enumerate().map(|(row, entry)| entry.abs() + before(row) + beside(row)).fold(0.0, f64::max)
    }

    /// The eigenvalues of these places, descending.
    #[inline(always)]
    fn largest(&self, places: Range<usize>) -> Vec<f64> {
        let norm = self.norm();
        let squares: Vec<f64> = self.beside.iter().map(|entry| entry * entry).collect();
        let count = places.len();
        let mut values = Vec::with_capacity(count.next_multiple_of(LANES));
        for first in places.step_by(LANES) {
            let (mut low, mut high) = ([-norm; LANES], [norm; LANES]);
            for _ in 0..BISECTIONS {
                let middle: [f64; LANES] = std::array::from_fn(|lane| 0.5 * (low[lane] + high[lane]));
                let above = self.count_above(&squares, &middle, norm);
                for lane in 0..LANES {
                    let is_above = above[lane] > (first + lane) as f64;
                    low[lane] = if is_above { middle[lane] } else { low[lane] };
                    high[lane] = if is_above { high[lane] } else { middle[lane] };
                }
                let is_narrow =
                    |lane: usize| high[lane] - low[lane] <= NARROW * f64::max(high[lane].abs(), f64::EPSILON * norm);
                if (0..LANES).all(is_narrow) {
                    break;
                }
            }
            values.extend((0..LANES).map(|lane| 0.5 * (low[lane] + high[lane])));
        }
        values.truncate(count);
        values
    }

    /// Counts the eigenvalues above each shift: the positive pivots of A − x.
    #[inline(always)]
    fn count_above(&self, squares: &[f64], shifts: &[f64; LANES], norm: f64) -> [f64; LANES] {
        let least = (f64::EPSILON * f64::EPSILON * norm).max(f64::MIN_POSITIVE);
        let (mut pivots, mut counts) = ([1.0; LANES], [0.0; LANES]);
        let mut square = 0.0;
        for (row, entry) in self.diagonal.iter().enumerate() {
            for lane in 0..LANES {
                let pivot = entry - shifts[lane] - square / pivots[lane];
                // Tiny pivots count as negative.
                let pivot = if pivot.abs() < least { -least } else { pivot };
                counts[lane] += if pivot > 0.0 { 1.0 } else { 0.0 };
                pivots[lane] = pivot;
            }
            square = squares.get(row).copied().unwrap_or_default();
        }
        counts
    }

    /// Eigenpairs near these values, descending, with orthonormal vectors; `None` if one did not
    /// converge.
    #[inline(always)]
    fn vectors(&self, near: &[f64]) -> Option<Vec<(f64, Vec<f64>)>> {
        let (order, norm) = (self.diagonal.len(), self.norm());
        let mut found: Vec<(f64, Vec<f64>)> = Vec::with_capacity(near.len());
        for &shift in near {
            let solver = Solver::of(self, shift, norm);
            let mut vector: Vec<f64> = (0..order).map(|row| start(row, found.len())).collect();
            for _ in 0..SOLUTIONS {
                solver.solve(&mut vector);
                scale(&mut vector)?;
                for _ in 0..SUBTRACTIONS {
                    // A loop and not a closure, which would be compiled without AVX2.
                    for (_, other) in &found {
                        subtract(&mut vector, other);
                    }
                    // After cancellation the rest is not orthogonal to rounding.
                    if scale(&mut vector)? > MOST_LEFT {
                        break;
                    }
                }
            }
            let images = self.times(&vector);
            let value = dot(&images, &vector);
            let square: f64 = images.iter().zip(&vector).map(|(image, entry)| (image - value * entry).powi(2)).sum();
            let mut is_found = square.sqrt() <= RESIDUAL * norm;
            for (_, other) in &found {
                is_found &= dot(other, &vector).abs() <= SKEW;
            }
            if !is_found {
                return None;
            }
            found.push((value, vector));
        }
        // Close eigenvalues may have changed their order.
        found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        Some(found)
    }

    /// A·v
    #[inline(always)]
    fn times(&self, vector: &[f64]) -> Vec<f64> {
        let mut images: Vec<f64> = self.diagonal.iter().zip(vector).map(|(entry, x)| entry * x).collect();
        for (row, entry) in self.beside.iter().enumerate() {
            images[row] += entry * vector[row + 1];
            images[row + 1] += entry * vector[row];
        }
        images
    }
}

/// LU factors of A − λ with partial pivoting.
struct Solver {
    /// U: reciprocals of the diagonal, and two superdiagonals.
    upper: Vec<[f64; 3]>,
    /// L: the multiplier of each row, and whether it was swapped.
    lower: Vec<(f64, bool)>,
}

impl Solver {
    #[inline(always)]
    fn of(matrix: &Tridiagonal, value: f64, norm: f64) -> Self {
        let (order, least) = (matrix.diagonal.len(), (f64::EPSILON * norm).max(f64::MIN_POSITIVE));
        let beside = |row: usize| matrix.beside.get(row).copied().unwrap_or_default();
        let (mut upper, mut lower) = (Vec::with_capacity(order), Vec::with_capacity(order));
        let mut row = [matrix.diagonal[0] - value, beside(0), 0.0];
        for next in 1..order {
            let mut below = [beside(next - 1), matrix.diagonal[next] - value, beside(next)];
            let is_exchanged = below[0].abs() > row[0].abs();
            if is_exchanged {
                std::mem::swap(&mut row, &mut below);
            }
            let inverse = at_least(row[0], least).recip();
            let factor = below[0] * inverse;
            upper.push([inverse, row[1], row[2]]);
            lower.push((factor, is_exchanged));
            row = [below[1] - factor * row[1], below[2] - factor * row[2], 0.0];
        }
        upper.push([at_least(row[0], least).recip(), 0.0, 0.0]);
        Self { upper, lower }
    }

    #[inline(always)]
    fn solve(&self, vector: &mut [f64]) {
        // The carried row stays in registers: a store that is soon loaded again stalls.
        let mut carried = vector[0];
        for (row, &(factor, is_exchanged)) in self.lower.iter().enumerate() {
            let next = vector[row + 1];
            let (stays, goes_on) = if is_exchanged { (next, carried) } else { (carried, next) };
            vector[row] = stays;
            carried = goes_on - factor * stays;
        }
        vector[self.lower.len()] = carried;
        let (mut next, mut after) = (0.0, 0.0);
        for (entry, [inverse, first, second]) in vector.iter_mut().zip(&self.upper).rev() {
            let solved = (*entry - first * next - second * after) * inverse;
            *entry = solved;
            (next, after) = (solved, next);
        }
    }
}

fn at_least(pivot: f64, least: f64) -> f64 {
    if pivot.abs() < least { least.copysign(pivot) } else { pivot }
}

/// Pseudo-random numbers of similar magnitude.
pub(super) fn start(row: usize, place: usize) -> f64 {
    let mixed = (row as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add((place as u64) << 40);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    0.5 + (mixed >> 11) as f64 / (1u64 << 53) as f64
}

#[inline(always)]
fn subtract(vector: &mut [f64], other: &[f64]) {
    let product = dot(vector, other);
    for (entry, other) in vector.iter_mut().zip(other) {
        *entry -= product * other;
    }
}

/// Normalises the vector, and returns its norm; `None` if that is zero.
#[inline(always)]
pub(super) fn scale(vector: &mut [f64]) -> Option<f64> {
    let largest = vector.iter().fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
    if !(largest > 0.0 && largest.is_finite()) {
        return None;
    }
    for entry in vector.iter_mut() {
        *entry /= largest;
    }
    let length = dot(vector, vector).sqrt();
    for entry in vector.iter_mut() {
        *entry /= length;
    }
    Some(length * largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;
    use crate::small::extended_gram;

    /// `Q·diag(values)·Qᵀ` with some orthogonal Q.
    fn with_values(values: &[f64]) -> Vec<f64> {
        let order = values.len();
        let entry = |row: usize, column: usize| f64::from(normal(8, 1, row as u64, column as u32));
        let drawn: Vec<Vec<f64>> =
            (0..order).map(|column| (0..order).map(|row| entry(row, column)).collect()).collect();
        let basis = symmetric_eigen(&extended_gram(&[], &drawn), order).unwrap().vectors;
        let entry = |i: usize, j: usize| {
            (0..order).map(|k| basis[i * order + k] * values[k] * basis[j * order + k]).sum::<f64>()
        };
        // Symmetric to the last bit.
        (0..order * order).map(|e| entry(usize::max(e / order, e % order), usize::min(e / order, e % order))).collect()
    }

    /// The largest eigenvalues are those of the whole decomposition, and their vectors orthonormal
    /// and theirs.
    fn check(a: &[f64], order: usize, count: usize) {
        let reduced = Reduced::for_some(a, order, count).expect("few enough");
        let found = reduced.find(0..count).expect("all of them");
        let all = symmetric_eigen(a, order).unwrap();
        let norm = all.values.iter().fold(0.0, |norm: f64, value| norm.max(value.abs()));
        assert!(found.values.is_sorted_by(|x, y| x >= y));
        for (place, (value, other)) in found.values.iter().zip(&all.values).enumerate() {
            assert!((value - other).abs() <= 1e-11 * norm, "{order}, {place}: {value} is {other}");
        }
        let column = |place: usize| found.vectors.iter().skip(place).step_by(count).copied().collect::<Vec<f64>>();
        for place in 0..count {
            let vector = column(place);
            for other in 0..=place {
                let product: f64 = vector.iter().zip(column(other)).map(|(x, y)| x * y).sum();
                assert!((product - f64::from(u8::from(other == place))).abs() < 1e-12);
            }
            for (row, entry) in a.chunks_exact(order).zip(&vector) {
                let image: f64 = row.iter().zip(&vector).map(|(x, y)| x * y).sum();
                assert!((image - found.values[place] * entry).abs() <= 1e-11 * norm);
            }
        }
    }

    #[test]
    fn they_are_the_first_of_all() {
        for (order, count) in [(2, 1), (7, 3), (40, 20), (100, 5), (130, 33)] {
            check(&with_values(&(0..order).map(|i| 1.0 / (1.0 + i as f64)).collect::<Vec<_>>()), order, count);
            check(&with_values(&(0..order).map(|i| 7.0 - i as f64).collect::<Vec<_>>()), order, count);
        }
    }

    /// Catches parts that find each other's eigenvalues, or vectors that belong to none.
    #[test]
    fn parts_are_those_of_all() {
        let order = 130;
        let a = with_values(&(0..order).map(|i| if i == 0 { 1e4 } else { 9.0 - 0.05 * i as f64 }).collect::<Vec<_>>());
        let reduced = Reduced::for_some(&a, order, 33).expect("few enough");
        let all = reduced.find(0..33).expect("all of them");
        for places in [0..1, 0..16, 16..33, 20..21] {
            let part = reduced.find(places.clone()).expect("some of them");
            for (column, place) in places.enumerate() {
                assert!((part.values[column] - all.values[place]).abs() < 1e-8);
                let columns = part.values.len();
                let pairs = (0..order).map(|row| part.vectors[row * columns + column] * all.vectors[row * 33 + place]);
                assert!((pairs.sum::<f64>().abs() - 1.0).abs() < 1e-9);
            }
        }
        assert!(Reduced::for_some(&a, order, 66).is_none() && Reduced::for_some(&a, order, 0).is_none());
        assert!(Reduced::for_some(&vec![f64::NAN; order * order], order, 3).is_none());
    }

    #[test]
    fn a_large_one_does_not_hide_the_others() {
        let values: Vec<f64> = (0..120).map(|i| if i == 0 { 1e5 } else { 4.0 - f64::from(i) / 40.0 }).collect();
        check(&with_values(&values), 120, 32);
    }

    #[test]
    fn equal_ones_have_vectors_of_their_own() {
        let nearly = |i: usize| 1.0 + 1e-13 * i as f64;
        for values in [
            vec![3.0; 40],
            (0..60).map(|i| f64::from(i / 10)).collect(),
            (0..60).map(|i| nearly(i) + f64::from(u8::from(i > 50))).collect(),
        ] {
            check(&with_values(&values), values.len(), 20);
        }
        // Parts that have nothing to do with each other.
        let order = 30;
        let diagonal: Vec<f64> =
            (0..order * order).map(|e| if e % order == e / order { f64::from(e as u32 % 3) } else { 0.0 }).collect();
        check(&diagonal, order, 12);
    }

    #[test]
    fn what_cannot_be_found_alone_is_found_with_the_others() {
        for (order, count) in [(0, 0), (0, 3), (1, 1), (5, 0), (5, 3), (5, 9)] {
            let a = with_values(&(0..order).map(f64::from).collect::<Vec<_>>());
            let order = order as usize;
            let found = largest_eigen(&a, order, count).unwrap();
            assert_eq!((found.values.len(), found.vectors.len()), (count.min(order), order * count.min(order)));
        }
        assert_eq!(largest_eigen(&[0.0; 64], 8, 2).unwrap().values, [0.0, 0.0]);
        assert!(largest_eigen(&[f64::NAN; 64], 8, 2).is_err());
    }
}
