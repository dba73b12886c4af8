//! The rates of a machine.

/// The rates of one worker, and the overhead between two steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Sparse products whose strips stay in a cache ([`NEAR_ROWS`](super::NEAR_ROWS)).
    pub sparse_near: Picking,
    /// Sparse products with the widest strips.
    pub sparse_far: Picking,
    /// Flops a second of dense products.
    pub dense: f64,
    /// Bytes a second from and to a cache.
    pub near: f64,
    /// Bytes a second from and to memory.
    pub far: f64,
    /// Seconds from the end of a step to the start of the next.
    pub step_overhead: f64,
    /// Bytes a second that a process sends or receives over the network.
    pub network: f64,
}

/// The time of a non-zero of a sparse product.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Picking {
    /// Seconds to find the row of the panel.
    pub entry: f64,
    /// Seconds for each column.
    pub column: f64,
}

impl Picking {
    /// A line through the seconds of a non-zero at two numbers of columns.
    pub fn from_two([(few, short), (many, long)]: [(usize, f64); 2]) -> Self {
        let column = ((long - short) / (many - few) as f64).max(0.1 * long / many as f64);
        Self { entry: (short - few as f64 * column).max(0.0), column }
    }

    /// Seconds of a non-zero with `columns` columns.
    pub fn seconds(&self, columns: usize) -> f64 {
        self.entry + self.column * columns as f64
    }
}

impl Rates {
    /// A core of an ordinary server, and ten gigabits a second between machines. Plans are chosen
    /// by these rates everywhere, so that they do not depend on the load of the machine.
    pub const REFERENCE: Rates = Rates {
        sparse_near: Picking { entry: 0.5e-9, column: 0.09e-9 },
        sparse_far: Picking { entry: 2.5e-9, column: 0.18e-9 },
        dense: 70e9,
        near: 30e9,
        far: 14e9,
        step_overhead: 20e-6,
        network: 1.1e9,
    };
}
