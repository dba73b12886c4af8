//! Where the time of a worker goes: computing, or waiting for somebody.
//!
//! Every step that a worker computes, every wait for blocks of others, and every panel that it sends are told to
//! [`tracing`] as they end, at level TRACE with the target [`TARGET`]. Sums are kept besides, for as long as the process
//! lives.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::cluster::{Cluster, run};
use super::error::EngineError;

/// The target of the events of workers. Their fields: `worker`, `step`, `micros` it took until now; a wait also has
/// `waited_for`, the worker whose blocks came last; what is sent has `bytes` in place of a time.
pub const TARGET: &str = "isvd_dist::worker";

/// What one worker did since the process started.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorkerTime {
    /// Seconds it computed.
    pub computing: f64,
    /// Seconds it waited with nothing to compute, by the worker that it waited for.
    pub waiting_for: Vec<f64>,
    /// Bytes of panels and sums that it sent to other processes.
    pub sent: f64,
}

/// By worker, as far as runs have ended; of those of other processes nothing is known here.
static TIMES: Mutex<Vec<WorkerTime>> = Mutex::new(Vec::new());

/// What the worker on this thread did in this run.
#[derive(Debug, Default)]
struct Clock {
    worker: usize,
    other_processes: usize,
    /// When the job last left the dataflow.
    left: Option<Instant>,
    computing: Duration,
    waiting_for: Vec<Duration>,
    /// The end of the last wait: steps that are waited for at the same time take no longer than one.
    waited: Option<Waiting>,
    sent: u64,
}

thread_local! {
    static CLOCK: RefCell<Clock> = RefCell::default();
}

/// The thread becomes a worker's.
pub(super) fn begin(worker: usize, workers: usize, processes: usize) {
    let waiting_for = vec![Duration::ZERO; workers];
    let other_processes = processes.saturating_sub(1);
    CLOCK.set(Clock { worker, other_processes, left: Some(Instant::now()), waiting_for, ..Clock::default() });
}

impl Clock {
    fn computed(&mut self, step: &str, took: Duration) {
        self.computing += took;
        tracing::trace!(target: TARGET, worker = self.worker, step, micros = micros(took));
    }
}

/// The job enters the dataflow for something; what it did since it left was computing.
pub(super) fn enter(what: &str) {
    CLOCK.with_borrow_mut(|clock| {
        if let Some(left) = clock.left.take() {
            clock.computed(what, left.elapsed());
        }
    });
}

/// The job has what it wanted of the dataflow.
pub(super) fn leave() {
    CLOCK.with_borrow_mut(|clock| clock.left = Some(Instant::now()));
}

/// Computes a step of the dataflow, and notes how long that took.
pub(super) fn computing<T>(step: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let made = work();
    let took = start.elapsed();
    CLOCK.with_borrow_mut(|clock| clock.computed(step, took));
    made
}

/// Computes a part of a step, and tells how long that took: the step as a whole counts it.
pub(super) fn part<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let made = work();
    CLOCK.with_borrow(|clock| {
        tracing::trace!(target: TARGET, worker = clock.worker, step = name, micros = micros(start.elapsed()));
    });
    made
}

/// How long the worker on this thread computed so far.
pub(super) fn computed() -> Duration {
    CLOCK.with_borrow(|clock| clock.computing)
}

/// Notes that so many bytes go to every other process.
pub(super) fn sending_to_all(step: &str, bytes: usize) {
    sending(step, bytes * CLOCK.with_borrow(|clock| clock.other_processes));
}

/// Notes that so many bytes go to other processes, all together.
pub(super) fn sending(step: &str, bytes: usize) {
    let bytes = bytes as u64;
    if bytes > 0 {
        CLOCK.with_borrow_mut(|clock| {
            clock.sent += bytes;
            tracing::trace!(target: TARGET, worker = clock.worker, step, bytes);
        });
    }
}

/// The moment from which a worker has nothing left to do for a step but to wait for the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    since: Instant,
    computing: Duration,
}

impl Waiting {
    /// From now on.
    pub(super) fn start() -> Self {
        Self { since: Instant::now(), computing: CLOCK.with_borrow(|clock| clock.computing) }
    }

    /// Everything is there, and what came from `last` came last. Other steps that were computed meanwhile are no waiting.
    pub(super) fn end(self, step: &str, last: usize) {
        let now = Self::start();
        CLOCK.with_borrow_mut(|clock| {
            if last == clock.worker {
                return;
            }
            let start = clock.waited.replace(now).filter(|before| before.since > self.since).unwrap_or(self);
            let took = now.since.duration_since(start.since).saturating_sub(now.computing - start.computing);
            if let Some(waited) = clock.waiting_for.get_mut(last) {
                *waited += took;
            }
            tracing::trace!(target: TARGET, worker = clock.worker, step, micros = micros(took), waited_for = last);
        });
    }
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}

/// The worker on this thread is done with its run.
pub(super) fn end() {
    let Clock { worker, computing, waiting_for, sent, .. } = CLOCK.take();
    let mut times = TIMES.lock().unwrap_or_else(PoisonError::into_inner);
    let most = times.len().max(waiting_for.len());
    times.resize_with(most, WorkerTime::default);
    let time = &mut times[worker];
    time.computing += computing.as_secs_f64();
    time.sent += sent as f64;
    time.waiting_for.resize(most, 0.0);
    time.waiting_for.iter_mut().zip(waiting_for).for_each(|(sum, waited)| *sum += waited.as_secs_f64());
}

/// What every worker of every process did in all runs so far. With several processes, all must ask.
pub fn worker_times(cluster: Cluster) -> Result<Vec<WorkerTime>, EngineError> {
    let own = TIMES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if cluster.processes() == 1 {
        return Ok(own);
    }
    let workers = cluster.all_workers();
    let row = 2 + workers;
    // With as many pieces as workers, each has the one of its own number, and its process knows what it did.
    let all: Vec<f64> = run(cluster, Vec::new(), move |session| {
        session.sum_over(workers, workers * row, |worker, sums| {
            let time = &own[worker];
            let numbers = [time.computing, time.sent].into_iter().chain(time.waiting_for.iter().copied());
            sums[worker * row..(worker + 1) * row].iter_mut().zip(numbers).for_each(|(sum, number)| *sum = number);
        })
    })?;
    let of_row = |row: &[f64]| WorkerTime { computing: row[0], sent: row[1], waiting_for: row[2..].to_vec() };
    Ok(all.chunks_exact(row).map(of_row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_what_is_left_beside_computing() {
        begin(0, 2, 1);
        let waiting = Waiting::start();
        computing("here", || std::thread::sleep(Duration::from_millis(20)));
        std::thread::sleep(Duration::from_millis(10));
        waiting.end("there", 1);
        CLOCK.with_borrow(|clock| {
            assert!(clock.computing >= Duration::from_millis(20));
            assert!(clock.waiting_for[1] >= Duration::from_millis(10), "{:?}", clock.waiting_for);
            assert_eq!(clock.waiting_for[0], Duration::ZERO);
        });
    }

    #[test]
    fn nobody_waits_for_himself() {
        begin(1, 2, 1);
        let waiting = Waiting::start();
        std::thread::sleep(Duration::from_millis(2));
        waiting.end("there", 1);
        CLOCK.with_borrow(|clock| assert_eq!(clock.waiting_for, [Duration::ZERO; 2]));
    }
}
