//! From numbers to places, and the marks in between.

use super::text::{number, power_of_ten};

/// How numbers are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    Linear,
    Log,
}

/// An axis: what it tells, and from where to where.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) label: String,
    pub(super) spread: Spread,
    low: f64,
    high: f64,
}

impl Axis {
    /// An axis with room for these numbers; those that it cannot show (none but positive ones on a log scale) do not count.
    pub(super) fn around(label: &str, spread: Spread, values: impl Iterator<Item = f64>) -> Self {
        let is_shown = |value: &f64| value.is_finite() && (spread == Spread::Linear || *value > 0.0);
        let (low, high) = values
            .filter(is_shown)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = match (low <= high, spread) {
            (false, Spread::Linear) => (0.0, 1.0),
            (false, Spread::Log) => (1.0, 10.0),
            (true, Spread::Linear) => {
                let margin = if high > low { 0.04 * (high - low) } else { 0.5 * low.abs().max(1.0) };
                (if low >= 0.0 { (low - margin).max(0.0) } else { low - margin }, high + margin)
            }
            (true, Spread::Log) => {
                let margin = (0.05 * (high / low).log10()).max(0.1);
                (low * 10f64.powf(-margin), high * 10f64.powf(margin))
            }
        };
        Self { label: label.to_owned(), spread, low, high }
    }

    /// An axis from here to there.
    pub(super) fn between(label: &str, low: f64, high: f64) -> Self {
        Self { label: label.to_owned(), spread: Spread::Linear, low, high }
    }

    /// The same, linear and with room for zero.
    pub(super) fn with_zero(mut self) -> Self {
        self.low = self.low.min(0.0);
        self
    }

    /// Where a number is, from 0 to 1; `None` if it cannot be shown.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let share = match self.spread {
            Spread::Linear => (value - self.low) / (self.high - self.low),
            Spread::Log if value <= 0.0 => return None,
            Spread::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        share.is_finite().then_some(share.clamp(0.0, 1.0))
    }

    /// Where marks stand, and what they say.
    pub(super) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        match self.spread {
            Spread::Linear => linear(self.low, self.high, most),
            Spread::Log => logarithmic(self.low, self.high, most),
        }
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
    let inside = |value: &f64| (low..=high).contains(value);
    let around = first - 1..=last + 1;
    let ticks = around.flat_map(|power| [1.0, 2.0, 5.0].map(|times| times * 10f64.powi(power)));
    let ticks: Vec<(f64, String)> = ticks.filter(inside).map(|value| (value, number(value))).collect();
    match ticks.len() {
        0 | 1 => linear(low, high, most.min(4)),
        _ => ticks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks(6).into_iter().map(|tick| tick.1).collect()
    }

    #[test]
    fn marks_are_round_numbers_inside_the_axis() {
        assert_eq!(labels(&Axis::between("", 0.0, 1.0)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&Axis::between("", 0.0, 368.0)), ["0", "100", "200", "300"]);
        let log = |low, high| Axis { spread: Spread::Log, ..Axis::between("", low, high) };
        assert_eq!(labels(&log(0.9, 1100.0)), ["1", "10", "100", "10³"]);
        assert_eq!(labels(&log(3e-3, 0.06)), ["0.005", "0.01", "0.02", "0.05"]);
        assert_eq!(labels(&log(1e-12, 1e3)).len(), 6);
    }

    #[test]
    fn nothing_and_one_number_have_an_axis_too() {
        for spread in [Spread::Linear, Spread::Log] {
            for values in [vec![], vec![0.25], vec![f64::NAN, -1.0], vec![0.0]] {
                let axis = Axis::around("", spread, values.into_iter());
                assert!(axis.low < axis.high && !axis.ticks(5).is_empty(), "{axis:?}");
            }
        }
    }
}
