//! Any rows of a panel, fetched from the workers that own them.
//!
//! Every worker asks each owner for the rows that it wants of it, and gets them as blocks, in the
//! order in which it asked. [`Session::fetch_rows`] puts them into the order that was wanted.

use std::rc::Rc;
use std::sync::Arc;

use timely::dataflow::Scope;
use timely::worker::Worker;

use super::Session;
use super::channels::Directed;
use super::collective::{assemble, blocks_of, chunk_rows};
use super::error::EngineError;
use super::exchange::{receive, send};
use super::flow::{Flow, flow};
use super::message::{Block, BlockData, GatheredPanel, Message, Payload};
use super::operator::{Link, local};
use super::shard::{Pool, Shard};
use super::step::Context;
use super::trace;
use crate::kernel::panel::stride;
use crate::plan::Layout;

/// Rows that one worker asks another for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The worker that asks.
    asker: usize,
    /// The rows that it asks all owners for.
    total: usize,
    /// How many of them it asks the owners before this one for.
    first: usize,
    rows: Vec<u32>,
}

/// The numbers of a request before its rows.
const HEADER: usize = 2;

impl Request {
    fn to_bytes(&self) -> Arc<[u8]> {
        let header = [self.total, self.first].map(|number| number as u64);
        [bytemuck::cast_slice(&header), bytemuck::cast_slice::<u32, u8>(&self.rows)].concat().into()
    }

    fn from_bytes(asker: usize, bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let (header, rows) = bytes.split_at_checked(HEADER * 8)?;
        let number = |place: usize| usize::try_from(u64::from_le_bytes(words[place])).ok();
        let rows = rows.as_chunks::<4>();
        let is_whole = header.len() == HEADER * 8 && rest.len() % 4 == 0 && rows.1.is_empty();
        is_whole.then_some(())?;
        let rows = rows.0.iter().map(|&row| u32::from_le_bytes(row)).collect();
        Some(Self { asker, total: number(0)?, first: number(1)?, rows })
    }
}

/// Which worker asks for which rows of whom, and where each wanted row is in the answer.
struct Asked {
    /// One for each worker.
    requests: Vec<Request>,
    /// For each wanted row its place in the answers of all owners, one after the other.
    places: Vec<usize>,
}

impl Asked {
    fn new(wanted: &[u32], layout: &Layout, asker: usize) -> Self {
        let mut owners = vec![0; layout.tiling().count()];
        for worker in 0..layout.workers() {
            layout.tiles(worker).iter().for_each(|tile| owners[tile] = worker);
        }
        let owner = |row: u32| owners[layout.tiling().tile_of(row as usize)];
        let mut counts = vec![0; layout.workers() + 1];
        wanted.iter().for_each(|&row| counts[owner(row) + 1] += 1);
        for worker in 0..layout.workers() {
            counts[worker + 1] += counts[worker];
        }
        let request = |worker: usize| {
            let (total, first) = (wanted.len(), counts[worker]);
            Request { asker, total, first, rows: Vec::with_capacity(counts[worker + 1] - first) }
        };
        let mut requests: Vec<Request> = (0..layout.workers()).map(request).collect();
        let places = wanted.iter().map(|&row| {
            let Request { first, rows, .. } = &mut requests[owner(row)];
            rows.push(row);
            *first + rows.len() - 1
        });
        let places = places.collect();
        Self { requests, places }
    }
}

