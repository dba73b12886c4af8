//! All-gather of the rows that sparse products of other processes read.
//!
//! A worker packs the rows that another process needs, in order, and sends them to its partner
//! there, the worker with the same position in its process. The partner unpacks them and shares
//! them with its process by pointer, so that a row crosses the network once for each process that
//! needs it. Row numbers are not sent: both sides know them. Rows that are not needed are
//! undefined.

use std::cell::RefCell;
use std::rc::Rc;

use timely::dataflow::Scope;

use super::channels::Directed;
use super::cluster::Transfer;
use super::collective::{blocks_of, blocks_of_shard, chunk_rows, gathered_panel};
use super::error::EngineError;
use super::exchange::{receive, send};
use super::message::{Block, BlockData, Message, Payload};
use super::operator::Link;
use super::row_exchange::{Partner, RowExchange};
use super::shard::{Pool, Shard};
use super::trace;
use crate::kernel::panel::stride;

/// Brings the rows of a panel that a process needs to all its workers.
pub(super) fn gather_needed<'scope>(
    scope: Scope<'scope, u64>,
    name: &str,
    shards: &Link<'scope>,
    needs: &Rc<RowExchange>,
    transfer: Transfer,
    pool: &Rc<RefCell<Pool>>,
) -> Link<'scope> {
    let (name, worker) = (format!("gather {name}"), scope.index());
    let sent = send_rows(scope, &name, shards, needs, pool);
    let partners = needs.partners.iter().map(|partner| partner.worker);
    let (own_needs, own_pool, step) = (needs.clone(), pool.clone(), name.clone());
    let arrived = receive(scope, &name, &sent, Directed, partners, move |payloads| {
        unpack(blocks_of(payloads), &own_needs, &mut own_pool.borrow_mut(), worker, &step).map(Payload::Shards)
    });
    let shared = share_in_process(scope, shards, &arrived, needs, transfer, pool);
    let (pool, step) = (pool.clone(), name.clone());
    receive(scope, &name, &shared, Directed, 0..scope.peers(), move |payloads| {
        gathered_panel(payloads, worker, &step, &mut pool.borrow_mut())
    })
}

/// Sends each partner the rows that its process needs.
fn send_rows<'scope>(
    scope: Scope<'scope, u64>,
    name: &str,
    shards: &Link<'scope>,
    needs: &Rc<RowExchange>,
    pool: &Rc<RefCell<Pool>>,
) -> Link<'scope> {
    let (sender, needs, pool, name) = (scope.index(), needs.clone(), pool.clone(), name.to_owned());
    send(scope, "send rows", [shards], move |_, payload, give| {
        trace::computing(&name, || {
            let mut bytes = 0;
            for Partner { worker: partner, sent: rows, .. } in &needs.partners {
                let mut give = |of, payload| {
                    bytes += Payload::bytes(&payload);
                    give(Message { weight: 1, to: *partner, sender, of, payload });
                };
                match &payload {
                    Payload::Shard(shard) => {
                        let chunks = chunks(shard, rows);
                        let of = chunks.len();
                        chunks.for_each(|rows| give(of, Payload::Block(pack(shard, rows, &mut pool.borrow_mut()))));
                    }
                    other => give(1, other.clone()),
                }
            }
            trace::sending(&name, bytes);
        });
    })
}

/// Some rows of a shard in chunks; at least one chunk, which may be empty.
fn chunks<'a>(shard: &Shard, rows: &'a [u32]) -> impl ExactSizeIterator<Item = &'a [u32]> {
    let at_once = chunk_rows(shard.cols());
    let count = rows.len().div_ceil(at_once).max(1);
    (0..count).map(move |number| &rows[number * at_once..rows.len().min((number + 1) * at_once)])
}

