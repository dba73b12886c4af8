//! Charts as SVG: series over two axes, and bars. A chart without data is an empty text.

use std::fmt::Write as _;

use super::text::{cut, escape, number, power_of_ten};
use super::{figure, legend};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 46.0;

/// How numbers are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// Linear around the numbers.
    Linear,
    /// Linear from zero.
    FromZero,
    /// Logarithmic; only positive numbers are shown.
    Log,
    /// Linear between two numbers.
    Between(f64, f64),
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// A line.
    Line,
    /// A thin broken line, for what others are compared with.
    Broken,
    /// A line with a mark at every point.
    Marked,
    /// Marks alone.
    Points,
}

/// Points that belong together. The pointer shows the title of a point; an empty title is none.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) colour: usize,
    pub(super) style: Style,
    pub(super) points: Vec<([f64; 2], String)>,
}

/// A chart of some series with its caption, and below it what the colours mean if there are
/// several. An axis is given by its label and its scale.
pub(super) fn chart(caption: &str, x: (&str, Scale), y: (&str, Scale), series: &[Series]) -> String {
    let values = |axis: usize| series.iter().flat_map(|series| &series.points).map(move |(point, _)| point[axis]);
    if values(0).next().is_none() {
        return String::new();
    }
    let (x, y) = (Axis::new(x, values(0)), Axis::new(y, values(1)));
    let mut svg = format!(
        "<svg class=\"chart hover\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
        escape(caption)
    );
    draw_axes(&mut svg, &x, &y);
    series.iter().for_each(|series| draw_series(&mut svg, &x, &y, series));
    svg.push_str("</svg>");
    if series.len() > 1 {
        let mark = |style| if style == Style::Points { "dot" } else { "line" };
        let entries: Vec<_> = series.iter().map(|one| (one.colour, mark(one.style), one.name.clone())).collect();
        svg.push_str(&legend(&entries));
    }
    figure("", caption, &svg)
}

fn x_of(axis: &Axis, value: f64) -> Option<f64> {
    Some(LEFT + axis.place(value)? * (WIDTH - LEFT - RIGHT))
}

fn y_of(axis: &Axis, value: f64) -> Option<f64> {
    Some(HEIGHT - BOTTOM - axis.place(value)? * (HEIGHT - TOP - BOTTOM))
}

fn draw_axes(svg: &mut String, x: &Axis, y: &Axis) {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    // Writing to a String cannot fail.
    for (at, label) in x.ticks(7).into_iter().filter_map(|(value, label)| Some((x_of(x, value)?, label))) {
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{at:.1} {TOP}V{bottom}\"/><text class=\"tick mid\" x=\"{at:.1}\" y=\"{:.1}\">{label}</text>",
            bottom + 16.0
        );
    }
    for (at, label) in y.ticks(5).into_iter().filter_map(|(value, label)| Some((y_of(y, value)?, label))) {
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{right}\"/><text class=\"tick end\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    let middle = (TOP + bottom) / 2.0;
    let _ = writeln!(
        svg,
        "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom}H{right}\"/>\
         <text class=\"name mid\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
         <text class=\"name mid\" transform=\"translate(13 {middle:.1}) rotate(-90)\">{}</text>",
        (LEFT + right) / 2.0,
        HEIGHT - 8.0,
        escape(&x.label),
        escape(&y.label),
    );
}

fn draw_series(svg: &mut String, x: &Axis, y: &Axis, series: &Series) {
    let place = |(point, title): &([f64; 2], String)| Some((x_of(x, point[0])?, y_of(y, point[1])?, title.clone()));
    let places: Vec<(f64, f64, String)> = series.points.iter().filter_map(place).collect();
    let colour = series.colour;
    if series.style != Style::Points {
        let kind = if series.style == Style::Broken { "line broken" } else { "line" };
        let mut path = String::new();
        for (x, y, _) in &places {
            let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
        }
        let _ = writeln!(svg, "<path class=\"{kind} c{colour}\" d=\"{path}\"/>");
    }
    let is_marked = matches!(series.style, Style::Points | Style::Marked);
    let (kind, radius) = if is_marked { ("dot", 3.0) } else { ("ghost", 4.0) };
    for (x, y, title) in places.iter().filter(|(_, _, title)| is_marked || !title.is_empty()) {
        let title = if title.is_empty() { String::new() } else { format!("<title>{}</title>", escape(title)) };
        let _ = writeln!(
            svg,
            "<circle class=\"{kind} c{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\">{title}</circle>"
        );
    }
}

/// An axis: what it shows, and from where to where.
#[derive(Clone, Debug)]
struct Axis {
    label: String,
    is_log: bool,
    low: f64,
    high: f64,
}

impl Axis {
    /// An axis for these numbers, without those that it cannot show.
    fn new((label, scale): (&str, Scale), values: impl Iterator<Item = f64>) -> Self {
        let is_log = scale == Scale::Log;
        let (low, high) = values
            .filter(|value| value.is_finite() && (!is_log || *value > 0.0))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = match scale {
            Scale::Between(low, high) => (low, high),
            Scale::Log if low > high => (1.0, 10.0),
            Scale::Log => {
                let margin = (0.05 * (high / low).log10()).max(0.1);
                (low * 10f64.powf(-margin), high * 10f64.powf(margin))
            }
            _ if low > high => (0.0, 1.0),
            _ => {
                let margin = if high > low { 0.04 * (high - low) } else { 0.5 * low.abs().max(1.0) };
                let least = if low >= 0.0 { (low - margin).max(0.0) } else { low - margin };
                (if scale == Scale::FromZero { least.min(0.0) } else { least }, high + margin)
            }
        };
        Self { label: label.to_owned(), is_log, low, high }
    }

