//! Starts every worker on a core of its own.

/// Moves the calling thread to a core that no other worker of the process was moved to. The system
/// may move it again at any time. `worker` is its number among all workers, `workers` the number of
/// workers of the process.
///
/// Two threads that start in sequence may share a core, and neither sleeps long enough to be moved:
/// on two cores they did for the first 36 ms, longer than a small graph takes. With fewer workers
/// than cores nothing is done, since the system knows which cores share caches.
pub(super) fn begin_on_own_core(worker: usize, workers: usize) {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
        if workers < 2 || workers != cores.len() {
            return;
        }
        let mut own = CpuSet::new();
        own.set(cores[worker % cores.len()]);
        if sched_setaffinity(None, &own).is_ok() {
            // The mask is widened again, or the thread would stay on this core.
            let _ = sched_setaffinity(None, &allowed);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (worker, workers);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::thread::sched_getaffinity;

    use super::*;

    /// Catches a worker that stays pinned: its threads would share its core.
    #[test]
    fn a_worker_may_still_run_anywhere() {
        let before = sched_getaffinity(None).unwrap();
        let cores = before.count() as usize;
        for workers in [1, cores, cores + 1] {
            for worker in 0..workers {
                begin_on_own_core(worker, workers);
                assert_eq!(sched_getaffinity(None).unwrap(), before, "worker {worker} of {workers}");
            }
        }
    }
}
