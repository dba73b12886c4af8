//! The short table that ends a run.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::dataset::Dataset;
use crate::experiment::metrics::{Metrics, Scores, Stage};
use crate::kernel::elementwise::largest;
use crate::matrix::Dense;

/// Shows the figures of a run and where its results are.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    /// What was measured.
    pub metrics: &'a Metrics,
    /// Where the results are.
    pub folder: &'a Path,
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metrics = self.metrics;
        row(f, "dataset", &metrics.dataset)?;
        row(f, "nodes", &thousands(metrics.nodes))?;
        row(f, "edges", &edges(metrics.edges, metrics.held_out_edges))?;
        row(f, "workers", &metrics.workers)?;
        if let Some(seeds) = metrics.seeds {
            let last = metrics.seed.saturating_add(seeds as u64 - 1);
            row(f, "seeds", &format_args!("{} to {last}: mean ± standard deviation", metrics.seed))?;
        }
        for stage in &metrics.stages {
            show_stage(f, stage, metrics.stages.len() == 1)?;
        }
        let seconds = metrics.seconds;
        let split = format!(
            "{:.2} (load {:.2}, train {:.2}, evaluate {:.2})",
            seconds.total, seconds.load, seconds.train, seconds.evaluate
        );
        row(f, "seconds", &split)?;
        if let Some(bytes) = metrics.peak_memory_bytes {
            row(f, "peak memory", &format_args!("{:.0} MB", bytes as f64 / 1e6))?;
        }
        row(f, "results", &self.folder.display())
    }
}

/// The number of edges, with its parts where some are held out.
pub(in crate::report) fn edges(all: usize, held_out: usize) -> String {
    let training = thousands(all.saturating_sub(held_out));
    match held_out {
        0 => training,
        _ => format!("{} ({training} training, {} held out)", thousands(all), thousands(held_out)),
    }
}

/// Of a stage without figures, such as one that makes features for others, a line; if it is the
/// only one, whether it is complete, too.
fn show_stage(f: &mut fmt::Formatter<'_>, stage: &Stage, is_only: bool) -> fmt::Result {
    if let (None, None, Some(decomposition)) = (&stage.valid, &stage.test, &stage.decomposition) {
        let residual = decomposition.worst_residual();
        let residual = residual.map_or(String::new(), |residual| format!(", worst residual {residual}"));
        row(f, &stage.name, &format_args!("rank {}{residual}", decomposition.rank))?;
        return match is_only {
            true => row(f, "completeness", &decomposition.completeness()),
            false => Ok(()),
        };
    }
    if let Some(decomposition) = &stage.decomposition {
        let columns = thousands(decomposition.operator_columns);
        row(f, "rank", &decomposition.rank)?;
        if let Some(energy) = decomposition.energy {
            row(f, "energy", &format_args!("{energy:.3} of ‖M‖², both without the first triplet"))?;
        }
        row(f, "iterations", &format_args!("{}, {columns} columns", decomposition.iterations))?;
        match decomposition.normal_residual {
            Some(residual) => row(f, "residual", &format_args!("{residual:.2e} of the normal equations"))?,
            None => {
                row(f, "worst residual", &decomposition.worst_residual().unwrap_or("–".to_owned()))?;
                row(f, "completeness", &decomposition.completeness())?;
            }
        }
    }
    if let Some(kernel) = &stage.kernel {
        row(f, "kernel", &format_args!("μ {:.3}, s̄ {:.2}, loss {:.4}", kernel.mean, kernel.sharpness, kernel.loss))?;
    }
    if let Some(network) = &stage.network {
        row(f, "parameters", &thousands(network.parameters))?;
        row(f, "epochs", &format_args!("{}, kept {}", network.epochs.len(), network.kept_epoch))?;
    }
    let figures = stage.figures();
    if figures.is_empty() {
        return Ok(());
    }
    let has_spread = stage.valid_spread.is_some() || stage.test_spread.is_some();
    let width = if has_spread { FIGURE + SPREAD } else { FIGURE };
    writeln!(f, "\n{:<LABEL$}{:>width$} {:>width$}", stage.name, "valid", "test")?;
    for [name, valid, test] in figures {
        writeln!(f, "{name:<LABEL$}{valid:>width$} {test:>width$}")?;
    }
    writeln!(f)
}

impl Stage {
    /// The name of each figure, its value on validation and on test, each with its spread.
    pub(in crate::report) fn figures(&self) -> Vec<[String; 3]> {
        let asked = self.test.as_ref().or(self.valid.as_ref()).map_or(&[][..], |scores| &scores.0);
        let row = |(name, _): &(String, f64)| {
            let of = |scores: &Option<Scores>| scores.as_ref().and_then(|scores| scores.get(name));
            let cell = |figure: &Option<Scores>, spread: &Option<Scores>| {
                let spread = of(spread).map_or(String::new(), |spread| format!(" ± {spread:.4}"));
                of(figure).map_or("–".to_owned(), |figure| format!("{figure:.4}{spread}"))
            };
            [name.clone(), cell(&self.valid, &self.valid_spread), cell(&self.test, &self.test_spread)]
        };
        asked.iter().map(row).collect()
    }
}

