//! Detects whether a fully stored matrix is the adjacency matrix of an undirected graph.

use std::path::Path;

use super::text::times;
use super::{EdgeOptions, FormatError, Remark, Weights};
use crate::dataset::EdgeList;
use crate::dataset::budget::{Budget, OverBudget};

/// The edges of a square matrix whose entries are all stored. Unless edges are stated to be
/// directed, entries of value zero are none, and a symmetric matrix is that of an undirected graph:
/// each of its edges is listed once, so that the adjacency matrix is the one that was stored.
pub(super) fn edges_of(
    nodes: usize,
    mut places: Vec<(u32, u32)>,
    values: Vec<f32>,
    options: &EdgeOptions,
    remarks: &mut Vec<Remark>,
) -> Result<EdgeList, OverBudget> {
    let mut weights = Some(values).filter(|values| values.iter().any(|&value| value != 1.0));
    let mut directed = options.directed.unwrap_or(true);
    if options.directed != Some(true) {
        if let Some(weights) = weights.as_mut().filter(|weights| weights.contains(&0.0)) {
            let mut is_kept = weights.iter().map(|&value| value != 0.0);
            places.retain(|_| is_kept.next().unwrap_or(false));
            weights.retain(|&value| value != 0.0);
        }
        let is_symmetric = is_symmetric(&places, weights.as_deref())?;
        if is_symmetric {
            directed = false;
            if let Some(weights) = &mut weights {
                let mut is_kept = places.iter().map(|(row, column)| row <= column);
                weights.retain(|_| is_kept.next().unwrap_or(false));
            }
            places.retain(|(row, column)| row <= column);
        }
        let remark = if is_symmetric { Remark::Symmetric } else { Remark::NotSymmetric };
        remarks.extend(options.directed.is_none().then_some(remark));
    }
    Ok(EdgeList { nodes, edges: places, weights, directed })
}

/// The values of a matrix as weights. Values that are times by their size are refused, as in the
/// third column of a text, unless it is stated what they are.
pub(super) fn weights_of(path: &Path, mut values: Vec<f32>, options: &EdgeOptions) -> Result<Vec<f32>, FormatError> {
    match options.weights {
        Weights::Third => {}
        // Stored zeros stay zero: they are no entries.
        Weights::Ignore => values.iter_mut().filter(|value| **value != 0.0).for_each(|value| *value = 1.0),
        Weights::Auto => {
            if let Some(times) = times(&values) {
                let found =
                    format!("{times} of {} values that are times by their size, such as {}", values.len(), values[0]);
                let remedy = "ignore values (weights = \"ignore\"), or say that they are weights (weights = \"third\")";
                return Err(FormatError::content(path, found, "weights", remedy));
            }
        }
    }
    Ok(values)
}

/// An entry by row and column, and its value.
type Entry = ((u32, u32), f64);

/// Whether the matrix equals its transpose; values at the same place add up.
fn is_symmetric(places: &[(u32, u32)], values: Option<&[f32]>) -> Result<bool, OverBudget> {
    let _reserved = Budget::current().reserve_for::<[Entry; 2]>(places.len())?;
    let value = |entry: usize| values.map_or(1.0, |values| f64::from(values[entry]));
    let entries = || places.iter().enumerate().map(|(entry, &place)| (place, value(entry)));
    let matrix = summed(entries().collect());
    let transpose = summed(entries().map(|((row, column), value)| ((column, row), value)).collect());
    Ok(matrix == transpose)
}

