//! The right sweep, from the input to the output: merges nodes that are multiples of each other.

use std::collections::HashMap;

use super::monomials::Monomial;
use super::{Algebra, Entry, LARGEST_PLAN, Letter, Sum, Sums, add_entry, ratio};

/// The terms that a node reads, without their coefficients.
type Reads = Vec<Vec<(usize, Monomial)>>;

impl Algebra {
    /// Merges nodes of one letter with proportional inputs into the first of them, and expands
    /// panels with one reader. Returns the number of nodes removed, or `None` if the sums become
    /// too long.
    pub(super) fn sweep_right(&mut self, sums: Sums) -> Option<usize> {
        let order = self.order();
        let readers = self.readers(&order);
        let mut substitutes: Vec<Option<Sum>> = vec![None; self.nodes.len()];
        let mut alike: HashMap<(usize, Reads), Vec<usize>> = HashMap::new();
        let (mut gone, mut length) = (0, 0);
        for node in order {
            length += self.substitute(node, &substitutes);
            if length > LARGEST_PLAN {
                return None;
            }
            if node == self.root || self.is_input(node) {
                continue;
            }
            let is_short = || readers[node] == 1 || self.nodes[node].inputs[0].len() == 1;
            let is_expanded = self.is_panel(node) && (sums == Sums::Distribute || is_short());
            if is_expanded || self.nodes[node].inputs.iter().all(Vec::is_empty) {
                substitutes[node] = Some(std::mem::take(&mut self.nodes[node].inputs[0]));
                gone += 1;
                continue;
            }
            let factor = self.take_factor(node);
            let reads = |sum: &Sum| sum.iter().map(|entry| (entry.node, entry.monomial)).collect();
            let key = (self.nodes[node].letter, self.nodes[node].inputs.iter().map(reads).collect());
            let others = alike.entry(key).or_default();
            let twin = others.iter().find_map(|&other| Some((other, self.multiple(node, other)?)));
            let (same, multiple) = twin.unwrap_or((node, 1.0));
            match twin {
                Some(_) => gone += 1,
                None => others.push(node),
            }
            substitutes[node] =
                Some(vec![Entry { node: same, monomial: Monomial::EMPTY, coefficient: factor * multiple }]);
        }
        Some(gone)
    }

    /// The number of terms that read each node.
    fn readers(&self, order: &[usize]) -> Vec<usize> {
        let mut readers = vec![0; self.nodes.len()];
        for entry in order.iter().flat_map(|&node| self.nodes[node].inputs.iter().flatten()) {
            readers[entry.node] += 1;
        }
        readers
    }

    /// Substitutes the nodes that a node reads, and returns the number of its terms afterwards.
    fn substitute(&mut self, node: usize, substitutes: &[Option<Sum>]) -> usize {
        for slot in 0..self.nodes[node].inputs.len() {
            let mut sum = Sum::new();
            for entry in std::mem::take(&mut self.nodes[node].inputs[slot]) {
                match &substitutes[entry.node] {
                    None => add_entry(&mut sum, entry, 1.0),
                    Some(others) => others.iter().for_each(|other| {
                        let monomial = self.monomials.times(entry.monomial, other.monomial);
                        add_entry(&mut sum, Entry { monomial, ..*other }, entry.coefficient);
                    }),
                }
            }
            self.nodes[node].inputs[slot] = sum;
        }
        self.nodes[node].inputs.iter().map(Vec::len).sum()
    }

    /// Removes the coefficient of the single term that a product reads, and returns it: the
    /// epilogue of a product can apply a coefficient, its input cannot.
    fn take_factor(&mut self, node: usize) -> f64 {
        let is_stack = matches!(self.letters[self.nodes[node].letter], Letter::Stack { .. });
        match self.nodes[node].inputs[0].as_mut_slice() {
            [entry] if !is_stack => std::mem::replace(&mut entry.coefficient, 1.0),
            _ => 1.0,
        }
    }

    /// The factor between two nodes that read the same terms.
    fn multiple(&self, node: usize, other: usize) -> Option<f64> {
        let [of, to] = [node, other].map(|node| self.nodes[node].inputs.iter().flatten().map(|e| e.coefficient));
        ratio(of, to)
    }
}
