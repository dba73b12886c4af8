//! How fast a machine is.

/// How fast one worker does what steps are made of, and what lies between the steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Flops a second of a sparse product that picks its rows from a nearby cache ([`NEAR_BYTES`](super::NEAR_BYTES)).
    pub sparse_near: f64,
    /// The same, when the rows of a whole strip are to be picked from.
    pub sparse_far: f64,
    /// Flops a second of a dense product.
    pub dense: f64,
    /// Bytes a second of panels that stay in a cache.
    pub near: f64,
    /// Bytes a second from and to memory.
    pub far: f64,
    /// Seconds from the end of one step to the start of the next.
    pub turn: f64,
    /// Bytes a second that one process sends or receives.
    pub network: f64,
}

impl Rates {
    /// Of a core of an ordinary server and ten gigabits a second between machines. A plan is chosen by these wherever it
    /// runs, so that it does not depend on what else the machine is doing.
    pub const REFERENCE: Rates =
        Rates { sparse_near: 20e9, sparse_far: 9e9, dense: 70e9, near: 30e9, far: 14e9, turn: 20e-6, network: 1.1e9 };
}
