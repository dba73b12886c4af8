//! Exact nearest neighbours, and how much each of them counts.

use super::points::Points;
use crate::kernel::gemm::{Onto, Small, multiply_packed};
use crate::kernel::{Panel, PanelMut, stride};

/// Points whose likeness to all others is computed at a time.
const CHUNK: usize = 96;
/// Halvings of the interval that a scale is looked for in.
const HALVINGS: usize = 40;

/// A neighbour and its distance, which is between 0 and 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Neighbour {
    pub(super) point: u32,
    pub(super) distance: f64,
}

/// Two points, the smaller number first, and how alike they are: more than 0, at most 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Alike {
    pub(super) points: [u32; 2],
    pub(super) weight: f32,
}

/// The `count` nearest points of every point, itself left out, the nearest first; of equally near ones the first.
pub(super) fn nearest(points: &Points, count: usize) -> Vec<Vec<Neighbour>> {
    let (all, panel) = (points.count, points.panel());
    let count = count.min(all.saturating_sub(1));
    if count == 0 {
        return vec![Vec::new(); all];
    }
    let transposed = Small::new(&transpose(panel), points.rank, all);
    let mut products = vec![0.0; CHUNK * stride(all)];
    let mut found = Vec::with_capacity(all);
    for first in (0..all).step_by(CHUNK) {
        let rows = CHUNK.min(all - first);
        let from = &panel.data()[first * panel.stride()..][..rows * panel.stride()];
        let products = &mut products[..rows * stride(all)];
        let out = PanelMut::new(rows, all, products);
        multiply_packed(Panel::new(rows, points.rank, from), &transposed, out, Onto::Nothing);
        for (row, products) in products.chunks_exact(stride(all)).enumerate() {
            found.push(closest(&products[..all], first + row, count));
        }
    }
    found
}

/// The points with the largest products.
fn closest(products: &[f32], own: usize, count: usize) -> Vec<Neighbour> {
    let mut best: Vec<(f32, u32)> = Vec::with_capacity(count + 1);
    let mut least = f32::NEG_INFINITY;
    for (point, &product) in products.iter().enumerate() {
        if (product > least || best.len() < count) && point != own {
            let place = best.partition_point(|&(other, _)| other >= product);
            best.insert(place, (product, point as u32));
            best.truncate(count);
            if best.len() == count {
                least = best[count - 1].0;
            }
        }
    }
    let distance = |product: f32| (2.0 - 2.0 * f64::from(product)).max(0.0).sqrt();
    best.into_iter().map(|(product, point)| Neighbour { point, distance: distance(product) }).collect()
}

fn transpose(panel: Panel) -> Vec<f32> {
    let mut out = vec![0.0; panel.rows() * panel.cols()];
    for row in 0..panel.rows() {
        for (column, &entry) in panel.row(row).iter().enumerate() {
            out[column * panel.rows() + row] = entry;
        }
    }
    out
}

/// How alike neighbours are: one for the nearest, falling with the distance beyond so that every point has about as many
/// neighbours, and for two that are each other's the chance that one of both holds. In the order of the points.
pub(super) fn likeness(neighbours: &[Vec<Neighbour>], count: usize) -> Vec<Alike> {
    let mut pairs = Vec::with_capacity(neighbours.iter().map(Vec::len).sum());
    for (point, near) in neighbours.iter().enumerate() {
        let Some(closest) = near.first().map(|first| first.distance) else { continue };
        let scale = scale(near, closest);
        for neighbour in near {
            let (one, other) = (point as u32, neighbour.point);
            let weight = libm::exp(-(neighbour.distance - closest) / scale);
            pairs.push(Alike { points: [one.min(other), one.max(other)], weight: weight as f32 });
        }
    }
    debug_assert!(pairs.iter().all(|pair| (pair.points[1] as usize) < count));
    pairs.sort_by_key(|pair| pair.points);
    pairs.dedup_by(|again, first| {
        let is_same = again.points == first.points;
        if is_same {
            first.weight += again.weight - first.weight * again.weight;
        }
        is_same
    });
    pairs.retain(|pair| pair.weight > 0.0);
    pairs
}

/// The scale at which the weights of these neighbours sum to the logarithm of their number.
fn scale(near: &[Neighbour], closest: f64) -> f64 {
    let target = libm::log2(near.len() as f64 + 1.0);
    let sum = |scale: f64| near.iter().map(|one| libm::exp(-(one.distance - closest) / scale)).sum::<f64>();
    let (mut low, mut high) = (1e-6, 4.0);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if sum(middle) > target {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}
