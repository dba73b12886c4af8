//! Accounts for a worker's time: computing, or waiting for another worker.
//!
//! Every step, every wait for blocks and every panel sent is an event of [`tracing`] at level TRACE
//! with the target [`TARGET`]. Sums are kept as long as the process lives.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::cluster::{Cluster, run};
use super::error::EngineError;

/// Target of the events. Their fields: `worker`, `step` and `micros` of duration; a wait also has
/// `waited_for`, the sender of the last block; what is sent has `bytes` in place of a duration.
pub const TARGET: &str = "isvd_dist::worker";

/// What one worker did since the process started.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorkerTime {
    /// Seconds it computed.
    pub computing: f64,
    /// Seconds it waited, by the worker that it waited for.
    pub waiting_for: Vec<f64>,
    /// Bytes of panels and sums that it sent to other processes.
    pub sent: f64,
}

/// By worker of this process, over the runs that have ended.
static TIMES: Mutex<Vec<WorkerTime>> = Mutex::new(Vec::new());

/// The accounts of the worker on this thread in this run.
#[derive(Debug, Default)]
struct Clock {
    worker: usize,
    other_processes: usize,
    /// When the job last left the dataflow.
    left: Option<Instant>,
    computing: Duration,
    waiting_for: Vec<Duration>,
    /// The end of the last wait: overlapping waits count once.
    waited: Option<Waiting>,
    sent: u64,
}

thread_local! {
    static CLOCK: RefCell<Clock> = RefCell::default();
}

/// Starts the accounts of a worker on this thread.
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

/// The job enters the dataflow; the time since it left was computing.
pub(super) fn enter(what: &str) {
    CLOCK.with_borrow_mut(|clock| {
        if let Some(left) = clock.left.take() {
            clock.computed(what, left.elapsed());
        }
    });
}

/// The job leaves the dataflow.
pub(super) fn leave() {
    CLOCK.with_borrow_mut(|clock| clock.left = Some(Instant::now()));
}

/// Computes and times a step.
pub(super) fn computing<T>(step: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let made = work();
    let took = start.elapsed();
    CLOCK.with_borrow_mut(|clock| clock.computed(step, took));
    made
}

/// Computes and reports a part of a step, whose time is counted with the step.
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

/// Counts bytes sent to every other process.
pub(super) fn sending_to_all(step: &str, bytes: usize) {
    sending(step, bytes * CLOCK.with_borrow(|clock| clock.other_processes));
}

/// Counts bytes sent to other processes, in total.
pub(super) fn sending(step: &str, bytes: usize) {
    let bytes = bytes as u64;
    if bytes > 0 {
        CLOCK.with_borrow_mut(|clock| {
            clock.sent += bytes;
            tracing::trace!(target: TARGET, worker = clock.worker, step, bytes);
        });
    }
}

/// The start of a wait for other workers.
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

    /// Ends the wait; `last` sent the last block. Steps computed meanwhile are not waiting.
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

/// Adds the accounts of the worker on this thread to the sums.
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

/// The accounts of every worker of every process. With several processes, all must call this.
pub fn worker_times(cluster: Cluster) -> Result<Vec<WorkerTime>, EngineError> {
    let own = TIMES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if cluster.processes() == 1 {
        return Ok(own);
    }
    let workers = cluster.all_workers();
    let row = 2 + workers;
    // Piece i is computed by worker i, whose process has its accounts.
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
