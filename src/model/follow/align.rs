//! An embedding, turned onto the one before it.

use crate::graph::parallel::singly;
use crate::kernel::small::{SmallSvd, small_svd};
use crate::kernel::{Panel, PanelMut, gemm, gram, stride};
use crate::model::embedding::Embedding;

/// Singular values of which each is at least so large a part of the one before it are a cluster: a small change of the matrix
/// turns their vectors into each other.
const CLOSE: f32 = 0.9;

/// Rows that are turned at a time.
const ROWS: usize = 256;

/// Rows that a thread takes at a time; sums over so many are added in their order, so that they do not depend on the threads.
const SHARE: usize = 16 * ROWS;

/// Turns an embedding onto another one of the first of its rows, as far as that leaves all scores as they are: vectors of
/// close singular values are turned within their cluster, and single ones get the sign that fits. Both sides are turned
/// alike. It does not depend on the number of threads.
pub fn align(mut embedding: Embedding, onto: &Embedding, threads: usize) -> Embedding {
    let (rank, common) = (embedding.rank, embedding.rank.min(onto.rank));
    let mut products = vec![0.0; rank * onto.rank];
    for (data, other) in [(&embedding.left, &onto.left), (&embedding.right, &onto.right)] {
        add_products(&mut products, (data, rank), (other, onto.rank), threads);
    }
    let mut turns = vec![0.0; rank * rank];
    turns.iter_mut().step_by(rank + 1).for_each(|entry| *entry = 1.0);
    for cluster in clusters(&embedding.singular_values[..common]) {
        let order = cluster.len();
        let own: Vec<f64> =
            cluster.clone().flat_map(|row| &products[row * onto.rank..][cluster.clone()]).copied().collect();
        // The turn that fits best is U·Vᵀ of the products. Where there is none the vectors stay as they are.
        let Ok(SmallSvd { left, right, .. }) = small_svd(&own, order, order) else { continue };
        for (from, to) in (0..order * order).map(|entry| (entry / order, entry % order)) {
            let (left, right) = (&left[from * order..][..order], &right[to * order..][..order]);
            let turn: f64 = left.iter().zip(right).map(|(a, b)| a * b).sum();
            turns[(cluster.start + from) * rank + cluster.start + to] = turn as f32;
        }
    }
    for data in [&mut embedding.left, &mut embedding.right] {
        let share = data.len().checked_div(rank).unwrap_or(0).div_ceil(threads.max(1)).max(1) * rank.max(1);
        std::thread::scope(|scope| {
            for rows in data.chunks_mut(share) {
                scope.spawn(|| turn(rows, rank, &turns));
            }
        });
    }
    embedding
}

/// Adds the products of all columns of a table with those of another one, over the rows that both have.
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

/// Multiplies all rows of a table by a small matrix.
fn turn(data: &mut [f32], rank: usize, turns: &[f32]) {
    let mut scratch = gemm::Scratch::default();
    for rows in data.chunks_mut(ROWS * rank.max(1)) {
        let before = padded(rows, rank);
        let mut after = vec![0.0; before.len()];
        let count = rows.len() / rank;
        let panel = Panel::new(count, rank, &before);
        gemm::multiply_small(panel, turns, PanelMut::new(count, rank, &mut after), &mut scratch);
        let turned = after.chunks_exact(stride(rank)).flat_map(|row| &row[..rank]);
        rows.iter_mut().zip(turned).for_each(|(entry, turned)| *entry = *turned);
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

/// How far each row of an embedding is from that of another one, both sides together, as a part of the mean length of the
/// other's rows. Rows that the other lacks are as far as they are long. It does not depend on the number of threads.
pub fn distances(embedding: &Embedding, other: &Embedding, threads: usize) -> Vec<f32> {
    let square = |data: &[f32]| data.iter().map(|&entry| f64::from(entry).powi(2)).sum::<f64>();
    let apart = |now: &[f32], then: &[f32]| {
        let common = now.len().min(then.len());
        let difference = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
        now.iter().zip(then).map(difference).sum::<f64>() + square(&now[common..]) + square(&then[common..])
    };
    // The distances of some rows, and the sum of the lengths of the other's.
    let of_share = |(): &mut (), share: usize| {
        let (mut lengths, mut distances) = (0.0, Vec::with_capacity(SHARE));
        for row in share * SHARE..embedding.nodes.max(other.nodes).min((share + 1) * SHARE) {
            let sides = [(&embedding.left, &other.left), (&embedding.right, &other.right)];
            if row < other.nodes {
                lengths += sides.iter().map(|(_, then)| square(row_of(then, other.rank, row))).sum::<f64>().sqrt();
            }
            if row < embedding.nodes {
                let squares = sides.map(|(now, then)| {
                    let then = if row < other.nodes { row_of(then, other.rank, row) } else { &[] };
                    apart(row_of(now, embedding.rank, row), then)
                });
                distances.push(squares.iter().sum::<f64>().sqrt());
            }
        }
        (lengths, distances)
    };
    let shares = singly(embedding.nodes.max(other.nodes).div_ceil(SHARE), threads, || (), of_share);
    let mean = shares.iter().map(|(lengths, _)| lengths).sum::<f64>() / other.nodes.max(1) as f64;
    let relative = |distance: f64| if mean > 0.0 { (distance / mean) as f32 } else { 0.0 };
    shares.into_iter().flat_map(|(_, distances)| distances).map(relative).collect()
}

fn row_of(data: &[f32], rank: usize, row: usize) -> &[f32] {
    &data[row * rank..(row + 1) * rank]
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
    use crate::svd::Certificate;

    fn embedding(values: &[f32], left: Vec<f32>, right: Vec<f32>) -> Embedding {
        let rank = values.len();
        Embedding {
            nodes: left.len() / rank,
            rank,
            left,
            right,
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

    #[test]
    fn a_turned_embedding_is_turned_back_and_scores_stay() {
        let (sine, cosine) = (0.6, 0.8);
        let rows = [[1.0f32, 0.5, -0.2], [0.3, -0.7, 0.9], [-0.4, 0.2, 0.6], [0.8, 0.1, 0.3]];
        let turned: Vec<f32> =
            rows.iter().flat_map(|[a, b, c]| [-a, cosine * b - sine * c, sine * b + cosine * c]).collect();
        let plain = rows.concat();
        let before = embedding(&[5.0, 1.0, 0.95], plain.clone(), plain.clone());
        let now = embedding(&[5.0, 1.0, 0.95], turned.clone(), turned);
        let weights = now.plain_weights();
        let scores = now.score(&[(0, 1), (2, 3)], true, &weights);
        let aligned = align(now, &before, 2);
        assert!(distances(&aligned, &before, 2).iter().all(|&distance| distance < 1e-6));
        for (a, b) in aligned.score(&[(0, 1), (2, 3)], true, &weights).iter().zip(scores) {
            assert!((a - b).abs() < 1e-5);
        }
    }

    #[test]
    fn a_new_row_has_come_all_the_way() {
        let before = embedding(&[1.0], vec![3.0, 0.0], vec![4.0, 5.0]);
        let now = embedding(&[1.0], vec![3.0, 3.0, 0.0], vec![4.0, 9.0, 10.0]);
        assert_eq!(distances(&now, &before, 2), [0.0, 1.0, 2.0]);
    }
}
