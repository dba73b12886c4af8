//! Messages between operators, and their payloads.

use std::ops::Range;
use std::sync::Arc;

use timely::Accountable;
use timely::bytes::arc::Bytes;

use super::error::EngineError;
use super::fetch::Request;
use super::shard::Shard;
use super::tree::{Combine, Node};
use crate::kernel::buffer::Buffer;
use crate::kernel::panel::stride;
use crate::kernel::spmm::Segments;

/// A timely container with one [`Payload`].
#[derive(Clone, Default)]
pub(super) struct Message {
    /// Its count in progress tracking: one, or the number of workers while it is sent to all.
    pub(super) weight: i64,
    /// The receiver, if it is sent to one worker.
    pub(super) to: usize,
    /// The worker that sends it.
    pub(super) sender: usize,
    /// The number of messages from this sender to this receiver in this epoch.
    pub(super) of: usize,
    pub(super) payload: Payload,
}

impl Message {
    /// A message for the next operator of the same worker.
    pub(super) fn local(payload: Payload) -> Self {
        Self { weight: 1, to: 0, sender: 0, of: 1, payload }
    }
}

impl Accountable for Message {
    fn record_count(&self) -> i64 {
        self.weight
    }
}

/// The content of a message.
#[derive(Clone, Default)]
pub(super) enum Payload {
    #[default]
    Nothing,
    /// A worker's rows of a panel.
    Shard(Shard),
    /// Rows of a panel, sent to every worker.
    Block(Block),
    /// All rows of some columns, with the number of the first; sent to the workers of the process.
    Columns(usize, Shard),
    /// The rows of workers of other processes that this process needs.
    Shards(Vec<Shard>),
    /// A panel, and the rows that this worker asks each worker for, or is asked for by each.
    Fetch(Shard, Arc<Vec<Request>>),
    /// The rows that each worker asks this one for.
    Requests(Arc<Vec<Request>>),
    /// All the rows of a panel.
    Gathered(Arc<GatheredPanel>),
    /// Partial sums over some tiles, sent to every worker.
    Partial(Arc<Partial>),
    /// The sum over all tiles, equal on all workers.
    Reduced(Arc<Reduced>),
    /// Bytes of a worker, given with its number, sent to every worker.
    Bytes(usize, Arc<[u8]>),
    /// The bytes of every worker, by worker.
    Values(Arc<Vec<Vec<u8>>>),
    /// An error in place of a result.
    Failure(Arc<EngineError>),
}

impl Payload {
    /// Bytes of its content, if it is sent to other processes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Block(block) => block.rows * stride(block.cols) * size_of::<f32>(),
            Self::Partial(partial) => partial.nodes.iter().map(|node| size_of_val(&*node.values)).sum(),
            Self::Bytes(_, bytes) => bytes.len(),
            Self::Nothing
            | Self::Shard(_)
            | Self::Columns(..)
            | Self::Shards(_)
            | Self::Fetch(..)
            | Self::Requests(_)
            | Self::Gathered(_)
            | Self::Values(_)
            | Self::Reduced(_)
            | Self::Failure(_) => 0,
        }
    }
}

/// Consecutive rows of a panel, or consecutive entries of the list of rows that a process needs.
#[derive(Clone)]
pub(super) struct Block {
    pub(super) total_rows: usize,
    pub(super) first_row: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) data: BlockData,
}

/// The memory of a block.
#[derive(Clone)]
pub(super) enum BlockData {
    /// In a buffer of a worker of this process.
    Shared(Arc<Buffer>, Range<usize>),
    /// In received bytes, from this offset on.
    Received(Arc<Bytes>, usize),
}

impl Block {
    /// Consecutive rows of a shard, by their numbers in the panel.
    pub(super) fn of_shard(shard: &Shard, rows: Range<usize>) -> Self {
        let stride = stride(shard.cols());
        let local = shard.rows().place(&rows);
        Self {
            total_rows: shard.total_rows(),
            first_row: rows.start,
            rows: rows.len(),
            cols: shard.cols(),
            data: BlockData::Shared(shard.buffer().clone(), local.start * stride..local.end * stride),
        }
    }

    /// The numbers, row-major with padding.
    pub(super) fn numbers(&self) -> &[f32] {
        match &self.data {
            BlockData::Shared(buffer, range) => &buffer[range.clone()],
            BlockData::Received(bytes, offset) => bytemuck::cast_slice(&bytes[*offset..]),
        }
    }
}

/// A panel with all rows, in blocks.
pub(super) struct GatheredPanel {
    pub(super) total_rows: usize,
    pub(super) cols: usize,
    /// In order of their rows, without gaps.
    pub(super) blocks: Vec<Block>,
}

impl GatheredPanel {
    /// The rows as operands of kernels.
    pub(super) fn rows(&self) -> Segments<'_> {
        let parts = self.blocks.iter().filter(|block| block.rows > 0);
        Segments { cols: self.cols, parts: parts.map(|block| (block.first_row, block.numbers())).collect() }
    }

    /// The rows in order, without padding.
    pub(super) fn rows_in_order(&self) -> impl Iterator<Item = &[f32]> {
        let stride = stride(self.cols).max(1);
        let blocks = self.blocks.iter().filter(|block| block.rows > 0);
        blocks.flat_map(move |block| block.numbers().chunks_exact(stride).map(|row| &row[..self.cols]))
    }
}

/// The nodes of a tile tree on one worker.
pub(super) struct Partial {
    pub(super) combine: Combine,
    /// The tiles of the tree.
    pub(super) tiles: usize,
    /// The numbers of a node.
    pub(super) length: usize,
    /// The columns of the panel that the numbers form.
    pub(super) cols: usize,
    pub(super) nodes: Vec<Node>,
}

impl Partial {
    /// Whether both are parts of the same tree.
    pub(super) fn has_same_tree(&self, other: &Self) -> bool {
        let shape = |partial: &Self| (partial.combine, partial.tiles, partial.length, partial.cols);
        shape(self) == shape(other)
    }

    /// Describes the tree in error messages.
    pub(super) fn tree(&self) -> String {
        let Self { combine, tiles, length, cols, .. } = self;
        format!("{tiles} tiles of {length} numbers in {cols} columns ({combine:?})")
    }
}

/// The root of a tile tree.
pub(super) struct Reduced {
    pub(super) cols: usize,
    pub(super) values: Vec<f64>,
}
