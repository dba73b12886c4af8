//! What the server did, as Prometheus reads it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hyper::StatusCode;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Endpoint {
    Page,
    Neighbors,
    Score,
    Classify,
    Embedding,
    Map,
    Search,
    Health,
    Metrics,
    Nothing,
}

impl Endpoint {
    pub const PATHS: [(Self, &'static str); 9] = [
        (Self::Page, "/"),
        (Self::Neighbors, "/api/neighbors"),
        (Self::Score, "/api/score"),
        (Self::Classify, "/api/classify"),
        (Self::Embedding, "/api/embedding"),
        (Self::Map, "/api/map"),
        (Self::Search, "/api/search"),
        (Self::Health, "/api/health"),
        (Self::Metrics, "/metrics"),
    ];

    pub fn of(path: &str) -> Self {
        Self::PATHS.iter().find(|(_, known)| *known == path).map_or(Self::Nothing, |(endpoint, _)| *endpoint)
    }

    fn path(self) -> &'static str {
        Self::PATHS.iter().find(|(known, _)| *known == self).map_or("", |(_, path)| path)
    }
}

/// Seconds up to which answers are counted together.
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0];

#[derive(Debug, Default)]
pub(super) struct Counters {
    connections: AtomicUsize,
    answers: Mutex<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    by_status: BTreeMap<(Endpoint, u16), u64>,
    times: BTreeMap<Endpoint, Times>,
}

#[derive(Debug, Default)]
struct Times {
    counts: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl Counters {
    /// A client came.
    pub fn come(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// A client went.
    pub fn go(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// A question was answered.
    pub fn add(&self, endpoint: Endpoint, status: StatusCode, took: Duration) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *answers.by_status.entry((endpoint, status.as_u16())).or_default() += 1;
        let times = answers.times.entry(endpoint).or_default();
        let seconds = took.as_secs_f64();
        times.count += 1;
        times.sum += seconds;
        times.counts.iter_mut().zip(BUCKETS).filter(|(_, limit)| seconds <= *limit).for_each(|(count, _)| *count += 1);
    }

    /// All figures.
    pub fn text(&self, nodes: usize) -> String {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        let mut line = |words: std::fmt::Arguments<'_>| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{words}");
        };
        line(format_args!("# HELP isvd_nodes Nodes of the model.\n# TYPE isvd_nodes gauge\nisvd_nodes {nodes}"));
        let connections = self.connections.load(Ordering::Relaxed);
        line(format_args!("# HELP isvd_connections Open connections.\n# TYPE isvd_connections gauge"));
        line(format_args!("isvd_connections {connections}"));
        line(format_args!("# HELP isvd_requests_total Answered requests.\n# TYPE isvd_requests_total counter"));
        for ((endpoint, status), count) in &answers.by_status {
            line(format_args!("isvd_requests_total{{path=\"{}\",status=\"{status}\"}} {count}", endpoint.path()));
        }
        line(format_args!("# HELP isvd_request_seconds Time to answer.\n# TYPE isvd_request_seconds histogram"));
        for (endpoint, times) in &answers.times {
            let path = endpoint.path();
            for (limit, count) in BUCKETS.iter().zip(times.counts) {
                line(format_args!("isvd_request_seconds_bucket{{path=\"{path}\",le=\"{limit}\"}} {count}"));
            }
            line(format_args!("isvd_request_seconds_bucket{{path=\"{path}\",le=\"+Inf\"}} {}", times.count));
            line(format_args!("isvd_request_seconds_sum{{path=\"{path}\"}} {}", times.sum));
            line(format_args!("isvd_request_seconds_count{{path=\"{path}\"}} {}", times.count));
        }
        text
    }
}
