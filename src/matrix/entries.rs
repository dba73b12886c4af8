//! The entries of a diagonal.

use std::ops::Deref;
use std::sync::Arc;

/// The entries of a diagonal matrix, shared. Those of an outline are a few examples that stand for
/// all of them: enough to plan with, not to multiply with.
#[derive(Debug, Clone)]
pub struct Entries {
    values: Arc<[f32]>,
    length: usize,
}

impl Entries {
    /// `length` entries of which only some examples are known; all of them, if there are as many.
    pub fn outline(length: usize, examples: Vec<f32>) -> Self {
        Self { values: examples.into(), length }
    }

    /// How many entries the diagonal has.
    pub fn length(&self) -> usize {
        self.length
    }

    /// True when the entries are only examples.
    pub fn is_outline(&self) -> bool {
        self.values.len() != self.length
    }

    /// True when both share their entries.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.values, &other.values)
    }

    /// What a function makes of each.
    pub fn map(&self, of: impl FnMut(f32) -> f32) -> Self {
        Self { values: self.values.iter().copied().map(of).collect(), length: self.length }
    }
}

/// The entries, or the examples.
impl Deref for Entries {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

impl From<Vec<f32>> for Entries {
    fn from(values: Vec<f32>) -> Self {
        Self { length: values.len(), values: values.into() }
    }
}

impl PartialEq for Entries {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.values == other.values
    }
}
