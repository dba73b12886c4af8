//! The quality of link prediction and of classification.

use super::chart::{Scale, Series, Style, chart};
use super::{figure, grid};
use crate::experiment::details::StageDetails;
use crate::experiment::metrics::Stage;
use crate::report::shown::Shown;

/// Points of a curve that have a title.
const TITLED: usize = 40;

/// The charts of every stage that was scored.
pub(super) fn quality(run: &Shown) -> Vec<String> {
    let stages: Vec<(&Stage, &StageDetails)> = run.metrics.stages.iter().zip(&run.details.stages).collect();
    let (mut roc, mut precision, mut charts) = (Vec::new(), Vec::new(), Vec::new());
    let scored = stages.iter().filter_map(|(stage, found)| Some((stage, found.curves.as_ref()?)));
    for (colour, (stage, of)) in scored.enumerate() {
        let name = format!("{}, {}", stage.name, of.split);
        roc.push(curve(colour, &name, &of.curves.roc, ["false positives", "true positives"]));
        precision.push(curve(colour, &name, &of.curves.precision_recall, ["recall", "precision"]));
    }
    if !roc.is_empty() {
        let points = [0.0, 1.0].map(|share| ([share, share], String::new())).to_vec();
        roc.push(Series { name: "chance".to_owned(), colour: 10, style: Style::Broken, points });
    }
    let share = Scale::Between(0.0, 1.0);
    let (non_edges, edges) = (("share of non-edges taken for edges", share), ("share of edges found", share));
    charts.push(chart("ROC curve", non_edges, edges, &roc));
    let recall = ("recall: share of edges found", share);
    charts.push(chart("Precision and recall", recall, ("precision", share), &precision));
    let last = stages.iter().rev().find_map(|(stage, found)| Some((stage, found.confusion.as_ref()?)));
    if let Some((stage, confusion)) = last {
        let caption =
            format!("Classes of the {} nodes (rows) and where {} put them (columns)", confusion.split, stage.name);
        charts.push(figure("broad", &caption, &grid::confusion(&run.details.classes, &confusion.counts)));
    }
    if let Some(tried) = run.metrics.stages.iter().find_map(|stage| stage.ranks_tried.as_ref()) {
        let points = tried.iter().map(|(&rank, &auc)| ([rank as f64, auc], format!("rank {rank}: {auc:.4}"))).collect();
        let series = Series { name: "ranks".to_owned(), colour: 0, style: Style::Marked, points };
        let auc = ("ROC-AUC on held-out training edges", Scale::Linear);
        charts.push(chart("Ranks tried", ("rank", Scale::Log), auc, &[series]));
    }
    charts
}

fn curve(colour: usize, name: &str, points: &[[f64; 2]], words: [&str; 2]) -> Series {
    let every = points.len().div_ceil(TITLED).max(1);
    let title = |at: usize, point: &[f64; 2]| match at % every {
        0 => format!("{name}: {} {:.3}, {} {:.3}", words[0], point[0], words[1], point[1]),
        _ => String::new(),
    };
    let points = points.iter().enumerate().map(|(at, point)| (*point, title(at, point))).collect();
    Series { name: name.to_owned(), colour, style: Style::Line, points }
}
