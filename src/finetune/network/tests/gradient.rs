//! Derivatives against finite differences of a slow computation in f64, with the same trees and
//! masks.

use super::world::{Rows, Tables, assert_close, average_rows, bent, neighbour_rows, one_hot, problem, rows_of, shape};
use crate::finetune::network::parameters::Factors;
use crate::finetune::network::pass::{Chance, Pass};
use crate::finetune::network::sample::Trees;
use crate::finetune::network::{Network, NetworkShape};
use crate::kernel::dropout::Mask;
use crate::kernel::{PanelMut, stride};

/// The same piece once more, row by row.
struct Oracle<'a> {
    tables: &'a Tables,
    trees: &'a Trees,
    chance: Chance<'a>,
    shape: NetworkShape,
}

impl Oracle<'_> {
    /// The mean cross-entropy of the seeds.
    fn loss(&self, parameters: &[f64]) -> f64 {
        let seeds = self.trees.counts[0];
        let mut logits = vec![vec![0.0; self.shape.classes]; seeds];
        let mut hidden: Rows = self.trees.nodes[..seeds].iter().map(|&node| self.features(node)).collect();
        for layer in 0..=self.shape.layers {
            if layer > 0 {
                let rows = self.trees.counts[self.shape.layers - layer];
                let inputs: Rows = (0..rows).map(|row| self.input(layer, row, &hidden)).collect();
                hidden = self.split_relu(self.shape.hidden(layer), &inputs, parameters);
            }
            let outputs = self.split_relu(self.shape.output(layer), &hidden[..seeds], parameters);
            logits.iter_mut().flatten().zip(outputs.iter().flatten()).for_each(|(logit, output)| *logit += output);
        }
        let of_seed = |(row, logits): (usize, &Vec<f64>)| {
            let class = self.tables.known[self.trees.nodes[row] as usize] as usize;
            logits.iter().map(|logit| logit.exp()).sum::<f64>().ln() - logits[class]
        };
        logits.iter().enumerate().map(of_seed).sum::<f64>() / seeds as f64
    }

    fn features(&self, node: u32) -> Vec<f64> {
        rows_of(&self.tables.problem.features)[node as usize].clone()
    }

    /// A row of `ÂH`, or of `[ÂX, ZY]`.
    fn input(&self, layer: usize, row: usize, before: &Rows) -> Vec<f64> {
        let trees = self.trees;
        let (node, seed) = (trees.nodes[row], trees.nodes[trees.roots[row] as usize]);
        let own = f64::from(self.tables.inputs().walk.own(node));
        let level = self.shape.layers - layer;
        if layer > 1 {
            let mut sum: Vec<f64> = before[row].iter().map(|entry| own * entry).collect();
            for drawn in trees.links[level].of(row) {
                let other = &before[drawn.row as usize];
                sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += f64::from(drawn.weight) * other);
            }
            return sum;
        }
        let propagation = &self.tables.problem.propagation;
        let labels = one_hot(&self.tables.known, self.shape.classes);
        // Every node that is summed over, by its weight in Â and in Z.
        let terms: Vec<(u32, f64, f64)> = match trees.links.get(level) {
            Some(links) => {
                let drawn = links.of(row).iter();
                let others = drawn.map(|d| (trees.nodes[d.row as usize], f64::from(d.weight), f64::from(d.weight)));
                std::iter::once((node, own, 0.0)).chain(others).collect()
            }
            None => {
                let (average, neighbours) = (average_rows(propagation), neighbour_rows(propagation));
                let weights = average[node as usize].iter().zip(&neighbours[node as usize]);
                weights.enumerate().map(|(other, (a, z))| (other as u32, *a, *z)).collect()
            }
        };
        let mut sum = vec![0.0; self.shape.width()];
        for (other, in_average, in_neighbours) in terms {
            let (of_features, of_labels) = sum.split_at_mut(self.shape.features);
            of_features.iter_mut().zip(self.features(other)).for_each(|(sum, x)| *sum += in_average * x);
            if other != seed {
                let label = &labels[other as usize];
                of_labels.iter_mut().zip(label).for_each(|(sum, label)| *sum += in_neighbours * label);
            }
        }
        sum
    }

    fn split_relu(&self, number: usize, inputs: &[Vec<f64>], parameters: &[f64]) -> Rows {
        let product = self.shape.products()[number];
        let (weights, biases) = (&parameters[product.weights()], &parameters[product.biases()]);
        let mut mask = vec![1.0; inputs.len() * stride(product.depth)];
        let panel = PanelMut::new(inputs.len(), product.depth, &mut mask);
        Mask::new(self.chance.dropout, self.chance.seed, number as u32).apply_panel(self.chance.piece << 32, panel);
        let row = |(row, input): (usize, &Vec<f64>)| {
            let sum = |column: usize| {
                let kept = input.iter().zip(&mask[row * stride(product.depth)..]);
                let terms =
                    kept.enumerate().map(|(k, (x, m))| x * f64::from(*m) * weights[k * product.both() + column]);
                (biases[column] + terms.sum::<f64>()).max(0.0)
            };
            (0..product.columns).map(|column| sum(column) - sum(product.columns + column)).collect()
        };
        inputs.iter().enumerate().map(row).collect()
    }
}

fn check(layers: usize, label_reuse: bool, fanouts: &[Option<usize>], dropout: f64) {
    let shape = shape(layers, label_reuse);
    let problem = problem(24, 50);
    let tables = Tables::new(&problem, shape);
    let network: Network = bent(shape);
    let factors = Factors::of(&network);
    let chance = Chance { fanouts, dropout, seed: 9, piece: 3 };
    let seeds = [1, 4, 7, 20];
    let mut pass = Pass::default();
    let mut gradient = vec![0.0; shape.parameters()];
    pass.forward(tables.inputs(), &factors, &seeds, chance);
    let loss = pass.backward(tables.inputs(), &factors, chance, 0.25, &mut gradient);
    let oracle = Oracle { tables: &tables, trees: &pass.trees, chance, shape };
    assert_close((loss / 4.0) as f32, oracle.loss(network.parameters()), "loss");
    let step = 1e-6;
    for place in 0..gradient.len() {
        let at = |shift: f64| {
            let mut moved = network.parameters().to_vec();
            moved[place] += shift;
            oracle.loss(&moved)
        };
        let expected = (at(step) - at(-step)) / (2.0 * step);
        assert_close(gradient[place] as f32, expected, (layers, label_reuse, fanouts, place));
    }
}

#[test]
fn derivatives_are_those_of_the_loss() {
    check(1, false, &[Some(2)], 0.5);
    check(1, true, &[None], 0.5);
    check(2, false, &[Some(3), None], 0.25);
    check(2, true, &[Some(2), Some(2)], 0.5);
}

#[test]
fn derivatives_are_those_of_the_loss_of_deep_networks() {
    check(3, true, &[Some(2), Some(1), Some(2)], 0.5);
    check(3, true, &[Some(2), Some(2), None], 0.0);
    check(3, false, &[Some(1), None, Some(2)], 0.5);
}
