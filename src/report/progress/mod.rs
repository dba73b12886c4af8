//! How far a run has come, for those who watch.

mod voice;

use std::fmt::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

pub use voice::{Voice, above, close, has_colours, note, take_down, tell};

use super::table::thousands;

use crate::experiment::event::{End, Event, Measure, Observer, Step, Task};
use crate::finetune::Kernel;
use crate::graph::Gauge;

/// How often a bar is drawn again.
const GLANCE: Duration = Duration::from_millis(100);
/// The least time between two lines of a stage.
const PAUSE: Duration = Duration::from_secs(5);
/// Measuring may take one part in so many of the time.
const SHARE: u32 = 20;
/// The least time between two measurements.
const MEASURED_EVERY: Duration = Duration::from_secs(1);

/// What is known of a stage.
#[derive(Debug, Clone, Default, PartialEq)]
struct Known {
    done: u64,
    of: u64,
    message: String,
    /// A figure that was measured on the way.
    figure: String,
}

/// What a stage counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Steps,
    Bytes,
}

/// A stage of a run, shown as its [`Voice`] says, and told to [`tracing`], too: every stage at level INFO, every iteration at
/// level DEBUG.
#[derive(Debug)]
pub struct Bar {
    label: String,
    voice: Voice,
    start: Instant,
    known: Arc<Mutex<Known>>,
    /// The last one of a training, where it is measured.
    kernel: Arc<Mutex<Option<Kernel>>>,
    painter: Option<(Sender<()>, JoinHandle<()>)>,
    bar: ProgressBar,
}

impl Bar {
    /// A stage that counts steps, labelled with what is being computed.
    pub fn new(label: impl Into<String>, voice: Voice) -> Self {
        Self::of(label.into(), voice, Unit::Steps, |_| ())
    }

    /// A stage that counts bytes.
    pub fn of_bytes(label: impl Into<String>, voice: Voice) -> Self {
        Self::of(label.into(), voice, Unit::Bytes, |_| ())
    }

    /// A stage that a gauge of bytes or of steps tells of.
    fn gauged(label: String, voice: Voice, gauge: &'static Gauge, is_bytes: bool) -> Self {
        let unit = if is_bytes { Unit::Bytes } else { Unit::Steps };
        let (done_before, _) = gauge.now();
        Self::of(label, voice, unit, move |known| {
            let (done, of) = gauge.now();
            (known.done, known.of) = (done.saturating_sub(done_before), of.saturating_sub(done_before));
        })
    }

    /// A task of an experiment.
    fn of_task(task: Task<'_>, voice: Voice) -> Self {
        match (task, task.gauge()) {
            (_, Some((gauge, is_bytes))) => Self::gauged(task.to_string(), voice, gauge, is_bytes),
            // Nobody would see what is measured.
            (Task::Kernel(measure), _) if voice != Voice::Silent => Self::measured(task.to_string(), voice, measure()),
            _ => Self::new(task.to_string(), voice),
        }
    }

    /// Training of a kernel, of which a figure is measured now and then.
    fn measured(label: String, voice: Voice, measure: Measure) -> Self {
        let kernel: Arc<Mutex<Option<Kernel>>> = Arc::default();
        let latest = kernel.clone();
        let mut next = Instant::now() + MEASURED_EVERY;
        let mut bar = Self::of(label, voice, Unit::Steps, move |known| {
            let kernel = if Instant::now() < next { None } else { lock(&latest).take() };
            let Some(kernel) = kernel else { return };
            let start = Instant::now();
            known.figure =
                measure(kernel).map_or(String::new(), |(metric, value)| format!("valid {metric} {value:.4}"));
            next = Instant::now() + MEASURED_EVERY.max(start.elapsed() * SHARE);
        });
        bar.kernel = kernel;
        bar
    }

    fn of(label: String, voice: Voice, unit: Unit, look: impl FnMut(&mut Known) + Send + 'static) -> Self {
        let target = if voice == Voice::Bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target).with_prefix(label.clone());
        tracing::info!(stage = label, "begins");
        let known = Arc::<Mutex<Known>>::default();
        match voice {
            Voice::Silent => {}
            Voice::Lines => voice::line(&label),
            Voice::Bars => {
                bar.set_style(style("{prefix} {spinner} {elapsed} {msg}"));
                voice::put_up(&bar);
                bar.tick();
            }
        }
        let painter = (voice != Voice::Silent).then(|| {
            let (stop, stopped) = mpsc::channel();
            let painter = Painter { label: label.clone(), voice, unit, known: known.clone(), bar: bar.clone() };
            (stop, thread::spawn(move || painter.paint(&stopped, look)))
        });
        Self { label, voice, start: Instant::now(), known, kernel: Arc::default(), painter, bar }
    }

    /// A step of the task is done.
    fn step(&self, step: Step<'_>) {
        let (mut known, stage) = (lock(&self.known), &self.label);
        match step {
            Step::Iteration { done, of, residual } => {
                (known.done, known.of) = (done as u64, of as u64);
                if let Some(residual) = residual {
                    known.message = format!("worst residual {residual:.1e}");
                }
                tracing::debug!(stage, done, of, residual);
            }
            Step::Batch(at) => {
                (known.done, known.of) = (at.batch as u64, at.batches as u64);
                known.message = format!("loss {:.4}", at.loss);
                *lock(&self.kernel) = Some(at.kernel);
                tracing::debug!(stage, done = at.batch, of = at.batches, loss = at.loss);
            }
            Step::Network(at) => {
                let done = at.epoch.saturating_sub(1) * at.batches + at.batch;
                (known.done, known.of) = (done as u64, (at.epochs * at.batches) as u64);
                known.message = format!("epoch {}/{}, loss {:.4}", at.epoch, at.epochs, at.loss);
                if let Some(accuracy) = at.valid_accuracy {
                    known.figure = format!("valid accuracy {accuracy:.4}");
                }
                tracing::debug!(stage, epoch = at.epoch, batch = at.batch, loss = at.loss, valid = at.valid_accuracy);
            }
        }
    }

    /// Says how much is done, of how much if that is known.
    pub fn show(&self, done: u64, of: Option<u64>) {
        let mut known = lock(&self.known);
        (known.done, known.of) = (done, of.unwrap_or(0));
    }

    /// The stage has come to its end, with something to say or nothing. A bar that is dropped before only goes away.
    pub fn done(mut self, outcome: &str) {
        self.stop();
        if self.voice == Voice::Lines {
            let known = lock(&self.known);
            let seconds = self.start.elapsed().as_secs_f64();
            let mut line = format!("{}: done in {seconds:.2} s", self.label);
            for more in [outcome, &known.message, &known.figure].into_iter().filter(|more| !more.is_empty()) {
                // Writing to a String cannot fail.
                let _ = write!(line, ", {more}");
            }
            voice::line(&line);
        }
    }

    /// Nothing is drawn or written from here on.
    fn stop(&mut self) {
        if let Some((stop, painter)) = self.painter.take() {
            drop(stop);
            // One that panicked has said so.
            let _ = painter.join();
        }
        if self.voice == Voice::Bars {
            self.bar.finish_and_clear();
            take_down();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.stop();
        tracing::info!(stage = self.label, seconds = self.start.elapsed().as_secs_f64(), "ends");
    }
}

