//! Collective operators: all-gather, all-reduce, gather of values, agreement.
//!
//! Each consists of two operators. `share` divides a payload into messages and sends each to every
//! worker; `collect` combines the messages that arrive into one payload. Blocks that are sent as
//! bytes are divided into chunks, which are joined on arrival: the buffers of timely grow to twice
//! the largest message and never shrink.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use timely::dataflow::Scope;

use super::channels::Broadcast;
use super::cluster::Transfer;
use super::error::EngineError;
use super::exchange::{receive, send};
use super::message::{Block, BlockData, GatheredPanel, Message, Payload, Reduced};
use super::operator::Link;
use super::shard::{Pool, Shard};
use super::step::Context;
use super::trace;
use super::tree::Tree;
use crate::kernel::panel::{copy_row, stride};

/// The approximate size of a chunk in bytes.
const CHUNK_BYTES: usize = 256 << 10;

/// Brings all the rows of a panel to every worker.
pub(super) fn all_gather<'scope>(
    scope: Scope<'scope, u64>,
    name: &str,
    shards: &Link<'scope>,
    transfer: Transfer,
    pool: &Rc<RefCell<Pool>>,
) -> Link<'scope> {
    let name = format!("all-gather {name}");
    let lender = pool.clone();
    let shared = share(scope, &name, shards, move |payload| match payload {
        Payload::Shard(shard) => {
            if transfer.is_shared() {
                lender.borrow_mut().read_elsewhere(shard.buffer());
            }
            blocks_of_shard(&shard, transfer.in_chunks).into_iter().map(Payload::Block).collect()
        }
        other => vec![other],
    });
    let (pool, worker, step) = (pool.clone(), scope.index(), name.clone());
    collect(scope, &name, &shared, move |payloads| gathered_panel(payloads, worker, &step, &mut pool.borrow_mut()))
}

/// Transposes the distribution of a panel: from all rows of some columns on each worker to all
/// columns of its rows.
pub(super) fn exchange_columns<'scope>(
    scope: Scope<'scope, u64>,
    columns: &Link<'scope>,
    context: &Rc<Context>,
) -> Link<'scope> {
    let shared = share(scope, "columns", columns, |payload| vec![payload]);
    let context = context.clone();
    collect(scope, "rows of columns", &shared, move |payloads| {
        let parts: Vec<(usize, &Shard)> = payloads
            .iter()
            .filter_map(|payload| match payload {
                Payload::Columns(first, shard) => Some((*first, shard)),
                _ => None,
            })
            .collect();
        let (rows, cols) = (parts[0].1.total_rows(), parts.iter().map(|(_, shard)| shard.cols()).sum());
        let shard = context.shard(rows, cols, |layout, out| {
            let (own, to) = (layout.rows(context.worker), stride(cols));
            for (first, shard) in parts.iter().filter(|(_, shard)| shard.cols() > 0) {
                let from = stride(shard.cols());
                let mut rest = &mut out[..];
                for rows in own.ranges() {
                    let (out, others) = rest.split_at_mut(rows.len() * to);
                    rest = others;
                    let rows = shard.panel_of(rows.clone()).data().chunks_exact(from);
                    out.chunks_exact_mut(to)
                        .zip(rows)
                        .for_each(|(to, row)| copy_row(&mut to[*first..first + from], row));
                }
            }
            Ok(())
        })?;
        Ok(Payload::Shard(shard))
    })
}

/// The gathered panel of the blocks that arrived.
pub(super) fn gathered_panel(
    payloads: &[Payload],
    worker: usize,
    step: &str,
    pool: &mut Pool,
) -> Result<Payload, EngineError> {
    let panel = assemble(blocks_of(payloads), worker, step)?;
    Ok(Payload::Gathered(Arc::new(joined(panel, pool))))
}

/// The blocks among the payloads.
pub(super) fn blocks_of(payloads: &[Payload]) -> Vec<Block> {
    let block = |payload: &Payload| match payload {
        Payload::Block(block) => Some(block.clone()),
        _ => None,
    };
    payloads.iter().filter_map(block).collect()
}

