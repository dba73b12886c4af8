//! Operators that bring everybody's part to everybody: all-gather, all-reduce, agreement.
//!
//! Each is two operators. `share` cuts a payload into parcels and sends each to every worker; `collect` counts what
//! arrives against what each sender said it sends, and makes one payload of it. Blocks go out whole where a pointer is
//! all that travels, and in chunks where bytes do: timely's buffers double with the largest message and never shrink.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;

use timely::dataflow::Scope;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;

use super::broadcast::Broadcast;
use super::cluster::Transport;
use super::error::EngineError;
use super::operator::{Link, Whole as WholeParcels, outcome};
use super::parcel::{Block, BlockData, Parcel, Payload, Reduced, Whole};
use super::shard::{Pool, Shard};
use super::tree::Tree;
use crate::kernel::panel::stride;

/// About how many bytes of a block travel at once.
const CHUNK_BYTES: usize = 256 << 10;

/// Brings all the rows of a panel to every worker.
pub(super) fn all_gather<'scope>(
    scope: Scope<'scope, u64>,
    name: &str,
    shards: &Link<'scope>,
    transport: Transport,
    pool: &Rc<RefCell<Pool>>,
) -> Link<'scope> {
    let name = format!("all-gather {name}");
    let is_shared = scope.peers() > 1 && transport == Transport::Pointers;
    let lender = pool.clone();
    let shared = share(scope, shards, move |payload| match payload {
        Payload::Shard(shard) => {
            if is_shared {
                lender.borrow_mut().read_elsewhere(shard.buffer());
            }
            cut(&shard, transport).into_iter().map(Payload::Block).collect()
        }
        other => vec![other],
    });
    let (pool, worker, step) = (pool.clone(), scope.index(), name.clone());
    collect(scope, &name, &shared, move |payloads| {
        let blocks = payloads.iter().filter_map(|payload| match payload {
            Payload::Block(block) => Some(block.clone()),
            _ => None,
        });
        let whole = assemble(blocks.collect(), worker, &step)?;
        Ok(Payload::Whole(Arc::new(match transport {
            Transport::Pointers => whole,
            Transport::Bytes => contiguous(&whole, &mut pool.borrow_mut()),
        })))
    })
}

/// Combines everybody's part of a tile tree: every worker gets the root.
pub(super) fn all_reduce<'scope>(scope: Scope<'scope, u64>, name: &str, partials: &Link<'scope>) -> Link<'scope> {
    let name = format!("all-reduce {name}");
    let shared = share(scope, partials, |payload| vec![payload]);
    let (worker, step) = (scope.index(), name.clone());
    collect(scope, &name, &shared, move |payloads| {
        let mut parts = payloads.iter().filter_map(|payload| match payload {
            Payload::Partial(partial) => Some(partial),
            _ => None,
        });
        let missing = |received| {
            let expected = payloads.len();
            EngineError::BlocksMissing { step: step.clone(), worker, received, expected }
        };
        let first = parts.next().ok_or_else(|| missing(0))?;
        let mut tree = Tree::new(first.tiles, first.combine);
        for partial in std::iter::once(first).chain(parts) {
            partial.nodes.iter().for_each(|node| tree.insert_shared(node));
        }
        let values = match first.tiles {
            0 => vec![0.0; first.length],
            _ => tree.into_root().ok_or_else(|| missing(payloads.len()))?,
        };
        Ok(Payload::Reduced(Arc::new(Reduced { cols: first.cols, values })))
    })
}

/// Tells every worker whether all of them have their result, or the error of one that has not.
pub(super) fn agree<'scope>(scope: Scope<'scope, u64>, results: &Link<'scope>) -> Link<'scope> {
    let shared = share(scope, results, |payload| match payload {
        Payload::Failure(error) => vec![Payload::Failure(error)],
        _ => vec![Payload::Nothing],
    });
    collect(scope, "agree", &shared, |_| Ok(Payload::Nothing))
}

