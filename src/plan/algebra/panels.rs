//! Moves terms that are always added to a panel into the panel.
//!
//! If every reader of a panel u also adds `d·q`, as in `A·(u + d·q) + u + d·q`, the panel becomes
//! `u + d·q`. That leaves fewer terms, and q has a single reader, as other nodes of its letter may.

use std::collections::HashMap;

use super::left::Reading;
use super::monomials::Monomial;
use super::{Algebra, Entry, add_entry, ratio};

impl Algebra {
    /// Moves terms into panels, and returns the number of terms moved.
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
            let Some((monomial, coefficient)) = self.quotient(&readings[node], &readings[panel]) else { continue };
            self.forget(node, &readings[node]);
            add_entry(&mut self.nodes[panel].inputs[0], Entry { node, monomial, coefficient }, 1.0);
            absorbed += 1;
        }
        absorbed
    }

    /// The monomial and the factor by which two lists of readings differ, if they are in
    /// proportion.
    fn quotient(&mut self, of: &[Reading], to: &[Reading]) -> Option<(Monomial, f64)> {
        let monomial = self.monomials.divided(of.first()?.monomial, to.first()?.monomial)?;
        if of.iter().zip(to).any(|(of, to)| self.monomials.times(monomial, to.monomial) != of.monomial) {
            return None;
        }
        let [of, to] = [of, to].map(|readings| readings.iter().map(|reading| reading.coefficient));
        Some((monomial, ratio(of, to)?))
    }
}
