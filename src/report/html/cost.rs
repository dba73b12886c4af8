//! The time and the memory of a run.

use super::chart::{Bar, bars};
use super::text::{size, time};
use crate::experiment::metrics::WorkerFigures;
use crate::report::shown::Shown;

/// Time and memory by stage, time by worker.
pub(super) fn cost(run: &Shown) -> Vec<String> {
    let (metrics, seconds) = (&run.metrics, run.metrics.seconds);
    let time_bar = |name: &str, seconds| Bar::new(name, seconds, time(seconds));
    let stages = metrics.stages.iter().map(|stage| time_bar(&stage.name, stage.seconds));
    let by_stage: Vec<Bar> = [time_bar("load", seconds.load)]
        .into_iter()
        .chain(stages)
        .chain([time_bar("evaluate", seconds.evaluate)])
        .collect();
    let memory_bar = |name: &str, bytes: Option<u64>| Some(Bar::new(name, bytes? as f64, size(bytes?)));
    let memory = metrics.stages.iter().filter_map(|stage| memory_bar(&stage.name, stage.peak_memory_bytes));
    let memory: Vec<Bar> = memory.chain(memory_bar("in all", metrics.peak_memory_bytes)).collect();
    let worker_bar = |one: &WorkerFigures| {
        let sent = one.sent_bytes.map_or(String::new(), |bytes| format!(", sent {}", size(bytes)));
        let amount = format!("{}{sent}", time(one.computing + one.waiting));
        Bar { name: format!("worker {}", one.worker), parts: vec![one.computing, one.waiting], amount }
    };
    let workers: Vec<Bar> = metrics.time_by_worker.iter().map(worker_bar).collect();
    let caption = match metrics.processes {
        1 => "Time by worker; all share the memory of the process",
        _ => "Time by worker",
    };
    vec![
        bars("Time by stage", &[], &by_stage),
        bars("Peak memory of the process by the end of each stage", &[], &memory),
        bars(caption, &["computing", "waiting for others"], &workers),
    ]
}
