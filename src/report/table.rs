//! The short table that ends a run.

use std::fmt;
use std::path::Path;

use super::metrics::{Metrics, Scores, Stage};

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
        row(f, "edges", &thousands(metrics.edges))?;
        row(f, "workers", &metrics.workers)?;
        for stage in &metrics.stages {
            show_stage(f, stage)?;
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

fn show_stage(f: &mut fmt::Formatter<'_>, stage: &Stage) -> fmt::Result {
    row(f, "rank", &stage.rank)?;
    row(f, "iterations", &stage.iterations)?;
    let residual = stage.max_relative_residual;
    row(f, "worst residual", &residual.map_or("–".to_owned(), |r| format!("{r:.2e} of its σ")))?;
    if let Some(kernel) = &stage.kernel {
        row(f, "kernel", &format_args!("μ {:.3}, s̄ {:.2}, loss {:.4}", kernel.mean, kernel.sharpness, kernel.loss))?;
    }
    let asked = stage.test.as_ref().or(stage.valid.as_ref());
    let Some(Scores(asked)) = asked else {
        return Ok(());
    };
    writeln!(f, "\n{:<LABEL$}{:>8}{:>9}", stage.name, "valid", "test")?;
    for &(metric, _) in asked {
        let figure = |scores: &Option<Scores>| {
            let figure = scores.as_ref().and_then(|scores| scores.get(metric));
            figure.map_or("–".to_owned(), |figure| format!("{figure:.4}"))
        };
        writeln!(f, "{:<LABEL$}{:>8}{:>9}", metric.to_string(), figure(&stage.valid), figure(&stage.test))?;
    }
    writeln!(f)
}

const LABEL: usize = 16;

fn row(f: &mut fmt::Formatter<'_>, label: &str, value: &dyn fmt::Display) -> fmt::Result {
    writeln!(f, "{label:<LABEL$}{value}")
}

pub(super) fn thousands(number: impl fmt::Display) -> String {
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
    use crate::report::metrics::example;

    #[test]
    fn shows_what_matters() {
        let metrics = example();
        let table = Table { metrics: &metrics, folder: Path::new("out/mine") }.to_string();
        let expected = "\
dataset         demo
nodes           5,000
edges           1,050,000
workers         2
rank            32
iterations      10
worst residual  3.00e-3 of its σ

embedding          valid     test
auc               0.7500   0.8750
ap                0.5000   0.5000

seconds         1.88 (load 0.25, train 1.50, evaluate 0.12)
results         out/mine
";
        assert_eq!(table, expected);
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