/// Reduces the partial sums of all workers to the root of their tile tree, on every worker.
pub(super) fn all_reduce<'scope>(scope: Scope<'scope, u64>, name: &str, partials: &Link<'scope>) -> Link<'scope> {
    let name = format!("all-reduce {name}");
    let shared = share(scope, &name, partials, |payload| vec![payload]);
    let (worker, step) = (scope.index(), name.clone());
    collect(scope, &name, &shared, move |payloads| root_of(payloads, worker, &step))
}

/// The root of a tile tree, from the partial sums of all workers, which must be of the same tree.
pub(super) fn root_of(payloads: &[Payload], worker: usize, step: &str) -> Result<Payload, EngineError> {
    let parts = payloads.iter().filter_map(|payload| match payload {
        Payload::Partial(partial) => Some(partial),
        _ => None,
    });
    let missing = |received| {
        let expected = payloads.len();
        EngineError::BlocksMissing { step: step.into(), worker, received, expected }
    };
    let first = parts.clone().next().ok_or_else(|| missing(0))?;
    let mut tree = Tree::new(first.tiles, first.combine);
    for partial in parts {
        if !partial.has_same_tree(first) {
            let (one, other) = (first.tree(), partial.tree());
            return Err(EngineError::PartsDiffer { step: step.into(), worker, one, other });
        }
        partial.nodes.iter().for_each(|node| tree.insert_shared(node));
    }
    let values = match first.tiles {
        0 => vec![0.0; first.length],
        _ => tree.into_root().ok_or_else(|| missing(payloads.len()))?,
    };
    Ok(Payload::Reduced(Arc::new(Reduced { cols: first.cols, values })))
}

/// Brings the bytes of every worker to every worker.
pub(super) fn gather_bytes<'scope>(scope: Scope<'scope, u64>, bytes: &Link<'scope>) -> Link<'scope> {
    let shared = share(scope, "values", bytes, |payload| match payload {
        Payload::Bytes(worker, bytes) if bytes.len() > CHUNK_BYTES => {
            bytes.chunks(CHUNK_BYTES).map(|chunk| Payload::Bytes(worker, chunk.into())).collect()
        }
        other => vec![other],
    });
    let workers = scope.peers();
    collect(scope, "values", &shared, move |payloads| {
        let mut values = vec![Vec::new(); workers];
        for payload in payloads {
            // The chunks of a worker arrive in the order in which they were sent.
            if let Payload::Bytes(worker, bytes) = payload
                && let Some(value) = values.get_mut(*worker)
            {
                value.extend_from_slice(bytes);
            }
        }
        Ok(Payload::Values(Arc::new(values)))
    })
}

/// Sends every worker the first error of any worker, if there is one.
pub(super) fn agree<'scope>(scope: Scope<'scope, u64>, results: &Link<'scope>) -> Link<'scope> {
    let shared = share(scope, "agree", results, |payload| match payload {
        Payload::Failure(error) => vec![Payload::Failure(error)],
        _ => vec![Payload::Nothing],
    });
    collect(scope, "agree", &shared, |_| Ok(Payload::Nothing))
}

/// Sends each payload to every worker, in the messages into which `divide` divides it.
fn share<'scope>(
    scope: Scope<'scope, u64>,
    name: &str,
    input: &Link<'scope>,
    divide: impl Fn(Payload) -> Vec<Payload> + 'static,
) -> Link<'scope> {
    let (sender, workers, name) = (scope.index(), scope.peers(), name.to_owned());
    send(scope, "share", [input], move |_, payload, give| {
        let payloads = divide(payload);
        trace::sending_to_all(&name, payloads.iter().map(Payload::bytes).sum());
        let of = payloads.len();
        payloads.into_iter().for_each(|payload| give(Message { weight: workers as i64, to: 0, sender, of, payload }));
    })
}

/// Combines the messages of all workers into one payload.
fn collect<'scope>(
    scope: Scope<'scope, u64>,
    name: &str,
    shared: &Link<'scope>,
    finish: impl FnMut(&[Payload]) -> Result<Payload, EngineError> + 'static,
) -> Link<'scope> {
    receive(scope, name, shared, Broadcast, 0..scope.peers(), finish)
}

/// Rows of a chunk of a panel with `cols` columns.
pub(super) fn chunk_rows(cols: usize) -> usize {
    (CHUNK_BYTES / (stride(cols).max(1) * size_of::<f32>())).max(1)
}

