//! The progress of a run on stderr.

mod sink;

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

pub use sink::{ProgressSink, above, announce, clear_bar, clear_bar_for_good, has_colours, note};

use super::table::thousands;

use crate::experiment::event::{End, Event, Measure, Observer, Step, Task};
use crate::finetune::Kernel;
use crate::graph::ProgressCounter;

/// The time between two drawings of a bar.
const REDRAW: Duration = Duration::from_millis(100);
/// The least time between two lines of a stage.
const PAUSE: Duration = Duration::from_secs(5);
/// Measuring takes at most one part in `SHARE` of the time.
const SHARE: u32 = 20;
/// The least time between two measurements.
const MEASURED_EVERY: Duration = Duration::from_secs(1);

/// The state of a stage.
#[derive(Debug, Clone, Default, PartialEq)]
struct State {
    done: u64,
    of: u64,
    message: String,
    /// A figure that is measured during training.
    figure: String,
    /// The latest kernel of a training, until its figure is measured.
    kernel: Option<Kernel>,
}

impl State {
    /// A text and what else is known of the stage.
    fn line(&self, text: String) -> String {
        let more = [&self.message, &self.figure].into_iter().filter(|more| !more.is_empty());
        more.fold(text, |text, more| if text.is_empty() { more.clone() } else { text + ", " + more })
    }
}

/// What a stage counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Steps,
    Bytes,
}

/// A stage of a run, shown on its [`ProgressSink`] and logged by [`tracing`]: stages at level INFO,
/// iterations at level DEBUG.
#[derive(Debug)]
pub struct Bar {
    stage: Arc<Stage>,
    start: Instant,
    painter: Option<(Sender<()>, JoinHandle<()>)>,
}

/// What a [`Bar`] and its painter share.
#[derive(Debug)]
struct Stage {
    label: String,
    sink: ProgressSink,
    unit: Unit,
    bar: ProgressBar,
    state: Mutex<State>,
}

impl Bar {
    /// A stage that counts steps, labelled with what is being computed.
    pub fn new(label: impl Into<String>, sink: ProgressSink) -> Self {
        Self::of(label.into(), sink, Unit::Steps, |_| ())
    }

    /// A stage that counts bytes.
    pub fn of_bytes(label: impl Into<String>, sink: ProgressSink) -> Self {
        Self::of(label.into(), sink, Unit::Bytes, |_| ())
    }

    /// A stage whose progress a gauge counts.
    fn gauged(label: String, sink: ProgressSink, gauge: &'static ProgressCounter, is_bytes: bool) -> Self {
        let unit = if is_bytes { Unit::Bytes } else { Unit::Steps };
        let (done_before, _) = gauge.now();
        Self::of(label, sink, unit, move |state| {
            let (done, of) = gauge.now();
            (state.done, state.of) = (done.saturating_sub(done_before), of.saturating_sub(done_before));
        })
    }

    /// A task of an experiment.
    fn of_task(task: Task<'_>, sink: ProgressSink) -> Self {
        match (task, task.gauge()) {
            (_, Some((gauge, is_bytes))) => Self::gauged(task.to_string(), sink, gauge, is_bytes),
            (Task::Kernel(measure), _) if sink != ProgressSink::Hidden => {
                Self::measured(task.to_string(), sink, measure())
            }
            _ => Self::new(task.to_string(), sink),
        }
    }

    /// Training of a kernel, a figure of which is measured from time to time.
    fn measured(label: String, sink: ProgressSink, measure: Measure) -> Self {
        let mut next = Instant::now() + MEASURED_EVERY;
        Self::of(label, sink, Unit::Steps, move |state| {
            let Some(kernel) = state.kernel.take_if(|_| Instant::now() >= next) else { return };
            let start = Instant::now();
            state.figure =
                measure(kernel).map_or(String::new(), |(metric, value)| format!("valid {metric} {value:.4}"));
            next = Instant::now() + MEASURED_EVERY.max(start.elapsed() * SHARE);
        })
    }

    fn of(label: String, sink: ProgressSink, unit: Unit, update: impl FnMut(&mut State) + Send + 'static) -> Self {
        let target =
            if sink == ProgressSink::Bar { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target).with_prefix(label.clone());
        tracing::info!(stage = label, "begins");
        match sink {
            ProgressSink::Hidden => {}
            ProgressSink::Lines => sink::line(&label),
            ProgressSink::Bar => {
                bar.set_style(style("{prefix} {spinner} {elapsed} {msg}"));
                sink::set_bar(&bar);
                bar.tick();
            }
        }
        let stage = Arc::new(Stage { label, sink, unit, bar, state: Mutex::default() });
        let painter = (sink != ProgressSink::Hidden).then(|| {
            let (stop, stopped) = mpsc::channel();
            let stage = stage.clone();
            (stop, thread::spawn(move || stage.paint(&stopped, update)))
        });
        Self { stage, start: Instant::now(), painter }
    }

