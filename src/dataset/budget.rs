//! How much memory reading data may take.
//!
//! A file can claim any size, and a packed file can unpack to any size. So a reader takes what it is about to allocate from
//! a [`Budget`] first, in steps that grow with the bytes that were really read, and fails where the budget does not allow
//! it. Buffers of a fixed size are not counted.

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::remedy::MORE_MEMORY;

/// A limit on the memory that reading takes. Clones share what is taken.
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
    taken: AtomicU64,
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
    /// A budget of so many bytes.
    pub fn new(limit: u64) -> Self {
        Self(Arc::new(Inner { limit, taken: AtomicU64::new(0) }))
    }

    /// A budget that allows everything.
    pub fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    /// Does `work`, in which all that is read on this thread takes its memory from this budget.
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

    /// The budget of this thread; without [`Budget::within`] it allows everything.
    pub(crate) fn current() -> Self {
        CURRENT.with_borrow(Self::clone)
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> u64 {
        self.0.limit.saturating_sub(self.0.taken.load(Relaxed))
    }

    /// Takes memory that is given back when the result is dropped.
    pub(crate) fn take(&self, bytes: u64) -> Result<Taken, OverBudget> {
        let mut taken = Taken::default();
        self.resize(&mut taken, bytes)?;
        Ok(taken)
    }

    /// Takes memory for entries of a type.
    pub(crate) fn take_for<T>(&self, count: usize) -> Result<Taken, OverBudget> {
        self.take(bytes_of::<T>(count))
    }

    /// Takes more, or gives some back, so that `taken` is so many bytes of this budget.
    pub(crate) fn resize(&self, taken: &mut Taken, bytes: u64) -> Result<(), OverBudget> {
        let before = taken.bytes;
        if bytes > before {
            let more = bytes - before;
            let sum = self.0.taken.fetch_add(more, Relaxed).saturating_add(more);
            if sum > self.0.limit {
                self.0.taken.fetch_sub(more, Relaxed);
                return Err(OverBudget { needed: sum, limit: self.0.limit });
            }
        } else {
            self.0.taken.fetch_sub(before - bytes, Relaxed);
        }
        taken.bytes = bytes;
        taken.budget.get_or_insert_with(|| self.clone());
        Ok(())
    }
}

/// A list that takes its memory from the budget of the thread before it grows, by half of its length each time.
#[derive(Debug)]
pub(crate) struct BudgetedVec<T> {
    items: Vec<T>,
    taken: Taken,
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

    /// The list, with capacity for `more` items.
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
        let budget = self.taken.budget.clone().unwrap_or_else(Budget::current);
        budget.resize(&mut self.taken, bytes_of::<T>(length))?;
        self.items.reserve_exact(length - self.items.len());
        Ok(())
    }

    /// The list and its memory.
    pub fn into_parts(self) -> (Vec<T>, Taken) {
        (self.items, self.taken)
    }

    /// The list for what a reader returns; its memory stays taken.
    pub fn into_kept(self) -> Vec<T> {
        self.taken.keep();
        self.items
    }
}

impl<T> Default for BudgetedVec<T> {
    fn default() -> Self {
        Self { items: vec![], taken: Taken::default() }
    }
}

impl<T> Deref for BudgetedVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

/// Memory that was taken from a budget.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    budget: Option<Budget>,
    bytes: u64,
}

impl Taken {
    /// How much it is.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// It stays taken as long as the budget lasts: for what a reader returns.
    pub fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.0.taken.fetch_sub(self.bytes, Relaxed);
        }
    }
}

/// A copy that was made already counts, whatever the limit.
impl Clone for Taken {
    fn clone(&self) -> Self {
        if let Some(budget) = &self.budget {
            budget.0.taken.fetch_add(self.bytes, Relaxed);
        }
        Self { budget: self.budget.clone(), bytes: self.bytes }
    }
}

/// Bytes of so many entries.
pub(crate) fn bytes_of<T>(count: usize) -> u64 {
    (count as u64).saturating_mul(size_of::<T>() as u64)
}

/// Bytes for people.
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
        let mut taken = budget.take(60).unwrap();
        assert_eq!(budget.take(50).unwrap_err(), OverBudget { needed: 110, limit: 100 });
        budget.resize(&mut taken, 30).unwrap();
        budget.take(50).unwrap().keep();
        assert_eq!(budget.left(), 20);
        drop(taken);
        assert_eq!(budget.left(), 50);
        assert!(budget.take(u64::MAX).is_err() && budget.left() == 50);
    }

    #[test]
    fn a_list_takes_the_memory_of_its_capacity() {
        Budget::new(400).within(|| {
            let mut list = BudgetedVec::<u32>::default();
            let mut pushed = 0;
            while list.push(pushed).is_ok() {
                pushed += 1;
                assert_eq!(list.taken.bytes, 4 * list.items.capacity() as u64);
            }
            assert!((50..=100).contains(&pushed), "{pushed}");
            assert!(list.reserve(1000).is_err() && list.reserve(0).is_ok());
        });
    }

    #[test]
    fn the_budget_of_a_thread_ends_with_the_work() {
        let outer = Budget::new(1000);
        outer.within(|| {
            Budget::new(10).within(|| assert!(Budget::current().take(11).is_err()));
            assert!(Budget::current().take(11).is_ok() && Budget::current().take(1001).is_err());
        });
        assert!(Budget::current().take(1 << 40).is_ok());
    }

    #[test]
    fn amounts_are_said_in_the_unit_that_fits() {
        assert_eq!([999, 1_500_000, 20_000_000_000].map(amount), ["999 bytes", "2 MB", "20.0 GB"]);
    }
}
