//! A core for every worker, to begin with.

/// Moves the calling thread, a worker with this number among all, of which so many are of this process, to a core that no other
/// worker of the process was moved to. The thread may be moved on from there at any time.
///
/// Two threads that are started one after the other may both begin on one core, and neither sleeps long enough to be woken up on
/// another: on two cores that was so for the first 36 ms, which is longer than a small graph takes. Nothing is done where
/// there are not as many workers as cores (with fewer, the system knows better which cores share what), or where the
/// system has no way to do it.
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
            // Without this it would stay, whatever else runs there. Whoever may use these cores may use them again.
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

    /// Catches a worker that is pinned: other programs would wait for it, and threads that it starts would share its core.
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