/// Sends what `cut` makes of each payload to every worker.
fn share<'scope>(
    scope: Scope<'scope, u64>,
    input: &Link<'scope>,
    cut: impl Fn(Payload) -> Vec<Payload> + 'static,
) -> Link<'scope> {
    let (sender, workers) = (scope.index(), scope.peers());
    let mut builder = OperatorBuilder::new("share".into(), scope);
    let mut handle = builder.new_input(input.clone(), Pipeline);
    let (output, stream) = builder.new_output::<Parcel>();
    let mut output = OutputBuilder::<u64, WholeParcels>::from(output);
    builder.build(move |_| {
        move |_| {
            let mut output = output.activate();
            handle.for_each(|capability, parcel| {
                let payloads = cut(mem::take(parcel).payload);
                let of = payloads.len();
                let mut session = output.session_with_builder(&capability);
                for payload in payloads {
                    session.give_container(&mut Parcel { weight: workers as i64, sender, of, payload });
                }
            });
        }
    });
    stream
}

/// Waits for every worker's parcels and makes one payload of them.
fn collect<'scope>(
    scope: Scope<'scope, u64>,
    name: &str,
    shared: &Link<'scope>,
    mut finish: impl FnMut(&[Payload]) -> Result<Payload, EngineError> + 'static,
) -> Link<'scope> {
    let (worker, workers, name) = (scope.index(), scope.peers(), name.to_owned());
    let mut builder = OperatorBuilder::new(name.clone(), scope);
    let mut handle = builder.new_input(shared.clone(), Broadcast);
    let (output, stream) = builder.new_output::<Parcel>();
    let mut output = OutputBuilder::<u64, WholeParcels>::from(output);
    builder.build(move |_| {
        let mut epochs: BTreeMap<u64, (Capability<u64>, Arrivals)> = BTreeMap::new();
        move |frontiers| {
            handle.for_each(|capability, parcel| {
                let (_, arrivals) =
                    epochs.entry(*capability.time()).or_insert_with(|| (capability.retain(0), Arrivals::new(workers)));
                arrivals.add(mem::take(parcel));
            });
            let mut output = output.activate();
            while let Some(first) = epochs.first_entry() {
                let is_over = !frontiers[0].less_equal(first.key());
                let is_complete = first.get().1.is_complete();
                if !is_over && !is_complete {
                    break;
                }
                let (capability, arrivals) = first.remove();
                let payload = outcome(worker, &name, &arrivals.payloads, &mut |payloads| {
                    if is_complete { finish(payloads) } else { Err(arrivals.missing(&name, worker)) }
                });
                output.session_with_builder(&capability).give_container(&mut Parcel::local(payload));
            }
        }
    });
    stream
}

/// What has arrived, counted against what was announced.
struct Arrivals {
    /// By sender: how many parcels it sends, once known, and how many came.
    counts: Vec<(Option<usize>, usize)>,
    payloads: Vec<Payload>,
}

impl Arrivals {
    fn new(workers: usize) -> Self {
        Self { counts: vec![(None, 0); workers], payloads: Vec::new() }
    }

    fn add(&mut self, parcel: Parcel) {
        if let Some((expected, received)) = self.counts.get_mut(parcel.sender) {
            *expected = Some(parcel.of);
            *received += 1;
        }
        self.payloads.push(parcel.payload);
    }

    fn is_complete(&self) -> bool {
        self.counts.iter().all(|&(expected, received)| expected == Some(received))
    }

    fn missing(&self, name: &str, worker: usize) -> EngineError {
        EngineError::BlocksMissing {
            step: name.into(),
            worker,
            received: self.counts.iter().map(|count| count.1).sum(),
            // A sender from which nothing came had at least one to send.
            expected: self.counts.iter().map(|count| count.0.unwrap_or(1)).sum(),
        }
    }
}

