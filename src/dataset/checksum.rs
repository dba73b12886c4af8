//! A checksum of a dataset.

use crc32fast::Hasher;

use super::{Dataset, LinkSplit, NodeSplit};

/// Pairs that are copied before they are added to the sum.
const AT_ONCE: usize = 4096;

impl Dataset {
    /// CRC-32 of all that results depend on: edges, pairs, features and labels, not names.
    pub fn checksum(&self) -> u32 {
        let mut sum = Sum(Hasher::new());
        sum.sizes([self.graph.nodes(), usize::from(self.graph.is_directed()), self.feature_count]);
        match self.graph.in_store() {
            // The checksums on record identify the pieces, so that no piece has to be read.
            Some(stored) => stored.store.checksums().for_each(|checksum| sum.0.update(checksum.as_bytes())),
            None => {
                if let Ok(list) = self.graph.list() {
                    sum.pairs(&list.edges);
                    sum.numbers(list.weights.as_deref());
                }
            }
        }
        for LinkSplit { edges, non_edges } in [&self.valid, &self.test].into_iter().flatten() {
            sum.pairs(edges);
            sum.pairs(non_edges);
        }
        sum.numbers(self.features.as_deref());
        if let Some(sparse) = &self.sparse_features {
            sum.sizes(sparse.starts.iter().copied());
            sum.numbers(Some(&sparse.columns));
            sum.numbers(Some(&sparse.values));
        }
        sum.numbers(self.labels.as_deref());
        if let Some(NodeSplit { train, valid, test }) = &self.node_split {
            [train, valid, test].into_iter().for_each(|part| sum.numbers(Some(part)));
        }
        sum.0.finalize()
    }
}

struct Sum(Hasher);

impl Sum {
    fn sizes(&mut self, sizes: impl IntoIterator<Item = usize>) {
        sizes.into_iter().for_each(|size| self.0.update(&(size as u64).to_le_bytes()));
    }

    /// Adds numbers with their count, so that moving a number to the next list changes the sum.
    fn numbers<T: bytemuck::NoUninit>(&mut self, numbers: Option<&[T]>) {
        self.sizes([numbers.map_or(usize::MAX, <[T]>::len)]);
        self.0.update(bytemuck::cast_slice(numbers.unwrap_or_default()));
    }

    fn pairs(&mut self, pairs: &[(u32, u32)]) {
        self.sizes([pairs.len()]);
        let mut flat = Vec::with_capacity(2 * AT_ONCE);
        for pairs in pairs.chunks(AT_ONCE) {
            flat.clear();
            flat.extend(pairs.iter().flat_map(|&(from, to)| [from, to]));
            self.0.update(bytemuck::cast_slice(&flat));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::EdgeList;

    #[test]
    fn whatever_changes_results_changes_it() {
        let list = EdgeList { nodes: 4, edges: vec![(0, 1), (2, 3)], ..EdgeList::default() };
        let one = Dataset { name: "one".into(), graph: list.clone().into(), ..Dataset::default() };
        assert_eq!(Dataset { name: "two".into(), ..one.clone() }.checksum(), one.checksum());
        let lists: [fn(&mut EdgeList); 5] = [
            |list| list.nodes = 5,
            |list| list.edges[1] = (2, 0),
            |list| list.edges.reverse(),
            |list| list.weights = Some(vec![1.0, 1.0]),
            |list| list.directed = true,
        ];
        let others: [fn(&mut Dataset); 3] = [
            |data| data.valid = Some(LinkSplit { edges: vec![(0, 2)], non_edges: vec![] }),
            |data| data.features = Some(vec![0.0; 4]),
            |data| data.labels = Some(vec![0; 4]),
        ];
        let mut sums = vec![one.checksum()];
        for change in lists {
            let mut list = list.clone();
            change(&mut list);
            sums.push(Dataset { graph: list.into(), ..one.clone() }.checksum());
        }
        for change in others {
            let mut other = one.clone();
            change(&mut other);
            sums.push(other.checksum());
        }
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), 1 + lists.len() + others.len());
    }
}