/// Divides a shard into blocks. An empty shard is one block.
pub(super) fn blocks_of_shard(shard: &Shard, in_chunks: bool) -> Vec<Block> {
    let ranges = shard.rows().ranges();
    if ranges.is_empty() {
        return vec![Block::of_shard(shard, 0..0)];
    }
    let chunk = if in_chunks { chunk_rows(shard.cols()) } else { shard.rows().len() };
    let chunks = |rows: &Range<usize>| {
        let end = rows.end;
        rows.clone().step_by(chunk).map(move |start| start..(start + chunk).min(end))
    };
    ranges.iter().flat_map(chunks).map(|rows| Block::of_shard(shard, rows)).collect()
}

/// Sorts blocks by rows, and checks that they are all rows of one panel.
pub(super) fn assemble(mut blocks: Vec<Block>, worker: usize, step: &str) -> Result<GatheredPanel, EngineError> {
    blocks.sort_by_key(|block| (block.first_row, block.rows));
    let (total_rows, cols) = blocks.first().map_or((0, 0), |block| (block.total_rows, block.cols));
    let mut next = 0;
    for block in &blocks {
        if block.first_row != next || block.total_rows != total_rows || block.cols != cols {
            break;
        }
        next += block.rows;
    }
    if next != total_rows {
        let step = step.into();
        return Err(EngineError::BlocksMissing { step, worker, received: next, expected: total_rows });
    }
    Ok(GatheredPanel { total_rows, cols, blocks })
}

/// Joins chunks into long blocks for the kernels. Chunks of one buffer are not copied; adjacent
/// chunks that came as bytes are.
fn joined(panel: GatheredPanel, pool: &mut Pool) -> GatheredPanel {
    let runs = panel.blocks.chunk_by(|one, next| match (&one.data, &next.data) {
        (BlockData::Shared(buffer, _), BlockData::Shared(next, _)) => Arc::ptr_eq(buffer, next),
        (BlockData::Received(..), BlockData::Received(..)) => true,
        _ => false,
    });
    let blocks = runs.map(|run| {
        let (first, last) = (&run[0], &run[run.len() - 1]);
        let data = match (&first.data, &last.data) {
            (BlockData::Shared(buffer, start), BlockData::Shared(_, end)) => {
                BlockData::Shared(buffer.clone(), start.start..end.end)
            }
            _ => copied(run, pool),
        };
        Block { rows: last.first_row + last.rows - first.first_row, data, ..first.clone() }
    });
    GatheredPanel { blocks: blocks.collect(), ..panel }
}

/// The numbers of several blocks, one after the other.
fn copied(blocks: &[Block], pool: &mut Pool) -> BlockData {
    let length = blocks.iter().map(|block| block.numbers().len()).sum();
    let mut buffer = pool.take(length);
    let mut filled = 0;
    for block in blocks {
        let block = block.numbers();
        buffer[filled..filled + block.len()].copy_from_slice(block);
        filled += block.len();
    }
    BlockData::Shared(pool.lend(buffer), 0..length)
}

#[cfg(all(test, feature = "fuzzing"))]
mod tests {
    use super::*;
    use crate::engine::codec::tests::over_the_wire;
    use crate::engine::message::Partial;
    use crate::engine::tree::{Combine, Node};

    fn shard(total: usize, rows: std::ops::Range<usize>) -> Shard {
        let mut buffer = Pool::default().take(rows.len() * stride(3));
        buffer.iter_mut().enumerate().for_each(|(place, number)| *number = (rows.start * stride(3) + place) as f32);
        Shard::new(total, rows.into(), 3, Arc::new(buffer))
    }

    #[test]
    fn chunks_of_a_panel_are_joined() {
        for in_chunks in [false, true] {
            let shards = [shard(20_000, 12_000..20_000), shard(20_000, 12_000..12_000), shard(20_000, 0..12_000)];
            let blocks: Vec<Block> = shards.iter().flat_map(|shard| blocks_of_shard(shard, in_chunks)).collect();
            assert_eq!(blocks.len() > 3, in_chunks);
            let together = joined(assemble(blocks, 0, "here").unwrap(), &mut Pool::default());
            assert_eq!(together.blocks.len(), 3, "one a buffer");
            let numbers: Vec<f32> = together.blocks.iter().flat_map(|block| block.numbers().to_vec()).collect();
            assert_eq!(numbers.len(), 20_000 * stride(3));
            assert!(numbers.iter().enumerate().all(|(place, &number)| number == place as f32));
        }
    }

