//! One eigenpair of a symmetric banded matrix, in f64.
//!
//! Elimination of a banded matrix takes a few operations for each stored entry, and by Sylvester's
//! law of inertia the signs of the pivots count the eigenvalues above a shift. So one eigenvalue is
//! found by bisection, and its vector by inverse iteration, in a small part of the time of the full
//! decomposition. All operations round alike on every machine.

use super::largest::{scale, start};
use super::simd::faster;
use super::small::dot;

/// Eigenvalues below this fraction of the largest are not computed.
const LEAST: f64 = 1e-9;
/// Bisections until an interval is as narrow as rounding.
const ELIMINATIONS: usize = 80;
/// Relative width of an interval at which inverse iteration starts, and its reduction after a
/// failure.
const NARROW: (f64, f64) = (0.02, 0.125);
/// Steps of inverse iteration before the Rayleigh quotient becomes the shift.
const SOLUTIONS: usize = 2;
/// Largest accepted ‖Av − λv‖/λ.
const RESIDUAL: f64 = 1e-4;

/// A symmetric banded matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Banded {
    order: usize,
    /// Column by column: the diagonal entry and those below it, padded beyond the last row.
    columns: Vec<f64>,
    span: usize,
}

/// An eigenvalue, and its unit vector.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigenpair {
    /// The eigenvalue.
    pub value: f64,
    /// One entry a row.
    pub vector: Vec<f64>,
}

impl Banded {
    /// A matrix with `width` diagonals below the main one, given its entries on and below that one.
    pub fn new(order: usize, width: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let span = width + 1;
        let place = |place: usize| (place / span + place % span, place / span);
        let entry = |(row, column)| if row < order { entry(row, column) } else { 0.0 };
        Self { order, columns: (0..order * span).map(|number| entry(place(number))).collect(), span }
    }

    /// The eigenpair with this many eigenvalues above it, if it is positive and separated.
    pub fn eigenpair(&self, above: usize) -> Option<Eigenpair> {
        let mut found = None;
        find(self, above, &mut found);
        return found;

        fn find(matrix: &Banded, above: usize, found: &mut Option<Eigenpair>) {
            faster!(search(matrix: &Banded, above: usize, found: &mut Option<Eigenpair>));
        }
    }

    /// The ∞-norm, a bound of all eigenvalues.
    fn norm(&self) -> f64 {
        let mut sums = vec![0.0; self.order + self.span];
        for (row, column) in self.columns.chunks_exact(self.span).enumerate() {
            sums[row] += column[0].abs();
            for (below, entry) in column.iter().enumerate().skip(1) {
                sums[row] += entry.abs();
                sums[row + below] += entry.abs();
            }
        }
        sums.into_iter().fold(0.0, f64::max)
    }

    /// A·v
    fn times(&self, vector: &[f64]) -> Vec<f64> {
        let mut images = vec![0.0; self.order + self.span];
        for (row, column) in self.columns.chunks_exact(self.span).enumerate() {
            for (below, entry) in column.iter().enumerate().take(self.order - row) {
                images[row + below] += entry * vector[row];
                images[row] += if below > 0 { entry * vector[row + below] } else { 0.0 };
            }
        }
        images.truncate(self.order);
        images
    }
}

/// Bisects until one eigenvalue is in the interval, then solves for its vector.
#[inline(always)]
fn search(matrix: &Banded, above: usize, found: &mut Option<Eigenpair>) {
    let norm = matrix.norm();
    let mut solver = Solver::new(matrix);
    let (mut low, mut high) = (LEAST * norm, norm);
    // Eigenvalues above either end.
    let (mut of_low, mut of_high) = (solver.eliminate(low), 0);
    if of_low <= above || !norm.is_finite() {
        return;
    }
    let mut narrow = NARROW.0;
    for _ in 0..ELIMINATIONS {
        // The ends differ by orders of magnitude at first.
        let middle = (low * high).sqrt();
        let count = solver.eliminate(middle);
        if count > above {
            (low, of_low) = (middle, count);
        } else {
            (high, of_high) = (middle, count);
        }
        let is_narrow = high - low <= narrow * high;
        if is_narrow && (of_low - of_high == 1 || high - low <= RESIDUAL * high) {
            *found = solver.solution(low, high);
            if found.is_some() || high - low <= f64::EPSILON * high {
                return;
            }
            narrow *= NARROW.1;
        }
    }
}

/// A − λ = L·D·Lᵀ.
struct Solver<'a> {
    matrix: &'a Banded,
    /// D on the diagonal, and L·D below it.
    columns: Vec<f64>,
}

impl<'a> Solver<'a> {
    fn new(matrix: &'a Banded) -> Self {
        Self { matrix, columns: matrix.columns.clone() }
    }

    /// Factors A − `shift`, and counts the positive pivots: the eigenvalues of A above it.
    #[inline(always)]
    fn eliminate(&mut self, shift: f64) -> usize {
        let span = self.matrix.span;
        self.columns.copy_from_slice(&self.matrix.columns);
        let least = f64::EPSILON * shift.abs();
        let mut positive = 0;
        let mut rest = &mut self.columns[..];
        while let Some((column, others)) = rest.split_at_mut_checked(span) {
            let pivot = column[0] - shift;
            // Tiny pivots count as negative.
            let pivot = if pivot.abs() < least { -least } else { pivot };
            column[0] = pivot;
            positive += usize::from(pivot > 0.0);
            let inverse = pivot.recip();
            for (below, other) in (1..span).zip(others.chunks_exact_mut(span)) {
                let factor = column[below] * inverse;
                for (entry, of_pivot) in other.iter_mut().zip(&column[below..]) {
                    *entry -= factor * of_pivot;
                }
            }
            rest = others;
        }
        positive
    }

