//! Plans of decompositions, shown to an observer while they are made.
//!
//! A plan holds programs, and with them stored matrices. So it is not part of a result: an observer
//! takes from it what it needs, and the matrices are dropped with the decomposition.

use std::cell::RefCell;
use std::time::Duration;

use super::Prepared;
use crate::matrix::Matrix;

/// How a matrix is about to be decomposed.
pub struct Planned<'a> {
    /// The matrix as it was stated.
    pub matrix: &'a Matrix,
    /// Its parts that were formed first, as they were stated.
    pub formed: &'a [Matrix],
    /// The surrogate that bases are grown with, if there is one.
    pub surrogate: Option<&'a Matrix>,
    /// The programs and the method.
    pub prepared: &'a Prepared,
    /// The time that planning took, where that was measured.
    pub took: Duration,
}

type Observer = Box<dyn FnMut(&Planned<'_>)>;

thread_local! {
    static OBSERVER: RefCell<Option<Observer>> = const { RefCell::new(None) };
}

/// Does `work`, and shows each plan that this thread makes in it to `observer`.
pub fn observe_plans<T>(observer: impl FnMut(&Planned<'_>) + 'static, work: impl FnOnce() -> T) -> T {
    struct Restore(Option<Observer>);
    impl Drop for Restore {
        fn drop(&mut self) {
            OBSERVER.replace(self.0.take());
        }
    }
    let _restore = Restore(OBSERVER.replace(Some(Box::new(observer))));
    work()
}

/// Shows a plan to the observer of this thread, if there is one.
pub fn show_plan(planned: &Planned<'_>) {
    OBSERVER.with_borrow_mut(|observer| {
        if let Some(observer) = observer {
            observer(planned);
        }
    });
}
