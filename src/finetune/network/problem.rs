//! The data of a training problem.

use std::sync::Arc;

use super::{NetworkError, NetworkShape};
use crate::dataset::UNLABELLED;
use crate::matrix::{Dense, Shape};
use crate::model::propagation::Propagation;

/// A graph whose nodes carry features, and classes that some of them are known to be of.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The propagation matrices.
    pub propagation: Propagation,
    /// One row a node.
    pub features: Arc<Dense>,
    /// The class of each node, or [`UNLABELLED`]; only those of nodes that are learnt from, known
    /// or validated on are read.
    pub labels: Arc<[u32]>,
    /// Nodes to train on, whose labels are also told to their neighbours if labels are re-used.
    pub learn: Vec<u32>,
    /// Nodes to choose the best epoch by.
    pub valid: Vec<u32>,
}

impl Problem {
    /// Checks that everything is there for a network of some shape.
    pub(super) fn check(&self, shape: NetworkShape) -> Result<(), NetworkError> {
        let check = |what, given: Shape, needed: Shape| match given == needed {
            true => Ok(()),
            false => Err(NetworkError::WrongShape { what, given, needed }),
        };
        let nodes = self.propagation.nodes();
        check("the feature matrix", self.features.shape(), Shape::new(nodes, shape.features))?;
        check("the list of labels", Shape::new(self.labels.len(), 1), Shape::new(nodes, 1))
    }

    /// The classes of some nodes, and [`UNLABELLED`] for all others.
    pub(super) fn classes_of(&self, nodes: &[u32], shape: NetworkShape) -> Result<Arc<[u32]>, NetworkError> {
        let mut classes = vec![UNLABELLED; self.labels.len()];
        for &node in nodes {
            let no_such_node = NetworkError::NoSuchNode { node, nodes: self.labels.len() };
            let class = *self.labels.get(node as usize).ok_or(no_such_node)?;
            if class as usize >= shape.classes {
                return Err(NetworkError::Unlabelled { node, classes: shape.classes });
            }
            classes[node as usize] = class;
        }
        Ok(classes.into())
    }
}
