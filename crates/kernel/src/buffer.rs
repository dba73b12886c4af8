//! Aligned storage for panels.

#[cfg(target_os = "linux")]
mod slab;

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Every buffer starts at a cache line.
const ALIGNMENT: usize = 64;
/// Alignment of the allocator.
const PLAIN_ALIGNMENT: usize = 16;
/// From this size on buffers use huge pages: a product reads rows of a panel in random order, and
/// with small pages a good part of its time is address translation.
const HUGE_PAGE: usize = 2 << 20;
/// From this size on buffers start at different offsets within a page. Steps stream through several
/// panels at once; with equal offsets their lines would compete for the same sets of the L1 cache.
const STAGGERED: usize = 32 << 10;
/// From this size on pages are requested at once, unless they come from a slab: a page fault for
/// each takes several times as long as filling it.
const POPULATED: usize = 64 << 10;
/// Step between offsets, and their number: together a page.
const SHIFT: usize = 256;
const SHIFTS: usize = 16;
/// Number of shifted buffers.
static TURN: AtomicUsize = AtomicUsize::new(0);

/// Aligned f32 storage that grows but never shrinks, for reuse.
///
/// ```
/// let mut buffer = isvd_kernel::Buffer::zeroed(100);
/// buffer[3] = 1.0;
/// buffer.resize(50);
/// assert_eq!((buffer.len(), buffer[3]), (50, 1.0));
/// ```
pub struct Buffer {
    start: NonNull<f32>,
    len: usize,
    capacity: usize,
    /// Bytes between the allocation and the first entry.
    shift: usize,
    /// The slab piece it uses in place of an allocation.
    #[cfg(target_os = "linux")]
    slab: Option<std::sync::Arc<slab::Slab>>,
}

// SAFETY: a buffer owns its memory alone, as a `Vec<f32>` does.
unsafe impl Send for Buffer {}
// SAFETY: shared references only read.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer of `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        if len == 0 {
            return Buffer::of(NonNull::dangling(), 0, 0);
        }
        let turn = || TURN.fetch_add(1, Ordering::Relaxed) % SHIFTS;
        #[cfg(target_os = "linux")]
        if let Some((slab, piece)) = slab::cut(len.saturating_mul(size_of::<f32>()) + SHIFT * SHIFTS) {
            // SAFETY: the piece has room for the largest shift before the entries.
            let start = unsafe { piece.add(SHIFT * turn()) }.cast();
            let mut buffer = Buffer::of(start, len, 0);
            buffer.slab = Some(slab);
            return buffer;
        }
        let layout = layout(len);
        // SAFETY: the layout is not empty, for `len` is not zero.
        let memory = unsafe { allocate(layout) };
        let Some(memory) = NonNull::new(memory) else { handle_alloc_error(layout) };
        let turn = if len * size_of::<f32>() < STAGGERED { 0 } else { turn() };
        let shift = SHIFT * turn + memory.align_offset(ALIGNMENT);
        // SAFETY: the layout has room for the largest shift before the entries, and for what is
        // missing to a cache line.
        let start = unsafe { memory.add(shift) }.cast();
        Buffer::of(start, len, shift)
    }

    fn of(start: NonNull<f32>, len: usize, shift: usize) -> Self {
        Buffer {
            start,
            len,
            capacity: len,
            shift,
            #[cfg(target_os = "linux")]
            slab: None,
        }
    }

    /// Sets the length. Entries are arbitrary afterwards.
    pub fn resize(&mut self, len: usize) {
        if len > self.capacity {
            *self = Buffer::zeroed(len);
        }
        self.len = len;
    }

    /// Fills the buffer with zeros by non-temporal stores, so that no cache holds any of it.
    ///
    /// For buffers that other cores have read: a store to a line in another core's cache waits for
    /// its invalidation, up to tens of nanoseconds each. Non-temporal stores do not wait: zeroing a
    /// buffer this way and then writing it was six times as fast as writing it.
    pub fn wash(&mut self) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_mm_setzero_ps, _mm_sfence, _mm_stream_ps};
            const LANES: usize = 4;
            let whole = self.len / LANES * LANES;
            for place in (0..whole).step_by(LANES) {
                // SAFETY: SSE is part of x86-64. The place and three more are in the buffer, which
                // starts at a cache line, so every fourth entry is at a multiple of sixteen bytes.
                unsafe { _mm_stream_ps(self.start.as_ptr().add(place), _mm_setzero_ps()) };
            }
            // SAFETY: as above. What is written next comes after.
            unsafe { _mm_sfence() };
            self[whole..].fill(0.0);
        }
    }

    /// Length up to which no allocation is needed.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

fn layout(len: usize) -> Layout {
    let bytes = len.checked_mul(size_of::<f32>()).expect("a buffer fits the address space");
    // Memory fresh from the system is zero already.
    let alignment = if bytes >= HUGE_PAGE { HUGE_PAGE } else { PLAIN_ALIGNMENT };
    let bytes = if bytes >= STAGGERED { bytes + SHIFT * SHIFTS } else { bytes } + ALIGNMENT - PLAIN_ALIGNMENT;
    Layout::from_size_align(bytes, alignment).expect("a buffer fits the address space")
}

