//! The edges of one worker, as an arrangement.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem::size_of;
use std::rc::Rc;
use std::time::Duration;

use differential_dataflow::input::{Input, InputSession};
use differential_dataflow::operators::CountTotal;
use differential_dataflow::operators::arrange::TraceAgent;
use differential_dataflow::operators::arrange::arrangement::arrange_core;
use differential_dataflow::trace::implementations::{
    ContainerChunker, KeySpine, OffsetList, ValBatcher, ValBuilder, ValSpine,
};
use differential_dataflow::trace::{Cursor, TraceReader};
use timely::dataflow::ProbeHandle;
use timely::dataflow::channels::pact::Pipeline;
use timely::progress::frontier::AntichainRef;
use timely::worker::Worker;

use super::EdgeCollectionSize;
use crate::graph::Sparse;
use crate::graph::evolve::{Changes, EdgeChange, NodeChange};

/// A weight as bits, since data of a collection must be ordered.
pub(super) type Weight = u32;
type Edge = (u32, u32);
type Epoch = u32;
type Times = i32;
type Update = ((Edge, Weight), Epoch, Times);

/// Rows of a group. Groups of consecutive rows are assigned to workers in turn.
const ROWS: u32 = 64;
/// Longest sleep of an idle worker.
const REST: Duration = Duration::from_millis(1);

/// The weights of an edge before and after, from its updates.
type Recorded<K> = Rc<RefCell<BTreeMap<K, (Option<u32>, Option<u32>)>>>;

/// A worker's part of the collection.
pub(super) struct WorkerEdges {
    index: u32,
    peers: u32,
    is_directed: bool,
    input: InputSession<Epoch, (Edge, Weight), Times>,
    edges: TraceAgent<ValSpine<Edge, Weight, Epoch, Times>>,
    ends: TraceAgent<KeySpine<u32, Epoch, Times>>,
    probe: ProbeHandle<Epoch>,
    /// The number of edges.
    count: usize,
    changed_edges: Recorded<Edge>,
    changed_nodes: Recorded<u32>,
}

impl WorkerEdges {
    /// Builds the dataflow.
    pub(super) fn new(worker: &mut Worker, is_directed: bool) -> Self {
        let (changed_edges, changed_nodes) = (Recorded::default(), Recorded::default());
        let (to_edges, to_nodes) = (Rc::clone(&changed_edges), Rc::clone(&changed_nodes));
        let probe = ProbeHandle::new();
        let (input, edges, ends) = worker.dataflow(|scope| {
            let (input, collection) = scope.new_collection();
            // Edges stay with the worker that enters them.
            let edges = arrange_core::<
                _,
                Vec<Update>,
                ContainerChunker<Vec<Update>>,
                ValBatcher<Edge, Weight, Epoch, Times>,
                ValBuilder<Edge, Weight, Epoch, Times>,
                ValSpine<Edge, Weight, Epoch, Times>,
            >(collection.inner, Pipeline, "Edges");
            let edges_kept = edges.trace.clone();
            let changed = edges.as_collection(|edge, weight| (*edge, *weight));
            let ends = changed
                .inspect(move |((edge, weight), epoch, times)| record(&to_edges, *edge, *weight, *epoch, *times))
                .flat_map(|((from, to), _)| [Some(from), Some(to).filter(|to| *to != from)].into_iter().flatten())
                .arrange_by_self_named("Ends");
            let ends_kept = ends.trace.clone();
            ends.count_total_core::<Times>()
                .inspect(move |((node, count), epoch, times)| record(&to_nodes, *node, *count as u32, *epoch, *times))
                .probe_with(&probe);
            (input, edges_kept, ends_kept)
        });
        let (index, peers) = (worker.index() as u32, worker.peers() as u32);
        Self { index, peers, is_directed, input, edges, ends, probe, count: 0, changed_edges, changed_nodes }
    }

