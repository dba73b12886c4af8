//! The rotation that makes the vectors of an embedding comparable with those before.
//!
//! Singular vectors of close singular values rotate into each other when the matrix changes a
//! little, and all have arbitrary signs. Their rotation Q onto the vectors before is kept beside
//! them: L·Q and R·Q have the same scores as L and R, and the certificate stays that of L = U√S and
//! R = V√S.

use serde::{Deserialize, Serialize};

use crate::graph::parallel::singly;
use crate::kernel::small::{SmallSvd, small_product, small_svd};
use crate::kernel::{Panel, PanelMut, gemm, gram, stride};
use crate::model::embedding::Embedding;

/// A cluster is a run of singular values of which each is at least this part of the one before it.
const CLOSE: f32 = 0.9;

/// Rows that are multiplied at a time.
const ROWS: usize = 256;

/// Rows of a unit of work. Units are summed in their order, so that sums do not depend on the
/// number of threads.
const SHARE: usize = 16 * ROWS;

/// An orthogonal matrix that rotates the columns of an embedding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rotation {
    order: usize,
    /// Row after row.
    entries: Vec<f32>,
}

/// An embedding with the rotation that makes it comparable with others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aligned<'a> {
    pub(super) embedding: &'a Embedding,
    pub(super) rotation: &'a Rotation,
}

impl Rotation {
    /// The identity.
    pub fn identity(order: usize) -> Self {
        let mut entries = vec![0.0; order * order];
        entries.iter_mut().step_by(order + 1).for_each(|entry| *entry = 1.0);
        Self { order, entries }
    }

    /// Number of columns that it rotates.
    pub fn order(&self) -> usize {
        self.order
    }

    /// The rotation that brings an embedding nearest to another one of the first of its rows, with
    /// both sides rotated alike. It mixes columns of close singular values only, and does not
    /// depend on the number of threads.
    pub(super) fn onto(embedding: &Embedding, other: Aligned<'_>, threads: usize) -> Self {
        let (rank, other_rank) = (embedding.rank, other.embedding.rank);
        let mut products = vec![0.0; rank * other_rank];
        for (data, before) in [
            (embedding.left.data(), other.embedding.left.data()),
            (embedding.right.data(), other.embedding.right.data()),
        ] {
            add_products(&mut products, (data, rank), (before, other_rank), threads);
        }
        let rotation: Vec<f64> = other.rotation.entries.iter().map(|&entry| f64::from(entry)).collect();
        let products = small_product(&products, &rotation, rank, other_rank, other_rank);
        let mut found = Self::identity(rank);
        for cluster in clusters(&embedding.singular_values[..rank.min(other_rank)]) {
            let order = cluster.len();
            let own: Vec<f64> =
                cluster.clone().flat_map(|row| &products[row * other_rank..][cluster.clone()]).copied().collect();
            // The orthogonal Procrustes problem: the nearest rotation is U·Vᵀ of the products.
            // Where they have no SVD the vectors stay as they are.
            let Ok(SmallSvd { left, right, .. }) = small_svd(&own, order, order) else { continue };
            for (from, to) in (0..order * order).map(|entry| (entry / order, entry % order)) {
                let (left, right) = (&left[from * order..][..order], &right[to * order..][..order]);
                let product: f64 = left.iter().zip(right).map(|(a, b)| a * b).sum();
                found.entries[(cluster.start + from) * rank + cluster.start + to] = product as f32;
            }
        }
        found
    }

    /// Rows times the rotation.
    pub(super) fn apply(&self, rows: &[f32]) -> Vec<f32> {
        let order = self.order;
        let count = rows.len().checked_div(order).unwrap_or(0);
        let mut out = vec![0.0; count * stride(order)];
        let product = PanelMut::new(count, order, &mut out);
        let padded = padded(rows, order);
        gemm::multiply_small(Panel::new(count, order, &padded), &self.entries, product, &mut gemm::Scratch::default());
        out.chunks_exact(stride(order).max(1)).flat_map(|row| &row[..order]).copied().collect()
    }
}