/// Advises the system to use huge pages for a large vector before it is filled, which saves most
/// page faults. No effect elsewhere than on Linux.
pub fn advise_huge_pages<T>(vector: &Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let (start, bytes) = (vector.as_ptr().addr(), vector.capacity() * size_of::<T>());
        let first = start.next_multiple_of(PAGE);
        let whole = (start + bytes).saturating_sub(first) / PAGE * PAGE;
        if whole >= HUGE_PAGE {
            // SAFETY: the pages lie within memory that the vector owns, and the advice does not
            // change what they hold.
            unsafe {
                libc::madvise(
                    vector.as_ptr().cast_mut().cast::<u8>().add(first - start).cast(),
                    whole,
                    libc::MADV_HUGEPAGE,
                )
            };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = vector;
}

/// Makes the allocator return large freed blocks to the system at once, where that can be set. Its
/// default keeps them for reuse, in pieces that others do not fit: a seventh of the memory of a
/// graph of 65,536 nodes. Smaller blocks stay, since new pages for them take a tenth of the time of
/// a small graph.
pub fn give_back_large_blocks() {
    give_back(1 << 20, 8 << 20);
}

/// The same for blocks that are small beside all memory: a hundredth of it for a graph of 65,536
/// nodes.
pub fn give_back_blocks() {
    give_back(128 << 10, 128 << 10);
}

/// Sets the allocator's mmap and trim thresholds.
fn give_back(large: i32, kept: i32) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it changes where blocks come from that are asked for later, and where they go.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, large);
        libc::mallopt(libc::M_TRIM_THRESHOLD, kept);
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = (large, kept);
}

/// Returns freed memory that the allocator kept to the system, where that is possible.
pub fn release_unused() {
    #[cfg(target_os = "linux")]
    slab::release_spare();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it only looks at memory that is not in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// # Safety
/// The layout must not be empty.
#[cfg(target_os = "linux")]
unsafe fn allocate(layout: Layout) -> *mut u8 {
    if layout.size() < HUGE_PAGE {
        // SAFETY: the caller's promise.
        let memory = unsafe { alloc_zeroed(layout) };
        if layout.size() >= POPULATED && !memory.is_null() {
            populate(memory, layout.size());
        }
        return memory;
    }
    // SAFETY: the caller's promise; the advice concerns whole pages of memory just received, and it
    // is written before it is read. Failing advice changes nothing, so the answer is not looked at.
    unsafe {
        let memory = std::alloc::alloc(layout);
        if !memory.is_null() {
            libc::madvise(memory.cast(), layout.size(), libc::MADV_HUGEPAGE);
            memory.write_bytes(0, layout.size());
        }
        memory
    }
}

/// Requests the pages of memory before it is written.
#[cfg(target_os = "linux")]
fn populate(memory: *mut u8, bytes: usize) {
    const PAGE: usize = 4096;
    let skipped = memory.align_offset(PAGE);
    let whole = bytes.saturating_sub(skipped) / PAGE * PAGE;
    // SAFETY: the pages lie within memory just received, and the advice does not change what they
    // hold. Where the system does not know it, nothing happens.
    unsafe { libc::madvise(memory.add(skipped).cast(), whole, libc::MADV_POPULATE_WRITE) };
}

/// # Safety
/// The layout must not be empty.
#[cfg(not(target_os = "linux"))]
unsafe fn allocate(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { alloc_zeroed(layout) }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if self.slab.is_some() {
            return;
        }
        if self.capacity > 0 {
            // SAFETY: the memory came from an allocation of `capacity` entries with this layout.
            unsafe { dealloc(self.start.as_ptr().cast::<u8>().sub(self.shift), layout(self.capacity)) }
        }
    }
}

impl Deref for Buffer {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        // SAFETY: `capacity ≥ len` initialised entries start here.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as in `deref`, and the buffer is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Buffer::zeroed(0)
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let mut copy = Buffer::zeroed(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len).field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_zeroed_and_reused() {
        for len in [0, 1, 15, 1000, 40_000, 200_000, (2 << 20) / 4, 3_000_001] {
            let mut buffer = Buffer::zeroed(len);
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.as_ptr() as usize % if len == 0 { 1 } else { 64 }, 0);
            assert!(buffer.iter().all(|&x| x == 0.0));
            buffer.fill(2.0);
            let capacity = buffer.capacity();
            buffer.resize(len / 2);
            assert_eq!((buffer.len(), buffer.capacity()), (len / 2, capacity));
            assert!(buffer.clone().iter().all(|&x| x == 2.0));
            buffer.resize(len + 7);
            assert_eq!(buffer.len(), len + 7);
            assert_eq!(buffer.iter().filter(|x| x.is_nan()).count(), 0);
            buffer.wash();
            assert!(!cfg!(target_arch = "x86_64") || buffer.iter().all(|&x| x == 0.0));
        }
    }
}
