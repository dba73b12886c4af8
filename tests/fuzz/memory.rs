//! The memory that a thread allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[derive(Clone, Copy)]
struct Held {
    now: usize,
    most: usize,
}

thread_local! {
    static HELD: Cell<Held> = const { Cell::new(Held { now: 0, most: 0 }) };
}

/// Counts the bytes that every thread holds. Bytes that another thread frees stay counted.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(more: usize, less: usize) {
    // The counter of a thread is gone while the thread ends.
    let _ = HELD.try_with(|held| {
        let now = held.get().now.wrapping_add(more).wrapping_sub(less);
        // A negative count means that the thread frees the memory of another one.
        let now = if now > isize::MAX as usize { 0 } else { now };
        held.set(Held { now, most: held.get().most.max(now) });
    });
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Runs a function. Returns the peak of the bytes that this thread held, relative to the start.
pub fn measured<T>(act: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get().now;
    HELD.set(Held { now: before, most: before });
    let made = act();
    (made, HELD.get().most - before)
}
