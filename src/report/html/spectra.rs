//! Singular values, their residuals, and the convergence to them.

use super::chart::{Scale, Series, Style, chart};
use super::text::{counted, number};
use crate::experiment::details::StageDetails;
use crate::experiment::metrics::Stage;
use crate::report::shown::Shown;
use crate::report::table::thousands;

/// Up to this many triplets each has a mark of its own.
const MARKED: usize = 150;

/// A decomposition to draw.
pub(super) struct Decomposed<'a> {
    pub(super) colour: usize,
    pub(super) name: &'a str,
    pub(super) stage: &'a Stage,
    pub(super) found: &'a StageDetails,
}

/// The stages of a run that decomposed a matrix.
pub(super) fn decomposed(run: &Shown) -> impl Iterator<Item = Decomposed<'_>> {
    let stages = run.metrics.stages.iter().zip(&run.details.stages);
    let stages = stages.filter(|(_, found)| !found.singular_values.is_empty()).enumerate();
    stages.map(|(colour, (stage, found))| Decomposed { colour, name: &stage.name, stage, found })
}

/// The charts of decompositions beside each other.
pub(super) fn decompositions(all: &[Decomposed<'_>]) -> Vec<String> {
    let spectrum = |what: &str, values: fn(&StageDetails) -> &[f64]| -> Vec<Series> {
        all.iter().map(|one| one.spectrum(what, values(one.found))).collect()
    };
    let mut convergence: Vec<Series> = all.iter().map(Decomposed::convergence).collect();
    // One point shows no convergence.
    convergence.retain(|series| series.points.len() > 1);
    let triplet = ("triplet", Scale::Linear);
    vec![
        chart(
            "Singular values",
            triplet,
            ("singular value σ", Scale::Log),
            &spectrum("σ", |found| &found.singular_values),
        ),
        chart(
            "Residual of each triplet",
            triplet,
            ("residual / σ", Scale::Log),
            &spectrum("residual", |found| &found.relative_residuals),
        ),
        chart(
            "Convergence: the worst residual by columns multiplied",
            ("columns multiplied by M and Mᵀ", Scale::FromZero),
            ("worst residual / σ", Scale::Log),
            &convergence,
        ),
    ]
}

impl Decomposed<'_> {
    /// A number of each triplet, in order.
    fn spectrum(&self, what: &str, values: &[f64]) -> Series {
        let title = |at: usize, value| format!("{}: {what} of triplet {at} is {}", self.name, number(value));
        let points = values.iter().zip(1usize..).map(|(&value, at)| ([at as f64, value], title(at, value)));
        let style = if values.len() > MARKED { Style::Line } else { Style::Marked };
        Series { name: self.name.to_owned(), colour: self.colour, style, points: points.collect() }
    }

    /// The worst residual at each check, and at the end.
    fn convergence(&self) -> Series {
        let checks = self.found.convergence.iter();
        let checks = checks.map(|check| (check.operator_columns, check.iterations, check.worst_residual));
        let end = self
            .stage
            .decomposition
            .and_then(|one| Some((one.operator_columns, one.iterations, one.max_relative_residual?)));
        let point = |(columns, iterations, worst): (usize, usize, f64)| {
            let (after, columns_shown) = (counted(iterations, "iteration"), thousands(columns));
            let title = format!("{}: {} after {after}, {columns_shown} columns", self.name, number(worst));
            ([columns as f64, worst], title)
        };
        let points = checks.chain(end).map(point).collect();
        Series { name: self.name.to_owned(), colour: self.colour, style: Style::Marked, points }
    }
}
