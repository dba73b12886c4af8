//! The progress and the result of training.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Network;
use crate::engine::checkpoint::StoredResult;
use crate::engine::{Cluster, EngineError, Monitor, Sharded};

/// The figures of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EpochFigures {
    /// Its number, from 1.
    pub epoch: usize,
    /// The mean cross-entropy of a node, over all batches, with dropout and the parameters of the
    /// time.
    pub loss: f64,
    /// The fraction of the validation nodes that the network puts in their class, with all
    /// neighbours and no dropout; `None` where those are trained on, or there are none.
    pub valid_accuracy: Option<f64>,
    /// How long it took, validation included.
    pub seconds: f64,
}

/// The result of training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trained {
    /// The network of the best epoch.
    pub network: Network,
    /// The validation accuracy of the network that training started from.
    pub start_accuracy: Option<f64>,
    /// Every epoch, in order.
    pub epochs: Vec<EpochFigures>,
    /// Which epoch the network is of: that of the best validation accuracy, the first of equals, or
    /// the last one where there is none. 0 is the network that training started from.
    pub best_epoch: usize,
}

impl Trained {
    /// The validation accuracy of the network that is kept.
    pub(super) fn best_accuracy(&self) -> Option<f64> {
        match self.best_epoch.checked_sub(1) {
            None => self.start_accuracy,
            Some(place) => self.epochs.get(place)?.valid_accuracy,
        }
    }
}

/// The progress of training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpochProgress {
    /// The number of the epoch, from 1, and 0 for the start.
    pub epoch: usize,
    /// Epochs in all.
    pub epochs: usize,
    /// Batches of the epoch that are done.
    pub batch: usize,
    /// Batches in an epoch.
    pub batches: usize,
    /// The mean cross-entropy of a node, over the batches of the epoch so far.
    pub loss: f64,
    /// At the end of an epoch, if there are nodes to validate on.
    pub valid_accuracy: Option<f64>,
}

/// Called on the first worker after every batch, and once more after validation.
pub type Progress = dyn Fn(&EpochProgress) + Send + Sync;

impl StoredResult for Trained {
    type Numbers = Self;

    fn numbers(&self) -> Self {
        self.clone()
    }

    fn panels(&self) -> Vec<Sharded> {
        Vec::new()
    }

    fn from_parts(numbers: Self, _: Vec<Sharded>, _: Cluster) -> Result<Option<Self>, EngineError> {
        // As many parameters as its shape needs.
        let network = Network::from_parameters(numbers.network.shape(), numbers.network.parameters().to_vec());
        Ok(network.map(|_| numbers))
    }
}

impl Default for Monitor<Progress> {
    fn default() -> Self {
        Self::new(Arc::new(|_| ()))
    }
}
