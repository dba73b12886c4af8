//! The edges of a changing graph, as a differential collection.
//!
//! An [`EdgeCollection`] has threads of its own, which sleep between batches. Each stores the edges
//! of some rows in an arrangement, one update for each edge, with its weight as value. A batch sets
//! weights. The old weights are looked up in the arrangement and retracted, so that an edge is
//! stored at most once. The same dataflow computes the changes of node degrees. The result of a
//! batch does not depend on the number of workers.

mod arrangement;

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};

use timely::WorkerConfig;
use timely::communication::{Config as Communication, WorkerGuards};

use super::error::EngineError;
use super::stop::catch;
use crate::graph::Sparse;
use crate::graph::evolve::{Changes, EdgeChange, NodeChange};
use arrangement::{Weight, WorkerEdges};

/// Edges that are changed batch by batch.
///
/// ```
/// use isvd_dist::{dataset::EdgeList, engine::EdgeCollection, graph::{Graph, Import}};
/// let list = EdgeList { nodes: 3, edges: vec![(0, 1), (1, 2)], ..EdgeList::default() };
/// let graph = Graph::from_edges(&list, Import::default())?;
/// let mut collection = EdgeCollection::new(&graph.adjacency, false, 2)?;
/// // One edge goes, another one was there already.
/// let changes = collection.apply([((2, 1), None), ((0, 1), Some(1.0))])?;
/// assert_eq!((changes.edges.len(), changes.edges[0].from, changes.edges[0].after), (1, 1, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct EdgeCollection {
    is_directed: bool,
    orders: Vec<mpsc::Sender<Batch>>,
    answers: mpsc::Receiver<Result<Answer, EngineError>>,
    threads: Option<WorkerGuards<()>>,
    size: EdgeCollectionSize,
}

/// New weights of edges, sorted by their ends; the same batch for every worker.
type Batch = Arc<[((u32, u32), Option<Weight>)]>;

/// The answer of a worker.
struct Answer {
    changes: Changes,
    size: EdgeCollectionSize,
}

/// The size of an edge collection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EdgeCollectionSize {
    /// The number of edges.
    pub edges: usize,
    /// Bytes of the arrangements.
    pub bytes: usize,
}

impl EdgeCollectionSize {
    fn and(self, other: Self) -> Self {
        Self { edges: self.edges + other.edges, bytes: self.bytes + other.bytes }
    }
}

impl EdgeCollection {
    /// Holds the edges of an adjacency matrix, with `workers` threads.
    pub fn new(adjacency: &Arc<Sparse>, is_directed: bool, workers: usize) -> Result<Self, EngineError> {
        if workers == 0 {
            return Err(EngineError::NoWorkers);
        }
        let cannot_start = |reason| EngineError::CannotStart { workers, reason };
        let (builders, others) = Communication::Process(workers).try_build().map_err(cannot_start)?;
        let (orders, waiting): (Vec<_>, Vec<_>) = (0..workers).map(|_| mpsc::channel::<Batch>()).unzip();
        let waiting = std::sync::Mutex::new(waiting.into_iter().map(Some).collect::<Vec<_>>());
        let base = std::sync::Mutex::new(vec![Arc::clone(adjacency); workers]);
        let (answer, answers) = mpsc::channel();
        let work = move |worker: &mut timely::worker::Worker| {
            let index = worker.index();
            // No thread panics while these are locked.
            let batches = waiting.lock().ok().and_then(|mut waiting| waiting[index].take());
            let base = base.lock().ok().and_then(|mut base| base.pop());
            let (Some(batches), Some(base)) = (batches, base) else { return };
            let ended = catch(index, "the edge collection", || {
                let mut state = WorkerEdges::new(worker, is_directed);
                // The caller may be gone.
                let send = |changes, size| answer.send(Ok(Answer { changes, size })).is_ok();
                state.load(worker, &base);
                drop(base);
                if !send(Changes::default(), state.size()) {
                    return;
                }
                for batch in batches {
                    let changes = state.apply(worker, &batch);
                    if !send(changes, state.size()) {
                        return;
                    }
                }
            });
            worker.installed_dataflows().into_iter().for_each(|dataflow| worker.drop_dataflow(dataflow));
            if let Err(panic) = ended {
                let _ = answer.send(Err(panic));
            }
        };
        let threads =
            timely::execute::execute_from(builders, others, WorkerConfig::default(), work).map_err(cannot_start)?;
        let mut collection =
            Self { is_directed, orders, answers, threads: Some(threads), size: EdgeCollectionSize::default() };
        collection.receive()?;
        Ok(collection)
    }

    /// Sets the weights of edges; `None` removes an edge. The last entry for an edge counts. A
    /// batch is applied completely or not at all.
    pub fn apply(
        &mut self,
        edges: impl IntoIterator<Item = ((u32, u32), Option<f32>)>,
    ) -> Result<Changes, EngineError> {
        let last: BTreeMap<(u32, u32), Option<Weight>> =
            edges.into_iter().map(|(edge, weight)| (self.edge(edge), weight.map(f32::to_bits))).collect();
        let batch: Batch = last.into_iter().collect();
        for order in &self.orders {
            // The error of a worker that ended is received below.
            let _ = order.send(Arc::clone(&batch));
        }
        self.receive()
    }

    /// The key of an edge. That of an undirected edge has the smaller end first.
    pub fn edge(&self, (from, to): (u32, u32)) -> (u32, u32) {
        match self.is_directed {
            true => (from, to),
            false => (from.min(to), from.max(to)),
        }
    }

    /// The current size.
    pub fn size(&self) -> EdgeCollectionSize {
        self.size
    }

    /// Waits for the answers of all workers.
    fn receive(&mut self) -> Result<Changes, EngineError> {
        let mut all = Changes::default();
        self.size = EdgeCollectionSize::default();
        for _ in 0..self.orders.len() {
            let gone = || EngineError::Stopped { worker: 0, message: "the edge collection is closed".to_owned() };
            let answer = self.answers.recv().map_err(|_| gone()).and_then(|answer| answer);
            let Answer { changes, size } = answer.inspect_err(|_| {
                // The other threads may wait for the failed one forever.
                if let Some(threads) = self.threads.take() {
                    std::mem::forget(threads);
                }
            })?;
            self.size = self.size.and(size);
            all.edges.extend(changes.edges);
            all.nodes.extend(changes.nodes);
        }
        all.edges.sort_unstable_by_key(|change: &EdgeChange| (change.from, change.to));
        all.nodes.sort_unstable_by_key(|change: &NodeChange| change.node);
        Ok(all)
    }
}

impl Drop for EdgeCollection {
    fn drop(&mut self) {
        self.orders.clear();
        if let Some(threads) = self.threads.take() {
            threads.join();
        }
    }
}

#[cfg(test)]
mod tests;