    /// Counts a step of the task.
    fn step(&self, step: Step<'_>) {
        let (mut state, stage) = (lock(&self.stage.state), &self.stage.label);
        match step {
            Step::Iteration { done, of, residual } => {
                (state.done, state.of) = (done as u64, of as u64);
                if let Some(residual) = residual {
                    state.message = format!("worst residual {residual:.1e}");
                }
                tracing::debug!(stage, done, of, residual);
            }
            Step::Batch(at) => {
                (state.done, state.of) = (at.batch as u64, at.batches as u64);
                state.message = format!("loss {:.4}", at.loss);
                state.kernel = Some(at.kernel);
                tracing::debug!(stage, done = at.batch, of = at.batches, loss = at.loss);
            }
            Step::Network(at) => {
                let done = at.epoch.saturating_sub(1) * at.batches + at.batch;
                (state.done, state.of) = (done as u64, (at.epochs * at.batches) as u64);
                state.message = format!("epoch {}/{}, loss {:.4}", at.epoch, at.epochs, at.loss);
                if let Some(accuracy) = at.valid_accuracy {
                    state.figure = format!("valid accuracy {accuracy:.4}");
                }
                tracing::debug!(stage, epoch = at.epoch, batch = at.batch, loss = at.loss, valid = at.valid_accuracy);
            }
        }
    }

    /// Sets how much is done, and of how much if that is known.
    pub fn show(&self, done: u64, of: Option<u64>) {
        let mut state = lock(&self.stage.state);
        (state.done, state.of) = (done, of.unwrap_or(0));
    }

    /// Ends the stage with its outcome, which may be empty. A bar that is dropped before that only
    /// disappears.
    pub fn done(mut self, outcome: &str) {
        self.stop();
        if self.stage.sink == ProgressSink::Lines {
            let seconds = self.start.elapsed().as_secs_f64();
            let comma = if outcome.is_empty() { "" } else { ", " };
            let text = format!("{}: done in {seconds:.2} s{comma}{outcome}", self.stage.label);
            sink::line(&lock(&self.stage.state).line(text));
        }
    }

    /// Stops drawing and writing.
    fn stop(&mut self) {
        if let Some((stop, painter)) = self.painter.take() {
            drop(stop);
            // A panic of the painter has been printed.
            let _ = painter.join();
        }
        if self.stage.sink == ProgressSink::Bar {
            self.stage.bar.finish_and_clear();
            clear_bar();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.stop();
        tracing::info!(stage = self.stage.label, seconds = self.start.elapsed().as_secs_f64(), "ends");
    }
}

impl Stage {
    /// Shows the state until told to stop, on a thread of its own. `update` may take a while, so
    /// the state is not locked meanwhile.
    fn paint(&self, stopped: &mpsc::Receiver<()>, mut update: impl FnMut(&mut State)) {
        let mut last = Instant::now();
        let mut has_length = false;
        while stopped.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
            let before = lock(&self.state).clone();
            let mut now = before.clone();
            update(&mut now);
            if now != before {
                let mut state = lock(&self.state);
                state.figure.clone_from(&now.figure);
                (state.done, state.of) = (state.done.max(now.done), state.of.max(now.of));
                // A kernel that was measured is not measured again.
                state.kernel.take_if(|kernel| now.kernel.is_none() && Some(*kernel) == before.kernel);
            }
            match self.sink {
                ProgressSink::Bar => self.draw(&now, &mut has_length),
                ProgressSink::Lines if last.elapsed() >= PAUSE => {
                    last = Instant::now();
                    sink::line(&now.line(format!("{}: {}", self.label, self.count(&now))));
                }
                _ => {}
            }
        }
    }

    fn draw(&self, state: &State, has_length: &mut bool) {
        self.bar.set_message(state.line(String::new()));
        if state.of > 0 {
            if !std::mem::replace(has_length, true) {
                self.bar.set_style(style(match self.unit {
                    Unit::Steps => "{prefix} {bar:30.cyan} {pos}/{len} {elapsed} {msg}",
                    Unit::Bytes => "{prefix} {bar:30.cyan} {bytes}/{total_bytes} {bytes_per_sec}, {eta} to go {msg}",
                }));
            }
            self.bar.set_length(state.of);
            self.bar.set_position(state.done);
        }
        self.bar.tick();
    }

    fn count(&self, state: &State) -> String {
        match (self.unit, state.of) {
            (_, 0) if state.done == 0 => "goes on".to_owned(),
            (Unit::Steps, of) => format!("{}/{of}", state.done),
            (Unit::Bytes, 0) => HumanBytes(state.done).to_string(),
            (Unit::Bytes, of) => format!("{} of {}", HumanBytes(state.done), HumanBytes(of)),
        }
    }
}

/// Shows the events of an experiment, one bar a task.
pub struct ProgressObserver {
    sink: ProgressSink,
    bar: Mutex<Option<Bar>>,
}

impl ProgressObserver {
    /// An observer that shows events on `sink`.
    pub fn shared(sink: ProgressSink) -> Arc<dyn Observer> {
        Arc::new(Self { sink, bar: Mutex::default() })
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

impl Observer for ProgressObserver {
    fn observe(&self, event: Event<'_>) {
        match event {
            Event::Begin(task) => *lock(&self.bar) = Some(Bar::of_task(task, self.sink)),
            Event::Step(step) => {
                if let Some(bar) = &*lock(&self.bar) {
                    bar.step(step);
                }
            }
            Event::End(end) => self.end(end),
            Event::Remarks(dataset) if !dataset.remarks.is_empty() => {
                let remarks: Vec<String> = dataset.remarks.iter().map(ToString::to_string).collect();
                announce(&format!("{}: {}", dataset.name, remarks.join("; ")), self.sink);
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
