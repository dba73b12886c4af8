//! Text and numbers, as a page shows them.

use std::borrow::Cow;

pub(super) use crate::report::explain::size;
use crate::report::table::thousands;

/// Text in which nothing is taken for markup.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    let is_special = |c: char| matches!(c, '&' | '<' | '>' | '"' | '\'') || (c.is_control() && c != '\n' && c != '\t');
    if !text.contains(is_special) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if is_special(c) => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped.into()
}

/// At most so many characters.
pub(super) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => text.into(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect::<String>().into(),
    }
}

/// A number with up to four significant digits.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        0.0 => "0".to_owned(),
        _ if !value.is_finite() => value.to_string(),
        _ if !(1e-3..1e6).contains(&size) => {
            let text = format!("{value:.2e}");
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{}·10{}", trimmed(digits), raised(power.parse().unwrap_or(0)))
        }
        _ => {
            let decimals = (3.0 - size.log10().floor()).clamp(0.0, 7.0) as usize;
            trimmed(&format!("{value:.decimals$}")).to_owned()
        }
    }
}

/// A power of ten, as it stands on an axis.
pub(super) fn power_of_ten(power: i32) -> String {
    match power {
        0 => "1".to_owned(),
        1 => "10".to_owned(),
        2 => "100".to_owned(),
        -1 => "0.1".to_owned(),
        power => format!("10{}", raised(power)),
    }
}

fn raised(power: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        '0' => '⁰',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        _ => '⁹',
    };
    power.to_string().chars().map(digit).collect()
}

fn trimmed(digits: &str) -> &str {
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    }
}

/// Seconds for people.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 7200.0 => format!("{:.1} h", s / 3600.0),
        s if s >= 120.0 => format!("{:.1} min", s / 60.0),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.0} ms", s * 1e3),
        s if s > 0.0 => format!("{:.0} µs", s * 1e6),
        _ => "0 s".to_owned(),
    }
}

/// How many there are of something.
pub(super) fn counted(count: usize, what: &str) -> String {
    let ending = match (count, what.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{} {what}{ending}", thousands(count))
}