    /// With several processes a worker has its own rows by pointer and others as bytes.
    #[test]
    fn received_blocks_are_copied_and_shared_ones_are_not() {
        let (mine, theirs) = (shard(20_000, 6_000..12_000), [shard(20_000, 0..6_000), shard(20_000, 12_000..20_000)]);
        let sent = theirs.iter().flat_map(|shard| blocks_of_shard(shard, true));
        let arrived = sent.map(|block| match over_the_wire(&Message::local(Payload::Block(block))).payload {
            Payload::Block(block) => block,
            _ => unreachable!("a block was sent"),
        });
        let blocks = arrived.chain(blocks_of_shard(&mine, true)).collect();
        let together = joined(assemble(blocks, 0, "here").unwrap(), &mut Pool::default());
        let starts: Vec<usize> = together.blocks.iter().map(|block| block.first_row).collect();
        assert_eq!(starts, [0, 6_000, 12_000]);
        let numbers = together.blocks.iter().flat_map(|block| block.numbers()).copied();
        assert!(numbers.enumerate().all(|(place, number)| number == place as f32));
        assert_eq!(together.blocks[1].numbers().as_ptr(), mine.buffer().as_ptr(), "not copied");
    }

    /// The part of a tree of two tiles that has one of them.
    fn part(tile: usize) -> Partial {
        let nodes = vec![Node { level: 0, number: tile, values: vec![tile as f64; 6] }];
        Partial { combine: Combine::Sum, tiles: 2, length: 6, cols: 3, nodes }
    }

    fn root(parts: Vec<Partial>) -> Result<Payload, EngineError> {
        let payloads: Vec<Payload> = parts.into_iter().map(|part| Payload::Partial(Arc::new(part))).collect();
        root_of(&payloads, 1, "all-reduce sums")
    }

    #[test]
    fn parts_of_one_tree_give_its_root() {
        let Ok(Payload::Reduced(reduced)) = root(vec![part(1), part(0)]) else { panic!("a root") };
        assert_eq!((reduced.cols, &reduced.values[..]), (3, &[1.0; 6][..]));
        let alone = root(vec![part(0)]);
        assert!(matches!(alone, Err(EngineError::BlocksMissing { .. })), "half of it");
    }

    /// Sums of vectors of different lengths would be cut to the shorter one.
    #[test]
    fn parts_of_different_trees_are_an_error_that_names_both() {
        let long = vec![Node { level: 0, number: 1, values: vec![1.0; 7] }];
        for (other, words) in [
            (Partial { length: 7, nodes: long, ..part(1) }, "2 tiles of 7 numbers in 3 columns"),
            (Partial { length: 7, nodes: Vec::new(), ..part(1) }, "2 tiles of 7 numbers in 3 columns"),
            (Partial { tiles: 3, ..part(1) }, "3 tiles of 6 numbers in 3 columns"),
            (Partial { cols: 2, ..part(1) }, "2 tiles of 6 numbers in 2 columns"),
            (Partial { combine: Combine::Peak, ..part(1) }, "2 tiles of 6 numbers in 3 columns (Peak)"),
        ] {
            let error = root(vec![part(0), other]).err().expect("they do not fit").to_string();
            assert!(error.starts_with("all-reduce sums: worker 1 got parts that do not fit"), "{error}");
            assert!(error.contains("2 tiles of 6 numbers in 3 columns (Sum)") && error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_gap_or_an_overlap_between_blocks_is_an_error() {
        for rows in [6..10, 4..10] {
            let blocks = [shard(10, 0..5), shard(10, rows)];
            let blocks = blocks.iter().flat_map(|shard| blocks_of_shard(shard, false)).collect();
            assert!(matches!(assemble(blocks, 0, "here"), Err(EngineError::BlocksMissing { .. })));
        }
    }
}
