use serde::{Deserialize, Serialize};

use super::{EvaluateError, check, descending};

/// What every threshold gives, thinned.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Curves {
    /// The share of non-edges and the share of edges above each threshold, from (0, 0) to (1, 1).
    pub roc: Vec<[f64; 2]>,
    /// The share of the edges that is found, and the share of edges in what is found.
    pub precision_recall: Vec<[f64; 2]>,
}

/// The ROC and the precision-recall curve, each with at most `most` points.
///
/// ```
/// use isvd_dist::evaluate::curves;
/// let curves = curves(&[3.0, 1.0], &[2.0], 300)?;
/// assert_eq!(curves.roc, [[0.0, 0.0], [0.0, 0.5], [1.0, 0.5], [1.0, 1.0]]);
/// assert_eq!(curves.precision_recall, [[0.5, 1.0], [0.5, 0.5], [1.0, 2.0 / 3.0]]);
/// # Ok::<(), isvd_dist::evaluate::EvaluateError>(())
/// ```
pub fn curves(positive: &[f32], negative: &[f32], most: usize) -> Result<Curves, EvaluateError> {
    check(positive, negative)?;
    let (positive, negative) = (descending(positive), descending(negative));
    let (edges, others) = (positive.len() as f64, negative.len() as f64);
    let (mut found, mut wrong) = (0, 0);
    let (mut roc, mut precision_recall) = (vec![[0.0, 0.0]], Vec::new());
    while found < positive.len() || wrong < negative.len() {
        let next = |scores: &[f32], from: usize| scores.get(from).copied().unwrap_or(f32::NEG_INFINITY);
        let threshold = next(&positive, found).max(next(&negative, wrong));
        found += positive[found..].iter().take_while(|&&score| score >= threshold).count();
        wrong += negative[wrong..].iter().take_while(|&&score| score >= threshold).count();
        roc.push([wrong as f64 / others, found as f64 / edges]);
        precision_recall.push([found as f64 / edges, found as f64 / (found + wrong) as f64]);
    }
    Ok(Curves { roc: thinned(&roc, most), precision_recall: thinned(&precision_recall, most) })
}

/// At most `most` points of a curve, about as far from each other; the ends stay.
fn thinned(points: &[[f64; 2]], most: usize) -> Vec<[f64; 2]> {
    if points.len() <= most {
        return points.to_vec();
    }
    let way = |pair: &[[f64; 2]]| (pair[1][0] - pair[0][0]).abs() + (pair[1][1] - pair[0][1]).abs();
    let length: f64 = points.windows(2).map(way).sum();
    let step = length / most.saturating_sub(2).max(1) as f64;
    let mut kept = vec![points[0]];
    let mut gone = 0.0;
    for pair in points.windows(2) {
        gone += way(pair);
        if gone >= step {
            kept.push(pair[1]);
            gone -= step * (gone / step).floor();
        }
    }
    if let Some(&last) = points.last().filter(|last| kept.last() != Some(last)) {
        kept.push(last);
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::evaluate::{oracle, roc_auc};

    fn area(points: &[[f64; 2]]) -> f64 {
        points.windows(2).map(|pair| (pair[1][0] - pair[0][0]) * (pair[0][1] + pair[1][1]) / 2.0).sum()
    }

    proptest! {
        #[test]
        fn the_area_under_the_roc_curve_is_the_auc(positive in oracle::scores(), negative in oracle::scores()) {
            let found = curves(&positive, &negative, 300).unwrap();
            prop_assert!((area(&found.roc) - roc_auc(&positive, &negative).unwrap()).abs() < 1e-12);
            prop_assert_eq!(found.roc.last(), Some(&[1.0, 1.0]));
        }

        #[test]
        fn a_thinned_curve_has_few_points_and_both_ends(
            positive in prop::collection::vec(-9i16..9, 50..400), negative in prop::collection::vec(-9i16..9, 50..400)
        ) {
            let scores = |drawn: &[i16]| drawn.iter().enumerate().map(|(i, &x)| f32::from(x) + i as f32 * 1e-3).collect();
            let (positive, negative): (Vec<f32>, Vec<f32>) = (scores(&positive), scores(&negative));
            let found = curves(&positive, &negative, 40).unwrap();
            prop_assert!(found.roc.len() <= 40 && found.precision_recall.len() <= 40);
            prop_assert_eq!((found.roc[0], found.roc[found.roc.len() - 1]), ([0.0, 0.0], [1.0, 1.0]));
            prop_assert!((area(&found.roc) - roc_auc(&positive, &negative).unwrap()).abs() < 0.02);
        }
    }
}
