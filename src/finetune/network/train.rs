//! Training the network on batches of nodes.
//!
//! Workers share a batch piece by piece; the gradient of a piece is computed by one of them, and
//! pieces are summed along the tile tree. How a batch is cut depends on its size alone, so the bits
//! do not depend on the number of workers.

use std::iter::repeat_n;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::super::adam::Adam;
use super::figures::{EpochFigures, EpochProgress, Progress, Trained};
use super::parameters::Factors;
use super::pass::{Chance, Inputs, Pass};
use super::sample::Walk;
use super::shape::MOST_BYTES;
use super::{Network, NetworkError, NetworkShape, Options, Problem, score};
use crate::dataset::UNLABELLED;
use crate::engine::checkpoint::{CheckpointLog, State};
use crate::engine::{Cluster, EngineError, Monitor, Session, Shard, run};
use crate::graph::Neighbours;
use crate::kernel::elementwise::largest;
use crate::kernel::random::{bits, stream};
use crate::matrix::Dense;

/// About how many nodes of a batch are a worker's unit of work.
const PIECE: usize = 64;

/// Trains a network.
pub fn train(
    problem: Arc<Problem>,
    network: Network,
    options: &Options,
    cluster: Cluster,
    watch: Monitor<Progress>,
) -> Result<Trained, NetworkError> {
    let shape = network.shape();
    options.check(shape)?;
    problem.check(shape)?;
    if problem.learn.is_empty() {
        return Err(NetworkError::NothingToLearn);
    }
    let known = problem.classes_of(&problem.learn, shape)?;
    let validated = if options.train_on_valid { &[] } else { problem.valid.as_slice() };
    let valid = problem.classes_of(validated, shape)?;
    let valid_count = valid.iter().filter(|&&class| class != UNLABELLED).count();
    let neighbours = Neighbours::of(problem.propagation.adjacency());
    check_trees(&neighbours, options, shape)?;
    let options = options.clone();
    let label = format!("train {shape:?} on {} nodes {options:?}", problem.learn.len());
    watch.once(&label, cluster, || {
        let first = first_layer(&problem, &network, known.clone(), cluster)?;
        let (watch, label) = (watch.clone(), label.clone());
        run(cluster, score::programs(&problem.propagation)?, move |session| {
            let walk = Walk { neighbours: &neighbours, scale: problem.propagation.scale() };
            let inputs = Inputs { walk, features: &problem.features, known: &known, first: &first };
            let validation = match valid_count {
                0 => None,
                count => Some(Validation {
                    x: session.panel_from(&problem.features, shape.features, 0, stream::WEIGHTS)?,
                    first: session.panel_from(&first, shape.width(), 0, stream::WEIGHTS)?,
                    classes: &valid,
                    count,
                }),
            };
            let trainer =
                Trainer { inputs, learn: &problem.learn, options: &options, validation, progress: watch.progress() };
            trainer.train(session, &network, &mut CheckpointLog::new(&watch, label.clone()))
        })
    })
}

/// Refuses fan-outs that draw more rows for a piece of a batch than fit in memory.
fn check_trees(neighbours: &Neighbours, options: &Options, shape: NetworkShape) -> Result<(), NetworkError> {
    let most = (0..neighbours.nodes() as u32).map(|node| neighbours.degree(node)).max().unwrap_or(0);
    // The last ones are looked up, not drawn.
    let drawn = match options.fanouts.split_last() {
        Some((None, before)) => before,
        _ => &options.fanouts[..],
    };
    let rows = drawn.iter().fold(PIECE.min(options.batch) as u64, |rows, fanout| {
        rows.saturating_mul(fanout.unwrap_or(most).min(most) as u64 + 1)
    });
    let bytes = rows.saturating_mul(3 * (shape.width() * size_of::<f32>()) as u64);
    if bytes > MOST_BYTES {
        let (what, remedy) =
            ("the neighbours drawn for a part of a batch", "lower network.fanouts or classifier.layers");
        return Err(NetworkError::TooLarge { what, bytes, remedy });
    }
    Ok(())
}

