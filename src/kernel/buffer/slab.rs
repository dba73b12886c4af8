//! Huge pages under buffers that are smaller than one.
//!
//! On a small graph a good part of the time of a run went into small pages, each of which the system has to find, fill and
//! enter when it is first touched. A slab is some huge pages, of which buffers are cut one after the other; it is given back
//! when the last of them is.

use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Arc;

use super::{ALIGNMENT, HUGE_PAGE};

/// Bytes of a slab.
const BYTES: usize = 2 * HUGE_PAGE;
/// The largest and the smallest piece, in bytes: larger ones would leave too much of a slab unused, and small ones come from
/// pages that the allocator has in use already.
pub(super) const PIECES: std::ops::RangeInclusive<usize> = 64 << 10..=1 << 20;

thread_local! {
    /// The slab that this thread cuts from, and how many bytes of it are taken.
    static CURRENT: RefCell<Option<(Arc<Slab>, usize)>> = const { RefCell::new(None) };
}

/// Memory of its own, in huge pages where the system has them.
#[derive(Debug)]
pub(super) struct Slab {
    mapped: NonNull<u8>,
    start: NonNull<u8>,
}

/// Bytes that are mapped, so that a slab can start at a huge page.
const MAPPED: usize = BYTES + HUGE_PAGE;

// SAFETY: a slab is memory and nothing else; whoever cut a piece alone uses it.
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}

impl Slab {
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
        // SAFETY: what is skipped is less than a huge page, and the mapping is that much longer than a slab. Failing advice
        // changes nothing.
        let start = unsafe {
            let start = mapped.add(mapped.align_offset(HUGE_PAGE));
            libc::madvise(start.as_ptr().cast(), BYTES, libc::MADV_HUGEPAGE);
            start
        };
        Some(Slab { mapped, start })
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: the mapping is this slab's own, and nobody has a piece of it any more.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), MAPPED) };
    }
}

/// A piece of so many bytes, all zero, that starts at a cache line; `None` if there is no memory, or it is no size for a piece.
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
        // SAFETY: the piece ends within the slab, and the next one starts behind it.
        let piece = unsafe { slab.start.add(*taken) };
        *taken += bytes;
        Some((slab.clone(), piece))
    };
    // A thread that is ending has no slab any more.
    CURRENT.try_with(|current| cut(&mut current.borrow_mut())).ok().flatten()
}
