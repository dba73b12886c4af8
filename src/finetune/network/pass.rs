//! One piece of a batch through the network and back.

use super::block::{Block, add};
use super::parameters::Factors;
use super::sample::{Trees, Walk};
use super::split_relu::{Store, activate, differentiate};
use crate::dataset::UNLABELLED;
use crate::kernel::dropout::Mask;
use crate::kernel::{columns, gemm, stride};
use crate::matrix::Dense;

/// The inputs of the network.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub(super) walk: Walk<'a>,
    pub(super) features: &'a Dense,
    /// The class of each node whose label is known.
    pub(super) known: &'a [u32],
    /// `[ÂX, ZY]`, of all neighbours.
    pub(super) first: &'a Dense,
}

/// The random choices of a piece: neighbours and dropout.
#[derive(Clone, Copy)]
pub(super) struct Chance<'a> {
    pub(super) fanouts: &'a [Option<usize>],
    pub(super) dropout: f64,
    pub(super) seed: u64,
    /// The number of the piece among those of all batches.
    pub(super) piece: u64,
}

impl Chance<'_> {
    /// Zeroes entries of what a product multiplies, or of its derivatives.
    fn drop(&self, product: usize, block: &mut Block) {
        Mask::new(self.dropout, self.seed, product as u32).apply_panel(self.piece << 32, block.panel_mut());
    }
}

/// Forward and backward pass of a piece, with the activations of every product.
#[derive(Default)]
pub(super) struct Pass {
    pub(super) trees: Trees,
    /// What each product multiplies, after dropout.
    inputs: Vec<Block>,
    /// What each product gives, biases added; on the way back, its derivatives.
    sums: Vec<Block>,
    /// `H` of the layers from 1, at position 0.
    hidden: Vec<Block>,
    /// One row a seed.
    pub(super) logits: Block,
    /// Derivatives by `H` of the layers from 1.
    slopes: Vec<Block>,
    of_input: Block,
    of_weights: Vec<f64>,
    gemm: gemm::Scratch,
}

impl Pass {
    /// Computes the logits of some nodes.
    pub(super) fn forward(&mut self, inputs: Inputs<'_>, factors: &Factors, seeds: &[u32], chance: Chance<'_>) {
        let shape = factors.shape;
        self.inputs.resize_with(factors.products.len(), Block::default);
        self.sums.resize_with(factors.products.len(), Block::default);
        self.hidden.resize_with(shape.layers, Block::default);
        // All neighbours of all nodes are summed up already.
        let is_looked_up = chance.fanouts.last() == Some(&None);
        let drawn = &chance.fanouts[..chance.fanouts.len() - usize::from(is_looked_up)];
        self.trees.grow(inputs.walk, seeds, drawn, chance.seed, chance.piece);
        self.logits.clear(seeds.len(), shape.classes);
        for layer in 0..=shape.layers {
            if layer > 0 {
                let (product, factor) = factors.get(shape.hidden(layer));
                let rows = self.trees.counts[shape.layers - layer];
                self.inputs[shape.hidden(layer)].clear(rows, product.depth);
                match (layer, is_looked_up) {
                    (1, true) => self.look_up(inputs, shape.features),
                    (1, false) => self.sum_features(inputs, shape.features),
                    _ => self.sum_hidden(inputs.walk, layer),
                }
                self.multiply(factors, shape.hidden(layer), chance);
                let hidden = &mut self.hidden[layer - 1];
                hidden.resize(rows, product.columns);
                for row in 0..rows {
                    let both = self.sums[shape.hidden(layer)].row_mut(row);
                    activate(both, &factor.biases, hidden.row_mut(row), Store::Replace);
                }
            }
            let (product, factor) = factors.get(shape.output(layer));
            let kept = &mut self.inputs[shape.output(layer)];
            kept.clear(seeds.len(), product.depth);
            for (row, &seed) in seeds.iter().enumerate() {
                let from =
                    if layer == 0 { inputs.features.row(seed as usize) } else { self.hidden[layer - 1].row(row) };
                kept.row_mut(row).copy_from_slice(from);
            }
            self.multiply(factors, shape.output(layer), chance);
            for row in 0..seeds.len() {
                let both = self.sums[shape.output(layer)].row_mut(row);
                activate(both, &factor.biases, self.logits.row_mut(row), Store::Add);
            }
        }
    }

    /// After [`Pass::forward`]: the sum of the cross-entropies of the seeds. `gradient` becomes its
    /// derivative by the parameters, times `scale`.
    pub(super) fn backward(
        &mut self,
        inputs: Inputs<'_>,
        factors: &Factors,
        chance: Chance<'_>,
        scale: f64,
        gradient: &mut [f64],
    ) -> f64 {
        let shape = factors.shape;
        let seeds = self.trees.counts[0];
        let mut loss = 0.0;
        for row in 0..seeds {
            let class = inputs.known[self.trees.nodes[row] as usize];
            loss += cross_entropy(self.logits.row_mut(row), class as usize, scale as f32);
        }
        self.slopes.resize_with(shape.layers, Block::default);
        for layer in 1..=shape.layers {
            self.slopes[layer - 1].clear(self.trees.counts[shape.layers - layer], shape.width());
        }
        for layer in (0..=shape.layers).rev() {
            let number = shape.output(layer);
            (0..seeds).for_each(|row| differentiate(self.sums[number].row_mut(row), self.logits.row(row)));
            self.by_weights(factors, number, gradient);
            if layer == 0 {
                break;
            }
            self.by_input(factors, number, chance);
            for row in 0..seeds {
                add(1.0, self.of_input.row(row), self.slopes[layer - 1].row_mut(row));
            }
            let number = shape.hidden(layer);
            let slopes = &self.slopes[layer - 1];
            (0..slopes.rows()).for_each(|row| differentiate(self.sums[number].row_mut(row), slopes.row(row)));
            self.by_weights(factors, number, gradient);
            if layer > 1 {
                self.by_input(factors, number, chance);
                self.spread(inputs.walk, layer, shape.layers - layer);
            }
        }
        loss
    }

