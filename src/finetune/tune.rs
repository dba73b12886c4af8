//! Training the kernel on edges against random pairs.
//!
//! Every batch holds edges of the graph, each in one of its directions, and for each of them some
//! pairs drawn at random. Workers share a batch chunk by chunk; a chunk's gradient is computed by
//! one of them, and chunks are summed along the tile tree, so that training, like everything else,
//! gives the same bits on any number of workers.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::adam::Adam;
use super::kernel::{Kernel, MOST_SPREAD, PowerTable, Spectrum};
use crate::engine::checkpoint::{CheckpointLog, State, StoredResult};
use crate::engine::{Cluster, EngineError, Monitor, Session, Sharded, run};
use crate::kernel::random::{bits, pair, stream};
use crate::model::embedding::Embedding;

/// Pieces of a batch: the unit of work of a worker.
const CHUNKS: usize = 16;

/// Batches between two checkpoints of training: agreeing on one takes as long as a small batch.
const CHECKPOINT_EVERY: usize = 16;

/// Hyperparameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The learning rate of Adam.
    pub learning_rate: f64,
    /// Edges in a batch.
    pub batch: usize,
    /// Random pairs for each edge.
    pub negatives: usize,
    /// Passes over all edges.
    pub epochs: usize,
    /// The seed of the order of the edges and of the random pairs.
    pub seed: u64,
}

/// The most points of the curve of losses.
const CURVE: usize = 300;

/// The result of training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// The kernel at the end.
    pub kernel: Kernel,
    /// The mean cross-entropy of an edge and its random pairs, over the last tenth of the batches.
    pub loss: f64,
    /// The mean loss of stretches of as many batches each, in order; at most 300.
    pub losses: Vec<f64>,
}

/// The state of training after a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TuneProgress {
    /// Finished batches.
    pub batch: usize,
    /// Batches in all.
    pub batches: usize,
    /// The loss of the last.
    pub loss: f64,
    /// The kernel so far.
    pub kernel: Kernel,
}

/// Called on the first worker after every batch.
pub type Progress = dyn Fn(&TuneProgress) + Send + Sync;

/// Why training failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TuneError {
    /// The graph has no edges.
    #[error("the graph has no edges: there is nothing to tune the kernel on")]
    NoEdges,
    /// The loss overflowed.
    #[error("the loss of batch {batch} is not finite: lower finetune.learning_rate")]
    Diverged {
        /// Its number.
        batch: usize,
    },
    /// The workers failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Trains the kernel of an embedding. `edges` lists every direction that counts.
pub fn tune(
    embedding: Arc<Embedding>,
    edges: Vec<(u32, u32)>,
    options: &Options,
    cluster: Cluster,
    watch: Monitor<Progress>,
) -> Result<Tuned, TuneError> {
    if edges.is_empty() {
        return Err(TuneError::NoEdges);
    }
    let options = options.clone();
    let label = format!("tune rank {} on {} edges {options:?}", embedding.rank, edges.len());
    watch.once(&label, cluster, || {
        let (watch, label) = (watch.clone(), label.clone());
        run(cluster, Vec::new(), move |session| {
            let trainer = Trainer { embedding: &embedding, edges: &edges, options: &options };
            trainer.train(session, watch.progress(), &mut CheckpointLog::new(&watch, label.clone()))
        })
    })
}

impl StoredResult for Tuned {
    type Numbers = Self;

    fn numbers(&self) -> Self {
        self.clone()
    }

    fn panels(&self) -> Vec<Sharded> {
        Vec::new()
    }

    fn from_parts(numbers: Self, _: Vec<Sharded>, _: Cluster) -> Result<Option<Self>, EngineError> {
        Ok(Some(numbers))
    }
}

impl Default for Monitor<Progress> {
    fn default() -> Self {
        Self::new(Arc::new(|_| ()))
    }
}

/// The state of training, as a checkpoint holds it.
#[derive(Clone, Serialize, Deserialize)]
struct Training {
    /// Batches done.
    batches: usize,
    kernel: Kernel,
    adam: Adam,
    /// The losses of the last tenth of the batches.
    last_losses: Vec<f64>,
    /// The mean loss of every finished stretch, and the sum of the current one.
    losses: Vec<f64>,
    loss_sum: f64,
}

struct Trainer<'a> {
    embedding: &'a Embedding,
    edges: &'a [(u32, u32)],
    options: &'a Options,
}

