//! Lines and points over two axes.

use std::fmt::Write as _;

use super::axis::Axis;
use super::legend;
use super::text::escape;

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 46.0;

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

/// Points that belong together.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) colour: usize,
    pub(super) style: Style,
    pub(super) points: Vec<[f64; 2]>,
    /// What the pointer tells of each point; nothing of those without, or with an empty one.
    pub(super) titles: Vec<String>,
}

/// A chart of some series.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    pub(super) about: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
}

impl Lines {
    /// The chart, and below it what its colours mean if there are several.
    pub(super) fn draw(&self) -> String {
        let mut svg = format!(
            "<svg class=\"chart hover\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
            escape(&self.about)
        );
        self.grid(&mut svg);
        for series in &self.series {
            self.draw_series(&mut svg, series);
        }
        svg.push_str("</svg>");
        if self.series.len() > 1 {
            let mark = |style| if matches!(style, Style::Points) { "dot" } else { "line" };
            let entries: Vec<_> =
                self.series.iter().map(|one| (one.colour, mark(one.style), one.name.clone())).collect();
            svg.push_str(&legend(&entries));
        }
        svg
    }

    fn x_of(&self, value: f64) -> Option<f64> {
        Some(LEFT + self.x.place(value)? * (WIDTH - LEFT - RIGHT))
    }

    fn y_of(&self, value: f64) -> Option<f64> {
        Some(HEIGHT - BOTTOM - self.y.place(value)? * (HEIGHT - TOP - BOTTOM))
    }

    fn grid(&self, svg: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        // Writing to a String cannot fail.
        for (value, label) in self.x.ticks(7) {
            let Some(x) = self.x_of(value) else { continue };
            let _ = writeln!(
                svg,
                "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom}\"/><text class=\"tick mid\" x=\"{x:.1}\" y=\"{:.1}\">{label}</text>",
                bottom + 16.0
            );
        }
        for (value, label) in self.y.ticks(5) {
            let Some(y) = self.y_of(value) else { continue };
            let _ = writeln!(
                svg,
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/><text class=\"tick end\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                LEFT - 6.0,
                y + 4.0
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
            escape(&self.x.label),
            escape(&self.y.label),
        );
    }

    fn draw_series(&self, svg: &mut String, series: &Series) {
        let places: Vec<Option<(f64, f64)>> =
            series.points.iter().map(|point| self.x_of(point[0]).zip(self.y_of(point[1]))).collect();
        let colour = series.colour;
        if series.style != Style::Points {
            let kind = if series.style == Style::Broken { "line broken" } else { "line" };
            let mut path = String::new();
            for (x, y) in places.iter().flatten() {
                let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
            }
            let _ = writeln!(svg, "<path class=\"{kind} c{colour}\" d=\"{path}\"/>");
        }
        let is_shown = matches!(series.style, Style::Points | Style::Marked);
        let titles = series.titles.iter().map(String::as_str).chain(std::iter::repeat(""));
        for (place, title) in places.iter().zip(titles) {
            let Some((x, y)) = place else { continue };
            if !is_shown && title.is_empty() {
                continue;
            }
            let (kind, radius) = if is_shown { ("dot", 3.0) } else { ("ghost", 4.0) };
            let title = if title.is_empty() { String::new() } else { format!("<title>{}</title>", escape(title)) };
            let _ = writeln!(
                svg,
                "<circle class=\"{kind} c{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\">{title}</circle>"
            );
        }
    }
}
