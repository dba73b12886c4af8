//! Several runs side by side.

use super::chart::{Bar, bars};
use super::scatter::scatter;
use super::spectra::{self, Decomposed, decomposed};
use super::text::{escape, number, size, time};
use super::{figure, page, section, table};
use crate::experiment::metrics::Stage;
use crate::report::shown::Shown;
use crate::report::table::thousands;

/// Colours there are.
const COLOURS: usize = 10;

/// The page that compares runs.
pub fn compare(runs: &[Shown]) -> String {
    let lead = runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>().join(", ");
    let sections: Vec<String> = [
        section("run", "What was run", "", &[overview(runs)]),
        section(
            "figures",
            "Figures",
            "Test figures of each stage, and valid ones behind them; the best test figure of a line is bold.",
            &[figures(runs)],
        ),
        section("decomposition", "Decomposition", "The first decomposition of each run.", &decompositions(runs)),
        section("cost", "Time and memory", "", &cost(runs)),
        section("map", "Maps", "", &maps(runs)),
    ]
    .into_iter()
    .flatten()
    .collect();
    page(&format!("{} runs compared", runs.len()), &lead, &sections)
}

fn overview(runs: &[Shown]) -> String {
    let row = |run: &Shown| {
        let metrics = &run.metrics;
        let decomposition = metrics.stages.iter().find_map(|stage| stage.decomposition);
        vec![
            run.name.clone(),
            metrics.config.clone(),
            metrics.dataset.clone(),
            thousands(metrics.nodes),
            thousands(metrics.edges),
            metrics.workers.to_string(),
            metrics.seed.to_string(),
            decomposition.map_or("–".to_owned(), |one| one.rank.to_string()),
            time(metrics.seconds.total),
        ]
    };
    let head = ["run", "config", "dataset", "nodes", "edges", "workers", "seed", "rank", "time"];
    let commands: String = runs
        .iter()
        .filter(|run| !run.details.command.is_empty())
        .map(|run| format!("<dt>{}</dt><dd><code>{}</code></dd>\n", escape(&run.name), escape(&run.details.command)))
        .collect();
    let commands =
        if commands.is_empty() { commands } else { format!("<div class=\"card broad\"><dl>\n{commands}</dl></div>") };
    format!("<div class=\"card broad\">{}</div>{commands}", table(&head, &runs.iter().map(row).collect::<Vec<_>>()))
}

/// One line a figure of a stage, one column a run.
fn figures(runs: &[Shown]) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    let of_stage = |stage: &Stage| {
        let scores = stage.test.as_ref().or(stage.valid.as_ref());
        let names = scores.map_or(Vec::new(), |scores| scores.0.iter().map(|(name, _)| name.clone()).collect());
        names.into_iter().map(|name| (stage.name.to_string(), name)).collect::<Vec<_>>()
    };
    for line in runs.iter().flat_map(|run| &run.metrics.stages).flat_map(of_stage) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    let head: String = runs.iter().map(|run| format!("<th>{}</th>", escape(&run.name))).collect();
    let mut html = format!(
        "<div class=\"card broad metrics\"><div class=\"wide\"><table>\n<thead><tr><th>stage</th><th>figure</th>{head}</tr></thead>\n<tbody>\n"
    );
    for (stage, name) in &lines {
        let found = |run: &Shown| {
            let stage = run.metrics.stages.iter().find(|one| one.name == *stage)?;
            let of = |scores: &Option<crate::experiment::metrics::Scores>| {
                scores.as_ref().and_then(|scores| scores.get(name))
            };
            Some((of(&stage.test), of(&stage.valid)))
        };
        let best = runs.iter().filter_map(|run| found(run)?.0).reduce(f64::max);
        let cell = |run: &Shown| {
            let (test, valid) = found(run).unwrap_or((None, None));
            let figure = |figure: Option<f64>| figure.map_or("–".to_owned(), |figure| format!("{figure:.4}"));
            let kind = if test.is_some() && test == best { " class=\"best\"" } else { "" };
            format!("<td{kind}>{} <small>{}</small></td>", figure(test), figure(valid))
        };
        let cells: String = runs.iter().map(cell).collect();
        html.push_str(&format!("<tr><td>{}</td><td>{}</td>{cells}</tr>\n", escape(stage), escape(name)));
    }
    html.push_str("</tbody>\n</table></div></div>");
    html
}

fn decompositions(runs: &[Shown]) -> Vec<String> {
    let first = |(at, run): (usize, _)| {
        let first = decomposed(run).next()?;
        Some(Decomposed { colour: at % COLOURS, name: &run.name, ..first })
    };
    let first: Vec<Decomposed> = runs.iter().enumerate().filter_map(first).collect();
    let worst = |run: &Shown| {
        let all = run.metrics.stages.iter().filter_map(|stage| stage.decomposition?.max_relative_residual);
        let worst = all.reduce(f64::max)?;
        Some(Bar::new(&run.name, worst, number(worst)))
    };
    let worst: Vec<Bar> = runs.iter().filter_map(worst).collect();
    let mut charts = spectra::decompositions(&first);
    charts.push(bars("Worst residual of any triplet, relative to its σ", &[], &worst));
    charts
}

fn cost(runs: &[Shown]) -> Vec<String> {
    let bar = |run: &Shown| {
        let seconds = run.metrics.seconds;
        let parts = vec![seconds.load, seconds.train, seconds.evaluate];
        Bar { name: run.name.clone(), parts, amount: time(seconds.total) }
    };
    let times: Vec<Bar> = runs.iter().map(bar).collect();
    let bar = |run: &Shown| {
        let bytes = run.metrics.peak_memory_bytes?;
        Some(Bar::new(&run.name, bytes as f64, size(bytes)))
    };
    let memory: Vec<Bar> = runs.iter().filter_map(bar).collect();
    vec![bars("Time", &["load", "train", "evaluate"], &times), bars("Peak memory", &[], &memory)]
}

fn maps(runs: &[Shown]) -> Vec<String> {
    let mapped = runs.iter().filter_map(|run| Some((run, run.details.map.as_ref()?)));
    mapped
        .map(|(run, map)| {
            figure("", &format!("{}: by {}, coloured by {}", run.name, map.of, map.colour), &scatter(map, true))
        })
        .collect()
}