/// The nonzero entries in order, with those at the same place added up. Their values are added in
/// ascending order, so that a sum does not depend on the order of the file.
fn summed(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    entries.dedup_by(|next, first| {
        let is_same = next.0 == first.0;
        first.1 += if is_same { next.1 } else { 0.0 };
        is_same
    });
    entries.retain(|&(_, sum)| sum != 0.0);
    entries
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
            drawn in prop::collection::vec((0u32..6, 0u32..6, -1i8..4), 0..20),
            (mirrored, order, single, spare) in (any::<bool>(), 0u8..3, any::<bool>(), any::<bool>()),
        ) {
            // Rows without entries, many for each that has one.
            let nodes = if spare { 200 } else { 6 };
            let mut entries: Vec<((u32, u32), f32)> = drawn.iter().map(|&(a, b, v)| ((a, b), f32::from(v))).collect();
            if mirrored {
                // Zeros are no entries, wherever they are.
                let others = drawn.iter().filter(|(a, b, v)| a != b && *v != 0);
                entries.extend(others.map(|&(a, b, v)| ((b, a), f32::from(v))));
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
            let cells = nodes * nodes;
            let is_equal = (0..cells).all(|at| matrix[at] == matrix[at % nodes * nodes + at / nodes]);
            let mut remarks = vec![];
            let list = edges_of(nodes, places.clone(), values.clone(), &EdgeOptions::default(), &mut remarks).unwrap();
            let remark = if is_equal { Remark::Symmetric } else { Remark::NotSymmetric };
            prop_assert_eq!((list.directed, &remarks[..]), (!is_equal, &[remark][..]));
            // The adjacency matrix of the list is the matrix.
            let listed = list.weights.clone().unwrap_or(vec![1.0; list.edges.len()]);
            let mut back = dense(nodes, &list.edges, &listed);
            if is_equal {
                let upper = back.clone();
                let lower = (0..cells).filter(|at| at / nodes > at % nodes);
                lower.for_each(|at| back[at] = upper[at % nodes * nodes + at / nodes]);
            }
            prop_assert_eq!(back, matrix);
            let stated = EdgeOptions { directed: Some(true), ..EdgeOptions::default() };
            let list = edges_of(nodes, places.clone(), values, &stated, &mut remarks).unwrap();
            prop_assert_eq!(remarks.len(), 1);
            prop_assert_eq!((list.directed, list.edges), (true, places));
        }
    }

    /// A zero on one side alone makes no direction, and is no edge.
    #[test]
    fn a_stored_zero_is_no_entry() {
        let (places, values) = (vec![(0, 1), (1, 0), (2, 0), (1, 2)], vec![2.0, 2.0, 0.0, -0.0]);
        let mut remarks = vec![];
        let list = edges_of(3, places.clone(), values.clone(), &EdgeOptions::default(), &mut remarks).unwrap();
        assert_eq!((list.directed, list.edges, list.weights), (false, vec![(0, 1)], Some(vec![2.0])));
        assert_eq!(remarks, [Remark::Symmetric]);
        let stated = EdgeOptions { directed: Some(true), ..EdgeOptions::default() };
        let list = edges_of(3, places.clone(), values, &stated, &mut remarks).unwrap();
        assert_eq!(list.edges, places, "pairs that are stated to have a direction stay as they are");
    }

    /// Catches copies that no budget knows of. They do not depend on the number of rows.
    #[test]
    fn the_memory_of_the_comparison_is_counted_before_it_is_allocated() {
        let ring: Vec<(u32, u32)> = (0..1000).map(|node| (node, (node + 1) % 1000)).collect();
        let mixed: Vec<(u32, u32)> = (0..1000).map(|n| ring[n * 7 % 1000]).collect();
        for (nodes, places) in [(1000, ring), (1000, mixed), (900_000, vec![(5, 6); 1000])] {
            let compare = |limit| {
                let budget = Budget::new(limit);
                let options = EdgeOptions::default();
                let list = budget.within(|| edges_of(nodes, places.clone(), vec![], &options, &mut vec![]));
                assert_eq!(budget.available(), limit, "the memory is released");
                list
            };
            assert_eq!(compare(32_000).unwrap().edges.len(), 1000);
            assert!(compare(31_999).is_err(), "{nodes}");
        }
    }
}