/// Adds the products of all columns of a table with those of another one, over the rows that both
/// have.
fn add_products(sums: &mut [f64], (data, rank): (&[f32], usize), (other, other_rank): (&[f32], usize), threads: usize) {
    let rows = |data: &[f32], rank: usize| data.len().checked_div(rank).unwrap_or(0);
    let count = rows(data, rank).min(rows(other, other_rank));
    let of_share = |scratch: &mut gram::Scratch, share: usize| {
        let (mut sums, mut part) = (vec![0.0; rank * other_rank], vec![0.0; rank * other_rank]);
        let end = count.min((share + 1) * SHARE);
        for start in (share * SHARE..end).step_by(ROWS) {
            let rows = start..end.min(start + ROWS);
            let of = |data: &[f32], rank: usize| padded(&data[rows.start * rank..rows.end * rank], rank);
            let (one, two) = (of(data, rank), of(other, other_rank));
            let (one, two) = (Panel::new(rows.len(), rank, &one), Panel::new(rows.len(), other_rank, &two));
            gram::cross_gram(one, two, &mut part, scratch);
            sums.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part);
        }
        sums
    };
    for part in singly(count.div_ceil(SHARE), threads, gram::Scratch::default, of_share) {
        sums.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part);
    }
}

/// Rows as kernels take them, each with zeros at its end.
fn padded(rows: &[f32], rank: usize) -> Vec<f32> {
    let width = stride(rank);
    if width == rank {
        return rows.to_vec();
    }
    let mut padded = vec![0.0; rows.len().checked_div(rank).unwrap_or(0) * width];
    for (to, row) in padded.chunks_exact_mut(width.max(1)).zip(rows.chunks_exact(rank.max(1))) {
        to[..rank].copy_from_slice(row);
    }
    padded
}

/// The distance of each row of an embedding from that of another one, both sides together, relative
/// to the mean length of the other's rows; of rows that the other lacks, their length. It does not
/// depend on the number of threads.
pub(super) fn distances(now: Aligned<'_>, then: Aligned<'_>, threads: usize) -> Vec<f32> {
    let (nodes, known) = (now.embedding.nodes, then.embedding.nodes);
    let square = |row: &[f32]| row.iter().map(|&entry| f64::from(entry).powi(2)).sum::<f64>();
    let apart = |one: &[f32], other: &[f32]| {
        let common = one.len().min(other.len());
        let difference = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
        one.iter().zip(other).map(difference).sum::<f64>() + square(&one[common..]) + square(&other[common..])
    };
    // The distances of some rows, and the sum of the lengths of the other's.
    let of_share = |(): &mut (), share: usize| {
        let (mut lengths, mut distances) = (0.0, Vec::with_capacity(SHARE));
        let end = nodes.max(known).min((share + 1) * SHARE);
        for first in (share * SHARE..end).step_by(ROWS) {
            let rows = first..end.min(first + ROWS);
            let [sides_now, sides_then] = [now, then].map(|aligned| aligned.rows(rows.clone()));
            for (place, row) in rows.enumerate() {
                let of = |side: usize| {
                    (
                        row_of(&sides_now[side], now.embedding.rank, place),
                        row_of(&sides_then[side], then.embedding.rank, place),
                    )
                };
                if row < known {
                    lengths += [0, 1].map(|side| square(of(side).1)).iter().sum::<f64>().sqrt();
                }
                if row < nodes {
                    let squares = [0, 1].map(|side| apart(of(side).0, of(side).1));
                    distances.push(squares.iter().sum::<f64>().sqrt());
                }
            }
        }
        (lengths, distances)
    };
    let shares = singly(nodes.max(known).div_ceil(SHARE), threads, || (), of_share);
    let mean = shares.iter().map(|(lengths, _)| lengths).sum::<f64>() / known.max(1) as f64;
    let relative = |distance: f64| if mean > 0.0 { (distance / mean) as f32 } else { 0.0 };
    shares.into_iter().flat_map(|(_, distances)| distances).map(relative).collect()
}

impl Aligned<'_> {
    /// Some rows of both sides, rotated; those that the embedding lacks are left out.
    pub(super) fn rows(&self, rows: std::ops::Range<usize>) -> [Vec<f32>; 2] {
        let Embedding { nodes, rank, left, right, .. } = self.embedding;
        let rows = rows.start.min(*nodes) * rank..rows.end.min(*nodes) * rank;
        [left, right].map(|side| self.rotation.apply(&side.data()[rows.clone()]))
    }
}

