//! Work on parts of a range by some threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::kernel;

/// Fewer entries than this are not worth a thread.
const WORTH_A_THREAD: usize = if cfg!(test) { 64 } else { 1 << 16 };

/// The number of threads for a number of entries.
pub(super) fn threads(entries: usize) -> usize {
    kernel::cores().min(entries / WORTH_A_THREAD).max(1)
}

/// Cuts a range into consecutive parts, one a thread; results come in the order of the parts.
pub(super) fn parts<T: Send>(count: usize, threads: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let part = |n: usize| count * n / threads..count * (n + 1) / threads;
    together(threads, |n| work(part(n)))
}

/// Runs `work` for each number on the next free thread; results come in the order of the numbers.
/// `start` makes the scratch space of a thread.
pub(crate) fn singly<S, T: Send>(
    count: usize,
    threads: usize,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = together(threads.min(count).max(1), |_| {
        let mut scratch = start();
        let mut done = vec![];
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return done;
            }
            done.push((number, work(&mut scratch, number)));
        }
    });
    let mut all: Vec<(usize, T)> = done.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, result)| result).collect()
}

fn together<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = (1..threads).map(|n| scope.spawn(move || work(n))).collect();
        let mut results = vec![work(0)];
        for other in others {
            results.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once_and_in_order() {
        for threads in 1..5 {
            let ranges = parts(10, threads, |range| range);
            assert_eq!(ranges.into_iter().flatten().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
            assert_eq!(singly(10, threads, || (), |(), n| n), (0..10).collect::<Vec<_>>());
            assert!(singly(0, threads, || (), |(), n| n).is_empty());
        }
    }
}