/// Cuts a shard into blocks; an empty one is still one block.
fn cut(shard: &Shard, transport: Transport) -> Vec<Block> {
    let rows = shard.rows();
    let rows_at_once = match transport {
        Transport::Pointers => rows.len().max(1),
        Transport::Bytes => (CHUNK_BYTES / (stride(shard.cols()).max(1) * size_of::<f32>())).max(1),
    };
    let count = rows.len().div_ceil(rows_at_once).max(1);
    let block = |number: usize| {
        let start = rows.start + number * rows_at_once;
        Block::of_shard(shard, start..(start + rows_at_once).min(rows.end))
    };
    (0..count).map(block).collect()
}

/// Puts blocks in order, and checks that they are all the rows of one panel.
fn assemble(mut blocks: Vec<Block>, worker: usize, step: &str) -> Result<Whole, EngineError> {
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
    Ok(Whole { total_rows, cols, blocks })
}

/// Copies many small blocks together: the kernels want long ones.
fn contiguous(whole: &Whole, pool: &mut Pool) -> Whole {
    let length = whole.total_rows * stride(whole.cols);
    let mut buffer = pool.take(length);
    let mut filled = 0;
    for block in &whole.blocks {
        let block = block.numbers();
        buffer[filled..filled + block.len()].copy_from_slice(block);
        filled += block.len();
    }
    let data = BlockData::Shared(pool.lend(buffer), 0..length);
    let (total_rows, cols) = (whole.total_rows, whole.cols);
    Whole { total_rows, cols, blocks: vec![Block { total_rows, first_row: 0, rows: total_rows, cols, data }] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(total: usize, rows: std::ops::Range<usize>) -> Shard {
        let mut buffer = Pool::default().take(rows.len() * stride(3));
        buffer.iter_mut().enumerate().for_each(|(place, number)| *number = (rows.start * stride(3) + place) as f32);
        Shard::new(total, rows, 3, Arc::new(buffer))
    }

    fn parcel(sender: usize, of: usize) -> Parcel {
        Parcel { weight: 1, sender, of, payload: Payload::Nothing }
    }

    #[test]
    fn blocks_are_counted_against_what_was_announced() {
        let mut arrivals = Arrivals::new(2);
        arrivals.add(parcel(0, 1));
        assert!(!arrivals.is_complete(), "nothing from the second worker");
        arrivals.add(parcel(1, 2));
        assert!(!arrivals.is_complete(), "one of two");
        let missing = arrivals.missing("here", 0);
        assert_eq!(missing, EngineError::BlocksMissing { step: "here".into(), worker: 0, received: 2, expected: 3 });
        arrivals.add(parcel(1, 2));
        assert!(arrivals.is_complete());
        arrivals.add(parcel(1, 2));
        assert!(!arrivals.is_complete(), "one too many");
    }

    #[test]
    fn chunks_of_a_panel_come_together_again() {
        for transport in [Transport::Pointers, Transport::Bytes] {
            let shards = [shard(20_000, 12_000..20_000), shard(20_000, 12_000..12_000), shard(20_000, 0..12_000)];
            let blocks: Vec<Block> = shards.iter().flat_map(|shard| cut(shard, transport)).collect();
            assert_eq!(blocks.len() > 3, transport == Transport::Bytes);
            let whole = assemble(blocks, 0, "here").unwrap();
            let together = contiguous(&whole, &mut Pool::default());
            let numbers = together.blocks[0].numbers();
            assert_eq!(numbers.len(), 20_000 * stride(3));
            assert!(numbers.iter().enumerate().all(|(place, &number)| number == place as f32));
        }
    }

    #[test]
    fn a_gap_or_an_overlap_between_blocks_is_an_error() {
        for rows in [6..10, 4..10] {
            let blocks = [shard(10, 0..5), shard(10, rows)];
            let blocks = blocks.iter().flat_map(|shard| cut(shard, Transport::Pointers)).collect();
            assert!(matches!(assemble(blocks, 0, "here"), Err(EngineError::BlocksMissing { .. })));
        }
    }
}
