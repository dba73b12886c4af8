//! Errors of the network.

use crate::engine::EngineError;
use crate::matrix::{MatrixError, Shape};

/// Why a network could not be built, trained or evaluated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// There is nothing to learn from.
    #[error("no node has a label to learn from: the network cannot be trained")]
    NothingToLearn,
    /// A node to learn from has no class.
    #[error("node {node} is to be learnt from, but it has no label below {classes}")]
    Unlabelled {
        /// Which node.
        node: u32,
        /// How many classes there are.
        classes: usize,
    },
    /// There is no such node.
    #[error("there is no node {node}: the graph has {nodes}")]
    NoSuchNode {
        /// Which node.
        node: u32,
        /// How many there are.
        nodes: usize,
    },
    /// The fan-outs do not say how many neighbours to draw in each layer.
    #[error("{given} fan-outs for a network of {layers} layers: give one a layer, each at least 1")]
    Fanouts {
        /// How many were given.
        given: usize,
        /// How many there should be.
        layers: usize,
    },
    /// It would not fit in memory.
    #[error("{what} would take {} GB: {remedy}", bytes / 1_000_000_000)]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// How much it would take.
        bytes: u64,
        /// What to change.
        remedy: &'static str,
    },
    /// A number that must lie within bounds does not.
    #[error("{what} is {value}: it must be {rule}")]
    OutOfBounds {
        /// What it is.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What it should be.
        rule: &'static str,
    },
    /// A matrix has another shape than the network needs.
    #[error("{what} is {given}, and the network needs {needed}")]
    WrongShape {
        /// What it is.
        what: &'static str,
        /// The shape it has.
        given: Shape,
        /// The shape it should have.
        needed: Shape,
    },
    /// The loss overflowed.
    #[error("the loss of batch {batch} of epoch {epoch} is not finite: lower the learning rate")]
    Diverged {
        /// Which epoch, from 1.
        epoch: usize,
        /// Which batch of it, from 1.
        batch: usize,
    },
    /// The propagation could not be stated as a matrix.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The workers failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
