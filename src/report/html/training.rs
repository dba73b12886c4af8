//! Fine-tuning.

use super::chart::{Scale, Series, Style, chart};
use super::text::number;
use crate::report::shown::Shown;

/// The charts of kernels and networks.
pub(super) fn training(run: &Shown) -> Vec<String> {
    let mut charts = Vec::new();
    for (stage, found) in run.metrics.stages.iter().zip(&run.details.stages) {
        if found.losses.len() > 1 {
            let last = (found.losses.len() - 1) as f64;
            let point = |(at, &loss): (usize, &f64)| {
                let part = 100.0 * at as f64 / last;
                ([part, loss], format!("{part:.0}% of the batches: loss {}", number(loss)))
            };
            let points = found.losses.iter().enumerate().map(point).collect();
            let series = Series { name: stage.name.to_string(), colour: 0, style: Style::Line, points };
            let x = ("part of the training, %", Scale::Between(0.0, 100.0));
            charts.push(chart("Loss of the kernel", x, ("mean cross-entropy", Scale::Linear), &[series]));
        }
        let Some(network) = &stage.network else { continue };
        let loss = network.epochs.iter().map(|epoch| (epoch.epoch, epoch.loss)).collect();
        charts.push(by_epoch("Loss of the network", "mean cross-entropy", 0, loss));
        let start = network.start_accuracy.map(|accuracy| (0, accuracy));
        let accuracy = network.epochs.iter().filter_map(|epoch| Some((epoch.epoch, epoch.valid_accuracy?)));
        let caption = format!("Accuracy on validation; epoch {} was kept", network.kept_epoch);
        charts.push(by_epoch(&caption, "validation accuracy", 2, start.into_iter().chain(accuracy).collect()));
    }
    charts
}

fn by_epoch(caption: &str, label: &str, colour: usize, values: Vec<(usize, f64)>) -> String {
    let point = |(epoch, value)| ([epoch as f64, value], format!("epoch {epoch}: {}", number(value)));
    let points = values.into_iter().map(point).collect();
    let series = Series { name: label.to_owned(), colour, style: Style::Marked, points };
    chart(caption, ("epoch", Scale::FromZero), (label, Scale::Linear), &[series])
}
