//! The network on all nodes at once.

use std::sync::Arc;

use super::block::Block;
use super::parameters::Factors;
use super::split_relu::{Store, activate};
use super::{Network, NetworkError, NetworkShape, Problem};
use crate::dataset::UNLABELLED;
use crate::engine::{Cluster, EngineError, Session, Shard, run};
use crate::kernel::elementwise::softmax;
use crate::kernel::{gemm, random::stream};
use crate::matrix::Dense;
use crate::model::propagation::Propagation;
use crate::plan::{Program, Side};

/// The program of Â.
const AVERAGE: usize = 0;
/// The program of Z.
const NEIGHBOURS: usize = 1;

/// What [`logits`] and [`first_layer`] multiply with.
pub(super) fn programs(propagation: &Propagation) -> Result<Vec<Arc<Program>>, NetworkError> {
    let matrices = [propagation.average()?, propagation.neighbours()?];
    Ok(matrices.iter().map(|matrix| Arc::new(Program::compile(matrix, Side::Plain))).collect())
}

/// The logits of every node, one row a node.
///
/// The network is told the labels of the `known` nodes, if it re-uses labels; what it says of those
/// themselves is worth nothing, since a label comes back to its node in two steps. With two passes
/// the second is also told the softmax of what the first said of all other nodes.
pub fn score(
    problem: &Problem,
    network: &Network,
    known: &[u32],
    passes: usize,
    cluster: Cluster,
) -> Result<Dense, NetworkError> {
    let shape = network.shape();
    problem.check(shape)?;
    let classes = problem.classes_of(known, shape)?;
    let (network, features) = (network.clone(), problem.features.clone());
    let whole = run(cluster, programs(&problem.propagation)?, move |session| {
        let factors = Factors::of(&network);
        let x = session.panel_from(&features, shape.features, 0, stream::WEIGHTS)?;
        let mut y = labels(session, &x, &classes, shape)?;
        let mut first = first_layer(session, &x, y.as_ref())?;
        let mut scores = logits(session, &x, &first, &factors)?;
        for _ in 1..passes {
            let Some(before) = y else { break };
            let soft = soften(session, &before, &scores, &classes)?;
            drop((before, scores));
            first = first_layer(session, &x, Some(&soft))?;
            scores = logits(session, &x, &first, &factors)?;
            y = Some(soft);
        }
        Ok::<_, NetworkError>(session.collect(&scores)?)
    })?;
    Ok(whole.unwrap_or_default())
}

/// One-hot rows of the known labels; `None` if the network does not take them.
pub(super) fn labels(
    session: &mut Session<'_>,
    rows: &Shard,
    classes: &[u32],
    shape: NetworkShape,
) -> Result<Option<Shard>, EngineError> {
    if !shape.label_reuse {
        return Ok(None);
    }
    let one_hot = session.map_tiles(&[rows], shape.classes, |rows, _, mut out| {
        out.data_mut().fill(0.0);
        for (place, &class) in classes[rows].iter().enumerate().filter(|(_, class)| **class != UNLABELLED) {
            out.row_mut(place)[class as usize] = 1.0;
        }
    })?;
    Ok(Some(one_hot))
}

/// The labels, with the softmax of the scores where none is known.
fn soften(session: &mut Session<'_>, labels: &Shard, scores: &Shard, classes: &[u32]) -> Result<Shard, EngineError> {
    session.map_tiles(&[labels, scores], scores.cols(), |rows, inputs, mut out| {
        out.data_mut().copy_from_slice(inputs[0].data());
        for (place, _) in classes[rows].iter().enumerate().filter(|(_, class)| **class == UNLABELLED) {
            out.row_mut(place).copy_from_slice(inputs[1].row(place));
            softmax(out.row_mut(place));
        }
    })
}

/// `[ÂX, ZY]`.
pub(super) fn first_layer(session: &mut Session<'_>, x: &Shard, y: Option<&Shard>) -> Result<Shard, EngineError> {
    let averaged = session.multiply(AVERAGE, x)?;
    let Some(y) = y else { return Ok(averaged) };
    let told = session.multiply(NEIGHBOURS, y)?;
    session.hstack(&[&averaged, &told])
}

/// The logits, given X and what the first layer multiplies.
pub(super) fn logits(
    session: &mut Session<'_>,
    x: &Shard,
    first: &Shard,
    factors: &Factors,
) -> Result<Shard, EngineError> {
    let shape = factors.shape;
    let mut layers = Layers { factors, both: Block::default(), gemm: gemm::Scratch::default() };
    let mut logits = layers.split_relu(session, shape.output(0), x, None)?;
    let mut hidden: Option<Shard> = None;
    for layer in 1..=shape.layers {
        let averaged = match hidden.take() {
            None => first.clone(),
            Some(hidden) => session.multiply(AVERAGE, &hidden)?,
        };
        let next = layers.split_relu(session, shape.hidden(layer), &averaged, None)?;
        drop(averaged);
        logits = layers.split_relu(session, shape.output(layer), &next, Some(&logits))?;
        hidden = Some(next);
    }
    Ok(logits)
}

struct Layers<'a> {
    factors: &'a Factors,
    both: Block,
    gemm: gemm::Scratch,
}

impl Layers<'_> {
    /// One product of the network, tile after tile, so that both halves of it are never there for
    /// all rows.
    fn split_relu(
        &mut self,
        session: &mut Session<'_>,
        number: usize,
        x: &Shard,
        add_to: Option<&Shard>,
    ) -> Result<Shard, EngineError> {
        let (product, factor) = self.factors.get(number);
        let inputs: Vec<&Shard> = std::iter::once(x).chain(add_to).collect();
        session.map_tiles(&inputs, product.columns, |rows, inputs, mut out| {
            self.both.resize(rows.len(), product.both());
            gemm::multiply_small(inputs[0], &factor.weights, self.both.panel_mut(), &mut self.gemm);
            let store = match inputs.get(1) {
                Some(before) => {
                    out.data_mut().copy_from_slice(before.data());
                    Store::Add
                }
                None => {
                    out.data_mut().fill(0.0);
                    Store::Replace
                }
            };
            for place in 0..rows.len() {
                activate(self.both.row_mut(place), &factor.biases, out.row_mut(place), store);
            }
        })
    }
}
