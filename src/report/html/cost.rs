//! What a run took.

use super::bars::{Bar, Bars};
use super::figure;
use super::text::{size, time};
use crate::experiment::metrics::WorkerFigures;
use crate::report::shown::Shown;

/// Time and memory by stage, time by worker.
pub(super) fn cost(run: &Shown) -> Vec<String> {
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
        let bar = |one: &WorkerFigures| {
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
