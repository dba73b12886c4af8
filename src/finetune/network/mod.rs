//! The Split-ReLU network: the linear classifier as the starting point of a deep one.
//!
//! `H⁽⁰⁾ = X`, `H⁽ˡ⁺¹⁾ = [ÂH⁽ˡ⁾W₊]₊ − [ÂH⁽ˡ⁾W₋]₊`, and the output is the sum of `[H⁽ˡ⁾V₊]₊ −
//! [H⁽ˡ⁾V₋]₊` over the layers. With `W₊ = I = −W₋` and `V₊ = W* = −V₋` it computes what the linear
//! classifier computes, and training starts from there.
//!
//! Known labels can enter beside the features: the first layer then multiplies `[ÂX, ZY]`, and all
//! layers after it are as wide. [`train()`] draws a tree of neighbours for every node of a batch,
//! in which the label of that node counts as not known; [`score()`] takes all neighbours of all
//! nodes.

mod block;
mod error;
mod figures;
mod parameters;
mod pass;
mod problem;
mod sample;
mod score;
mod shape;
mod split_relu;
mod train;

pub use error::NetworkError;
pub use figures::{EpochFigures, EpochProgress, Progress, Trained};
pub use parameters::Network;
pub use problem::Problem;
pub use score::score;
pub use shape::NetworkShape;
pub use train::train;

/// Hyperparameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Epochs, and the longest step of a parameter in them, one after the other.
    pub schedule: Vec<Phase>,
    /// Nodes in a batch.
    pub batch: usize,
    /// How many neighbours are drawn for a node at each step away from the batch, one entry a
    /// layer, the last one for the features themselves; `None` takes them all.
    pub fanouts: Vec<Option<usize>>,
    /// The fraction of the inputs of every layer that is zeroed.
    pub dropout: f64,
    /// The weight of the squared weights in the loss.
    pub weight_decay: f64,
    /// Whether the nodes for choosing settings are trained on as well; then the last epoch is kept,
    /// not the best.
    pub train_on_valid: bool,
    /// The seed of the order of the nodes, of the neighbours and of the masks.
    pub seed: u64,
}

impl Options {
    /// Checks that they make sense for a network of some shape.
    fn check(&self, shape: NetworkShape) -> Result<(), NetworkError> {
        if self.fanouts.len() != shape.layers || self.fanouts.contains(&Some(0)) {
            return Err(NetworkError::Fanouts { given: self.fanouts.len(), layers: shape.layers });
        }
        let out_of_bounds = |what, value, rule| Err(NetworkError::OutOfBounds { what, value, rule });
        if self.batch == 0 {
            return out_of_bounds("the batch size", 0.0, "at least 1");
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return out_of_bounds("the dropout rate", self.dropout, "at least 0 and below 1");
        }
        Ok(())
    }
}

/// Some epochs with the same learning rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// How many.
    pub epochs: usize,
    /// The learning rate of Adam.
    pub learning_rate: f64,
}

#[cfg(test)]
mod tests;
