//! Ways out that several errors name.

/// The memory budget is too small.
pub(super) const MORE_MEMORY: &str = "allow more memory";
/// A store is missing, damaged, or of another version.
pub(super) const CONVERT: &str = "convert the dataset to a store";
/// A followed stream cannot be continued.
pub(super) const START_OVER: &str = "start over with a new log";