    /// Solves with the last factors.
    #[inline(always)]
    fn solve(&self, vector: &mut [f64]) {
        let span = self.matrix.span;
        for (row, column) in self.columns.chunks_exact(span).enumerate() {
            let (solved, others) = vector[row..].split_at_mut(1);
            solved[0] /= column[0];
            others.iter_mut().zip(&column[1..]).for_each(|(other, entry)| *other -= entry * solved[0]);
        }
        for (row, column) in self.columns.chunks_exact(span).enumerate().rev() {
            let (solved, others) = vector[row..].split_at_mut(1);
            let sum: f64 = others.iter().zip(&column[1..]).map(|(other, entry)| other * entry).sum();
            solved[0] -= sum / column[0];
        }
    }

    /// The eigenpair in an interval; `None` if the iteration converged to another one.
    #[inline(always)]
    fn solution(&mut self, low: f64, high: f64) -> Option<Eigenpair> {
        let matrix = self.matrix;
        let mut vector: Vec<f64> = (0..matrix.order).map(|row| start(row, 0)).collect();
        let mut value = 0.5 * (low + high);
        self.eliminate(value);
        for _ in 0..SOLUTIONS {
            self.solve(&mut vector);
            scale(&mut vector)?;
        }
        value = dot(&matrix.times(&vector), &vector);
        self.eliminate(value);
        self.solve(&mut vector);
        scale(&mut vector)?;
        let images = matrix.times(&vector);
        value = dot(&images, &vector);
        let square: f64 = images.iter().zip(&vector).map(|(image, entry)| (image - value * entry).powi(2)).sum();
        let is_it = (low..=high).contains(&value) && square.sqrt() <= RESIDUAL * value;
        is_it.then_some(Eigenpair { value, vector })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;
    use crate::small::{Eigen, symmetric_eigen};

    /// A banded matrix, and the same as a dense one.
    fn random(order: usize, width: usize, entry: impl Fn(usize, usize) -> f64) -> (Banded, Vec<f64>) {
        let banded = Banded::new(order, width, &entry);
        let near = |row: usize, column: usize| if row - column <= width { entry(row, column) } else { 0.0 };
        let all = |place: usize| {
            let (row, column) = (place / order, place % order);
            near(row.max(column), row.min(column))
        };
        (banded, (0..order * order).map(all).collect())
    }

    /// Catches eigenvalues of another place, and vectors that are not theirs.
    #[test]
    fn any_eigenvalue_is_found_alone() {
        for (order, width) in [(1, 0), (5, 1), (40, 4), (70, 16), (10, 16)] {
            // Descending like squared singular values, with one far above the others.
            let entry = |row: usize, column: usize| {
                let drawn = f64::from(normal(3, 1, row as u64, column as u32)) / (1.0 + column as f64);
                if row == column { 6.0 / (1.0 + row as f64) + if row == 0 { 1e4 } else { 0.0 } } else { 0.2 * drawn }
            };
            let (banded, rows) = random(order, width, entry);
            let Eigen { values, vectors } = symmetric_eigen(&rows, order).unwrap();
            for (place, &value) in values.iter().enumerate().take(32) {
                if value < 1e-4 {
                    break;
                }
                let found = banded.eigenpair(place).expect("it is positive");
                assert!((found.value - value).abs() <= 1e-6 * value, "{place} of {order}: {} is {value}", found.value);
                let of_place = vectors.iter().skip(place).step_by(order);
                let product: f64 = of_place.zip(&found.vector).map(|(one, other)| one * other).sum();
                let gap = |other: usize| values.get(other).map_or(f64::INFINITY, |other| (other - value).abs() / value);
                let is_alone = gap(place.wrapping_sub(1)).min(gap(place + 1)) > 1e-3;
                assert!(!is_alone || (product.abs() - 1.0).abs() < 1e-5, "{place} of {order}: {product}");
            }
        }
    }

    #[test]
    fn equal_ones_are_found_and_what_is_not_there_is_not() {
        let (banded, _) = random(30, 3, |row, column| if row == column { f64::from(row as u32 % 3) } else { 0.0 });
        for (place, value) in [(0, 2.0), (9, 2.0), (10, 1.0), (19, 1.0)] {
            assert!(banded.eigenpair(place).is_some_and(|found| (found.value - value).abs() < 1e-9), "{place}");
        }
        assert_eq!(banded.eigenpair(20), None, "it is zero");
        assert_eq!(banded.eigenpair(30), None);
        assert_eq!(random(0, 3, |_, _| 1.0).0.eigenpair(0), None);
        assert_eq!(random(4, 1, |_, _| f64::NAN).0.eigenpair(0), None);
        assert_eq!(random(4, 1, |_, _| 0.0).0.eigenpair(0), None);
    }
}
