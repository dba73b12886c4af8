//! How well edges are told from other pairs, or nodes put in their classes.

use super::axis::{Axis, Spread};
use super::lines::{Lines, Series, Style};
use super::{figure, grid};
use crate::experiment::details::StageDetails;
use crate::experiment::metrics::Stage;
use crate::report::shown::Shown;

/// Points of a curve that the pointer tells something of.
const TOLD: usize = 40;

/// The charts of every stage that was scored.
pub(super) fn quality(run: &Shown) -> Vec<String> {
    let stages: Vec<(&Stage, &StageDetails)> = run.metrics.stages.iter().zip(&run.details.stages).collect();
    let curves = || stages.iter().filter_map(|(stage, found)| Some((stage, found.curves.as_ref()?))).enumerate();
    let mut charts = Vec::new();
    if curves().next().is_some() {
        let named = |stage: &Stage, split: &str| format!("{}, {split}", stage.name);
        let roc = curves().map(|(colour, (stage, of))| {
            curve(colour, &named(stage, &of.split), &of.curves.roc, ["false positives", "true positives"])
        });
        let chance = Series {
            name: "chance".to_owned(),
            colour: 10,
            style: Style::Broken,
            points: vec![[0.0, 0.0], [1.0, 1.0]],
            titles: Vec::new(),
        };
        let chart = Lines {
            about: "ROC curve".to_owned(),
            x: Axis::between("share of non-edges taken for edges", 0.0, 1.0),
            y: Axis::between("share of edges found", 0.0, 1.0),
            series: roc.chain([chance]).collect(),
        };
        charts.push(figure("", "ROC curve", &chart.draw()));
        let precision = curves().map(|(colour, (stage, of))| {
            curve(colour, &named(stage, &of.split), &of.curves.precision_recall, ["recall", "precision"])
        });
        let chart = Lines {
            about: "Precision and recall".to_owned(),
            x: Axis::between("recall: share of edges found", 0.0, 1.0),
            y: Axis::between("precision", 0.0, 1.0),
            series: precision.collect(),
        };
        charts.push(figure("", "Precision and recall", &chart.draw()));
    }
    let last = stages.iter().rev().find_map(|(stage, found)| Some((stage, found.confusion.as_ref()?)));
    if let Some((stage, confusion)) = last {
        let caption =
            format!("Classes of the {} nodes (rows) and where {} put them (columns)", confusion.split, stage.name);
        charts.push(figure("broad", &caption, &grid::confusion(&run.details.classes, &confusion.counts)));
    }
    if let Some(chart) = run.metrics.stages.iter().find_map(|stage| stage.ranks_tried.as_ref()) {
        let points: Vec<[f64; 2]> = chart.iter().map(|(&rank, &auc)| [rank as f64, auc]).collect();
        let chart = Lines {
            about: "Ranks tried".to_owned(),
            x: Axis::around("rank", Spread::Log, points.iter().map(|point| point[0])),
            y: Axis::around("ROC-AUC on held-out training edges", Spread::Linear, points.iter().map(|point| point[1])),
            series: vec![Series {
                name: "ranks".to_owned(),
                colour: 0,
                style: Style::Marked,
                titles: points.iter().map(|point| format!("rank {}: {:.4}", point[0], point[1])).collect(),
                points,
            }],
        };
        charts.push(figure("", "Ranks tried", &chart.draw()));
    }
    charts
}

fn curve(colour: usize, name: &str, points: &[[f64; 2]], words: [&str; 2]) -> Series {
    let every = points.len().div_ceil(TOLD).max(1);
    let title = |(at, point): (usize, &[f64; 2])| match at % every {
        0 => format!("{name}: {} {:.3}, {} {:.3}", words[0], point[0], words[1], point[1]),
        _ => String::new(),
    };
    let titles = points.iter().enumerate().map(title).collect();
    Series { name: name.to_owned(), colour, style: Style::Line, points: points.to_vec(), titles }
}
