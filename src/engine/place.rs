//! A core for every worker, to begin with.

/// Moves the calling thread, a worker with this number among so many of the process, to a core that no other worker of it was moved
/// to. The thread may be moved on from there at any time.
///
/// Two threads that are started one after the other may both begin on one core, and neither sleeps long enough to be woken up on
/// another: on two cores that was so for the first 36 ms, which is longer than a small graph takes. Nothing is done where
/// there are more workers than cores, or where the system has no way to do it.
pub(super) fn begin_on_own_core(worker: usize, workers: usize) {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
        if workers < 2 || workers > cores.len() {
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
