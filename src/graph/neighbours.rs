//! The neighbours of each node, in one piece: what a sampler walks on.

use super::Sparse;

/// The entries of a sparse matrix by rows, without tiles: quick to look into at random.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    starts: Vec<usize>,
    targets: Vec<u32>,
    weights: Option<Vec<f32>>,
}

impl Neighbours {
    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Copies the entries of a matrix.
    ///
    /// ```
    /// use isvd_dist::graph::{Neighbours, Sparse};
    /// let matrix = Sparse::symmetric_from_pairs(3, vec![(0, 2), (1, 0)], None)?;
    /// let neighbours = Neighbours::of(&matrix);
    /// assert_eq!(neighbours.targets(0), [1, 2]);
    /// assert_eq!((neighbours.weight_between(2, 0), neighbours.weight_between(2, 1)), (1.0, 0.0));
    /// # Ok::<(), isvd_dist::graph::GraphError>(())
    /// ```
    pub fn of(matrix: &Sparse) -> Self {
        let mut starts = Vec::with_capacity(matrix.rows() + 1);
        starts.push(0);
        let mut end = 0;
        starts.extend(matrix.row_counts().iter().map(|&count| {
            end += count as usize;
            end
        }));
        let mut targets = vec![0; end];
        let mut weights = matrix.is_weighted().then(|| vec![0.0; end]);
        let mut next = starts.clone();
        // Strips come from left to right, so the columns of a row come in order.
        matrix.for_each(|row, column, weight| {
            let place = next[row];
            next[row] += 1;
            targets[place] = column as u32;
            if let Some(weights) = &mut weights {
                weights[place] = weight;
            }
        });
        Self { starts, targets, weights }
    }

    /// How many neighbours a node has.
    #[inline]
    pub fn degree(&self, node: u32) -> usize {
        self.starts[node as usize + 1] - self.starts[node as usize]
    }

    /// The neighbours of a node, in the order of their numbers.
    #[inline]
    pub fn targets(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize]..self.starts[node as usize + 1]]
    }

    /// The weight of the edge from a node to its neighbour at a place of [`Neighbours::targets`].
    #[inline]
    pub fn weight(&self, node: u32, place: usize) -> f32 {
        self.weights.as_ref().map_or(1.0, |weights| weights[self.starts[node as usize] + place])
    }

    /// The weight of the edge from one node to another; zero when there is none.
    pub fn weight_between(&self, from: u32, to: u32) -> f32 {
        self.targets(from).binary_search(&to).map_or(0.0, |place| self.weight(from, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::STRIP_COLUMNS;

    #[test]
    fn rows_are_in_order_across_strips_and_keep_their_weights() {
        let columns = 2 * STRIP_COLUMNS + 7;
        let mut entries = vec![];
        for row in 0..50u32 {
            entries.extend((0..=row % 7).map(|place| (row, (row * 7919 + place * 20_011) % columns as u32)));
        }
        let values = (0..entries.len()).map(|place| place as f32 + 1.5).collect();
        let matrix = Sparse::from_triplets(50, columns, entries, Some(values)).unwrap();
        let neighbours = Neighbours::of(&matrix);
        let mut count = 0;
        matrix.for_each(|row, column, weight| {
            assert_eq!(neighbours.weight_between(row as u32, column as u32), weight);
            count += 1;
        });
        assert_eq!((0..50).map(|row| neighbours.degree(row)).sum::<usize>(), count);
        assert!((0..50).all(|row| neighbours.targets(row).is_sorted()));
    }
}
