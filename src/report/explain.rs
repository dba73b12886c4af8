//! The plan of an experiment as text.

use std::fmt;

use super::table::{LABEL, edges, row, thousands};
use crate::experiment::explain::{Explanation, SidePlan, StagePlan};
use crate::plan::cost::Traffic;

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        row(f, "config", &self.config)?;
        row(f, "dataset", &self.dataset.as_deref().unwrap_or("none: only its size is given"))?;
        row(f, "nodes", &thousands(self.nodes))?;
        row(f, "edges", &edges(self.edges, self.held_out_edges))?;
        let processes = if self.processes == 1 { "process" } else { "processes" };
        row(f, "machine", &format_args!("{} {processes} of {} workers, {}", self.processes, self.workers, self.rates))?;
        for stage in &self.stages {
            show_stage(f, self, stage)?;
        }
        if !self.kinds.is_empty() {
            writeln!(
                f,
                "\n== by kind of step\n{:LABEL$}{:>6} {:>10} {:>10} {:>8}",
                "", "steps", "estimated", "measured", "ratio"
            )?;
        }
        for kind in &self.kinds {
            let (estimated, measured) = (time(kind.seconds), time(kind.measured));
            let ratio = kind.seconds / kind.measured;
            writeln!(f, "{:<LABEL$}{:>6} {estimated:>10} {measured:>10} {ratio:>8.2}", kind.kind, kind.steps)?;
        }
        Ok(())
    }
}

fn show_stage(f: &mut fmt::Formatter<'_>, explanation: &Explanation, stage: &StagePlan) -> fmt::Result {
    writeln!(f, "\n== {}", stage.name)?;
    let [rows, columns] = stage.shape;
    row(f, "M", &brief(&stage.matrix))?;
    row(
        f,
        "",
        &format_args!("{rows}×{columns}, rank {} by {}, {} columns at a time", stage.rank, stage.method, stage.block),
    )?;
    for part in &stage.formed {
        let [rows, columns] = part.shape;
        row(f, "formed once", &format_args!("{} ({rows}×{columns}, {})", brief(&part.part), size(part.bytes)))?;
    }
    if let Some(near) = &stage.near {
        row(f, "N, nearly M", &brief(near))?;
        row(f, "", &"multiplied by until triplets are found; their residuals are measured with M itself")?;
    }
    row(f, "planned in", &format_args!("{:.1} ms", stage.planning_ms))?;
    for side in &stage.sides {
        show_side(f, explanation, side)?;
    }
    writeln!(f)?;
    let planned: f64 = stage.sides.iter().map(|side| side.seconds).sum();
    let products: Vec<String> = stage.sides.iter().map(|side| side.sparse_products.to_string()).collect();
    row(f, "both, planned", &format_args!("{} sparse products, {}", products.join(" + "), time(planned)))?;
    for other in &stage.alternatives {
        let ([plain, transposed], ratio) = (other.sparse_products, other.seconds / planned.max(f64::MIN_POSITIVE));
        row(
            f,
            other.effort,
            &format_args!("{plain} + {transposed} sparse products, {}, {ratio:.1} times", time(other.seconds)),
        )?;
    }
    let network: u64 = stage.sides.iter().map(|side| side.network_bytes).sum();
    let [plain, transposed] = stage.turns;
    let turns = stage.turns.into_iter().zip(&stage.sides);
    let all: f64 = turns.map(|(turns, side)| turns as f64 * side.seconds).sum();
    row(f, "the whole run", &format_args!("at most {plain} + {transposed} such products, {}", time(all)))?;
    if explanation.processes > 1 {
        let each = network / explanation.processes as u64;
        let bound = if stage.traffic == Traffic::Bounded { "at most " } else { "" };
        row(f, "network", &format_args!("{bound}{} an iteration, {} sent by each process", size(network), size(each)))?;
    }
    let memory = stage.memory;
    let of_each = if explanation.processes > 1 { " in each process" } else { "" };
    let each_worker = memory.total / explanation.workers.max(1) as u64;
    row(f, "memory", &format_args!("{}{of_each}, {} a worker", size(memory.total), size(each_worker)))?;
    let parts = [
        ("data", memory.data),
        ("matrices", memory.matrices),
        ("panels", memory.panels),
        ("gathered", memory.gathered),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|part| part.1 > 0).map(|(name, bytes)| format!("{name} {}", size(*bytes))).collect();
    row(f, "", &parts.join(", "))?;
    if let Some([estimated, measured]) = memory.product {
        let ratio = estimated as f64 / measured.max(1) as f64;
        row(
            f,
            "",
            &format_args!("a product: {} estimated, {} measured, ratio {ratio:.2}", size(estimated), size(measured)),
        )?;
    }
    match explanation.memory_limit {
        Some(limit) if memory.total > limit => {
            row(f, "", &format_args!("does not fit: {} may be used (--memory)", size(limit)))
        }
        Some(limit) => row(f, "", &format_args!("fits: {} may be used", size(limit))),
        None => Ok(()),
    }
}

