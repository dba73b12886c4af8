//! The left sweep, from the output to the input: merges nodes whose results are read in proportion.

use std::collections::HashMap;

use super::monomials::Monomial;
use super::{Algebra, Entry, add_entry, ratio};

/// A term that reads a node: the reader, which of its sums, the monomial and the coefficient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reading {
    pub(super) reader: usize,
    pub(super) slot: usize,
    pub(super) monomial: Monomial,
    pub(super) coefficient: f64,
}

/// The terms that read a node, without their coefficients.
type Places = Vec<(usize, usize, Monomial)>;

impl Reading {
    fn key(&self) -> (usize, usize, Monomial) {
        (self.reader, self.slot, self.monomial)
    }
}

impl Algebra {
    /// Merges nodes of one letter that are read in proportion, and adds their inputs. Readers come
    /// before the nodes that they read, so a node is compared by its readers after their merge. Two
    /// nodes with the same readers cannot depend on each other: a reader would depend on itself.
    /// Returns the number of nodes removed.
    pub(super) fn sweep_left(&mut self) -> usize {
        let order = self.order();
        let mut readings = self.readings(&order);
        let mut alike: HashMap<(usize, Places), Vec<usize>> = HashMap::new();
        let mut gone = 0;
        for &node in order.iter().rev() {
            if node == self.root || self.is_input(node) {
                continue;
            }
            let key = (self.nodes[node].letter, readings[node].iter().map(Reading::key).collect());
            let others = alike.entry(key).or_default();
            let coefficients = |node: usize| readings[node].iter().map(|reading| reading.coefficient);
            let twin = others.iter().find_map(|&other| Some((other, ratio(coefficients(node), coefficients(other))?)));
            match twin {
                None => others.push(node),
                Some((other, ratio)) => {
                    self.merge(node, other, ratio, &mut readings);
                    gone += 1;
                }
            }
        }
        gone
    }

    /// The readings of every node, ordered by reader.
    pub(super) fn readings(&self, order: &[usize]) -> Vec<Vec<Reading>> {
        let mut readings = vec![Vec::new(); self.nodes.len()];
        for &reader in order {
            for (slot, sum) in self.nodes[reader].inputs.iter().enumerate() {
                for &Entry { node, monomial, coefficient } in sum {
                    readings[node].push(Reading { reader, slot, monomial, coefficient });
                }
            }
        }
        readings.iter_mut().for_each(|readings| readings.sort_unstable_by_key(Reading::key));
        readings
    }

    /// Removes a node from the sums that read it.
    pub(super) fn forget(&mut self, node: usize, readings: &[Reading]) {
        for reading in readings {
            let sum = &mut self.nodes[reading.reader].inputs[reading.slot];
            sum.retain(|entry| (entry.node, entry.monomial) != (node, reading.monomial));
        }
    }

    /// Merges `node`, whose readings are `ratio` times those of `kept`, into `kept`. The larger of
    /// the two coefficients stays in the readers, so that there is no division by a small one.
    fn merge(&mut self, node: usize, kept: usize, ratio: f64, readings: &mut [Vec<Reading>]) {
        self.forget(node, &std::mem::take(&mut readings[node]));
        let (own, added) = if ratio.abs() > 1.0 { (1.0 / ratio, 1.0) } else { (1.0, ratio) };
        let inputs = std::mem::take(&mut self.nodes[node].inputs);
        let reads = |inputs: &[Vec<Entry>]| inputs.iter().flatten().map(|entry| entry.node).collect::<Vec<_>>();
        let mut changed = reads(&inputs);
        if own != 1.0 {
            changed.extend(reads(&self.nodes[kept].inputs));
            self.scale_readings(kept, ratio, &mut readings[kept]);
            self.nodes[kept].inputs.iter_mut().flatten().for_each(|entry| entry.coefficient *= own);
        }
        for (slot, sum) in inputs.into_iter().enumerate() {
            for entry in sum {
                add_entry(&mut self.nodes[kept].inputs[slot], entry, added);
            }
        }
        changed.sort_unstable();
        changed.dedup();
        for read in changed {
            let readings = &mut readings[read];
            readings.retain(|reading| reading.reader != node && reading.reader != kept);
            for (slot, sum) in self.nodes[kept].inputs.iter().enumerate() {
                readings.extend(sum.iter().filter(|entry| entry.node == read).map(|entry| Reading {
                    reader: kept,
                    slot,
                    monomial: entry.monomial,
                    coefficient: entry.coefficient,
                }));
            }
            readings.sort_unstable_by_key(Reading::key);
        }
    }

    /// Multiplies the coefficient of every reading of a node.
    fn scale_readings(&mut self, node: usize, factor: f64, readings: &mut [Reading]) {
        for reading in readings {
            reading.coefficient *= factor;
            let sum = &mut self.nodes[reading.reader].inputs[reading.slot];
            let is_read = |entry: &&mut Entry| (entry.node, entry.monomial) == (node, reading.monomial);
            sum.iter_mut().filter(is_read).for_each(|entry| entry.coefficient = reading.coefficient);
        }
    }
}