/// Shows the events of an experiment, one bar a task.
pub struct Teller {
    voice: Voice,
    bar: Mutex<Option<Bar>>,
}

impl Teller {
    /// Shows them as `voice` says.
    pub fn shared(voice: Voice) -> Arc<dyn Observer> {
        Arc::new(Self { voice, bar: Mutex::default() })
    }

    fn end(&self, end: End) {
        let Some(bar) = lock(&self.bar).take() else { return };
        match end {
            End::Loaded(nodes) => bar.done(&format!("{} nodes", thousands(nodes))),
            End::Imported(edges) => bar.done(&format!("{} edges", thousands(edges))),
            End::Rank(rank) => bar.done(&format!("rank {rank}")),
            End::Failed => {}
            _ => bar.done(""),
        }
    }
}

impl Observer for Teller {
    fn observe(&self, event: Event<'_>) {
        match event {
            Event::Begin(task) => *lock(&self.bar) = Some(Bar::of_task(task, self.voice)),
            Event::Step(step) => {
                if let Some(bar) = &*lock(&self.bar) {
                    bar.step(step);
                }
            }
            Event::End(end) => self.end(end),
            Event::Remarks(dataset) if !dataset.remarks.is_empty() => {
                let remarks: Vec<String> = dataset.remarks.iter().map(ToString::to_string).collect();
                tell(&format!("{}: {}", dataset.name, remarks.join("; ")), self.voice);
            }
            Event::Checkpoint(notice) => note(&format!("note: {notice}")),
            _ => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("━━─")
}

/// Shows what is known of a stage, on a thread of its own.
struct Painter {
    label: String,
    voice: Voice,
    unit: Unit,
    known: Arc<Mutex<Known>>,
    bar: ProgressBar,
}

impl Painter {
    fn paint(self, stopped: &mpsc::Receiver<()>, mut look: impl FnMut(&mut Known)) {
        let mut last = Instant::now();
        let mut has_length = false;
        while stopped.recv_timeout(GLANCE) == Err(RecvTimeoutError::Timeout) {
            // Looking may take a while, in which the computation is not to wait.
            let mut seen = lock(&self.known).clone();
            let before = seen.clone();
            look(&mut seen);
            if seen != before {
                let mut known = lock(&self.known);
                known.figure.clone_from(&seen.figure);
                (known.done, known.of) = (known.done.max(seen.done), known.of.max(seen.of));
            }
            match self.voice {
                Voice::Bars => self.draw(&seen, &mut has_length),
                Voice::Lines if last.elapsed() >= PAUSE => {
                    last = Instant::now();
                    voice::line(&self.line(&seen));
                }
                _ => {}
            }
        }
    }

    fn draw(&self, known: &Known, has_length: &mut bool) {
        let text = [known.message.as_str(), &known.figure];
        let text: Vec<&str> = text.into_iter().filter(|text| !text.is_empty()).collect();
        self.bar.set_message(text.join(", "));
        if known.of > 0 {
            if !std::mem::replace(has_length, true) {
                self.bar.set_style(style(match self.unit {
                    Unit::Steps => "{prefix} {bar:30.cyan} {pos}/{len} {elapsed} {msg}",
                    Unit::Bytes => "{prefix} {bar:30.cyan} {bytes}/{total_bytes} {bytes_per_sec}, {eta} to go {msg}",
                }));
            }
            self.bar.set_length(known.of);
            self.bar.set_position(known.done);
        }
        self.bar.tick();
    }

    fn line(&self, known: &Known) -> String {
        let count = match (self.unit, known.of) {
            (_, 0) if known.done == 0 => "goes on".to_owned(),
            (Unit::Steps, of) => format!("{}/{of}", known.done),
            (Unit::Bytes, 0) => format!("{}", HumanBytes(known.done)),
            (Unit::Bytes, of) => format!("{} of {}", HumanBytes(known.done), HumanBytes(of)),
        };
        let mut line = format!("{}: {count}", self.label);
        for more in [&known.message, &known.figure].into_iter().filter(|more| !more.is_empty()) {
            // Writing to a String cannot fail.
            let _ = write!(line, ", {more}");
        }
        line
    }
}
