//! How large a network is, and where its parameters are.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::error::NetworkError;

/// What a network takes and gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkShape {
    /// Features of a node.
    pub features: usize,
    /// Classes to tell apart.
    pub classes: usize,
    /// How many steps features travel.
    pub layers: usize,
    /// Whether known labels of neighbours enter at the first layer.
    pub label_reuse: bool,
}

/// What a network, or the neighbours drawn for a part of a batch, may take.
pub(super) const MOST_BYTES: u64 = 2 << 30;

impl NetworkShape {
    /// Columns of every layer beyond the features themselves.
    pub fn width(&self) -> usize {
        self.features + if self.label_reuse { self.classes } else { 0 }
    }

    /// Rows of the weights of the linear classifier: the features, and the columns of every layer
    /// after them.
    pub fn linear_rows(&self) -> usize {
        self.features + self.layers * self.width()
    }

    /// Refuses a network whose numbers, with those that Adam keeps of each, do not fit in memory.
    pub(super) fn check_size(&self) -> Result<(), NetworkError> {
        let (width, layers) = (self.width() as u64, self.layers as u64);
        let hidden = width.saturating_mul(width).saturating_mul(2).saturating_mul(layers);
        let outputs = width.saturating_mul(self.classes as u64).saturating_mul(2).saturating_mul(layers + 1);
        let bytes = hidden.saturating_add(outputs).saturating_mul(3 * size_of::<f64>() as u64);
        if bytes > MOST_BYTES {
            let remedy = "reduce the features with features.components, or take fewer layers";
            return Err(NetworkError::TooLarge { what: "the network", bytes, remedy });
        }
        Ok(())
    }

    /// How many numbers are trained.
    pub fn parameters(&self) -> usize {
        self.products().last().map_or(0, |last| last.biases().end)
    }

    /// Columns of `H` of a layer.
    pub(super) fn columns(&self, layer: usize) -> usize {
        if layer == 0 { self.features } else { self.width() }
    }

    /// All the products of the network: [`NetworkShape::hidden`] of the layers from 1, then
    /// [`NetworkShape::output`] of those from 0.
    pub(super) fn products(&self) -> Vec<Product> {
        let width = self.width();
        let hidden = (1..=self.layers).map(|_| (width, width));
        let outputs = (0..=self.layers).map(|layer| (self.columns(layer), self.classes));
        let mut start = 0;
        let place = |(depth, columns)| {
            let product = Product { depth, columns, start };
            start = product.biases().end;
            product
        };
        hidden.chain(outputs).map(place).collect()
    }

    /// The number of the product that makes a layer, from 1.
    pub(super) fn hidden(&self, layer: usize) -> usize {
        layer - 1
    }

    /// The number of the product that makes the output of a layer, from 0.
    pub(super) fn output(&self, layer: usize) -> usize {
        self.layers + layer
    }
}

/// One Split-ReLU: where its weights `[W₊ | W₋]`, row after row, and its biases `[b₊ | b₋]` are
/// among the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Product {
    /// Columns of what is multiplied.
    pub(super) depth: usize,
    /// Columns of the result.
    pub(super) columns: usize,
    start: usize,
}

impl Product {
    /// Columns of both halves.
    pub(super) fn both(&self) -> usize {
        2 * self.columns
    }

    pub(super) fn weights(&self) -> Range<usize> {
        self.start..self.start + self.depth * self.both()
    }

    pub(super) fn biases(&self) -> Range<usize> {
        let start = self.weights().end;
        start..start + self.both()
    }
}
