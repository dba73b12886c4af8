//! A split of nodes drawn at random.

use crate::dataset::{NodeSplit, UNLABELLED};
use crate::kernel::random::{bits, stream};

/// Fractions that make no split.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "found the fractions {train} of {labelled} labelled nodes of {classes} classes for training, {valid} for validation and \
     {test} for the test, expected numbers from 0 to 1 that add up to at most 1, with a training node for every class and \
     some nodes for every other part: change the fractions of the split, or label more nodes"
)]
pub struct FractionsError {
    /// The part to learn from.
    pub train: f64,
    /// The part for choosing settings.
    pub valid: f64,
    /// The part for the final figure.
    pub test: f64,
    /// How many nodes have a label.
    pub labelled: usize,
    /// How many classes they have.
    pub classes: usize,
}

/// Tolerance for the sum of fractions such as 0.6, 0.2 and 0.2.
const ROUNDING: f64 = 1e-9;
/// Separates these draws from those of edges, which use node numbers in this place.
const NODES: u32 = u32::MAX - 1;

/// Draws parts of the nodes that have a label: those with the smallest random numbers to learn
/// from, then those for choosing settings, then those for the final figure. The first of each class
/// comes before all others and is always one to learn from.
pub(super) fn draw(
    labels: &[u32],
    classes: usize,
    fractions: [f64; 3],
    seed: u64,
) -> Result<NodeSplit, FractionsError> {
    let [train, valid, test] = fractions;
    let sound = fractions.iter().all(|part| (0.0..=1.0).contains(part)) && train + valid + test <= 1.0 + ROUNDING;
    if !sound || train == 0.0 {
        return Err(FractionsError { train, valid, test, labelled: 0, classes });
    }
    let labelled = (0u32..).zip(labels).filter(|(_, label)| **label != UNLABELLED);
    let mut order: Vec<(u64, u32)> =
        labelled.map(|(node, _)| (bits(seed, stream::SPLIT, u64::from(node), NODES), node)).collect();
    order.sort_unstable();
    let mut seen = vec![false; classes];
    let (mut drawn, others): (Vec<u32>, Vec<u32>) = order.into_iter().map(|(_, node)| node).partition(|&node| {
        let class = &mut seen[labels[node as usize] as usize];
        !std::mem::replace(class, true)
    });
    let least = drawn.len();
    drawn.extend(others);
    let end = |sum: f64, least: usize| ((sum * drawn.len() as f64).round() as usize).clamp(least, drawn.len());
    let train_end = end(train, least);
    let valid_end = end(train + valid, train_end);
    let test_end = end(train + valid + test, valid_end);
    let part = |start: usize, end: usize| {
        let mut rows = drawn[start..end].to_vec();
        rows.sort_unstable();
        rows
    };
    let is_short = (valid > 0.0 && valid_end == train_end) || (test > 0.0 && test_end == valid_end);
    if is_short && !drawn.is_empty() {
        return Err(FractionsError { train, valid, test, labelled: drawn.len(), classes: least });
    }
    Ok(NodeSplit { train: part(0, train_end), valid: part(train_end, valid_end), test: part(valid_end, test_end) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(split: &NodeSplit) -> Vec<u32> {
        let mut rows = [&split.train[..], &split.valid, &split.test].concat();
        rows.sort_unstable();
        rows
    }

    proptest! {
        #[test]
        fn parts_are_disjoint_cover_the_labelled_nodes_and_have_their_sizes(
            labels in prop::collection::vec(prop_oneof![3 => 0u32..5, 1 => Just(UNLABELLED)], 0..200), seed: u64,
        ) {
            let drawn = draw(&labels, 5, [0.6, 0.2, 0.2], seed);
            let labelled: Vec<u32> = (0..labels.len() as u32).filter(|&n| labels[n as usize] != UNLABELLED).collect();
            // So few that a part may get none: then it is an error, not a part of nothing.
            if labelled.len() < 20 && drawn.is_err() {
                return Ok(());
            }
            let split = drawn.unwrap();
            prop_assert_eq!(all(&split), &labelled[..]);
            prop_assert!(labelled.is_empty() || !split.valid.is_empty() && !split.test.is_empty());
            let wanted = (0.6 * labelled.len() as f64).round() as usize;
            let has = |rows: &[u32], class| rows.iter().any(|&row| labels[row as usize] == class);
            prop_assert!((wanted..=wanted.max(5)).contains(&split.train.len()));
            prop_assert!((0..5).all(|class| has(&labelled, class) == has(&split.train, class)));
        }
    }

    #[test]
    fn the_seed_decides() {
        let labels: Vec<u32> = (0..300).map(|n| n % 3).collect();
        let by = |seed| draw(&labels, 3, [0.3, 0.2, 0.4], seed).unwrap();
        assert_eq!(by(1), by(1));
        assert_ne!(by(1), by(2));
        assert_eq!((by(1).train.len(), by(1).valid.len(), by(1).test.len()), (90, 60, 120));
    }

    #[test]
    fn every_class_is_learnt_even_from_a_small_part() {
        let labels: Vec<u32> = (0..100).map(|n| n / 10).collect();
        let split = draw(&labels, 10, [0.02, 0.0, 0.9], 1).unwrap();
        assert_eq!(
            split.train.iter().map(|&row| labels[row as usize]).collect::<Vec<_>>(),
            (0..10).collect::<Vec<_>>()
        );
        assert_eq!((split.valid.len(), split.test.len()), (0, 82));
    }

    #[test]
    fn a_part_without_nodes_is_refused() {
        let labels: Vec<u32> = (0..300).collect();
        let error = draw(&labels, 300, [0.6, 0.2, 0.2], 1).unwrap_err().to_string();
        assert!(error.contains("300 labelled nodes of 300 classes"), "{error}");
    }

    #[test]
    fn fractions_that_make_no_split_are_refused() {
        for [train, valid, test] in
            [[0.0, 0.5, 0.5], [0.6, 0.3, 0.2], [1.5, 0.0, 0.0], [0.5, -0.1, 0.0], [f64::NAN, 0.0, 0.0]]
        {
            let error = draw(&[0, 1], 2, [train, valid, test], 1).unwrap_err().to_string();
            assert!(error.contains("add up to at most 1") && error.contains(&train.to_string()), "{error}");
        }
    }
}
