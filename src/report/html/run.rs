//! The report of one run.

use super::axis::{Axis, Spread};
use super::bars::{Bar, Bars};
use super::grid;
use super::lines::{Lines, Series, Style};
use super::scatter::scatter;
use super::text::{escape, number, size, time};
use super::{figure, page, section, table};
use crate::report::details::{Degrees, StageDetails};
use crate::report::metrics::{Scores, Stage};
use crate::report::shown::Shown;
use crate::report::table::thousands;

/// Points of a curve that the pointer tells something of.
const TOLD: usize = 40;

/// The page of one run.
pub fn report(run: &Shown) -> String {
    let metrics = &run.metrics;
    let lead = format!(
        "{} nodes and {} edges, {} in {}",
        thousands(metrics.nodes),
        thousands(metrics.edges),
        counted(metrics.stages.len(), "stage"),
        time(metrics.seconds.total),
    );
    let sections: Vec<String> = [
        Some(headline(run)),
        section("run", "What was run", "", &[what_was_run(run)]),
        section("figures", "Figures", FIGURES, &[figures(&metrics.stages)]),
        section("map", "Map", "", &[map(run)]),
        section("decomposition", "Decomposition", DECOMPOSITION, &decomposition(run)),
        section("quality", "How good it is", "", &quality(run)),
        section("training", "Fine-tuning", "", &training(run)),
        section("graph", "Graph", "", &[run.details.degrees.as_ref().map_or(String::new(), degrees)]),
        section("cost", "Time and memory", "", &cost(run)),
        section("plan", "Plan", PLAN, &[plan(run)]),
    ]
    .into_iter()
    .flatten()
    .collect();
    page(&format!("{} on {}", metrics.config, metrics.dataset), &lead, &sections)
}

const FIGURES: &str = "Valid is for choosing settings, test for the final figure. Where valid is empty, it was learnt from or is not there.";
const DECOMPOSITION: &str = "Residuals are ‖Mv − σu‖ of each singular triplet, measured, relative to its own σ.";
const PLAN: &str = "How each matrix was multiplied by; times are estimates for a machine of reference.";

