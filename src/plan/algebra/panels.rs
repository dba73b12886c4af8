//! Terms that always stand beside a panel move into it.
//!
//! Where u is a panel and every reader of it reads `d·q` beside it, as in `A·(u + d·q) + u + d·q`, the panel can as well be
//! `u + d·q`. That leaves fewer terms, and q then has one reader where other nodes of its letter may be.

use std::collections::HashMap;

use super::left::Reading;
use super::words::Word;
use super::{Algebra, Entry, add_entry, ratio};

impl Algebra {
    /// Moves terms into the panels that they stand beside, and returns how many.
    pub(super) fn absorb(&mut self) -> usize {
        let order = self.order();
        let readings = self.readings(&order);
        let places = |node: usize| readings[node].iter().map(|r| (r.reader, r.slot)).collect::<Vec<_>>();
        let mut panels: HashMap<Vec<(usize, usize)>, usize> = HashMap::new();
        for &node in order.iter().filter(|&&node| self.is_panel(node) && node != self.root) {
            panels.entry(places(node)).or_insert(node);
        }
        let mut absorbed = 0;
        for &node in &order {
            if self.is_panel(node) || self.is_input(node) {
                continue;
            }
            let Some(&panel) = panels.get(&places(node)) else { continue };
            let Some((word, coefficient)) = self.quotient(&readings[node], &readings[panel]) else { continue };
            self.forget(node, &readings[node]);
            add_entry(&mut self.nodes[panel].inputs[0], Entry { node, word, coefficient }, 1.0);
            absorbed += 1;
        }
        absorbed
    }

    /// The word and the factor that lie between two lists of readings.
    fn quotient(&mut self, of: &[Reading], to: &[Reading]) -> Option<(Word, f64)> {
        let word = self.words.divided(of.first()?.word, to.first()?.word)?;
        if of.iter().zip(to).any(|(of, to)| self.words.times(word, to.word) != of.word) {
            return None;
        }
        let [of, to] = [of, to].map(|readings| readings.iter().map(|reading| reading.coefficient));
        Some((word, ratio(of, to)?))
    }
}