/// Columns of a figure, and of the spread beside it.
const FIGURE: usize = 8;
const SPREAD: usize = 9;
pub(super) const LABEL: usize = 16;

pub(super) fn row(f: &mut fmt::Formatter<'_>, label: &str, value: &dyn fmt::Display) -> fmt::Result {
    writeln!(f, "{label:<LABEL$}{value}")
}

/// What a conversion came to; `training_edges` are the distinct edges of the graph.
pub fn converted(dataset: &Dataset, training_edges: usize, elapsed: Duration, folder: &Path) -> String {
    let (nodes, held_out) = (thousands(dataset.graph.nodes()), dataset.held_out_edges());
    let parts = match held_out {
        0 => String::new(),
        _ => format!(" ({} training, {} held out)", thousands(training_edges), thousands(held_out)),
    };
    let edges = thousands(training_edges + held_out);
    format!(
        "{:<LABEL$}{} ({nodes} nodes, {edges} edges{parts})\n{:<LABEL$}{:.2} s\n{:<LABEL$}{}\n",
        "dataset",
        dataset.name,
        "time",
        elapsed.as_secs_f64(),
        "store",
        folder.display()
    )
}

/// What was exported, and where to.
pub fn exported(rows: usize, columns: usize, files: &[PathBuf]) -> String {
    let mut text = format!("{:<LABEL$}{} × {columns}\n", "vectors", thousands(rows));
    for file in files {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<LABEL$}{}", "file", file.display());
    }
    text
}

/// What predictions came to, class by class.
pub fn predictions(
    dataset: &Dataset,
    probabilities: &Dense,
    classes: &[String],
    elapsed: Duration,
    path: &Path,
) -> String {
    let mut counts = vec![0usize; classes.len()];
    (0..probabilities.rows()).for_each(|row| counts[largest(probabilities.row(row))] += 1);
    let mut text = String::new();
    let mut line = |label: &str, value: &dyn fmt::Display| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{label:<LABEL$}{value}");
    };
    line("dataset", &dataset.name);
    line("nodes", &thousands(probabilities.rows()));
    for (class, count) in classes.iter().zip(counts).filter(|(_, count)| *count > 0) {
        line("class", &format_args!("{class}: {}", thousands(count)));
    }
    line("seconds", &format_args!("{:.2}", elapsed.as_secs_f64()));
    line("predictions", &path.display());
    text
}

/// A number in single precision for JSON, with the fewest digits that identify it.
pub(crate) fn shortest(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}

/// A field of a table, in quotes where it needs them.
pub(crate) fn quoted(field: &str, separator: char) -> Cow<'_, str> {
    match field.is_empty() || field.contains([separator, '"', '\n', '\r']) {
        false => field.into(),
        true => format!("\"{}\"", field.replace('"', "\"\"")).into(),
    }
}

/// A number with a comma between thousands.
pub fn thousands(number: impl fmt::Display) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::metrics::example;

    #[test]
    fn shows_what_matters() {
        let metrics = example();
        let table = Table { metrics: &metrics, folder: Path::new("out/mine") }.to_string();
        let expected = "\
dataset         demo
nodes           5,000
edges           1,050,000 (1,000,000 training, 50,000 held out)
workers         2
rank            32
iterations      10, 600 columns
worst residual  3.00e-3 of its σ (measured)
completeness    not checked

embedding          valid     test
auc               0.7500   0.8750
ap                0.5000   0.5000

seconds         1.88 (load 0.25, train 1.50, evaluate 0.12)
results         out/mine
";
        assert_eq!(table, expected);
    }

    /// Catches a classifier that is certified by its triplets, which may be right where W is not.
    #[test]
    fn weights_are_shown_with_the_residual_of_their_normal_equations() {
        let mut metrics = example();
        metrics.stages[0].decomposition.as_mut().unwrap().normal_residual = Some(0.25);
        let table = Table { metrics: &metrics, folder: Path::new("out") }.to_string();
        assert!(table.contains("residual        2.50e-1 of the normal equations"), "{table}");
        assert!(!table.contains("worst residual"), "{table}");
    }

    /// Catches a decomposition whose check is in `metrics.json` alone.
    #[test]
    fn a_decomposition_without_figures_says_whether_it_is_complete() {
        let mut metrics = example();
        metrics.stages.truncate(1);
        (metrics.stages[0].valid, metrics.stages[0].test) = (None, None);
        let table = Table { metrics: &metrics, folder: Path::new("out") }.to_string();
        assert!(table.contains("worst residual 3.00e-3 of its σ (measured)\ncompleteness    not checked"), "{table}");
    }

    #[test]
    fn a_missing_split_shows_as_a_dash() {
        let mut metrics = example();
        metrics.stages[0].valid = None;
        let table = Table { metrics: &metrics, folder: Path::new("out") }.to_string();
        assert!(table.contains("auc                    –   0.8750"), "{table}");
    }

    #[test]
    fn thousands_are_grouped() {
        let shown = [0, 12, 999, 1_000, 67_911, 1_067_911].map(thousands);
        assert_eq!(shown, ["0", "12", "999", "1,000", "67,911", "1,067,911"]);
    }
}
