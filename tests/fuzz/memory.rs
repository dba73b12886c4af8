//! How much memory a thread asks for.

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

/// Counts what every thread holds. What one thread gets and another gives back is counted wrongly, but on.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(more: usize, less: usize) {
    // A thread that ends has nothing to count with.
    let _ = HELD.try_with(|held| {
        let now = held.get().now.wrapping_add(more).wrapping_sub(less);
        // Less than nothing is what came from another thread.
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

/// Does something, and says how many bytes more than before this thread held at most meanwhile.
pub fn measured<T>(act: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get().now;
    HELD.set(Held { now: before, most: before });
    let made = act();
    (made, HELD.get().most - before)
}