/// Some rows of a shard, one after the other.
fn pack(shard: &Shard, rows: &[u32], pool: &mut Pool) -> Block {
    let (stride, own) = (stride(shard.cols()), shard.rows());
    let place = |row: &u32| own.position(*row as usize).expect("a worker sends its own rows") * stride;
    let mut buffer = pool.take(rows.len() * stride);
    for (to, &row) in buffer.chunks_exact_mut(stride.max(1)).zip(rows) {
        to.copy_from_slice(&shard.buffer()[place(&row)..][..stride]);
    }
    let all = 0..buffer.len();
    Block {
        total_rows: shard.total_rows(),
        first_row: rows.first().map_or(0, |&row| row as usize),
        rows: rows.len(),
        cols: shard.cols(),
        data: BlockData::Shared(pool.lend(buffer), all),
    }
}

/// Unpacks the rows of partners, and checks that all have arrived.
fn unpack(
    mut blocks: Vec<Block>,
    needs: &RowExchange,
    pool: &mut Pool,
    worker: usize,
    step: &str,
) -> Result<Vec<Shard>, EngineError> {
    // An empty block states the columns, too: a process that needs no rows of its partners has
    // shards of the same width as all others.
    let cols = blocks.first().map_or(0, |block| block.cols);
    blocks.retain(|block| block.rows > 0);
    blocks.sort_by_key(|block| block.first_row);
    let stride = stride(cols);
    let mut received = 0;
    let shards = needs.partners.iter().map(|Partner { owned, received: wanted, .. }| {
        let mut buffer = pool.take(owned.len() * stride);
        if cfg!(any(test, debug_assertions)) {
            // Rows that are not needed are NaN in tests, so that a read of one is noticed.
            buffer.fill(f32::NAN);
        }
        // A block has the next rows that its sender was asked for.
        let mut rest = &wanted[..];
        for block in &blocks {
            let is_next = rest.first().is_some_and(|&row| row as usize == block.first_row);
            if !is_next || block.rows > rest.len() || (block.total_rows, block.cols) != (needs.total_rows, cols) {
                continue;
            }
            let (rows, others) = rest.split_at(block.rows);
            for (&row, from) in rows.iter().zip(block.numbers().chunks_exact(stride.max(1))) {
                let to = owned.position(row as usize).expect("a partner is asked for its own rows") * stride;
                buffer[to..to + stride].copy_from_slice(from);
            }
            received += block.rows;
            rest = others;
        }
        Shard::new(needs.total_rows, owned.clone(), cols, pool.lend(buffer))
    });
    let shards = shards.collect();
    let expected = needs.partners.iter().map(|partner| partner.received.len()).sum();
    let (all, step) = (blocks.iter().map(|block| block.rows).sum::<usize>(), step.into());
    match received == expected && all == expected {
        true => Ok(shards),
        false => Err(EngineError::BlocksMissing { step, worker, received, expected }),
    }
}

/// Shares this worker's rows, and the rows that its partners sent, with its process.
fn share_in_process<'scope>(
    scope: Scope<'scope, u64>,
    shards: &Link<'scope>,
    arrived: &Link<'scope>,
    needs: &Rc<RowExchange>,
    transfer: Transfer,
    pool: &Rc<RefCell<Pool>>,
) -> Link<'scope> {
    let (worker, needs, pool) = (scope.index(), needs.clone(), pool.clone());
    let workers_of_process = transfer.workers_of_process(worker);
    send(scope, "share in process", [shards, arrived], move |port, payload, give| {
        let mut give = |sender: usize, payload: Payload| {
            let payloads = match payload {
                Payload::Shard(shard) => {
                    if transfer.is_shared() {
                        pool.borrow_mut().read_elsewhere(shard.buffer());
                    }
                    blocks_of_shard(&shard, !transfer.by_pointer).into_iter().map(Payload::Block).collect()
                }
                other => vec![other],
            };
            let of = payloads.len();
            for to in workers_of_process.clone() {
                payloads.iter().for_each(|payload| {
                    give(Message { weight: 1, to, sender, of, payload: payload.clone() });
                });
            }
        };
        let mut partners = needs.partners.iter().map(|partner| partner.worker);
        match payload {
            Payload::Shards(shards) => {
                partners.zip(shards).for_each(|(partner, shard)| give(partner, Payload::Shard(shard)));
            }
            own if port == 0 => give(worker, own),
            failure => partners.by_ref().for_each(|partner| give(partner, failure.clone())),
        }
    })
}

#[cfg(all(test, feature = "fuzzing"))]
mod tests;
