//! Whether a matrix that is stored in full is that of an undirected graph.

use super::{EdgeOptions, Remark};
use crate::dataset::EdgeList;

/// The edges of a square matrix whose entries are all stored. Unless edges are stated to be
/// directed, a symmetric matrix is that of an undirected graph: each of its edges is listed once,
/// so that the adjacency matrix is the one that was stored.
pub(super) fn edges_of(
    nodes: usize,
    mut places: Vec<(u32, u32)>,
    values: Vec<f32>,
    options: &EdgeOptions,
    remarks: &mut Vec<Remark>,
) -> EdgeList {
    let mut weights = Some(values).filter(|values| values.iter().any(|&value| value != 1.0));
    let mut directed = options.directed.unwrap_or(true);
    if options.directed != Some(true) && is_symmetric(nodes, &places, weights.as_deref()) {
        directed = false;
        remarks.extend(options.directed.is_none().then_some(Remark::Symmetric));
        if let Some(weights) = &mut weights {
            let mut is_kept = places.iter().map(|(row, column)| row <= column);
            weights.retain(|_| is_kept.next().unwrap_or(false));
        }
        places.retain(|(row, column)| row <= column);
    }
    EdgeList { nodes, edges: places, weights, directed }
}

/// Whether the value at (i, j) is that at (j, i), everywhere; values at the same place add up.
fn is_symmetric(nodes: usize, places: &[(u32, u32)], values: Option<&[f32]>) -> bool {
    let turned = |&(row, column): &(u32, u32)| (column, row);
    // Few entries of a matrix of many rows are not worth an array of its rows.
    let is_filled = nodes / 8 <= places.len();
    if is_filled && places.is_sorted_by(|a, b| a < b) {
        return is_symmetric_in_order(nodes, places.len(), |entry| places[entry], |entry| value(values, entry));
    }
    if is_filled && places.is_sorted_by(|a, b| turned(a) < turned(b)) {
        return is_symmetric_in_order(
            nodes,
            places.len(),
            |entry| turned(&places[entry]),
            |entry| value(values, entry),
        );
    }
    let merged = |place: fn((u32, u32)) -> (u32, u32)| {
        let entries = places.iter().enumerate();
        let mut entries: Vec<_> = entries.map(|(at, &pair)| (place(pair), f64::from(value(values, at)))).collect();
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        entries.dedup_by(|next, first| {
            let is_same = next.0 == first.0;
            first.1 += if is_same { next.1 } else { 0.0 };
            is_same
        });
        entries
    };
    merged(|pair| pair) == merged(|(row, column)| (column, row))
}

fn value(values: Option<&[f32]>, entry: usize) -> f32 {
    values.map_or(1.0, |values| values[entry])
}

/// The same of entries that follow each other row after row, each place once. The entries of a row
/// are met in the order of their columns by the entries that they mirror, so one position a row
/// finds all of them.
fn is_symmetric_in_order(
    nodes: usize,
    entries: usize,
    place: impl Fn(usize) -> (u32, u32),
    value: impl Fn(usize) -> f32,
) -> bool {
    let mut next = vec![0usize; nodes + 1];
    (0..entries).for_each(|entry| next[place(entry).0 as usize + 1] += 1);
    (0..nodes).for_each(|row| next[row + 1] += next[row]);
    (0..entries).all(|entry| {
        let (row, column) = place(entry);
        let mirrored = &mut next[column as usize];
        let is_there = *mirrored < entries && place(*mirrored) == (column, row) && value(*mirrored) == value(entry);
        *mirrored += 1;
        is_there
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dense(nodes: usize, places: &[(u32, u32)], values: &[f32]) -> Vec<f64> {
        let mut matrix = vec![0.0; nodes * nodes];
        for (&(row, column), &value) in places.iter().zip(values) {
            matrix[row as usize * nodes + column as usize] += f64::from(value);
        }
        matrix
    }

    proptest! {
        /// Against the definition, for entries in any order, with and without repetitions, mirrored
        /// or not.
        #[test]
        fn symmetric_is_what_equals_its_transpose(
            drawn in prop::collection::vec((0u32..6, 0u32..6, 1u8..4), 0..20),
            (mirrored, order, single) in (any::<bool>(), 0u8..3, any::<bool>()),
        ) {
            let nodes = 6;
            let mut entries: Vec<((u32, u32), f32)> = drawn.iter().map(|&(a, b, v)| ((a, b), f32::from(v))).collect();
            if mirrored {
                entries.extend(drawn.iter().filter(|(a, b, _)| a != b).map(|&(a, b, v)| ((b, a), f32::from(v))));
            }
            match order {
                0 => entries.sort_by_key(|&((row, column), _)| (row, column)),
                1 => entries.sort_by_key(|&((row, column), _)| (column, row)),
                _ => {}
            }
            if single {
                entries.dedup_by_key(|entry| entry.0);
            }
            let (places, values): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
            let matrix = dense(nodes, &places, &values);
            let is_equal = (0..36).all(|at| matrix[at] == matrix[at % 6 * 6 + at / 6]);
            let mut remarks = vec![];
            let list = edges_of(nodes, places.clone(), values.clone(), &EdgeOptions::default(), &mut remarks);
            prop_assert_eq!((list.directed, remarks.len()), (!is_equal, usize::from(is_equal)));
            // The adjacency matrix of the list is the matrix.
            let listed = list.weights.clone().unwrap_or(vec![1.0; list.edges.len()]);
            let mut back = dense(nodes, &list.edges, &listed);
            if is_equal {
                let upper = back.clone();
                (0..36).filter(|at| at / 6 > at % 6).for_each(|at| back[at] = upper[at % 6 * 6 + at / 6]);
            }
            prop_assert_eq!(back, matrix);
            let stated = EdgeOptions { directed: Some(true), ..EdgeOptions::default() };
            let list = edges_of(nodes, places.clone(), values, &stated, &mut remarks);
            prop_assert_eq!((list.directed, list.edges), (true, places));
        }
    }
}