fn show_side(f: &mut fmt::Formatter<'_>, explanation: &Explanation, side: &SidePlan) -> fmt::Result {
    writeln!(f)?;
    row(f, side.side, &brief(&side.rewritten))?;
    for (name, meaning) in &side.shared {
        row(f, "", &format_args!("{name} = {}", brief(meaning)))?;
    }
    let is_spread = explanation.processes > 1;
    let network = |text: String| if is_spread { format!("{text:>10}") } else { String::new() };
    let is_measured = side.measured.is_some();
    let measured = |text: String| if is_measured { format!("{text:>10}") } else { String::new() };
    let heads = (network("network".into()), measured("measured".into()), measured("ratio".into()));
    writeln!(
        f,
        "{:>12} {:>10} {:>10}{} {:>10}{}{}  step",
        "flops", "bytes", "", heads.0, "estimated", heads.1, heads.2
    )?;
    let ratio =
        |estimated: f64, took: Option<f64>| took.map_or(String::new(), |took| format!("{:.2}", estimated / took));
    for step in &side.steps {
        writeln!(
            f,
            "{:>12} {:>10} {:>10}{} {:>10}{}{}  {}",
            count(step.flops),
            size(step.bytes),
            step.value,
            network(size(step.network_bytes)),
            time(step.seconds),
            measured(step.measured.map_or(String::new(), time)),
            measured(ratio(step.seconds, step.measured)),
            brief(&step.step),
        )?;
    }
    let of_steps: f64 = side.steps.iter().filter_map(|step| step.measured).sum();
    let waited = side.measured.map(|all| (all - of_steps).max(0.0));
    writeln!(
        f,
        "{:>12} {:>10} {:>10}{} {:>10}{}{}  between the steps{}",
        "",
        "",
        "",
        network(String::new()),
        time(side.between),
        measured(waited.map_or(String::new(), time)),
        measured(String::new()),
        if is_spread { ", mostly on the network" } else { "" },
    )?;
    writeln!(
        f,
        "{:>12} {:>10} {:>10}{} {:>10}{}{}  in all",
        count(side.flops),
        size(side.bytes),
        "",
        network(size(side.network_bytes)),
        time(side.seconds),
        measured(side.measured.map_or(String::new(), time)),
        measured(ratio(side.seconds, side.measured)),
    )
}

/// A formula with its numbers cut to four digits that matter.
fn brief(formula: &str) -> String {
    let mut text = String::new();
    let mut rest = formula;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = &rest[start..];
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        // Numbers that are part of a name or a range stay as they are.
        let is_long = end > 6 && number[..end].matches('.').count() == 1;
        text.push_str(&rest[..start]);
        match number[..end].parse::<f64>() {
            Ok(value) if is_long => text.push_str(&four_digits(value)),
            _ => text.push_str(&number[..end]),
        }
        rest = &number[end..];
    }
    text + rest
}

fn four_digits(value: f64) -> String {
    let decimals = (3.0 - value.abs().max(1e-12).log10().floor()).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A count with three digits that matter.
fn count(number: u64) -> String {
    scaled(number as f64, "")
}

/// Bytes for people.
pub(super) fn size(bytes: u64) -> String {
    scaled(bytes as f64, "B")
}

fn scaled(number: f64, unit: &str) -> String {
    let steps = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match steps.iter().find(|(step, _)| number >= *step) {
        Some((step, prefix)) => format!("{:.1} {prefix}{unit}", number / step),
        None => format!("{number:.0} {unit}").trim_end().to_owned(),
    }
}

/// Seconds for people.
fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 7200.0 => format!("{:.1} h", s / 3600.0),
        s if s >= 120.0 => format!("{:.1} min", s / 60.0),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.1} µs", s * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_cut_and_others_kept() {
        assert_eq!(
            brief("0.18181818181818182·D⁻¹·A + -0.0036363636·v12[0..1234567]"),
            "0.1818·D⁻¹·A + -0.003636·v12[0..1234567]"
        );
        assert_eq!(brief("123456.789012·G + 0.5·v1"), "123457·G + 0.5·v1");
    }

    #[test]
    fn amounts_have_units() {
        assert_eq!([count(12), count(12_400), size(7), size(3_200_000)], ["12", "12.4 k", "7 B", "3.2 MB"]);
        assert_eq!([time(2.0), time(0.0123), time(5e-6)], ["2.00 s", "12.30 ms", "5.0 µs"]);
    }
}
