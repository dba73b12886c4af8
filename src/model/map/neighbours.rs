//! The graph of nearest neighbours, and the weights of its edges.

use std::sync::Arc;

use super::points::Points;
use crate::kernel::cores;
use crate::matrix::Dense;
use crate::model::neighbours::{By, Neighbours};
use crate::model::vectors::{Side, Vectors};

/// Halvings of the interval in which a scale is searched.
const HALVINGS: usize = 40;

/// A neighbour and its distance, between 0 and 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Neighbour {
    pub(super) point: u32,
    pub(super) distance: f64,
}

/// An edge between two points, the smaller number first, with a weight in 0..=1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edge {
    pub(super) points: [u32; 2],
    pub(super) weight: f32,
}

/// The `count` nearest points of every point except itself, the nearest first.
pub(super) fn nearest(points: &Points, count: usize) -> Vec<Vec<Neighbour>> {
    let left = Dense::new(points.count, points.rank, points.entries()).unwrap_or_default();
    let vectors = Arc::new(Vectors { left, right: Dense::default() });
    let Ok(neighbours) = Neighbours::new(vectors, By::Cosine(Side::Left)) else { return Vec::new() };
    let all: Vec<u32> = (0..points.count as u32).collect();
    // Points have unit length, so the cosine gives the distance.
    let distance = |cosine: f32| (2.0 - 2.0 * f64::from(cosine)).max(0.0).sqrt();
    let found = neighbours.of(&all, count, cores());
    let of_point = |near: Vec<crate::model::neighbours::Neighbour>| {
        near.into_iter().map(|one| Neighbour { point: one.row, distance: distance(one.score) }).collect()
    };
    found.into_iter().map(of_point).collect()
}

/// The edges to neighbours, sorted by points. The weight of the nearest neighbour of a point is
/// one, and weights decay exponentially with the distance beyond, at a scale at which the weights
/// of every point have the same sum. Weights a and b of both directions become a + b − ab, as in
/// UMAP.
pub(super) fn edges(neighbours: &[Vec<Neighbour>]) -> Vec<Edge> {
    let mut pairs = Vec::with_capacity(neighbours.iter().map(Vec::len).sum());
    for (point, near) in neighbours.iter().enumerate() {
        let Some(closest) = near.first().map(|first| first.distance) else { continue };
        let scale = scale(near, closest);
        for neighbour in near {
            let (one, other) = (point as u32, neighbour.point);
            let weight = libm::exp(-(neighbour.distance - closest) / scale);
            pairs.push(Edge { points: [one.min(other), one.max(other)], weight: weight as f32 });
        }
    }
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