/// What the first layer multiplies, for all nodes: every worker looks up rows of it.
pub(super) fn first_layer(
    problem: &Problem,
    network: &Network,
    known: Arc<[u32]>,
    cluster: Cluster,
) -> Result<Dense, NetworkError> {
    let (shape, features) = (network.shape(), problem.features.clone());
    let whole = run(cluster, score::programs(&problem.propagation)?, move |session| {
        let x = session.panel_from(&features, shape.features, 0, stream::WEIGHTS)?;
        let y = score::labels(session, &x, &known, shape)?;
        let first = score::first_layer(session, &x, y.as_ref())?;
        Ok::<_, NetworkError>(session.collect(&first)?)
    })?;
    Ok(whole.unwrap_or_default())
}

struct Validation<'a> {
    x: Shard,
    first: Shard,
    classes: &'a [u32],
    count: usize,
}

impl Validation<'_> {
    fn accuracy(&self, session: &mut Session<'_>, factors: &Factors) -> Result<f64, EngineError> {
        let logits = score::logits(session, &self.x, &self.first, factors)?;
        let (rows, panel) = (logits.rows().iter().enumerate(), logits.panel());
        let is_hit = |&(place, row): &(usize, usize)| {
            self.classes[row] != UNLABELLED && largest(panel.row(place)) == self.classes[row] as usize
        };
        let hits = rows.filter(is_hit).count();
        // One piece a worker: whole numbers add up to the same bits in any order.
        let hits = session.sum_over(session.workers(), 1, |_, sums| sums[0] = hits as f64)?;
        Ok(hits[0] / self.count as f64)
    }
}

struct Trainer<'a> {
    inputs: Inputs<'a>,
    learn: &'a [u32],
    options: &'a Options,
    validation: Option<Validation<'a>>,
    progress: &'a Progress,
}

/// What changes from batch to batch.
#[derive(Clone, Serialize, Deserialize)]
struct Training {
    network: Network,
    adam: Adam,
    /// Pieces begun in all batches so far: names what is left to chance.
    pieces: u64,
    /// What training has found so far.
    trained: Trained,
    /// Batches done of the epoch after the last one that was found.
    batches: usize,
    /// Their loss.
    loss: f64,
}

/// What is computed with, and follows from the above.
struct Workbench {
    factors: Factors,
    pass: Pass,
}

