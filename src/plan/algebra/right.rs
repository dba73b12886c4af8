//! The right sweep: from the input to the answer, nodes that are multiples of each other become one.

use std::collections::HashMap;

use super::words::Word;
use super::{Algebra, Entry, LARGEST_PLAN, Letter, Sum, Sums, add_entry, ratio};

/// What a node reads, coefficients aside.
type Reads = Vec<Vec<(usize, Word)>>;

impl Algebra {
    /// Puts what is read in terms of the nodes that stay: of nodes of one letter with proportional inputs the first, of a
    /// panel with one reader its sum. Returns how many nodes are gone, or `None` when the sums become too long.
    pub(super) fn sweep_right(&mut self, sums: Sums) -> Option<usize> {
        let order = self.order();
        let readers = self.readers(&order);
        let mut stands_for: Vec<Option<Sum>> = vec![None; self.nodes.len()];
        let mut alike: HashMap<(usize, Reads), Vec<usize>> = HashMap::new();
        let (mut gone, mut length) = (0, 0);
        for node in order {
            length += self.substitute(node, &stands_for);
            if length > LARGEST_PLAN {
                return None;
            }
            if node == self.root || self.is_input(node) {
                continue;
            }
            let is_short = || readers[node] == 1 || self.nodes[node].inputs[0].len() == 1;
            let is_written_out = self.is_panel(node) && (sums == Sums::Distribute || is_short());
            if is_written_out || self.nodes[node].inputs.iter().all(Vec::is_empty) {
                stands_for[node] = Some(std::mem::take(&mut self.nodes[node].inputs[0]));
                gone += 1;
                continue;
            }
            let factor = self.take_factor(node);
            let reads = |sum: &Sum| sum.iter().map(|entry| (entry.node, entry.word)).collect();
            let key = (self.nodes[node].letter, self.nodes[node].inputs.iter().map(reads).collect());
            let others = alike.entry(key).or_default();
            let twin = others.iter().find_map(|&other| Some((other, self.multiple(node, other)?)));
            let (same, multiple) = twin.unwrap_or((node, 1.0));
            match twin {
                Some(_) => gone += 1,
                None => others.push(node),
            }
            stands_for[node] = Some(vec![Entry { node: same, word: Word::EMPTY, coefficient: factor * multiple }]);
        }
        Some(gone)
    }

    /// How often every node is read.
    fn readers(&self, order: &[usize]) -> Vec<usize> {
        let mut readers = vec![0; self.nodes.len()];
        for entry in order.iter().flat_map(|&node| self.nodes[node].inputs.iter().flatten()) {
            readers[entry.node] += 1;
        }
        readers
    }

    /// Replaces what a node reads by what stands for it, and returns how many terms it has now.
    fn substitute(&mut self, node: usize, stands_for: &[Option<Sum>]) -> usize {
        for slot in 0..self.nodes[node].inputs.len() {
            let mut sum = Sum::new();
            for entry in std::mem::take(&mut self.nodes[node].inputs[slot]) {
                match &stands_for[entry.node] {
                    None => add_entry(&mut sum, entry, 1.0),
                    Some(others) => others.iter().for_each(|other| {
                        let word = self.words.times(entry.word, other.word);
                        add_entry(&mut sum, Entry { word, ..*other }, entry.coefficient);
                    }),
                }
            }
            self.nodes[node].inputs[slot] = sum;
        }
        self.nodes[node].inputs.iter().map(Vec::len).sum()
    }

    /// The coefficient of the only thing that a product reads, which is then read bare: a product can be scaled as it is
    /// written, but not as it is read.
    fn take_factor(&mut self, node: usize) -> f64 {
        let is_stack = matches!(self.letters[self.nodes[node].letter], Letter::Stack { .. });
        match self.nodes[node].inputs[0].as_mut_slice() {
            [entry] if !is_stack => std::mem::replace(&mut entry.coefficient, 1.0),
            _ => 1.0,
        }
    }

    /// The factor between a node and another one that reads the same.
    fn multiple(&self, node: usize, other: usize) -> Option<f64> {
        let [of, to] = [node, other].map(|node| self.nodes[node].inputs.iter().flatten().map(|e| e.coefficient));
        ratio(of, to)
    }
}