    /// Loads the edges of an adjacency matrix.
    pub(super) fn load(&mut self, worker: &mut Worker, adjacency: &Sparse) {
        let (tiling, step) = (adjacency.tiling(), (ROWS * self.peers) as usize);
        for tile in 0..tiling.count() {
            let rows = tiling.range(tile);
            // A tile consists of complete groups, or is part of one.
            if rows.len() < step && !rows.clone().any(|row| self.keeps(row as u32)) {
                continue;
            }
            adjacency.for_each_in_tile(tile, |row, col, weight| {
                let edge = (row as u32, col as u32);
                if self.keeps(edge.0) && (self.is_directed || row <= col) {
                    self.input.update((edge, weight.to_bits()), 1);
                    self.count += 1;
                }
            });
        }
        self.settle(worker);
    }

    /// Sets the weights of edges; returns what changed.
    pub(super) fn apply(&mut self, worker: &mut Worker, batch: &[(Edge, Option<Weight>)]) -> Changes {
        let (mut cursor, storage) = self.edges.cursor();
        for (edge, weight) in batch {
            if !self.keeps(edge.0) {
                continue;
            }
            cursor.seek_key(&storage, edge);
            let mut before = None;
            if cursor.get_key(&storage) == Some(edge) {
                while let Some(&value) = cursor.get_val(&storage) {
                    let mut times = 0;
                    cursor.map_times(&storage, |_, more| times += *more);
                    if times > 0 {
                        before = Some(value);
                    }
                    cursor.step_val(&storage);
                }
            }
            if before != *weight {
                self.count = self.count + usize::from(weight.is_some()) - usize::from(before.is_some());
                before.into_iter().for_each(|value| self.input.update((*edge, value), -1));
                weight.iter().for_each(|&value| self.input.update((*edge, value), 1));
            }
        }
        drop((cursor, storage));
        self.settle(worker);
        let edge = |((from, to), (before, after))| EdgeChange {
            from,
            to,
            before: Option::map(before, f32::from_bits),
            after: Option::map(after, f32::from_bits),
        };
        let node = |(node, (before, after)): (u32, (Option<u32>, Option<u32>))| NodeChange {
            node,
            before: before.unwrap_or(0),
            after: after.unwrap_or(0),
        };
        let (edges, nodes) = (self.changed_edges.take(), self.changed_nodes.take());
        Changes { edges: edges.into_iter().map(edge).collect(), nodes: nodes.into_iter().map(node).collect() }
    }

    /// Ends the epoch, and compacts the history.
    fn settle(&mut self, worker: &mut Worker) {
        let next = *self.input.time() + 1;
        self.input.advance_to(next);
        self.input.flush();
        worker.step_or_park_while(Some(REST), || self.probe.less_than(&next));
        let now = [next];
        self.edges.set_logical_compaction(AntichainRef::new(&now));
        self.edges.set_physical_compaction(AntichainRef::new(&now));
        self.ends.set_logical_compaction(AntichainRef::new(&now));
        self.ends.set_physical_compaction(AntichainRef::new(&now));
    }

    fn keeps(&self, from: u32) -> bool {
        from / ROWS % self.peers == self.index
    }

    /// The size of this worker's part.
    pub(super) fn size(&self) -> EdgeCollectionSize {
        let mut size = EdgeCollectionSize { edges: self.count, bytes: 0 };
        self.edges.map_batches(|batch| {
            let storage = &batch.storage;
            size.bytes += bytes(&storage.keys) + bytes(&storage.vals.vals) + offset_bytes(&storage.vals.offs);
            size.bytes += bytes(&storage.upds.times) + bytes(&storage.upds.diffs) + offset_bytes(&storage.upds.offs);
        });
        self.ends.map_batches(|batch| {
            let storage = &batch.storage;
            size.bytes += bytes(&storage.keys) + offset_bytes(&storage.upds.offs);
            size.bytes += bytes(&storage.upds.times) + bytes(&storage.upds.diffs);
        });
        size
    }
}

/// Records an update of the value of a key. Updates of the first epoch are not changes.
fn record<K: Ord>(recorded: &Recorded<K>, key: K, value: u32, epoch: Epoch, times: Times) {
    if epoch > 0 {
        let mut recorded = recorded.borrow_mut();
        let (before, after) = recorded.entry(key).or_default();
        *(if times < 0 { before } else { after }) = Some(value);
    }
}

fn bytes<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}

fn offset_bytes(list: &OffsetList) -> usize {
    bytes(&list.smol) + bytes(&list.chonk)
}