/// A row of some rows, empty where it is not among them.
fn row_of(rows: &[f32], rank: usize, row: usize) -> &[f32] {
    rows.get(row * rank..(row + 1) * rank).unwrap_or(&[])
}

/// Runs of singular values of which each is close to the one before it.
fn clusters(values: &[f32]) -> Vec<std::ops::Range<usize>> {
    let mut clusters = Vec::new();
    let mut start = 0;
    for run in values.chunk_by(|a, b| *b >= CLOSE * a) {
        clusters.push(start..start + run.len());
        start += run.len();
    }
    clusters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Sharded;
    use crate::svd::Certificate;

    fn embedding(values: &[f32], left: Vec<f32>, right: Vec<f32>) -> Embedding {
        let rank = values.len();
        Embedding {
            nodes: left.len() / rank,
            rank,
            left: Sharded::whole(left.len() / rank, rank, left),
            right: Sharded::whole(right.len() / rank, rank, right),
            singular_values: values.to_vec(),
            certificate: Certificate::default(),
            operator_columns: 0,
            iterations: 0,
            energy: None,
        }
    }

    #[test]
    fn values_that_are_close_make_a_cluster() {
        assert_eq!(clusters(&[9.0, 2.0, 1.9, 1.8, 1.0]), [0..1, 1..4, 4..5]);
        assert!(clusters(&[]).is_empty());
    }

    /// The distances of an embedding that is rotated onto another one.
    fn distances_onto(now: &Embedding, before: &Embedding) -> Vec<f32> {
        let before = Aligned { embedding: before, rotation: &Rotation::identity(before.rank) };
        let rotation = Rotation::onto(now, before, 2);
        distances(Aligned { embedding: now, rotation: &rotation }, before, 2)
    }

    #[test]
    fn a_rotated_embedding_is_rotated_back_and_scores_stay() {
        let (sine, cosine) = (0.6, 0.8);
        let rows = [[1.0f32, 0.5, -0.2], [0.3, -0.7, 0.9], [-0.4, 0.2, 0.6], [0.8, 0.1, 0.3]];
        let rotated: Vec<f32> =
            rows.iter().flat_map(|[a, b, c]| [-a, cosine * b - sine * c, sine * b + cosine * c]).collect();
        let plain = rows.concat();
        let before = embedding(&[5.0, 1.0, 0.95], plain.clone(), plain.clone());
        let now = embedding(&[5.0, 1.0, 0.95], rotated.clone(), rotated);
        assert!(distances_onto(&now, &before).iter().all(|&distance| distance < 1e-6));
        let identity = Rotation::identity(3);
        let rotation = Rotation::onto(&now, Aligned { embedding: &before, rotation: &identity }, 2);
        let rotated = Aligned { embedding: &now, rotation: &rotation }.rows(0..4);
        let [left, right] = rotated.map(|side| Sharded::whole(4, 3, side));
        let aligned = Embedding { left, right, ..now.clone() };
        let weights = now.plain_weights();
        let [scores, expected] = [&aligned, &now].map(|of| of.score(&[(0, 1), (2, 3)], true, &weights));
        for (a, b) in scores.iter().zip(expected) {
            assert!((a - b).abs() < 1e-5);
        }
        // A third one is aligned with the second as that is with the first.
        let second = Aligned { embedding: &now, rotation: &rotation };
        let third = Rotation::onto(&before, second, 2);
        let distances = distances(Aligned { embedding: &before, rotation: &third }, second, 2);
        assert!(distances.iter().all(|&distance| distance < 1e-6));
    }

    #[test]
    fn a_new_row_has_come_all_the_way() {
        let before = embedding(&[1.0], vec![3.0, 0.0], vec![4.0, 5.0]);
        let now = embedding(&[1.0], vec![3.0, 3.0, 0.0], vec![4.0, 9.0, 10.0]);
        let one = Rotation::identity(1);
        let [now, before] = [&now, &before].map(|embedding| Aligned { embedding, rotation: &one });
        assert_eq!(distances(now, before, 2), [0.0, 1.0, 2.0]);
    }
}
