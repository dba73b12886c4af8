//! How far a run has come, for those who watch.

use std::io::{IsTerminal, stderr};
use std::sync::Arc;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::finetune::{self, network};
use crate::svd::Progress;

/// A bar on stderr. It is silent when stderr is no terminal or nobody wants it, and gone when it is dropped. What it shows is
/// told to [`tracing`], too: every stage at level INFO, every iteration at level DEBUG.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    label: &'static str,
    start: Instant,
}

impl Bar {
    /// A bar labelled with what is being computed.
    pub fn new(label: &'static str, quiet: bool) -> Self {
        let visible = !quiet && stderr().is_terminal();
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {elapsed} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(None, target).with_style(style).with_prefix(label);
        tracing::info!(stage = label, "begins");
        Self { bar, label, start: Instant::now() }
    }

    /// What the computation calls after each iteration.
    pub fn callback(&self) -> Arc<Progress> {
        let (bar, stage) = (self.bar.clone(), self.label);
        Arc::new(move |done, of, residual| {
            bar.set_length(of as u64);
            if let Some(residual) = residual {
                bar.set_message(format!("worst residual {residual:.1e}"));
            }
            bar.set_position(done as u64);
            tracing::debug!(stage, done, of, residual);
        })
    }

    /// What training a network calls after each batch.
    pub fn epoch_callback(&self) -> Arc<network::Progress> {
        let (bar, stage) = (self.bar.clone(), self.label);
        Arc::new(move |at| {
            bar.set_length((at.epochs * at.batches) as u64);
            bar.set_position((at.epoch.saturating_sub(1) * at.batches + at.batch) as u64);
            let valid = at.valid_accuracy.map_or(String::new(), |accuracy| format!(", valid {accuracy:.4}"));
            bar.set_message(format!("epoch {}/{}, loss {:.4}{valid}", at.epoch, at.epochs, at.loss));
            tracing::debug!(stage, epoch = at.epoch, batch = at.batch, loss = at.loss, valid = at.valid_accuracy);
        })
    }

    /// What training calls after each batch.
    pub fn loss_callback(&self) -> Arc<finetune::Progress> {
        let (bar, stage) = (self.bar.clone(), self.label);
        Arc::new(move |done, of, loss| {
            bar.set_length(of as u64);
            bar.set_message(format!("loss {loss:.4}"));
            bar.set_position(done as u64);
            tracing::debug!(stage, done, of, loss);
        })
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        tracing::info!(stage = self.label, seconds = self.start.elapsed().as_secs_f64(), "ends");
    }
}