impl Session<'_> {
    /// Rows of a panel, whoever owns them, in the order of `wanted`, which may name a row several
    /// times and differ from worker to worker. All workers must call this.
    ///
    /// ```
    /// use isvd_dist::engine::{Cluster, EngineError, run};
    ///
    /// let fetched = run(Cluster::threads(2), vec![], |session| {
    ///     let panel = session.random_normal(1000, 2, 1, 1)?;
    ///     session.fetch_rows(&panel, &[900, 3, 900])
    /// });
    /// let fetched: Result<Vec<f32>, EngineError> = fetched;
    /// let rows: Vec<&[f32]> = fetched.as_ref().expect("all rows are there").chunks(2).collect();
    /// assert!(rows[0] == rows[2] && rows[0] != rows[1]);
    /// ```
    ///
    /// # Panics
    /// If the panel has no such row.
    pub fn fetch_rows(&mut self, panel: &Shard, wanted: &[u32]) -> Result<Vec<f32>, EngineError> {
        assert!(wanted.iter().all(|&row| (row as usize) < panel.total_rows()), "the panel has these rows");
        let cols = panel.cols();
        if cols == 0 {
            return Ok(Vec::new());
        }
        let layout = self.context().layouts.get(panel.total_rows());
        let Asked { requests, places } = Asked::new(wanted, &layout, self.worker());
        let input = Payload::Fetch(panel.clone(), Arc::new(requests));
        let Payload::Gathered(answers) = self.fetch_epoch(input)? else {
            return Err(self.missing_answer("fetched rows"));
        };
        let mut rows = vec![0.0; wanted.len() * cols];
        let mut by_place = vec![0; places.len()];
        places.iter().enumerate().for_each(|(position, &place)| by_place[place] = position);
        for (row, &position) in answers.rows_in_order().zip(&by_place) {
            rows[position * cols..(position + 1) * cols].copy_from_slice(row);
        }
        Ok(rows)
    }
}

/// Builds the dataflow that answers requests.
pub(super) fn fetch_flow(worker: &mut Worker, context: &Rc<Context>) -> Flow {
    flow(worker, "fetch", |scope, input| fetch(scope, &input, context))
}

fn fetch<'scope>(scope: Scope<'scope, u64>, input: &Link<'scope>, context: &Rc<Context>) -> Link<'scope> {
    let (worker, workers) = (scope.index(), scope.peers());
    let asked = send(scope, "ask", [input], move |_, payload, give| {
        let mut give = |to, payload| give(Message { weight: 1, to, sender: worker, of: 1, payload });
        match payload {
            Payload::Fetch(_, requests) => {
                let requests = requests.iter().map(|request| Payload::Bytes(worker, request.to_bytes()));
                requests.enumerate().for_each(|(owner, request)| give(owner, request));
            }
            failure => (0..workers).for_each(|owner| give(owner, failure.clone())),
        }
    });
    let requests = receive(scope, "requests", &asked, Directed, 0..workers, |payloads| {
        let request = |payload: &Payload| match payload {
            Payload::Bytes(asker, bytes) => Request::from_bytes(*asker, bytes),
            _ => None,
        };
        let requests: Option<Vec<Request>> = payloads.iter().map(request).collect();
        let damaged = || EngineError::DamagedBlock { reason: "it is no request for rows".into() };
        Ok(Payload::Requests(requests.ok_or_else(damaged)?.into()))
    });
    let to_answer =
        local(scope, "rows to send", &[input.clone(), requests], move |payloads| match (&payloads[0], &payloads[1]) {
            (Payload::Fetch(shard, _), Payload::Requests(requests)) => {
                let is_owned = |row: &u32| shard.rows().position(*row as usize).is_some();
                if requests.iter().all(|request| request.rows.iter().all(is_owned)) {
                    return Ok(Payload::Fetch(shard.clone(), requests.clone()));
                }
                Err(EngineError::DamagedBlock { reason: "a request names rows of another worker".into() })
            }
            _ => unreachable!("a panel and the requests for its rows"),
        });
    let (pool, of_process) = (context.pool.clone(), context.transfer.workers_of_process(worker));
    let answers = send(scope, "answer", [&to_answer], move |_, payload, give| match payload {
        Payload::Fetch(shard, requests) => {
            for Request { asker, total, first, rows } in requests.iter() {
                let at_once = chunk_rows(shard.cols());
                let of = rows.len().div_ceil(at_once).max(1);
                for number in 0..of {
                    let start = (number * at_once).min(rows.len());
                    let some = &rows[start..rows.len().min(start + at_once)];
                    if !of_process.contains(asker) {
                        trace::sending("fetched rows", some.len() * stride(shard.cols()) * size_of::<f32>());
                    }
                    let block = packed(&shard, some, (*total, first + start), &mut pool.borrow_mut());
                    give(Message { weight: 1, to: *asker, sender: worker, of, payload: Payload::Block(block) });
                }
            }
        }
        failure => (0..workers).for_each(|to| {
            give(Message { weight: 1, to, sender: worker, of: 1, payload: failure.clone() });
        }),
    });
    receive(scope, "fetched rows", &answers, Directed, 0..workers, move |payloads| {
        let GatheredPanel { total_rows, cols, blocks } = assemble(blocks_of(payloads), worker, "fetched rows")?;
        Ok(Payload::Gathered(Arc::new(GatheredPanel { total_rows, cols, blocks })))
    })
}

