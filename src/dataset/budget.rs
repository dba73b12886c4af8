//! How much memory reading data may take.
//!
//! A file can claim any size, and a compressed file can expand to any size. A reader therefore
//! reserves memory from a [`Budget`] before it allocates, in steps that grow with the bytes that it
//! has read, and fails when the budget is used up. Buffers of a fixed size are not counted.

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::remedy::MORE_MEMORY;

/// A limit on the memory that reading takes. Clones share one limit.
///
/// ```
/// use isvd_dist::dataset::Budget;
/// use isvd_dist::dataset::format::{EdgeOptions, FormatError, read_edges};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("edges.txt");
/// std::fs::write(&path, "0 1\n1 2\n")?;
/// let read = |bytes| Budget::new(bytes).within(|| read_edges(&path, &EdgeOptions::default()));
/// assert!(read(1 << 20).is_ok());
/// assert!(matches!(read(8), Err(FormatError::Memory { limit: 8, .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Budget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limit: u64,
    reserved: AtomicU64,
}

/// Something would take more memory than the budget allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it takes at least {} of memory, and {} may be used: {MORE_MEMORY}", amount(*needed), amount(*limit))]
pub struct OverBudget {
    /// Bytes that are needed in all.
    pub needed: u64,
    /// Bytes that may be used.
    pub limit: u64,
}

thread_local! {
    static CURRENT: RefCell<Budget> = RefCell::new(Budget::unlimited());
}

impl Budget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self(Arc::new(Inner { limit, reserved: AtomicU64::new(0) }))
    }

    /// A budget without a limit.
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// Runs `work`; everything that this thread reads meanwhile takes its memory from this budget.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Restore(Budget);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.clone());
            }
        }
        let _restore = Restore(CURRENT.replace(self.clone()));
        work()
    }

    /// The budget of this thread: without a limit, unless inside of [`Budget::within`].
    pub(crate) fn current() -> Self {
        CURRENT.with_borrow(Self::clone)
    }

    /// Bytes that can still be reserved.
    pub(crate) fn available(&self) -> u64 {
        self.0.limit.saturating_sub(self.0.reserved.load(Relaxed))
    }

    /// Reserves memory until the result is dropped.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<Reservation, OverBudget> {
        let mut reserved = Reservation::default();
        self.resize(&mut reserved, bytes)?;
        Ok(reserved)
    }

    /// Reserves memory for `count` items.
    pub(crate) fn reserve_for<T>(&self, count: usize) -> Result<Reservation, OverBudget> {
        self.reserve(bytes_of::<T>(count))
    }

    /// Grows or shrinks a reservation in this budget to `bytes` bytes.
    pub(crate) fn resize(&self, reserved: &mut Reservation, bytes: u64) -> Result<(), OverBudget> {
        let before = reserved.bytes;
        if bytes > before {
            let more = bytes - before;
            let sum = self.0.reserved.fetch_add(more, Relaxed).saturating_add(more);
            if sum > self.0.limit {
                self.0.reserved.fetch_sub(more, Relaxed);
                return Err(OverBudget { needed: sum, limit: self.0.limit });
            }
        } else {
            self.0.reserved.fetch_sub(before - bytes, Relaxed);
        }
        reserved.bytes = bytes;
        reserved.budget.get_or_insert_with(|| self.clone());
        Ok(())
    }
}

/// A vector that reserves memory in the budget of the thread before it grows, by half of its length
/// each time.
#[derive(Debug)]
pub(crate) struct BudgetedVec<T> {
    items: Vec<T>,
    reserved: Reservation,
}

