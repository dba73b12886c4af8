//! Times of updates, and spans of them.

use std::fmt;
use std::str::FromStr;

/// Parts of a unit or of a second that are told apart.
const PARTS: i128 = 1_000_000_000;
/// Decimals that those are.
const DECIMALS: usize = 9;
/// Digits of the longest number; any date is shorter.
const MOST_DIGITS: usize = 20;
const DAY: i128 = 86_400;

/// When something happened: a number in a unit of the user's own, or a date.
///
/// ```
/// use isvd_dist::dataset::stream::Time;
/// let [early, late]: [Time; 2] = ["2024-02-29".parse().unwrap(), "2024-03-01T00:30:00+01:00".parse().unwrap()];
/// assert!(early < late);
/// assert_eq!(late.to_string(), "2024-02-29T23:30:00");
/// assert_eq!("12.50".parse::<Time>().unwrap().to_string(), "12.5");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    parts: i128,
    is_date: bool,
}

/// How long something lasts, in the unit of a column of times; of dates that is the second.
///
/// ```
/// use isvd_dist::dataset::stream::{Span, Time};
/// let day: Span = "1d".parse().unwrap();
/// let [one, other]: [Time; 2] = ["2024-02-29T01:00".parse().unwrap(), "2024-02-29T23:59".parse().unwrap()];
/// assert_eq!(one.window(day), other.window(day));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    parts: i128,
}

/// A text that is no time, or no span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
pub struct NoTime {
    expected: &'static str,
}

impl Time {
    /// Whether it is a date rather than a number.
    pub fn is_date(self) -> bool {
        self.is_date
    }

    /// Which of the windows of a span it is in; they begin at multiples of the span.
    pub fn window(self, span: Span) -> i128 {
        self.parts.div_euclid(span.parts)
    }
}

impl FromStr for Time {
    type Err = NoTime;

    fn from_str(text: &str) -> Result<Self, NoTime> {
        let number = number(text).map(|parts| Self { parts, is_date: false });
        let date = || date(text).map(|parts| Self { parts, is_date: true });
        let expected = "a number of at most nine decimals, or a date such as 2024-02-29 or 2024-02-29T12:30:00Z";
        number.or_else(date).ok_or(NoTime { expected })
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.parts.div_euclid(PARTS), self.parts.rem_euclid(PARTS));
        if !self.is_date {
            let (sign, size) = (if self.parts < 0 { "-" } else { "" }, self.parts.unsigned_abs());
            let (whole, rest) = (size / PARTS as u128, size % PARTS as u128);
            return write!(f, "{sign}{whole}{}", fraction(rest as i128));
        }
        let (year, month, day) = civil(whole.div_euclid(DAY));
        write!(f, "{year:04}-{month:02}-{day:02}")?;
        let second = whole.rem_euclid(DAY);
        match (second, rest) {
            (0, 0) => Ok(()),
            _ => write!(f, "T{:02}:{:02}:{:02}{}", second / 3600, second / 60 % 60, second % 60, fraction(rest)),
        }
    }
}

impl FromStr for Span {
    type Err = NoTime;

    fn from_str(text: &str) -> Result<Self, NoTime> {
        let expected = "a span above 0: a number in the unit of the times, or such as 30s, 15m, 12h, 1d or 1w";
        let (amount, unit) = match text.as_bytes() {
            [.., b's'] => (&text[..text.len() - 1], 1),
            [.., b'm'] => (&text[..text.len() - 1], 60),
            [.., b'h'] => (&text[..text.len() - 1], 3600),
            [.., b'd'] => (&text[..text.len() - 1], DAY),
            [.., b'w'] => (&text[..text.len() - 1], 7 * DAY),
            _ => (text, 1),
        };
        let parts = number(amount).and_then(|parts| parts.checked_mul(unit)).filter(|&parts| parts > 0);
        parts.map(|parts| Self { parts }).ok_or(NoTime { expected })
    }
}

/// What follows the whole part of a number, if anything does.
fn fraction(parts: i128) -> String {
    match parts {
        0 => String::new(),
        _ => format!(".{parts:0DECIMALS$}").trim_end_matches('0').to_owned(),
    }
}

fn number(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(rest) || whole.len() > MOST_DIGITS || rest.len() > DECIMALS {
        return None;
    }
    let scale = 10i128.pow((DECIMALS - rest.len()) as u32);
    Some(sign * (whole.parse::<i128>().ok()? * PARTS + rest.parse::<i128>().ok()? * scale))
}

