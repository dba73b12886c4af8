//! Bars beside each other, each with its name and its amount.

use std::fmt::Write as _;

use super::legend;
use super::text::{cut, escape};

const WIDTH: f64 = 460.0;
const LEFT: f64 = 118.0;
const RIGHT: f64 = 76.0;
const ROW: f64 = 24.0;
const THICK: f64 = 15.0;

/// A bar of one or more parts.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    pub(super) name: String,
    /// Amounts, each of a part.
    pub(super) parts: Vec<f64>,
    /// What is written at its end.
    pub(super) amount: String,
}

/// Bars, all to one scale.
#[derive(Clone, Debug)]
pub(super) struct Bars {
    pub(super) about: String,
    /// What the parts are called; one name needs no legend.
    pub(super) parts: Vec<String>,
    pub(super) bars: Vec<Bar>,
}

impl Bars {
    pub(super) fn draw(&self) -> String {
        let sum = |bar: &Bar| bar.parts.iter().sum::<f64>();
        let most = self.bars.iter().map(sum).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let height = ROW * self.bars.len() as f64 + 6.0;
        let mut svg = format!(
            "<svg class=\"chart bars\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n",
            escape(&self.about)
        );
        for (row, bar) in self.bars.iter().enumerate() {
            let y = 3.0 + ROW * row as f64;
            let middle = y + THICK / 2.0 + 4.5;
            let mut x = LEFT;
            // Writing to a String cannot fail.
            let _ = writeln!(
                svg,
                "<text class=\"name end\" x=\"{:.1}\" y=\"{middle:.1}\">{}<title>{}</title></text>",
                LEFT - 8.0,
                escape(&cut(&bar.name, 17)),
                escape(&bar.name)
            );
            for (part, &amount) in bar.parts.iter().enumerate() {
                let width = amount.max(0.0) / most * (WIDTH - LEFT - RIGHT);
                let _ = writeln!(
                    svg,
                    "<rect class=\"bar c{part}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{THICK}\"/>",
                    width.max(0.5)
                );
                x += width;
            }
            let _ = writeln!(
                svg,
                "<text class=\"tick\" x=\"{:.1}\" y=\"{middle:.1}\">{}</text>",
                x + 6.0,
                escape(&bar.amount)
            );
        }
        svg.push_str("</svg>");
        if self.parts.len() > 1 {
            let entries: Vec<_> =
                self.parts.iter().enumerate().map(|(part, name)| (part, "box", name.clone())).collect();
            svg.push_str(&legend(&entries));
        }
        svg
    }
}