fn counted(count: usize, what: &str) -> String {
    format!("{} {what}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// The last figures, large.
fn headline(run: &Shown) -> String {
    let metrics = &run.metrics;
    let mut entries = Vec::new();
    let scored = metrics.stages.iter().rev().find_map(|stage| {
        stage
            .test
            .as_ref()
            .map(|scores| (stage, "test", scores))
            .or(stage.valid.as_ref().map(|scores| (stage, "valid", scores)))
    });
    if let Some((stage, split, Scores(scores))) = scored {
        let figure =
            |(name, value): &(String, f64)| (format!("{value:.4}"), format!("{name} on {split}, {}", stage.name));
        entries.extend(scores.iter().map(figure));
    }
    let residuals = metrics.stages.iter().filter_map(|stage| stage.decomposition?.max_relative_residual);
    if let Some(worst) = residuals.reduce(f64::max) {
        entries.push((number(worst), "worst residual of its σ".to_owned()));
    }
    entries.push((time(metrics.seconds.total), "in all".to_owned()));
    if let Some(bytes) = metrics.peak_memory_bytes {
        entries.push((size(bytes), "peak memory".to_owned()));
    }
    let entry =
        |(value, name): &(String, String)| format!("<li><b>{}</b><span>{}</span></li>", escape(value), escape(name));
    format!("<ul class=\"figures\">{}</ul>", entries.iter().map(entry).collect::<String>())
}

fn what_was_run(run: &Shown) -> String {
    let (metrics, details) = (&run.metrics, &run.details);
    let mut facts = vec![
        ("config", metrics.config.clone()),
        ("dataset", metrics.dataset.clone()),
        ("graph", format!("{} nodes, {} edges", thousands(metrics.nodes), thousands(metrics.edges))),
        (
            "computed by",
            format!(
                "{}, {}",
                counted(metrics.workers, "worker"),
                counted(metrics.processes, "process").replace("processs", "processes")
            ),
        ),
        (
            "seed",
            match metrics.seeds {
                None => metrics.seed.to_string(),
                Some(seeds) => {
                    format!("{} and the {} after it: figures are means", metrics.seed, seeds.saturating_sub(1))
                }
            },
        ),
    ];
    for stage in &metrics.stages {
        if let Some(one) = stage.decomposition.filter(|_| stage.kernel.is_none()) {
            let energy = one.energy.map_or(String::new(), |energy| format!(", {energy:.3} of the energy"));
            let columns = thousands(one.operator_columns);
            let text = format!(
                "{}: rank {}, {}, {columns} columns multiplied{energy}",
                stage.name,
                one.rank,
                counted(one.iterations, "iteration")
            );
            facts.push(("decomposition", text));
        }
        if let Some(kernel) = &stage.kernel {
            facts.push((
                "kernel",
                format!("μ {}, s̄ {}, loss {}", number(kernel.mean), number(kernel.sharpness), number(kernel.loss)),
            ));
        }
        if let Some(network) = &stage.network {
            let text = format!(
                "{} parameters, {}, kept {}",
                thousands(network.parameters),
                counted(network.epochs.len(), "epoch"),
                network.kept_epoch
            );
            facts.push(("network", text));
        }
    }
    if !details.written.is_empty() {
        facts.push(("written", format!("{} by {}", details.written, details.program)));
    }
    let facts: String =
        facts.iter().map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>\n", escape(value))).collect();
    let command = match details.command.is_empty() {
        true => String::new(),
        false => format!("<pre class=\"command\"><code>{}</code></pre>", escape(&details.command)),
    };
    format!("<div class=\"broad\">{command}<div class=\"card\"><dl>\n{facts}</dl></div></div>")
}

/// Every figure of every stage.
fn figures(stages: &[Stage]) -> String {
    let mut rows = Vec::new();
    for stage in stages {
        let asked = stage.test.as_ref().or(stage.valid.as_ref()).map_or(&[][..], |scores| &scores.0);
        for (name, _) in asked {
            let cell = |scores: &Option<Scores>, spread: &Option<Scores>| {
                let of = |scores: &Option<Scores>| scores.as_ref().and_then(|scores| scores.get(name));
                let spread = of(spread).map_or(String::new(), |spread| format!(" ± {spread:.4}"));
                of(scores).map_or("–".to_owned(), |figure| format!("{figure:.4}{spread}"))
            };
            let (valid, test) = (cell(&stage.valid, &stage.valid_spread), cell(&stage.test, &stage.test_spread));
            rows.push(vec![stage.name.to_string(), name.clone(), valid, test, time(stage.seconds)]);
        }
        if asked.is_empty() {
            let dash = || "–".to_owned();
            rows.push(vec![stage.name.to_string(), dash(), dash(), dash(), time(stage.seconds)]);
        }
    }
    match rows.is_empty() {
        true => String::new(),
        false => {
            format!(
                "<div class=\"card broad metrics\">{}</div>",
                table(&["stage", "figure", "valid", "test", "time"], &rows)
            )
        }
    }
}

fn map(run: &Shown) -> String {
    let Some(map) = &run.details.map else { return String::new() };
    let sample = match map.ids.len() < map.nodes {
        true => format!("{} of {} nodes", thousands(map.ids.len()), thousands(map.nodes)),
        false => format!("{} nodes", thousands(map.nodes)),
    };
    let caption = format!("{sample} by their {}, coloured by {}: those near each other are alike", map.of, map.colour);
    figure("broad", &caption, &scatter(map, false))
}

/// The stages that decomposed something of their own, each with a colour.
pub(super) fn decomposed(run: &Shown) -> impl Iterator<Item = (usize, &Stage, &StageDetails)> {
    let stages = run.metrics.stages.iter().zip(&run.details.stages);
    stages
        .filter(|(_, details)| !details.singular_values.is_empty())
        .enumerate()
        .map(|(at, (stage, found))| (at, stage, found))
}

fn decomposition(run: &Shown) -> Vec<String> {
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
    let x = Axis::around("columns multiplied by M and Mᵀ", Spread::Linear, all().map(|point| point[0])).from_zero();
    let y = Axis::around("worst residual / σ", Spread::Log, all().map(|point| point[1]));
    figure("", caption, &Lines { about: caption.to_owned(), x, y, series }.draw())
}

fn quality(run: &Shown) -> Vec<String> {
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
        let kind = if confusion.counts.len() > 8 { "broad" } else { "" };
        charts.push(figure(kind, &caption, &grid::confusion(&run.details.classes, &confusion.counts)));
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

fn training(run: &Shown) -> Vec<String> {
    let mut charts = Vec::new();
    for (stage, found) in run.metrics.stages.iter().zip(&run.details.stages) {
        if found.losses.len() > 1 {
            let last = (found.losses.len() - 1) as f64;
            let points: Vec<[f64; 2]> =
                found.losses.iter().enumerate().map(|(at, &loss)| [100.0 * at as f64 / last, loss]).collect();
            let titles = points
                .iter()
                .map(|point| format!("{:.0}% of the batches: loss {}", point[0], number(point[1])))
                .collect();
            let y = Axis::around("mean cross-entropy", Spread::Linear, found.losses.iter().copied());
            let series = vec![Series { name: stage.name.to_string(), colour: 0, style: Style::Line, points, titles }];
            let chart = Lines {
                about: "Loss of the kernel".to_owned(),
                x: Axis::between("part of the training, %", 0.0, 100.0),
                y,
                series,
            };
            charts.push(figure("", "Loss of the kernel", &chart.draw()));
        }
        let Some(network) = &stage.network else { continue };
        let loss: Vec<[f64; 2]> = network.epochs.iter().map(|epoch| [epoch.epoch as f64, epoch.loss]).collect();
        charts.push(by_epoch("Loss of the network", "mean cross-entropy", 0, loss));
        let start = network.start_accuracy.map(|accuracy| [0.0, accuracy]);
        let accuracy = network.epochs.iter().filter_map(|epoch| Some([epoch.epoch as f64, epoch.valid_accuracy?]));
        let caption = format!("Accuracy on validation; epoch {} was kept", network.kept_epoch);
        charts.push(by_epoch(&caption, "validation accuracy", 2, start.into_iter().chain(accuracy).collect()));
    }
    charts
}

fn by_epoch(caption: &str, label: &str, colour: usize, points: Vec<[f64; 2]>) -> String {
    if points.is_empty() {
        return String::new();
    }
    let x = Axis::around("epoch", Spread::Linear, points.iter().map(|point| point[0])).from_zero();
    let y = Axis::around(label, Spread::Linear, points.iter().map(|point| point[1]));
    let titles = points.iter().map(|point| format!("epoch {}: {}", point[0], number(point[1]))).collect();
    let series = vec![Series { name: label.to_owned(), colour, style: Style::Marked, points, titles }];
    figure("", caption, &Lines { about: caption.to_owned(), x, y, series }.draw())
}

/// How many nodes have how many neighbours, on two log scales.
fn degrees(degrees: &Degrees) -> String {
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

fn cost(run: &Shown) -> Vec<String> {
    let (metrics, seconds) = (&run.metrics, run.metrics.seconds);
    let stages = metrics.stages.iter().map(|stage| (stage.name.to_string(), stage.seconds));
    let parts = [("load".to_owned(), seconds.load)]
        .into_iter()
        .chain(stages)
        .chain([("evaluate".to_owned(), seconds.evaluate)]);
    let bar = |(name, seconds): (String, f64)| Bar { name, parts: vec![seconds], amount: time(seconds) };
    let by_stage = Bars { about: "Time by stage".to_owned(), parts: vec![], bars: parts.map(bar).collect() };
    let mut charts = vec![figure("", "Time by stage", &by_stage.draw())];
    let memory = metrics.stages.iter().filter_map(|stage| Some((stage.name.to_string(), stage.peak_memory_bytes?)));
    let bar = |(name, bytes): (String, u64)| Bar { name, parts: vec![bytes as f64], amount: size(bytes) };
    let at_end = metrics.peak_memory_bytes.map(|bytes| ("in all".to_owned(), bytes));
    let bars: Vec<Bar> = memory.chain(at_end).map(bar).collect();
    if !bars.is_empty() {
        let by_stage = Bars { about: "Peak memory by stage".to_owned(), parts: vec![], bars };
        charts.push(figure("", "Peak memory of the process by the end of each stage", &by_stage.draw()));
    }
    if !metrics.time_by_worker.is_empty() {
        let bar = |one: &crate::report::metrics::WorkerFigures| {
            let sent = one.sent_bytes.map_or(String::new(), |bytes| format!(", sent {}", size(bytes)));
            let amount = format!("{}{sent}", time(one.computing + one.waiting));
            Bar { name: format!("worker {}", one.worker), parts: vec![one.computing, one.waiting], amount }
        };
        let parts = vec!["computing".to_owned(), "waiting for others".to_owned()];
        let by_worker =
            Bars { about: "Time by worker".to_owned(), parts, bars: metrics.time_by_worker.iter().map(bar).collect() };
        let caption = match metrics.processes {
            1 => "Time by worker; all share the memory of the process",
            _ => "Time by worker",
        };
        charts.push(figure("", caption, &by_worker.draw()));
    }
    charts
}

fn plan(run: &Shown) -> String {
    let Some(plan) = &run.details.plan else { return String::new() };
    format!("<details class=\"card broad\"><summary>Show every step</summary><pre>{}</pre></details>", escape(plan))
}