/// A day, and perhaps a time of it, after a `T` or a blank; without a zone it is in UTC.
fn date(text: &str) -> Option<i128> {
    let (day, rest) = text.split_at_checked(10)?;
    let mut fields = day.split('-').map(|field| whole(field, 4));
    let (year, month, day_of_month) = (fields.next()??, fields.next()??, fields.next()??);
    let is_day = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day_of_month);
    if !is_day || day.as_bytes()[4] != b'-' || day.as_bytes()[7] != b'-' {
        return None;
    }
    let start = days(year, month, day_of_month) * DAY * PARTS;
    if rest.is_empty() {
        return Some(start);
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (time, east) = match rest.find(['Z', 'z', '+', '-']) {
        None => (rest, 0),
        Some(at) if matches!(&rest[at..], "Z" | "z") => (&rest[..at], 0),
        Some(at) => {
            let sign = if rest.as_bytes()[at] == b'-' { -1 } else { 1 };
            let zone = rest[at + 1..].replace(':', "");
            let (hours, minutes) = zone.split_at_checked(2)?;
            let minutes = if minutes.is_empty() { 0 } else { whole(minutes, 2)? };
            (&rest[..at], sign * (whole(hours, 2)? * 3600 + minutes * 60))
        }
    };
    let mut fields = time.split(':');
    let (hour, minute) = (whole(fields.next()?, 2)?, whole(fields.next()?, 2)?);
    let second = fields.next().map_or(Some(0), number).filter(|second| (0..61 * PARTS).contains(second))?;
    if fields.next().is_some() || hour > 23 || minute > 59 || east.abs() >= DAY {
        return None;
    }
    Some(start + (hour * 3600 + minute * 60 - east) * PARTS + second)
}

fn whole(text: &str, most: usize) -> Option<i128> {
    let is_whole = !text.is_empty() && text.len() <= most && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_whole)
}

fn is_leap(year: i128) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i128, month: i128) -> i128 {
    match month {
        2 => 28 + i128::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Leap days of the years before this one.
fn leap_days(year: i128) -> i128 {
    let before = year - 1;
    before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400)
}

fn days_before(year: i128) -> i128 {
    365 * (year - 1970) + leap_days(year) - leap_days(1970)
}

/// Days from the first of 1970 on.
fn days(year: i128, month: i128, day: i128) -> i128 {
    days_before(year) + (1..month).map(|month| days_of(year, month)).sum::<i128>() + day - 1
}

/// The date of a day.
fn civil(day: i128) -> (i128, i128, i128) {
    // Years are 365 days at least, so this is not too early by more than a few.
    let mut year = 1970 + day.div_euclid(366);
    while days_before(year + 1) <= day {
        year += 1;
    }
    while days_before(year) > day {
        year -= 1;
    }
    let (mut month, mut rest) = (1, day - days_before(year));
    while rest >= days_of(year, month) {
        rest -= days_of(year, month);
        month += 1;
    }
    (year, month, rest + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_and_dates_are_told_apart() {
        for text in ["0", "1995", "-3.25", "1700000000123456789", "2024-02-29", "1969-12-31T23:59:59.5", "0001-01-01"] {
            assert_eq!(text.parse::<Time>().unwrap().to_string(), text);
        }
        for wrong in
            ["", "-", "1e3", "1.", ".5", "nan", "2023-02-29", "2024-13-01", "2024-1-01", "2024-01-01T25:00", "12:00"]
        {
            assert!(wrong.parse::<Time>().is_err(), "{wrong}");
        }
        assert!(!"2024".parse::<Time>().unwrap().is_date());
    }

    #[test]
    fn zones_are_taken_into_account() {
        let same =
            ["2024-01-01T12:00Z", "2024-01-01 13:00:00+01:00", "2024-01-01T07:00:00.000-0500", "2024-01-01T12:00"];
        let times: Vec<Time> = same.iter().map(|text| text.parse().unwrap()).collect();
        assert!(times.iter().all(|time| *time == times[0]));
    }

    #[test]
    fn windows_begin_at_multiples_of_the_span() {
        let window = |time: &str, span: &str| time.parse::<Time>().unwrap().window(span.parse().unwrap());
        assert_eq!((window("-1", "10"), window("0", "10"), window("9.9", "10"), window("10", "10")), (-1, 0, 0, 1));
        assert_ne!(window("2024-02-29T23:59:59", "1d"), window("2024-03-01", "1d"));
        assert_eq!(window("86399", "1d"), 0, "numbers beside a unit are seconds");
        for wrong in ["0", "-1d", "d", "", "1y", "1 d"] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_as_the_same(seconds in -60_000_000_000i64..60_000_000_000, parts in 0i128..PARTS, is_date: bool) {
            let time = Time { parts: i128::from(seconds) * PARTS + parts, is_date };
            prop_assert_eq!(time.to_string().parse::<Time>().unwrap(), time);
        }
    }
}
