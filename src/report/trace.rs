//! The log of a run: lines on stderr, and a timeline of every step of every worker in a file.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::{Registry, filter, fmt as lines};

use super::progress::above;
use crate::engine::trace::TARGET;

/// How often the file is brought up to date, so that a run that dies leaves what it did until then.
const REFRESH: Duration = Duration::from_secs(1);

/// Listens to everything that happens from now on in this process. Lines go to stderr; the file is
/// finished by [`Timeline::finish`].
pub fn listen(level: LevelFilter, timeline: Option<&Timeline>) {
    let lines = lines::layer().with_writer(|| Above).with_ansi(false).with_target(false).with_filter(level);
    let only_workers = filter::filter_fn(|event| event.target() == TARGET);
    let file = timeline.map(|timeline| Chrome(timeline.clone()).with_filter(only_workers));
    // A subscriber that is set already stays.
    let _ = tracing::subscriber::set_global_default(Registry::default().with(lines).with(file));
}

/// Writes whole lines to stderr, above a bar if there is one.
struct Above;

impl Write for Above {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        above(|| io::stderr().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// A file in the format of Chrome's tracing, which <https://ui.perfetto.dev> opens: one line an
/// event.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// Where it is.
    pub path: PathBuf,
    process: usize,
    file: Arc<Mutex<Writing>>,
}

#[derive(Debug)]
struct Writing {
    file: BufWriter<File>,
    /// Lines that the file has named: two a worker.
    named: Vec<u64>,
    refreshed: Instant,
    failed: Option<io::Error>,
}

impl Timeline {
    /// Makes the file. A process other than the first puts its number before the ending of the
    /// name.
    pub fn create(path: &Path, process: usize) -> io::Result<Self> {
        let path = match process {
            0 => path.to_owned(),
            _ => {
                let ending = path.extension().map_or("json".into(), |ending| ending.to_string_lossy().into_owned());
                path.with_extension(format!("{process}.{ending}"))
            }
        };
        let mut file = BufWriter::new(File::create(&path)?);
        let name =
            json!({"name": "process_name", "ph": "M", "pid": process, "args": {"name": format!("process {process}")}});
        write!(file, "[\n{name}")?;
        let writing = Writing { file, named: Vec::new(), refreshed: Instant::now(), failed: None };
        Ok(Self { path, process, file: Arc::new(Mutex::new(writing)) })
    }

    /// Ends the file. What happens afterwards is no longer noted.
    pub fn finish(&self) -> io::Result<()> {
        let mut writing = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = writing.failed.replace(io::Error::other("the file is complete"));
        match failed {
            Some(error) => Err(error),
            None => writing.file.write_all(b"\n]\n").and_then(|()| writing.file.flush()),
        }
    }

    fn note(&self, seen: &Seen) {
        let mut writing = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if writing.failed.is_none() {
            writing.failed = writing.note(self.process, seen).err();
        }
    }
}

impl Writing {
    fn line(&mut self, process: usize, thread: u64, mut event: Value) -> io::Result<()> {
        (event["pid"], event["tid"]) = (process.into(), thread.into());
        write!(self.file, ",\n{event}")
    }

    fn note(&mut self, process: usize, seen: &Seen) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
        let (worker, step) = (seen.worker, &seen.step);
        let start = now.saturating_sub(seen.micros);
        let (tid, line) = match (seen.bytes, seen.waited_for) {
            (Some(bytes), _) => (
                2 * worker,
                json!({"name": step, "cat": "sent", "ph": "i", "s": "t", "ts": now, "args": {"bytes": bytes}}),
            ),
            (None, None) => {
                (2 * worker, json!({"name": step, "cat": "step", "ph": "X", "ts": start, "dur": seen.micros}))
            }
            // A line of its own: other steps go on meanwhile.
            (None, Some(other)) => (
                2 * worker + 1,
                json!({"name": format!("{step}, for worker {other}"), "cat": "wait", "ph": "X", "ts": start, "dur": seen.micros}),
            ),
        };
        if !self.named.contains(&tid) {
            self.named.push(tid);
            let name = if tid == 2 * worker { format!("worker {worker}") } else { format!("worker {worker} waits") };
            self.line(process, tid, json!({"name": "thread_name", "ph": "M", "args": {"name": name}}))?;
        }
        self.line(process, tid, line)?;
        if self.refreshed.elapsed() > REFRESH {
            self.refreshed = Instant::now();
            self.file.flush()?;
        }
        Ok(())
    }
}

/// The part of the listener that writes the file.
struct Chrome(Timeline);

impl<S: Subscriber> Layer<S> for Chrome {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut seen = Seen::default();
        event.record(&mut seen);
        self.0.note(&seen);
    }
}

/// The fields of an event of a worker.
#[derive(Debug, Default)]
struct Seen {
    worker: u64,
    step: String,
    micros: u64,
    waited_for: Option<u64>,
    bytes: Option<u64>,
}

impl Visit for Seen {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "worker" => self.worker = value,
            "micros" => self.micros = value,
            "waited_for" => self.waited_for = Some(value),
            "bytes" => self.bytes = Some(value),
            _ => {}
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "step" {
            value.clone_into(&mut self.step);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}
