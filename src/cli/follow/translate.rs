//! From updates with the user's ids to operations on rows.

use std::path::Path;

use crate::dataset::Ids;
use crate::dataset::format::Weights;
use crate::dataset::stream::{Action, Refusal, Update};
use crate::graph::SelfLoops;
use crate::graph::evolve::{Effect, Operation};

/// What the config says of edges.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) weights: Weights,
    pub(super) self_loops: SelfLoops,
}

/// Operations on rows, and remarks that are known before they are applied.
#[derive(Debug, Default)]
pub(super) struct Translated {
    /// Each with the rows of its edge.
    pub(super) operations: Vec<((u32, u32), Operation)>,
    /// Which update each operation is of.
    pub(super) origins: Vec<usize>,
    /// Remarks on updates that need no operation, or another one than they ask for.
    pub(super) remarks: Vec<(usize, Remark)>,
}

/// Why an update does not do what it says, or does more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remark {
    /// The edge was there.
    AlreadyThere,
    /// The edge was not there.
    NothingToRemove,
    /// The edge was not there and is now.
    NothingToWeigh,
    /// The config leaves self-loops out.
    SelfLoop,
    /// The config ignores weights.
    WeightIgnored,
}

impl Remark {
    /// The name under which such updates are counted.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AlreadyThere => "edges to add that were there",
            Self::NothingToRemove => "edges to remove that were not there",
            Self::NothingToWeigh => "edges to weigh that were not there",
            Self::SelfLoop => "self-loops left out",
            Self::WeightIgnored => "weights ignored",
        }
    }

    /// The warning for one update.
    pub(super) fn text(self, update: &Update) -> String {
        let (from, to) = (&update.from, &update.to);
        match self {
            Self::AlreadyThere => format!("the edge {from} {to} is to be added and is there: its weight is set"),
            Self::NothingToRemove => format!("the edge {from} {to} is to be removed and is not there: nothing to do"),
            Self::NothingToWeigh => format!("the edge {from} {to} is to get a weight and is not there: it is added"),
            Self::SelfLoop => format!("{from} {to} is a self-loop, and the config leaves those out: nothing to do"),
            Self::WeightIgnored => format!("the edge {from} {to} has a weight, and the config ignores weights"),
        }
    }

    /// The remark on an effect, if it deserves one.
    pub(super) fn of(effect: Effect) -> Option<Self> {
        match effect {
            Effect::Plain => None,
            Effect::AlreadyThere => Some(Self::AlreadyThere),
            Effect::NothingToRemove => Some(Self::NothingToRemove),
            Effect::NothingToWeigh => Some(Self::NothingToWeigh),
        }
    }
}

/// Refuses an update with an id that no node can have.
pub(super) fn check(update: &Update, ids: &Ids, path: &Path) -> Result<(), Refusal> {
    match [&update.from, &update.to].into_iter().find(|id| !ids.admits(id)) {
        None => Ok(()),
        Some(id) => Err(Refusal::of_id(path, update.line, id, "a number, as the ids of the graph")),
    }
}

/// Whether all weights of a batch look like times, so that the column is one of times.
pub(super) fn are_times(updates: &[Update], rules: Rules) -> bool {
    let mut weighted = updates.iter().filter(|update| update.weight.is_some()).peekable();
    rules.weights == Weights::Auto && weighted.peek().is_some() && weighted.all(Update::has_time_as_weight)
}

/// Gives new nodes their rows, and says what the updates do to edges. All have passed [`check`].
pub(super) fn translate(updates: &[Update], ids: &mut Ids, rules: Rules) -> Translated {
    let mut all = Translated::default();
    for (place, update) in updates.iter().enumerate() {
        let weight = match rules.weights {
            Weights::Ignore => {
                if update.weight.is_some() {
                    all.remarks.push((place, Remark::WeightIgnored));
                }
                1.0
            }
            _ => update.weight.unwrap_or(1.0),
        };
        let (operation, edge) = match update.action {
            Action::Add => (Operation::Add(weight), grown(update, ids)),
            Action::Weigh => (Operation::Weigh(weight), grown(update, ids)),
            // An edge that is removed adds no nodes.
            Action::Remove => {
                let row = |id: &str| ids.row(id).map(|row| row as u32);
                (Operation::Remove, row(&update.from).zip(row(&update.to)))
            }
        };
        match edge {
            None => all.remarks.push((place, Remark::NothingToRemove)),
            Some((from, to)) if from == to && rules.self_loops == SelfLoops::Drop => {
                all.remarks.push((place, Remark::SelfLoop));
            }
            Some(edge) => {
                all.operations.push((edge, operation));
                all.origins.push(place);
            }
        }
    }
    all
}

fn grown(update: &Update, ids: &mut Ids) -> Option<(u32, u32)> {
    Some((ids.grow(&update.from)?, ids.grow(&update.to)?))
}
