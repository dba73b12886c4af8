//! How far a run has come, for those who watch.

mod voice;

use std::fmt::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

pub use voice::{Voice, above, close, has_colours, take_down, tell};

use crate::finetune::{self, Kernel, network};
use crate::graph::Gauge;
use crate::svd::Progress;

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
    pub fn gauged(label: impl Into<String>, voice: Voice, gauge: &'static Gauge, is_bytes: bool) -> Self {
        let unit = if is_bytes { Unit::Bytes } else { Unit::Steps };
        let (done_before, _) = gauge.now();
        Self::of(label.into(), voice, unit, move |known| {
            let (done, of) = gauge.now();
            (known.done, known.of) = (done.saturating_sub(done_before), of.saturating_sub(done_before));
        })
    }

    /// Training of a kernel, of which `figure` is measured now and then.
    pub fn measured(
        label: impl Into<String>,
        voice: Voice,
        figure: impl Fn(Kernel) -> Option<String> + Send + 'static,
    ) -> (Self, Arc<finetune::Progress>) {
        let kernel: Arc<Mutex<Option<Kernel>>> = Arc::default();
        let latest = kernel.clone();
        let mut next = Instant::now() + MEASURED_EVERY;
        let bar = Self::of(label.into(), voice, Unit::Steps, move |known| {
            let kernel = if Instant::now() < next { None } else { lock(&latest).take() };
            let Some(kernel) = kernel else { return };
            let start = Instant::now();
            known.figure = figure(kernel).unwrap_or_default();
            next = Instant::now() + MEASURED_EVERY.max(start.elapsed() * SHARE);
        });
        let (known, stage) = (bar.known.clone(), bar.label.clone());
        let callback = move |at: &finetune::TuneProgress| {
            let mut known = lock(&known);
            (known.done, known.of) = (at.batch as u64, at.batches as u64);
            known.message = format!("loss {:.4}", at.loss);
            *lock(&kernel) = Some(at.kernel);
            tracing::debug!(stage, done = at.batch, of = at.batches, loss = at.loss);
        };
        (bar, Arc::new(callback))
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
        Self { label, voice, start: Instant::now(), known, painter, bar }
    }

    /// What the computation calls after each iteration.
    pub fn callback(&self) -> Arc<Progress> {
        let (known, stage) = (self.known.clone(), self.label.clone());
        Arc::new(move |done, of, residual| {
            let mut known = lock(&known);
            (known.done, known.of) = (done as u64, of as u64);
            if let Some(residual) = residual {
                known.message = format!("worst residual {residual:.1e}");
            }
            tracing::debug!(stage, done, of, residual);
        })
    }

    /// What training a network calls after each batch.
    pub fn epoch_callback(&self) -> Arc<network::Progress> {
        let (known, stage) = (self.known.clone(), self.label.clone());
        Arc::new(move |at| {
            let mut known = lock(&known);
            let done = at.epoch.saturating_sub(1) * at.batches + at.batch;
            (known.done, known.of) = (done as u64, (at.epochs * at.batches) as u64);
            known.message = format!("epoch {}/{}, loss {:.4}", at.epoch, at.epochs, at.loss);
            if let Some(accuracy) = at.valid_accuracy {
                known.figure = format!("valid accuracy {accuracy:.4}");
            }
            tracing::debug!(stage, epoch = at.epoch, batch = at.batch, loss = at.loss, valid = at.valid_accuracy);
        })
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