    /// The first layer's rows of `[ÂX, ZY]`, as if the label of the seed were not known.
    fn look_up(&mut self, inputs: Inputs<'_>, features: usize) {
        let block = &mut self.inputs[0];
        for row in 0..block.rows() {
            let (node, seed) = (self.trees.nodes[row], self.trees.nodes[self.trees.roots[row] as usize]);
            let out = block.row_mut(row);
            out.copy_from_slice(inputs.first.row(node as usize));
            let class = inputs.known[seed as usize];
            if out.len() > features && class != UNLABELLED {
                out[features + class as usize] -= inputs.walk.between(node, seed);
            }
        }
    }

    /// The same from the neighbours that were drawn.
    fn sum_features(&mut self, inputs: Inputs<'_>, features: usize) {
        let block = &mut self.inputs[0];
        let Some(links) = self.trees.links.last() else { return };
        for row in 0..block.rows() {
            let (node, seed) = (self.trees.nodes[row], self.trees.nodes[self.trees.roots[row] as usize]);
            let (of_features, of_labels) = block.row_mut(row).split_at_mut(features);
            add(inputs.walk.own(node), inputs.features.row(node as usize), of_features);
            for drawn in links.of(row) {
                let target = self.trees.nodes[drawn.row as usize];
                add(drawn.weight, inputs.features.row(target as usize), of_features);
                let class = inputs.known[target as usize];
                if !of_labels.is_empty() && class != UNLABELLED && target != seed {
                    of_labels[class as usize] += drawn.weight;
                }
            }
        }
    }

    /// Rows of ÂH of the layer before.
    fn sum_hidden(&mut self, walk: Walk<'_>, layer: usize) {
        let (before, block) = (&self.hidden[layer - 2], &mut self.inputs[layer - 1]);
        let links = &self.trees.links[self.hidden.len() - layer];
        for row in 0..block.rows() {
            let out = block.row_mut(row);
            add(walk.own(self.trees.nodes[row]), before.row(row), out);
            links.of(row).iter().for_each(|drawn| add(drawn.weight, before.row(drawn.row as usize), out));
        }
    }

    /// The way back from [`Pass::sum_hidden`].
    fn spread(&mut self, walk: Walk<'_>, layer: usize, level: usize) {
        let before = &mut self.slopes[layer - 2];
        let links = &self.trees.links[level];
        for row in 0..self.of_input.rows() {
            let slopes = self.of_input.row(row);
            add(walk.own(self.trees.nodes[row]), slopes, before.row_mut(row));
            links.of(row).iter().for_each(|drawn| add(drawn.weight, slopes, before.row_mut(drawn.row as usize)));
        }
    }

    fn multiply(&mut self, factors: &Factors, number: usize, chance: Chance<'_>) {
        let (product, factor) = factors.get(number);
        let (input, sums) = (&mut self.inputs[number], &mut self.sums[number]);
        chance.drop(number, input);
        sums.resize(input.rows(), product.both());
        gemm::multiply_small(input.panel(), &factor.weights, sums.panel_mut(), &mut self.gemm);
    }

    fn by_weights(&mut self, factors: &Factors, number: usize, gradient: &mut [f64]) {
        let product = &factors.products[number];
        let (input, sums) = (&self.inputs[number], self.sums[number].panel());
        // Padding columns of the input become rows at the end, which are left out.
        let depth = stride(product.depth);
        self.of_weights.resize(depth * product.both(), 0.0);
        gemm::dense_transpose_multiply(input.data(), depth, sums, &mut self.of_weights, &mut self.gemm);
        let of_weights = &mut gradient[product.weights()];
        of_weights.copy_from_slice(&self.of_weights[..of_weights.len()]);
        columns::column_sums(sums, &mut gradient[product.biases()]);
    }

    fn by_input(&mut self, factors: &Factors, number: usize, chance: Chance<'_>) {
        let (product, factor) = factors.get(number);
        let sums = self.sums[number].panel();
        self.of_input.resize(sums.rows(), product.depth);
        gemm::multiply_small(sums, &factor.transposed, self.of_input.panel_mut(), &mut self.gemm);
        chance.drop(number, &mut self.of_input);
    }
}

/// `−log softmax(logits)[class]`; the logits become its derivatives by them, times `scale`.
fn cross_entropy(logits: &mut [f32], class: usize, scale: f32) -> f64 {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let of_class = logits[class];
    let mut total = 0.0;
    for logit in logits.iter_mut() {
        *logit = (*logit - largest).exp();
        total += *logit;
    }
    logits.iter_mut().for_each(|logit| *logit *= scale / total);
    logits[class] -= scale;
    f64::from(total.ln() + largest - of_class)
}
