//! Messages between operators, and their payloads.

use std::ops::Range;
use std::sync::Arc;

use timely::Accountable;
use timely::bytes::arc::Bytes;

use super::error::EngineError;
use super::shard::Shard;
use super::tree::{Combine, Node};
use crate::kernel::buffer::Buffer;
use crate::kernel::panel::stride;
use crate::kernel::spmm::Segments;

/// A timely container with one [`Payload`].
#[derive(Clone, Default)]
pub(super) struct Message {
    /// Its count in progress tracking: one, or, while it is sent to every worker, the number of
    /// workers.
    pub(super) weight: i64,
    /// The receiver, where there is one.
    pub(super) to: usize,
    /// The worker that sends it.
    pub(super) sender: usize,
    /// How many messages the sender sends to this receiver in this epoch.
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
    /// All rows of some columns, from this one on, sent to the workers of the process.
    Columns(usize, Shard),
    /// Rows of other processes' workers, as far as this process needs them.
    Shards(Vec<Shard>),
    /// All the rows of a panel.
    Gathered(Arc<GatheredPanel>),
    /// Sums over some tiles, sent to every worker.
    Partial(Arc<Partial>),
    /// Sums over all tiles: the same everywhere.
    Reduced(Arc<Reduced>),
    /// Data of one worker, sent to every worker.
    Bytes(Arc<[u8]>),
    /// An error in place of a result.
    Failure(Arc<EngineError>),
}

impl Payload {
    /// Bytes of its numbers between processes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Block(block) => block.rows * stride(block.cols) * size_of::<f32>(),
            Self::Partial(partial) => partial.nodes.iter().map(|node| size_of_val(&*node.values)).sum(),
            Self::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }
}

/// Rows of a panel: consecutive ones, or the next that the receiving process needs.
#[derive(Clone)]
pub(super) struct Block {
    pub(super) total_rows: usize,
    pub(super) first_row: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) data: BlockData,
}

/// Where the numbers of a block are.
#[derive(Clone)]
pub(super) enum BlockData {
    /// In a buffer of a worker of this process.
    Shared(Arc<Buffer>, Range<usize>),
    /// In received bytes, from this offset on.
    Received(Arc<Bytes>, usize),
}

impl Block {
    /// Consecutive rows of a shard, by their numbers in the whole panel.
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

    /// The numbers, row after row.
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
    /// The rows for the kernels.
    pub(super) fn rows(&self) -> Segments<'_> {
        let parts = self.blocks.iter().filter(|block| block.rows > 0);
        Segments { cols: self.cols, parts: parts.map(|block| (block.first_row, block.numbers())).collect() }
    }

    /// One row after the other, without padding.
    pub(super) fn rows_in_order(&self) -> impl Iterator<Item = &[f32]> {
        let stride = stride(self.cols).max(1);
        let blocks = self.blocks.iter().filter(|block| block.rows > 0);
        blocks.flat_map(move |block| block.numbers().chunks_exact(stride).map(|row| &row[..self.cols]))
    }
}

/// The nodes of a tile tree that one worker has.
pub(super) struct Partial {
    pub(super) combine: Combine,
    /// Tiles of the whole tree.
    pub(super) tiles: usize,
    /// Numbers in every node.
    pub(super) length: usize,
    /// Columns, where the numbers are the rows of a panel.
    pub(super) cols: usize,
    pub(super) nodes: Vec<Node>,
}

impl Partial {
    /// Whether both are parts of one tree.
    pub(super) fn is_of_the_tree_of(&self, other: &Self) -> bool {
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
