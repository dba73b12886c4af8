//! The degrees of a graph.

use super::axis::{Axis, Spread};
use super::figure;
use super::lines::{Lines, Series, Style};
use super::text::{counted, number};
use crate::experiment::details::Degrees;

/// How many nodes have how many neighbours, on two log scales.
pub(super) fn degrees(degrees: &Degrees) -> String {
    if degrees.bins.is_empty() {
        return String::new();
    }
    let point =
        |&(from, to, nodes): &(f64, f64, usize)| [(from * (to - 1.0).max(from)).sqrt(), nodes as f64 / (to - from)];
    let title = |&(from, to, nodes): &(f64, f64, usize)| match to - from == 1.0 {
        true => format!("degree {from}: {}", counted(nodes, "node")),
        false => format!("degree {} to below {}: {}", number(from), number(to), counted(nodes, "node")),
    };
    let points: Vec<[f64; 2]> = degrees.bins.iter().map(point).collect();
    let chart = Lines {
        about: "Degree distribution".to_owned(),
        x: Axis::around("degree", Spread::Log, points.iter().map(|point| point[0])),
        y: Axis::around("nodes for each degree", Spread::Log, points.iter().map(|point| point[1])),
        series: vec![Series {
            name: "nodes".to_owned(),
            colour: 0,
            style: Style::Points,
            titles: degrees.bins.iter().map(title).collect(),
            points,
        }],
    };
    let isolated = if degrees.isolated > 0 {
        format!(", {} without edges", counted(degrees.isolated, "node"))
    } else {
        String::new()
    };
    let caption =
        format!("Degrees: {} on average, at most {}{isolated}", number(degrees.mean), number(degrees.largest));
    figure("", &caption, &chart.draw())
}