/// Rows of a shard as a block of an answer of `total` rows, from row `first` on.
fn packed(shard: &Shard, rows: &[u32], (total, first): (usize, usize), pool: &mut Pool) -> Block {
    let stride = stride(shard.cols());
    let mut buffer = pool.take(rows.len() * stride);
    for (to, &row) in buffer.chunks_exact_mut(stride.max(1)).zip(rows) {
        let place = shard.rows().position(row as usize).expect("the row was found before") * stride;
        to.copy_from_slice(&shard.buffer()[place..place + stride]);
    }
    let all = 0..buffer.len();
    let data = BlockData::Shared(pool.lend(buffer), all);
    Block { total_rows: total, first_row: first, rows: rows.len(), cols: shard.cols(), data }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Cluster, Transport, run};
    use crate::kernel::random::{bits, stream};

    /// Fetches rows by lists that differ from worker to worker, and compares them with the panel
    /// that every worker can draw for itself.
    pub(super) fn check(session: &mut Session<'_>) -> Result<(), EngineError> {
        for (rows, cols, count) in [(5000, 7, 3000), (40_000, 16, 20_000), (3, 2, 5), (900, 5, 0)] {
            let panel = session.random_normal(rows, cols, 4, stream::SYNTHETIC)?;
            let count = count / (session.worker() + 1);
            let draw = |place: usize| (bits(9, stream::SYNTHETIC, place as u64, 0) % rows as u64) as u32;
            let wanted: Vec<u32> = (0..count).map(|place| draw(place + 100 * session.worker())).collect();
            let fetched = session.fetch_rows(&panel, &wanted)?;
            assert_eq!(fetched.len(), count * cols);
            for (row, wanted) in fetched.chunks_exact(cols).zip(wanted) {
                let normal = |col| crate::kernel::random::normal(4, stream::SYNTHETIC, u64::from(wanted), col);
                assert!((0..cols as u32).map(normal).eq(row.iter().copied()));
            }
        }
        Ok(())
    }

    #[test]
    fn every_worker_gets_the_rows_that_it_wants() {
        for (workers, transport) in
            [1, 2, 3].into_iter().flat_map(|n| [(n, Transport::Pointers), (n, Transport::Bytes)])
        {
            let done: Result<(), EngineError> =
                run(Cluster { transport, ..Cluster::threads(workers) }, Vec::new(), check);
            done.unwrap();
        }
    }

    #[test]
    fn requests_round_trip_and_damaged_ones_are_refused() {
        let request = Request { asker: 2, total: 9, first: 4, rows: vec![7, 7, 1 << 31] };
        let bytes = request.to_bytes();
        assert_eq!(Request::from_bytes(2, &bytes), Some(request));
        assert!(
            (0..bytes.len()).all(|end| end % 4 == 0 && end >= 16 || Request::from_bytes(2, &bytes[..end]).is_none())
        );
    }
}

#[cfg(all(test, feature = "cluster"))]
mod across_processes {
    use std::thread;

    use crate::engine::local_mesh::meshes;
    use crate::engine::{Cluster, EngineError, run};

    #[test]
    fn rows_come_from_other_processes() {
        for (processes, workers) in [(2, 1), (2, 2), (3, 1)] {
            let meshes = meshes(processes);
            let running: Vec<_> = meshes
                .iter()
                .map(|mesh| {
                    let cluster = Cluster { mesh: Some(mesh), ..Cluster::threads(workers) };
                    thread::spawn(move || run(cluster, Vec::new(), super::tests::check))
                })
                .collect();
            running
                .into_iter()
                .for_each(|one| one.join().unwrap().unwrap_or_else(|error: EngineError| panic!("{error}")));
            meshes.into_iter().for_each(|mesh| mesh.leave());
        }
    }
}
