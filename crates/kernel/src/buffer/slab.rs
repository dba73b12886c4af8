//! Slabs: small buffers cut from huge pages.
//!
//! On a small graph a good part of a run was page faults of small pages. A slab is a few huge pages
//! from which buffers are cut one after the other. When its last buffer is freed it is reused, so
//! the next run of the process finds its pages in place.

use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use super::{ALIGNMENT, HUGE_PAGE};

/// Bytes of a slab.
const BYTES: usize = 2 * HUGE_PAGE;
/// Largest and smallest piece in bytes: larger ones would waste slabs, smaller ones come from the
/// allocator.
pub(super) const PIECES: std::ops::RangeInclusive<usize> = 64 << 10..=1 << 20;

thread_local! {
    /// This thread's current slab, and its used bytes.
    static CURRENT: RefCell<Option<(Arc<Slab>, usize)>> = const { RefCell::new(None) };
}

/// Empty slabs for reuse.
static SPARE: Mutex<Vec<Pages>> = Mutex::new(Vec::new());
/// Limit of empty slabs.
const MOST_SPARE: usize = 16;

/// A mapping from which buffers are cut.
#[derive(Debug)]
pub(super) struct Slab {
    /// `Some` until the slab is freed.
    pages: Option<Pages>,
    /// Whether it may hold anything but zeros.
    is_used: bool,
}

/// A private mapping, in huge pages where the system has them.
#[derive(Debug)]
struct Pages {
    mapped: NonNull<u8>,
    start: NonNull<u8>,
}

/// Mapped bytes, with room to align the slab to a huge page.
const MAPPED: usize = BYTES + HUGE_PAGE;

// SAFETY: they are memory and nothing else; whoever cut a piece alone uses it.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    fn new() -> Option<Self> {
        // SAFETY: a new private mapping at no given place; all of it is zero.
        let mapped = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), MAPPED, protection, flags, -1, 0)
        };
        if mapped == libc::MAP_FAILED {
            return None;
        }
        let mapped = NonNull::new(mapped.cast::<u8>())?;
        // SAFETY: what is skipped is less than a huge page, and the mapping is that much longer
        // than a slab. Failing advice changes nothing.
        let start = unsafe {
            let start = mapped.add(mapped.align_offset(HUGE_PAGE));
            libc::madvise(start.as_ptr().cast(), BYTES, libc::MADV_HUGEPAGE);
            start
        };
        Some(Pages { mapped, start })
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is these pages' own, and nobody has a piece of it any more.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), MAPPED) };
    }
}

impl Slab {
    fn new() -> Option<Self> {
        let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let is_used = spare.is_some();
        Some(Slab { pages: Some(spare.or_else(Pages::new)?), is_used })
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < MOST_SPARE {
            spare.extend(self.pages.take());
        }
    }
}

/// Returns empty slabs to the system.
pub(super) fn release_spare() {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// A zeroed piece of `bytes` bytes at a cache line; `None` without memory, or if the size does not
/// suit.
pub(super) fn cut(bytes: usize) -> Option<(Arc<Slab>, NonNull<u8>)> {
    if !PIECES.contains(&bytes) {
        return None;
    }
    let bytes = bytes.next_multiple_of(ALIGNMENT);
    let cut = |current: &mut Option<(Arc<Slab>, usize)>| {
        if current.as_ref().is_none_or(|(_, taken)| taken + bytes > BYTES) {
            *current = Some((Arc::new(Slab::new()?), 0));
        }
        let (slab, taken) = current.as_mut()?;
        let start = slab.pages.as_ref()?.start;
        // SAFETY: the piece ends within the slab, and the next one starts behind it. Nobody else
        // has it.
        let piece = unsafe {
            let piece = start.add(*taken);
            if slab.is_used {
                piece.write_bytes(0, bytes);
            }
            piece
        };
        *taken += bytes;
        Some((slab.clone(), piece))
    };
    // An ending thread has no slab any more.
    CURRENT.try_with(|current| cut(&mut current.borrow_mut())).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_again_is_zero() {
        let bytes = *PIECES.end();
        for _ in 0..3 {
            let pieces: Vec<_> = (0..3 * BYTES / bytes).map(|_| cut(bytes).expect("memory")).collect();
            for (_, piece) in &pieces {
                // SAFETY: the piece has so many bytes, and is this test's own.
                let piece = unsafe { std::slice::from_raw_parts_mut(piece.as_ptr(), bytes) };
                assert!(piece.iter().all(|&byte| byte == 0));
                piece.fill(7);
            }
        }
        assert!(SPARE.lock().unwrap().len() <= MOST_SPARE);
        assert!(cut(bytes + 1).is_none() && cut(PIECES.start() - 1).is_none());
    }
}
