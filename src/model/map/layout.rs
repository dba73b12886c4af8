//! Places that keep neighbours together.

use super::Options;
use super::neighbours::Edge;
use super::points::spread;
use crate::kernel::random::{stream, words};

/// The most that one step moves a point along an axis.
const STEP: f32 = 4.0;
/// Keeps the push between points at the same place finite.
const SOFT: f32 = 1e-3;
/// The strength of attraction relative to repulsion. UMAP uses one; with less, the points of a
/// group do not coincide.
const PULL: f32 = 0.6;
/// Random points that repel each end of an edge when it attracts.
const PUSHES: usize = 2;

/// Moves the points by stochastic gradient descent, as UMAP does: the ends of an edge attract each
/// other, more often if its weight is larger, and random points repel them. The similarity of two
/// places at distance d is 1/(1 + d²).
pub(super) fn lay_out(mut places: Vec<[f32; 2]>, edges: &[Edge], options: &Options) -> Vec<[f32; 2]> {
    let rounds = options.rounds;
    let most = edges.iter().map(|edge| edge.weight).fold(0.0, f32::max);
    // Rounds from one attraction of an edge to the next.
    let periods: Vec<f32> = edges.iter().map(|edge| most / edge.weight).collect();
    let mut next = periods.clone();
    for round in 0..rounds {
        let rate = 1.0 - round as f32 / rounds as f32;
        for (number, edge) in edges.iter().enumerate() {
            if next[number] > (round + 1) as f32 {
                continue;
            }
            next[number] += periods[number];
            let [one, other] = edge.points.map(|point| point as usize);
            pull(&mut places, one, other, rate);
            let random = words(options.seed, stream::MAP, number as u64, round as u32 + 1);
            for (end, words) in [one, other].into_iter().zip(random.chunks_exact(PUSHES)) {
                for &word in words {
                    let off = (u64::from(word) * places.len() as u64) >> 32;
                    push(&mut places, end, off as usize, rate);
                }
            }
        }
    }
    spread(places, 1.0)
}

#[inline(always)]
fn pull(places: &mut [[f32; 2]], one: usize, other: usize, rate: f32) {
    let (way, square) = way(places[one], places[other]);
    let strength = -PULL / (1.0 + square);
    for axis in [0, 1] {
        let step = (strength * way[axis]).clamp(-STEP, STEP) * rate;
        places[one][axis] += step;
        places[other][axis] -= step;
    }
}

#[inline(always)]
fn push(places: &mut [[f32; 2]], point: usize, off: usize, rate: f32) {
    let (way, square) = way(places[point], places[off]);
    let strength = 2.0 / ((SOFT + square) * (1.0 + square));
    for axis in [0, 1] {
        places[point][axis] += (strength * way[axis]).clamp(-STEP, STEP) * rate;
    }
}

#[inline(always)]
fn way(from: [f32; 2], to: [f32; 2]) -> ([f32; 2], f32) {
    let way = [from[0] - to[0], from[1] - to[1]];
    (way, way[0] * way[0] + way[1] * way[1])
}
