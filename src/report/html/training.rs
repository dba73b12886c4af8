//! How fine-tuning went.

use super::axis::{Axis, Spread};
use super::figure;
use super::lines::{Lines, Series, Style};
use super::text::number;
use crate::report::shown::Shown;

/// The charts of kernels and networks.
pub(super) fn training(run: &Shown) -> Vec<String> {
    let mut charts = Vec::new();
    for (stage, found) in run.metrics.stages.iter().zip(&run.details.stages) {
        if found.losses.len() > 1 {
            let last = (found.losses.len() - 1) as f64;
            let points: Vec<[f64; 2]> =
                found.losses.iter().enumerate().map(|(at, &loss)| [100.0 * at as f64 / last, loss]).collect();
            let titles = points
                .iter()
                .map(|point| format!("{:.0}% of the batches: loss {}", point[0], number(point[1])))
                .collect();
            let y = Axis::around("mean cross-entropy", Spread::Linear, found.losses.iter().copied());
            let series = vec![Series { name: stage.name.to_string(), colour: 0, style: Style::Line, points, titles }];
            let chart = Lines {
                about: "Loss of the kernel".to_owned(),
                x: Axis::between("part of the training, %", 0.0, 100.0),
                y,
                series,
            };
            charts.push(figure("", "Loss of the kernel", &chart.draw()));
        }
        let Some(network) = &stage.network else { continue };
        let loss: Vec<[f64; 2]> = network.epochs.iter().map(|epoch| [epoch.epoch as f64, epoch.loss]).collect();
        charts.push(by_epoch("Loss of the network", "mean cross-entropy", 0, loss));
        let start = network.start_accuracy.map(|accuracy| [0.0, accuracy]);
        let accuracy = network.epochs.iter().filter_map(|epoch| Some([epoch.epoch as f64, epoch.valid_accuracy?]));
        let caption = format!("Accuracy on validation; epoch {} was kept", network.kept_epoch);
        charts.push(by_epoch(&caption, "validation accuracy", 2, start.into_iter().chain(accuracy).collect()));
    }
    charts
}

fn by_epoch(caption: &str, label: &str, colour: usize, points: Vec<[f64; 2]>) -> String {
    if points.is_empty() {
        return String::new();
    }
    let x = Axis::around("epoch", Spread::Linear, points.iter().map(|point| point[0])).with_zero();
    let y = Axis::around(label, Spread::Linear, points.iter().map(|point| point[1]));
    let titles = points.iter().map(|point| format!("epoch {}: {}", point[0], number(point[1]))).collect();
    let series = vec![Series { name: label.to_owned(), colour, style: Style::Marked, points, titles }];
    figure("", caption, &Lines { about: caption.to_owned(), x, y, series }.draw())
}
