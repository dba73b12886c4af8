//! The effect of each operation of a batch.

use std::collections::HashMap;

use super::EdgeChange;

/// An operation of a batch on an edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// The edge is added with this weight.
    Add(f32),
    /// The weight of the edge changes.
    Weigh(f32),
    /// The edge is removed.
    Remove,
}

impl Operation {
    /// The weight of the edge from now on.
    pub fn weight(self) -> Option<f32> {
        match self {
            Self::Add(weight) | Self::Weigh(weight) => Some(weight),
            Self::Remove => None,
        }
    }
}

/// How an operation met the edge that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// As one expects.
    Plain,
    /// An edge was added that was there already; its weight is the new one.
    AlreadyThere,
    /// An edge was to be removed that is not there.
    NothingToRemove,
    /// An edge was given another weight that was not there; it is now.
    NothingToWeigh,
}

/// The effect of every operation of a batch.
pub type Verdicts = Vec<Effect>;

/// How the operations of a batch, in their order, met their edges, given what changed by all of
/// them together. An edge that did not change was before as the last operation left it.
pub fn judge(operations: &[((u32, u32), Operation)], changes: &[EdgeChange]) -> Verdicts {
    let mut there: HashMap<(u32, u32), bool> =
        changes.iter().map(|change| ((change.from, change.to), change.before.is_some())).collect();
    for (edge, operation) in operations.iter().rev() {
        there.entry(*edge).or_insert_with(|| operation.weight().is_some());
    }
    let effect = |(edge, operation): &((u32, u32), Operation)| {
        let was_there = there.insert(*edge, operation.weight().is_some()).unwrap_or_default();
        match (operation, was_there) {
            (Operation::Add(_), true) => Effect::AlreadyThere,
            (Operation::Weigh(_), false) => Effect::NothingToWeigh,
            (Operation::Remove, false) => Effect::NothingToRemove,
            _ => Effect::Plain,
        }
    };
    operations.iter().map(effect).collect()
}

#[cfg(test)]
mod tests {
    use super::Operation::{Add, Remove, Weigh};
    use super::*;

    #[test]
    fn an_operation_is_judged_by_what_was_before_it() {
        let (a, b, c) = ((0, 1), (0, 2), (1, 2));
        let operations =
            [(a, Add(1.0)), (a, Remove), (a, Remove), (b, Remove), (b, Add(2.0)), (c, Weigh(3.0)), (c, Add(3.0))];
        let was = |edge: (u32, u32), before, after| EdgeChange { from: edge.0, to: edge.1, before, after };
        let changes = [was(b, Some(1.0), Some(2.0)), was(c, None, Some(3.0))];
        use Effect::{AlreadyThere, NothingToRemove, NothingToWeigh, Plain};
        let wanted = [Plain, Plain, NothingToRemove, Plain, Plain, NothingToWeigh, AlreadyThere];
        assert_eq!(judge(&operations, &changes), wanted);
        let changes = [was(a, Some(1.0), None), was(b, Some(1.0), Some(2.0)), was(c, None, Some(3.0))];
        assert_eq!(judge(&operations, &changes)[0], AlreadyThere);
    }
}
