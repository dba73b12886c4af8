//! The rows to map, centred and scaled to unit length.

use crate::kernel::gram::{Scratch, gram};
use crate::kernel::small::symmetric_eigen;
use crate::kernel::{Panel, stride};

/// How far the first places reach from the middle.
const REACH: f32 = 10.0;

/// Centred rows of length one, or zero.
pub(super) struct Points {
    pub(super) count: usize,
    pub(super) rank: usize,
    /// A panel.
    data: Vec<f32>,
}

impl Points {
    /// The points of `count` vectors.
    pub(super) fn new(count: usize, vectors: &[f32], rank: usize) -> Self {
        let rows = vectors.chunks_exact(rank.max(1));
        let is_finite = |row: &[f32]| row.iter().all(|entry| entry.is_finite());
        let mut sums = vec![0.0f64; rank];
        for row in rows.clone().filter(|row| is_finite(row)) {
            sums.iter_mut().zip(row).for_each(|(sum, &entry)| *sum += f64::from(entry));
        }
        let means: Vec<f64> = sums.iter().map(|sum| sum / count.max(1) as f64).collect();
        let mut data = vec![0.0; count * stride(rank)];
        for (row, out) in rows.clone().zip(data.chunks_exact_mut(stride(rank).max(1))) {
            if !is_finite(row) {
                continue;
            }
            let centred = row.iter().zip(&means).map(|(&entry, mean)| f64::from(entry) - mean);
            let length = centred.clone().map(|entry| entry * entry).sum::<f64>().sqrt();
            let scale = if length > 0.0 { length.recip() } else { 0.0 };
            out.iter_mut().zip(centred).for_each(|(out, entry)| *out = (entry * scale) as f32);
        }
        Self { count, rank, data }
    }

    /// All rows without padding.
    pub(super) fn entries(&self) -> Vec<f32> {
        (0..self.count).flat_map(|point| self.panel().row(point)).copied().collect()
    }

    /// All rows.
    pub(super) fn panel(&self) -> Panel<'_> {
        Panel::new(self.count, self.rank, &self.data)
    }

    /// The first two principal components of every point, the larger reaching from −10 to 10.
    pub(super) fn principal_places(&self) -> Vec<[f32; 2]> {
        let mut products = vec![0.0; self.rank * self.rank];
        gram(self.panel(), &mut products, &mut Scratch::default());
        // Finite entries of a Gram matrix always have eigenvectors; without them every point would
        // start in the middle.
        let vectors = symmetric_eigen(&products, self.rank).map(|eigen| eigen.vectors).unwrap_or_default();
        let axes: Vec<Vec<f32>> = (0..self.rank.min(2)).map(|axis| self.axis(&vectors, axis)).collect();
        let along = |row: &[f32], axis: usize| match axes.get(axis) {
            None => 0.0,
            Some(axis) => row.iter().zip(axis).map(|(entry, weight)| entry * weight).sum::<f32>(),
        };
        let panel = self.panel();
        let places = |point| [0, 1].map(|axis| along(panel.row(point), axis));
        spread((0..self.count).map(places).collect(), REACH)
    }

    /// An eigenvector, its largest entry positive.
    fn axis(&self, vectors: &[f64], axis: usize) -> Vec<f32> {
        let entries: Vec<f64> = vectors.iter().skip(axis).step_by(self.rank).copied().collect();
        let largest = entries.iter().fold(0.0f64, |most, entry| if entry.abs() > most.abs() { *entry } else { most });
        entries.iter().map(|entry| (entry * largest.signum()) as f32).collect()
    }
}

/// The same places around the middle of their extent, stretched alike so that the farther
/// coordinate reaches `reach`.
pub(super) fn spread(mut places: Vec<[f32; 2]>, reach: f32) -> Vec<[f32; 2]> {
    let bounds = |axis: usize| {
        places.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), place| {
            (low.min(place[axis]), high.max(place[axis]))
        })
    };
    let bounds = [bounds(0), bounds(1)];
    let half = bounds.iter().map(|(low, high)| (high - low) / 2.0).fold(0.0, f32::max);
    let scale = if half > 0.0 { reach / half } else { 0.0 };
    for place in &mut places {
        for (coordinate, (low, high)) in place.iter_mut().zip(bounds) {
            *coordinate = ((*coordinate - (low + high) / 2.0) * scale).clamp(-reach, reach);
        }
    }
    places
}
