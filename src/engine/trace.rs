//! Measures the time of workers: computing, and waiting for other workers.
//!
//! Every step, every wait for messages and every panel sent is an event of [`tracing`] at level
//! TRACE with the target [`TARGET`]. Sums are kept for the lifetime of the process.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::cluster::{Cluster, run};
use super::error::EngineError;

/// Target of the events. Fields are `worker`, `step` and `micros`, the duration. A wait also has
/// `waited_for`, the sender of the last message. A panel sent has `bytes` in place of `micros`.
pub const TARGET: &str = "isvd_dist::worker";

/// The time of one worker since the process started.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WorkerTime {
    /// Seconds of computation.
    pub computing: f64,
    /// Seconds of waiting, by the worker that sent the last message.
    pub waiting_for: Vec<f64>,
    /// Bytes of panels and sums sent to other processes.
    pub sent: f64,
}

/// The sums of the workers of this process, over the runs that have ended.
static TIMES: Mutex<Vec<WorkerTime>> = Mutex::new(Vec::new());

/// The measurements of the worker on this thread in this run.
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

/// Starts the measurements of a worker on this thread.
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

/// The job enters the dataflow. The time since it left is computation.
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

/// The computation time of the worker on this thread so far.
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

    /// Ends the wait; `last` sent the last message. Steps computed meanwhile do not count as
    /// waiting.
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

/// Adds the measurements of the worker on this thread to the sums.
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

/// The sums of every worker of every process. With several processes, all must call this.
pub fn worker_times(cluster: Cluster) -> Result<Vec<WorkerTime>, EngineError> {
    let own = TIMES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if cluster.processes() == 1 {
        return Ok(own);
    }
    run(cluster, Vec::new(), move |session| {
        let time = own.get(session.worker()).cloned().unwrap_or_default();
        session.gather_values(&time)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computation_during_a_wait_is_not_waiting() {
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
    fn a_worker_does_not_wait_for_itself() {
        begin(1, 2, 1);
        let waiting = Waiting::start();
        std::thread::sleep(Duration::from_millis(2));
        waiting.end("there", 1);
        CLOCK.with_borrow(|clock| assert_eq!(clock.waiting_for, [Duration::ZERO; 2]));
    }
}