impl Trainer<'_> {
    fn train(
        &self,
        session: &mut Session<'_>,
        progress: &Progress,
        journal: &mut CheckpointLog,
    ) -> Result<Tuned, TuneError> {
        let singular_values: Vec<f64> = self.embedding.singular_values.iter().map(|&value| f64::from(value)).collect();
        let table = PowerTable::new(&singular_values);
        let per_epoch = self.edges.len().div_ceil(self.options.batch);
        let total = per_epoch * self.options.epochs;
        let stretch = total.div_ceil(CURVE).max(1);
        let mut training = match journal.resume(session)? {
            Some((training, _)) => training,
            None => Training {
                batches: 0,
                kernel: Kernel::default(),
                adam: Adam::new(2, self.options.learning_rate),
                last_losses: Vec::new(),
                losses: Vec::new(),
                loss_sum: 0.0,
            },
        };
        for epoch in training.batches / per_epoch..self.options.epochs {
            let order = self.order(epoch);
            for batch in order.chunks(self.options.batch).skip(training.batches % per_epoch) {
                let number = training.batches;
                if number.is_multiple_of(CHECKPOINT_EVERY) {
                    journal.keep(session, || State { numbers: &training, panels: Vec::new() })?;
                }
                let Training { kernel, adam, last_losses, losses, loss_sum, .. } = &mut training;
                let spectrum = table.under(*kernel);
                let (loss, gradients) = self.gradients(session, &spectrum, &singular_values, batch, number)?;
                if !loss.is_finite() {
                    return Err(TuneError::Diverged { batch: number });
                }
                let mut parameters = [kernel.mean, kernel.sharpness];
                adam.step(&mut parameters, &gradients);
                *kernel = Kernel { mean: parameters[0], sharpness: parameters[1].clamp(0.0, MOST_SPREAD) };
                if number >= total - total.div_ceil(10) {
                    last_losses.push(loss);
                }
                *loss_sum += loss;
                let in_stretch = number % stretch + 1;
                if in_stretch == stretch || number + 1 == total {
                    losses.push(*loss_sum / in_stretch as f64);
                    *loss_sum = 0.0;
                }
                training.batches += 1;
                if session.worker() == 0 {
                    let kernel = training.kernel;
                    progress(&TuneProgress { batch: training.batches, batches: total, loss, kernel });
                }
            }
        }
        let Training { kernel, last_losses, losses, .. } = training;
        let loss = last_losses.iter().sum::<f64>() / last_losses.len().max(1) as f64;
        Ok(Tuned { kernel, loss, losses })
    }

    /// The edges of an epoch in random order.
    fn order(&self, epoch: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.edges.len() as u32).collect();
        let key = |&edge: &u32| bits(self.options.seed, stream::SHUFFLE, u64::from(edge), epoch as u32);
        order.sort_by_cached_key(|edge| (key(edge), *edge));
        order
    }

    /// The mean cross-entropy of a batch and its derivatives.
    fn gradients(
        &self,
        session: &mut Session<'_>,
        spectrum: &Spectrum,
        singular_values: &[f64],
        batch: &[u32],
        number: usize,
    ) -> Result<(f64, [f64; 2]), EngineError> {
        let rank = self.embedding.rank;
        // L·R already holds S once.
        let weights: Vec<f32> =
            spectrum.values.iter().zip(singular_values).map(|(value, sigma)| (value / sigma) as f32).collect();
        // The loss, and how it moves with each mean power.
        let sums = session.sum_over(CHUNKS, 1 + rank, |chunk, sums| {
            let places = chunk_of(batch.len(), chunk);
            for place in places {
                let edge = self.edges[batch[place] as usize];
                self.add(edge, true, &weights, sums);
                for draw in 0..self.options.negatives {
                    self.add(self.random_pair(number, place, draw), false, &weights, sums);
                }
            }
        })?;
        let scale = 1.0 / batch.len() as f64;
        let dot = |derivatives: &[f64]| -> f64 {
            let terms = sums[1..].iter().zip(derivatives).zip(singular_values);
            scale * terms.map(|((sum, derivative), sigma)| sum * derivative / sigma).sum::<f64>()
        };
        Ok((scale * sums[0], [dot(&spectrum.by_mean), dot(&spectrum.by_sharpness)]))
    }

    /// Adds the cross-entropy of one pair, and its derivatives by the weights.
    fn add(&self, (i, j): (u32, u32), is_edge: bool, weights: &[f32], sums: &mut [f64]) {
        let products = self.embedding.products(i, j);
        let score: f64 = products.clone().zip(weights).map(|(product, weight)| f64::from(product * weight)).sum();
        let sign = if is_edge { 1.0 } else { -1.0 };
        // −log σ(±score) without overflow, and its derivative.
        let margin = sign * score;
        sums[0] += (-margin.abs()).exp().ln_1p() + (-margin).max(0.0);
        let slope = -sign / (1.0 + margin.exp());
        sums[1..].iter_mut().zip(products).for_each(|(sum, product)| *sum += slope * f64::from(product));
    }

    fn random_pair(&self, batch: usize, place: usize, draw: usize) -> (u32, u32) {
        let row = batch as u64 * self.options.batch as u64 + place as u64;
        pair(self.options.seed, stream::NEGATIVES, row, draw as u32, self.embedding.nodes as u32)
    }
}

/// The places of a chunk within a batch.
fn chunk_of(batch: usize, chunk: usize) -> Range<usize> {
    chunk * batch / CHUNKS..(chunk + 1) * batch / CHUNKS
}
