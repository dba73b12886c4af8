use super::{NodeDataError, SplitPart};
use crate::dataset::{Dataset, NodeSplit, UNLABELLED};

/// `labels` has been checked: one a node, none beyond the classes.
pub(super) fn check(dataset: &Dataset, labels: &[u32], split: &NodeSplit) -> Result<(), NodeDataError> {
    let nodes = dataset.graph.nodes();
    let mut found: Vec<Option<SplitPart>> = vec![None; nodes];
    let parts = [(SplitPart::Train, &split.train), (SplitPart::Valid, &split.valid), (SplitPart::Test, &split.test)];
    let mut occurs = vec![false; dataset.classes.len()];
    let mut learnt = occurs.clone();
    for (part, rows) in parts {
        for &row in rows {
            let node = || name(dataset, row);
            let place = found.get_mut(row as usize).ok_or(NodeDataError::SplitRow { part, row, nodes })?;
            match place.replace(part) {
                Some(first) if first == part => return Err(NodeDataError::SplitTwice { part, node: node() }),
                Some(first) => return Err(NodeDataError::SplitOverlap { first, second: part, node: node() }),
                None => {}
            }
            let label = labels[row as usize];
            if label == UNLABELLED {
                return Err(NodeDataError::SplitUnlabelled { part, node: node() });
            }
            occurs[label as usize] = true;
            learnt[label as usize] |= part == SplitPart::Train;
        }
    }
    let (classes, rows) = (dataset.classes.len(), split.train.len());
    if rows == 0 {
        return Err(NodeDataError::NoTrainingNodes);
    }
    if classes > rows {
        return Err(NodeDataError::MoreClassesThanRows { classes, rows });
    }
    let missing = (0..classes).find(|&class| occurs[class] && !learnt[class]);
    missing.map_or(Ok(()), |class| Err(NodeDataError::ClassWithoutTraining { class: dataset.classes[class].clone() }))
}

/// A node as the user calls it.
fn name(dataset: &Dataset, row: u32) -> String {
    match dataset.ids.get(row as usize) {
        Some(id) if *id != row.to_string() => format!("`{id}` (row {row})"),
        _ => format!("in row {row}"),
    }
}
