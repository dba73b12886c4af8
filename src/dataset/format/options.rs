//! Options for reading a file of edges.

use crate::kernel;

/// The kind of ids of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum IdKind {
    /// Names when more than half of the first lines have one, else numbers.
    #[default]
    Auto,
    /// Numbers up to 64 bits, dense or not; rows follow their order.
    Numbers,
    /// Any text; rows follow the order in which names first appear.
    Names,
    /// Numbers of rows, from 0: a number without edges is a node without edges.
    Rows,
}

/// How columns after the second, or the values of a matrix, are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Weights {
    /// A third column is the weight, unless all of it are whole numbers of at least 10⁸, which is
    /// what times look like; more columns are refused.
    #[default]
    Auto,
    /// The third column is the weight and must be there; more columns are ignored.
    Third,
    /// All of them are ignored.
    Ignore,
}

/// How to read a file of edges. The default suits most files.
///
/// ```
/// use isvd_dist::dataset::format::{EdgeOptions, IdKind};
/// let options = EdgeOptions { ids: IdKind::Names, ..EdgeOptions::default() };
/// assert_eq!(options.header, None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EdgeOptions {
    /// Whether edges have a direction; by default those of a matrix that is not symmetric have, and
    /// all others have none.
    pub directed: Option<bool>,
    /// Whether the first line of a text names the columns; by default it does if it has no number
    /// and the next one has.
    pub header: Option<bool>,
    /// The kind of ids. Matrices always have rows.
    pub ids: IdKind,
    /// How many nodes there are when ids are [`IdKind::Rows`]; by default one more than the
    /// largest.
    pub nodes: Option<usize>,
    /// How columns after the second of a text, and the values of a matrix, are used.
    pub weights: Weights,
    /// Whether weights may be negative. Walks along such edges mean nothing; a matrix of the user's
    /// own may have a use for them.
    pub signed: bool,
    /// Threads that parse; by default as many as the machine runs at once. The result does not
    /// depend on it.
    pub threads: Option<usize>,
}

impl EdgeOptions {
    /// The number of threads to use.
    pub(crate) fn threads(&self) -> usize {
        self.threads.unwrap_or_else(kernel::cores).max(1)
    }
}
