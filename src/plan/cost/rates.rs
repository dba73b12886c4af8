//! How fast a machine is.

/// How fast one worker does what steps are made of, and what lies between the steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// A sparse product that picks its rows from a nearby cache ([`NEAR_ROWS`](super::NEAR_ROWS)).
    pub sparse_near: Picking,
    /// The same, when the rows of a whole strip are to be picked from.
    pub sparse_far: Picking,
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

/// What a non-zero of a sparse product takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Picking {
    /// Seconds to find a row.
    pub entry: f64,
    /// Seconds for each column of it.
    pub column: f64,
}

impl Picking {
    /// From the seconds that a non-zero takes at two numbers of columns.
    pub fn from_two([(few, short), (many, long)]: [(usize, f64); 2]) -> Self {
        let column = ((long - short) / (many - few) as f64).max(0.1 * long / many as f64);
        Self { entry: (short - few as f64 * column).max(0.0), column }
    }

    /// Seconds of a non-zero with so many columns.
    pub fn seconds(&self, columns: usize) -> f64 {
        self.entry + self.column * columns as f64
    }
}

impl Rates {
    /// Of a core of an ordinary server and ten gigabits a second between machines. A plan is chosen by these wherever it
    /// runs, so that it does not depend on what else the machine is doing.
    pub const REFERENCE: Rates = Rates {
        sparse_near: Picking { entry: 0.5e-9, column: 0.09e-9 },
        sparse_far: Picking { entry: 2.5e-9, column: 0.18e-9 },
        dense: 70e9,
        near: 30e9,
        far: 14e9,
        turn: 20e-6,
        network: 1.1e9,
    };
}
