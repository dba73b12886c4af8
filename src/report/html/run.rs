//! The report of one run.

use super::scatter::scatter;
use super::text::{counted, escape, number, size, time};
use super::{cost, degrees, figure, page, quality, section, spectra, table, training};
use crate::experiment::metrics::{Scores, Stage};
use crate::report::shown::Shown;
use crate::report::table::{edges, thousands};
use crate::svd::{Evidence, worst_residual};

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
        section(
            "decomposition",
            "Decomposition",
            DECOMPOSITION,
            &spectra::decompositions(&spectra::decomposed(run).collect::<Vec<_>>()),
        ),
        section("quality", "How good it is", "", &quality::quality(run)),
        section("training", "Fine-tuning", "", &training::training(run)),
        section("graph", "Graph", "", &[run.details.degrees.as_ref().map_or(String::new(), degrees::degrees)]),
        section("cost", "Time and memory", "", &cost::cost(run)),
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
    let decompositions = || metrics.stages.iter().filter_map(|stage| stage.decomposition);
    let of_triplets = decompositions().filter(|one| one.normal_residual.is_none());
    let residuals: Vec<f64> = of_triplets.filter_map(|one| one.max_relative_residual).collect();
    if let Some(worst) = worst_residual(&residuals) {
        let is_measured = decompositions().all(|one| one.residuals == Evidence::Measured);
        let evidence = if is_measured { Evidence::Measured } else { Evidence::Estimated };
        let is_missed = decompositions().any(|one| one.missed_tolerance().is_some());
        let missed = if is_missed { ", above the tolerance" } else { "" };
        entries.push((number(worst), format!("worst {evidence} residual of its σ{missed}")));
    }
    if let Some(worst) = decompositions().filter_map(|one| one.normal_residual).reduce(f64::max) {
        entries.push((number(worst), "residual of the normal equations".to_owned()));
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
        (
            "graph",
            format!("{} nodes, {} edges", thousands(metrics.nodes), edges(metrics.edges, metrics.held_out_edges)),
        ),
        ("computed by", format!("{}, {}", counted(metrics.workers, "worker"), counted(metrics.processes, "process"))),
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
            facts.extend(stage.shortfalls().into_iter().map(|shortfall| ("warning", shortfall)));
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
        let figures = stage.figures();
        let of_stage =
            |[name, valid, test]: [String; 3]| vec![stage.name.to_string(), name, valid, test, time(stage.seconds)];
        match figures.is_empty() {
            true => rows.push(of_stage(["–"; 3].map(str::to_owned))),
            false => rows.extend(figures.into_iter().map(of_stage)),
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

fn plan(run: &Shown) -> String {
    let Some(plan) = &run.details.plan else { return String::new() };
    format!("<details class=\"card broad\"><summary>Show every step</summary><pre>{}</pre></details>", escape(plan))
}