    /// The place of a number, from 0 to 1; `None` if it cannot be shown.
    fn place(&self, value: f64) -> Option<f64> {
        let share = match self.is_log {
            false => (value - self.low) / (self.high - self.low),
            true if value <= 0.0 => return None,
            true => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        share.is_finite().then_some(share.clamp(0.0, 1.0))
    }

    /// The places of marks, and their labels.
    fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        if self.is_log { logarithmic(self.low, self.high, most) } else { linear(self.low, self.high, most) }
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear(low: f64, high: f64, most: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / most.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power).find(|&step| step >= rough * 0.999);
    let step = step.unwrap_or(rough);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    let label = |value: f64| match value {
        value if value.abs() >= 1e5 => number(value),
        value => format!("{value:.decimals$}"),
    };
    (first..=last).map(|count| count as f64 * step).map(|value| (value, label(value))).collect()
}

/// Powers of ten; where there are too few, twice and five times those, too.
fn logarithmic(low: f64, high: f64, most: usize) -> Vec<(f64, String)> {
    let (first, last) = ((low.log10() - 1e-9).ceil() as i32, (high.log10() + 1e-9).floor() as i32);
    let count = (last - first + 1).max(0) as usize;
    if count >= 3 {
        let every = count.div_ceil(most.max(1)).max(1);
        return (first..=last).step_by(every).map(|power| (10f64.powi(power), power_of_ten(power))).collect();
    }
    let ticks = (first - 1..=last + 1).flat_map(|power| [1.0, 2.0, 5.0].map(|times| times * 10f64.powi(power)));
    let ticks = ticks.filter(|value| (low..=high).contains(value));
    let ticks: Vec<(f64, String)> = ticks.map(|value| (value, number(value))).collect();
    if ticks.len() > 1 { ticks } else { linear(low, high, most.min(4)) }
}

/// Where bars begin, and what is left for the amounts at their ends.
const BARS_LEFT: f64 = 118.0;
const BARS_RIGHT: f64 = 76.0;
const ROW: f64 = 24.0;
const THICK: f64 = 15.0;

/// A bar of one or more parts.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) parts: Vec<f64>,
    /// What is written at its end.
    pub(super) amount: String,
}

impl Bar {
    /// A bar of one part.
    pub(super) fn new(name: impl ToString, value: f64, amount: String) -> Self {
        Self { name: name.to_string(), parts: vec![value], amount }
    }
}

/// Bars to one scale with their caption; `parts` are the names of their parts, if there are
/// several.
pub(super) fn bars(caption: &str, parts: &[&str], bars: &[Bar]) -> String {
    if bars.is_empty() {
        return String::new();
    }
    let sum = |bar: &Bar| bar.parts.iter().sum::<f64>();
    let most = bars.iter().map(sum).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let height = ROW * bars.len() as f64 + 6.0;
    let mut svg = format!(
        "<svg class=\"chart bars\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n",
        escape(caption)
    );
    for (row, bar) in bars.iter().enumerate() {
        let y = 3.0 + ROW * row as f64;
        let (middle, mut x) = (y + THICK / 2.0 + 4.5, BARS_LEFT);
        // Writing to a String cannot fail.
        let _ = writeln!(
            svg,
            "<text class=\"name end\" x=\"{:.1}\" y=\"{middle:.1}\">{}<title>{}</title></text>",
            BARS_LEFT - 8.0,
            escape(&cut(&bar.name, 17)),
            escape(&bar.name)
        );
        for (part, &amount) in bar.parts.iter().enumerate() {
            let width = amount.max(0.0) / most * (WIDTH - BARS_LEFT - BARS_RIGHT);
            let _ = writeln!(
                svg,
                "<rect class=\"bar c{part}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{THICK}\"/>",
                width.max(0.5)
            );
            x += width;
        }
        let amount = escape(&bar.amount);
        let _ = writeln!(svg, "<text class=\"tick\" x=\"{:.1}\" y=\"{middle:.1}\">{amount}</text>", x + 6.0);
    }
    svg.push_str("</svg>");
    if parts.len() > 1 {
        let entries: Vec<_> = parts.iter().enumerate().map(|(part, name)| (part, "box", (*name).to_owned())).collect();
        svg.push_str(&legend(&entries));
    }
    figure("", caption, &svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_numbers_inside_the_axis() {
        let labels = |axis: &Axis| axis.ticks(6).into_iter().map(|tick| tick.1).collect::<Vec<_>>();
        let linear = |low, high| Axis::new(("", Scale::Between(low, high)), [].into_iter());
        assert_eq!(labels(&linear(0.0, 1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&linear(0.0, 368.0)), ["0", "100", "200", "300"]);
        let log = |low, high| Axis { is_log: true, ..linear(low, high) };
        assert_eq!(labels(&log(0.9, 1100.0)), ["1", "10", "100", "10³"]);
        assert_eq!(labels(&log(3e-3, 0.06)), ["0.005", "0.01", "0.02", "0.05"]);
        assert_eq!(labels(&log(1e-12, 1e3)).len(), 6);
    }

    #[test]
    fn nothing_and_one_number_have_an_axis_too() {
        for scale in [Scale::Linear, Scale::FromZero, Scale::Log] {
            for values in [vec![], vec![0.25], vec![f64::NAN, -1.0], vec![0.0]] {
                let axis = Axis::new(("", scale), values.into_iter());
                assert!(axis.low < axis.high && !axis.ticks(5).is_empty(), "{axis:?}");
            }
        }
    }
}