impl Trainer<'_> {
    fn train(
        &self,
        session: &mut Session<'_>,
        network: &Network,
        journal: &mut CheckpointLog,
    ) -> Result<Trained, NetworkError> {
        let epochs = self.options.schedule.iter().map(|phase| phase.epochs).sum();
        let batches = self.learn.len().div_ceil(self.options.batch);
        let mut report = EpochProgress { epoch: 0, epochs, batch: 0, batches, loss: 0.0, valid_accuracy: None };
        let kept = journal.resume::<Training>(session)?.map(|(training, _)| training);
        let mut bench = Workbench {
            factors: Factors::of(kept.as_ref().map_or(network, |kept| &kept.network)),
            pass: Pass::default(),
        };
        let mut training = match kept {
            Some(training) => training,
            None => {
                let start_accuracy = self.validate(session, &bench.factors, &mut report)?;
                let network = network.clone();
                Training {
                    adam: Adam::new(network.parameters().len(), 0.0),
                    trained: Trained { network: network.clone(), start_accuracy, epochs: Vec::new(), best_epoch: 0 },
                    network,
                    pieces: 0,
                    batches: 0,
                    loss: 0.0,
                }
            }
        };
        let rates = self.options.schedule.iter().flat_map(|phase| repeat_n(phase.learning_rate, phase.epochs));
        for learning_rate in rates.skip(training.trained.epochs.len()) {
            training.adam.set_learning_rate(learning_rate);
            let started = Instant::now();
            let epoch = training.trained.epochs.len() + 1;
            report = EpochProgress { epoch, batch: 0, loss: 0.0, valid_accuracy: None, ..report };
            self.run_epoch(session, &mut training, &mut bench, &mut report, journal)?;
            // A ReLU lets no NaN through to the loss.
            if !training.network.parameters().iter().all(|number| number.is_finite()) {
                return Err(NetworkError::Diverged { epoch, batch: report.batches });
            }
            let valid_accuracy = self.validate(session, &bench.factors, &mut report)?;
            let Training { trained, network, .. } = &mut training;
            if valid_accuracy.is_none() || valid_accuracy > trained.best_accuracy() {
                trained.best_epoch = epoch;
                trained.network.clone_from(network);
            }
            let seconds = started.elapsed().as_secs_f64();
            trained.epochs.push(EpochFigures { epoch, loss: report.loss, valid_accuracy, seconds });
        }
        Ok(training.trained)
    }

    fn validate(
        &self,
        session: &mut Session<'_>,
        factors: &Factors,
        report: &mut EpochProgress,
    ) -> Result<Option<f64>, NetworkError> {
        let Some(validation) = &self.validation else { return Ok(None) };
        report.valid_accuracy = Some(validation.accuracy(session, factors)?);
        self.tell(session, report);
        Ok(report.valid_accuracy)
    }

    fn run_epoch(
        &self,
        session: &mut Session<'_>,
        training: &mut Training,
        bench: &mut Workbench,
        report: &mut EpochProgress,
        journal: &mut CheckpointLog,
    ) -> Result<(), NetworkError> {
        let order = self.order(report.epoch);
        for (number, batch) in order.chunks(self.options.batch).enumerate().skip(training.batches) {
            journal.keep(session, || State { numbers: &*training, panels: Vec::new() })?;
            let diverged = NetworkError::Diverged { epoch: report.epoch, batch: number + 1 };
            let loss = match self.take_step(session, training, bench, batch) {
                Err(EngineError::NotFinite { .. }) => return Err(diverged),
                other => other?,
            };
            if !loss.is_finite() {
                return Err(diverged);
            }
            training.loss += loss;
            training.batches = number + 1;
            report.batch = number + 1;
            report.loss = training.loss / (number * self.options.batch + batch.len()) as f64;
            self.tell(session, report);
        }
        (training.batches, training.loss) = (0, 0.0);
        Ok(())
    }

    /// The nodes of an epoch in random order.
    fn order(&self, epoch: usize) -> Vec<u32> {
        let mut order = self.learn.to_vec();
        let key = |&node: &u32| bits(self.options.seed, stream::SHUFFLE, u64::from(node), epoch as u32);
        order.sort_by_cached_key(|node| (key(node), *node));
        order
    }

    /// One step down the gradient of a batch; returns the sum of the cross-entropies of its nodes.
    fn take_step(
        &self,
        session: &mut Session<'_>,
        training: &mut Training,
        bench: &mut Workbench,
        batch: &[u32],
    ) -> Result<f64, EngineError> {
        let (Training { network, adam, pieces, .. }, Workbench { factors, pass }) = (training, bench);
        let (count, scale) = (batch.len().div_ceil(PIECE), 1.0 / batch.len() as f64);
        let parameters = network.parameters().len();
        // The loss comes last, so that the derivatives are where the parameters are.
        let mut sums = session.sum_over(count, parameters + 1, |piece, sums| {
            let chance = Chance {
                fanouts: &self.options.fanouts,
                dropout: self.options.dropout,
                seed: self.options.seed,
                piece: *pieces + piece as u64,
            };
            let (gradient, loss) = sums.split_at_mut(parameters);
            pass.forward(self.inputs, factors, &batch[piece_of(batch.len(), count, piece)], chance);
            loss[0] = pass.backward(self.inputs, factors, chance, scale, gradient);
        })?;
        *pieces += count as u64;
        let gradient = &mut sums[..parameters];
        for weights in factors.products.iter().map(|product| product.weights()) {
            let decayed = gradient[weights.clone()].iter_mut().zip(&network.parameters()[weights]);
            decayed.for_each(|(slope, weight)| *slope += 2.0 * self.options.weight_decay * weight);
        }
        adam.step(network.parameters_mut(), gradient);
        factors.refresh(network);
        Ok(sums[parameters])
    }

    fn tell(&self, session: &Session<'_>, report: &EpochProgress) {
        if session.worker() == 0 {
            (self.progress)(report);
        }
    }
}

/// The places of a piece within a batch.
fn piece_of(batch: usize, count: usize, piece: usize) -> Range<usize> {
    piece * batch / count..(piece + 1) * batch / count
}
