//! The degrees of a graph.

use super::chart::{Scale, Series, Style, chart};
use super::text::{counted, number};
use crate::experiment::details::Degrees;

/// The number of nodes of each degree, on two log scales.
pub(super) fn degrees(degrees: &Degrees) -> String {
    let point = |&(from, to, nodes): &(f64, f64, usize)| {
        let degree = match to - from == 1.0 {
            true => format!("degree {from}"),
            false => format!("degree {} to below {}", number(from), number(to)),
        };
        let place = [(from * (to - 1.0).max(from)).sqrt(), nodes as f64 / (to - from)];
        (place, format!("{degree}: {}", counted(nodes, "node")))
    };
    let isolated = match degrees.isolated {
        0 => String::new(),
        isolated => format!(", {} without edges", counted(isolated, "node")),
    };
    let (mean, largest) = (number(degrees.mean), number(degrees.largest));
    let points = degrees.bins.iter().map(point).collect();
    let series = Series { name: "nodes".to_owned(), colour: 0, style: Style::Points, points };
    let caption = format!("Degrees: {mean} on average, at most {largest}{isolated}");
    chart(&caption, ("degree", Scale::Log), ("nodes for each degree", Scale::Log), &[series])
}
