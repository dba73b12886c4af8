//! Singular values, their residuals, and the way to them.

use super::axis::{Axis, Spread};
use super::figure;
use super::lines::{Lines, Series, Style};
use super::text::{counted, number};
use crate::experiment::details::StageDetails;
use crate::experiment::metrics::Stage;
use crate::report::shown::Shown;
use crate::report::table::thousands;

/// The stages that decomposed something of their own, each with a colour.
pub(super) fn decomposed(run: &Shown) -> impl Iterator<Item = (usize, &Stage, &StageDetails)> {
    let stages = run.metrics.stages.iter().zip(&run.details.stages);
    stages
        .filter(|(_, details)| !details.singular_values.is_empty())
        .enumerate()
        .map(|(at, (stage, found))| (at, stage, found))
}

/// The charts of all decompositions of a run.
pub(super) fn decomposition(run: &Shown) -> Vec<String> {
    let spectra = decomposed(run)
        .map(|(colour, stage, found)| spectrum_series(colour, &stage.name, &found.singular_values, "σ"))
        .collect();
    let residuals = decomposed(run)
        .map(|(colour, stage, found)| spectrum_series(colour, &stage.name, &found.relative_residuals, "residual"))
        .collect();
    vec![
        spectrum("Singular values", "singular value σ", spectra),
        spectrum("Residual of each triplet", "residual / σ", residuals),
        convergence(
            decomposed(run)
                .map(|(colour, stage, found)| convergence_series(colour, &stage.name, stage, found))
                .collect(),
        ),
    ]
}

/// Numbers of triplets, in order.
pub(super) fn spectrum_series(colour: usize, name: &str, values: &[f64], what: &str) -> Series {
    Series {
        name: name.to_owned(),
        colour,
        style: if values.len() > 150 { Style::Line } else { Style::Marked },
        points: values.iter().enumerate().map(|(at, &value)| [at as f64 + 1.0, value]).collect(),
        titles: values
            .iter()
            .enumerate()
            .map(|(at, &value)| format!("{name}: {what} of triplet {} is {}", at + 1, number(value)))
            .collect(),
    }
}

/// Spectra beside each other.
pub(super) fn spectrum(caption: &str, label: &str, series: Vec<Series>) -> String {
    let all = || series.iter().flat_map(|series| series.points.iter().copied());
    if all().next().is_none() {
        return String::new();
    }
    let x = Axis::around("triplet", Spread::Linear, all().map(|point| point[0]));
    let y = Axis::around(label, Spread::Log, all().map(|point| point[1]));
    figure("", caption, &Lines { about: caption.to_owned(), x, y, series }.draw())
}

/// The worst residual on the way, and at the end.
pub(super) fn convergence_series(colour: usize, name: &str, stage: &Stage, found: &StageDetails) -> Series {
    let mut looks: Vec<(usize, usize, f64)> =
        found.convergence.iter().map(|look| (look.operator_columns, look.iterations, look.worst_residual)).collect();
    if let Some((one, worst)) = stage.decomposition.and_then(|one| Some((one, one.max_relative_residual?))) {
        looks.push((one.operator_columns, one.iterations, worst));
    }
    let title = |(columns, iterations, worst): &(usize, usize, f64)| {
        format!(
            "{name}: {} after {}, {} columns",
            number(*worst),
            counted(*iterations, "iteration"),
            thousands(columns)
        )
    };
    Series {
        name: name.to_owned(),
        colour,
        style: Style::Marked,
        titles: looks.iter().map(title).collect(),
        points: looks.iter().map(|look| [look.0 as f64, look.2]).collect(),
    }
}

/// Ways to convergence beside each other.
pub(super) fn convergence(mut series: Vec<Series>) -> String {
    // One point is no way.
    series.retain(|series| series.points.len() > 1);
    let all = || series.iter().flat_map(|series| series.points.iter().copied());
    if all().next().is_none() {
        return String::new();
    }
    let caption = "Convergence: the worst residual by columns multiplied";
    let x = Axis::around("columns multiplied by M and Mᵀ", Spread::Linear, all().map(|point| point[0])).with_zero();
    let y = Axis::around("worst residual / σ", Spread::Log, all().map(|point| point[1]));
    figure("", caption, &Lines { about: caption.to_owned(), x, y, series }.draw())
}