impl<T> BudgetedVec<T> {
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), OverBudget> {
        if self.items.len() == self.items.capacity() {
            self.grow(1)?;
        }
        self.items.push(item);
        Ok(())
    }

    /// The vector, with capacity for `more` items.
    pub fn reserve(&mut self, more: usize) -> Result<&mut Vec<T>, OverBudget> {
        if self.items.capacity() - self.items.len() < more {
            self.grow(more)?;
        }
        Ok(&mut self.items)
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<(), OverBudget> {
        const SMALLEST: usize = 16;
        let length = self.items.len().saturating_add(more.max(self.items.len() / 2).max(SMALLEST));
        let budget = self.reserved.budget.clone().unwrap_or_else(Budget::current);
        budget.resize(&mut self.reserved, bytes_of::<T>(length))?;
        self.items.reserve_exact(length - self.items.len());
        Ok(())
    }

    /// The vector and its reservation.
    pub fn into_parts(self) -> (Vec<T>, Reservation) {
        (self.items, self.reserved)
    }

    /// The vector, for the result of a reader; its memory stays reserved.
    pub fn into_kept(self) -> Vec<T> {
        self.reserved.keep();
        self.items
    }
}

impl<T> Default for BudgetedVec<T> {
    fn default() -> Self {
        Self { items: vec![], reserved: Reservation::default() }
    }
}

impl<T> Deref for BudgetedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

/// Memory that is reserved in a budget, released on drop.
#[derive(Debug, Default)]
pub(crate) struct Reservation {
    budget: Option<Budget>,
    bytes: u64,
}

impl Reservation {
    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Never releases the memory: it belongs to the result of a reader.
    pub fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.0.reserved.fetch_sub(self.bytes, Relaxed);
        }
    }
}

/// A clone is counted even beyond the limit: the memory is in use already.
impl Clone for Reservation {
    fn clone(&self) -> Self {
        if let Some(budget) = &self.budget {
            budget.0.reserved.fetch_add(self.bytes, Relaxed);
        }
        Self { budget: self.budget.clone(), bytes: self.bytes }
    }
}

/// The bytes of `count` entries.
pub(crate) fn bytes_of<T>(count: usize) -> u64 {
    (count as u64).saturating_mul(size_of::<T>() as u64)
}

/// A number of bytes with a unit.
pub(crate) fn amount(bytes: u64) -> String {
    match bytes as f64 {
        many if many >= 1e9 => format!("{:.1} GB", many / 1e9),
        some if some >= 1e6 => format!("{:.0} MB", some / 1e6),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_can_be_taken_again_and_what_is_kept_cannot() {
        let budget = Budget::new(100);
        let mut reserved = budget.reserve(60).unwrap();
        assert_eq!(budget.reserve(50).unwrap_err(), OverBudget { needed: 110, limit: 100 });
        budget.resize(&mut reserved, 30).unwrap();
        budget.reserve(50).unwrap().keep();
        assert_eq!(budget.available(), 20);
        drop(reserved);
        assert_eq!(budget.available(), 50);
        assert!(budget.reserve(u64::MAX).is_err() && budget.available() == 50);
    }

    #[test]
    fn a_list_takes_the_memory_of_its_capacity() {
        Budget::new(400).within(|| {
            let mut list = BudgetedVec::<u32>::default();
            let mut pushed = 0;
            while list.push(pushed).is_ok() {
                pushed += 1;
                assert_eq!(list.reserved.bytes, 4 * list.items.capacity() as u64);
            }
            assert!((50..=100).contains(&pushed), "{pushed}");
            assert!(list.reserve(1000).is_err() && list.reserve(0).is_ok());
        });
    }

    #[test]
    fn the_budget_of_a_thread_ends_with_the_work() {
        let outer = Budget::new(1000);
        outer.within(|| {
            Budget::new(10).within(|| assert!(Budget::current().reserve(11).is_err()));
            assert!(Budget::current().reserve(11).is_ok() && Budget::current().reserve(1001).is_err());
        });
        assert!(Budget::current().reserve(1 << 40).is_ok());
    }

    #[test]
    fn amounts_are_said_in_the_unit_that_fits() {
        assert_eq!([999, 1_500_000, 20_000_000_000].map(amount), ["999 bytes", "2 MB", "20.0 GB"]);
    }
}
