//! Times of updates, and spans of them.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveTime};

/// Nanoseconds of a second, and as many parts of another unit.
const PARTS: i128 = 1_000_000_000;
/// Decimals of a number of that resolution.
const DECIMALS: usize = 9;
/// Digits of the longest number; any date is shorter.
const MOST_DIGITS: usize = 20;
const DAY: i128 = 86_400;

/// When something happened: a number in a unit of the user's own, or a date.
///
/// ```
/// use isvd_dist::dataset::stream::Time;
/// let early: Time = "2024-02-29".parse().unwrap();
/// let late: Time = "2024-03-01T00:30:00+01:00".parse().unwrap();
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
/// let one: Time = "2024-02-29T01:00".parse().unwrap();
/// let other: Time = "2024-02-29T23:59".parse().unwrap();
/// assert_eq!(one.window(day), other.window(day));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    parts: i128,
}

/// A text that is no time, or no span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
pub struct ParseTimeError {
    expected: &'static str,
}

impl Time {
    /// Whether it is a date rather than a number.
    pub fn is_date(self) -> bool {
        self.is_date
    }

    /// The number of its time window; windows begin at multiples of the span.
    pub fn window(self, span: Span) -> i128 {
        self.parts.div_euclid(span.parts)
    }
}

impl FromStr for Time {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
        let number = number(text).map(|parts| Self { parts, is_date: false });
        let date = || date(text).map(|parts| Self { parts, is_date: true });
        let expected = "a number of at most nine decimals, or a date such as 2024-02-29 or 2024-02-29T12:30:00Z";
        number.or_else(date).ok_or(ParseTimeError { expected })
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_date {
            let (sign, size) = (if self.parts < 0 { "-" } else { "" }, self.parts.unsigned_abs());
            let (whole, rest) = (size / PARTS as u128, size % PARTS as u128);
            return write!(f, "{sign}{whole}{}", fraction(rest as i128));
        }
        let (seconds, rest) = (self.parts.div_euclid(PARTS), self.parts.rem_euclid(PARTS));
        // A date was read from a text of four digits for its year.
        let time = i64::try_from(seconds).ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
        let time = time.ok_or(fmt::Error)?;
        match (seconds.rem_euclid(DAY), rest) {
            (0, 0) => write!(f, "{}", time.format("%Y-%m-%d")),
            _ => write!(f, "{}{}", time.format("%Y-%m-%dT%H:%M:%S"), fraction(rest)),
        }
    }
}

impl FromStr for Span {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
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
        parts.map(|parts| Self { parts }).ok_or(ParseTimeError { expected })
    }
}

/// The decimals of a number.
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

/// Nanoseconds since 1970 of a day, and perhaps a time of it after a `T` or a blank; without a zone
/// it is in UTC.
fn date(text: &str) -> Option<i128> {
    let (day, rest) = text.split_at_checked(10)?;
    let fits = |(at, byte): (usize, u8)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    if !day.bytes().enumerate().all(fits) {
        return None;
    }
    let day = NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
    let (clock, zone) = match rest.strip_prefix(['T', 't', ' ']) {
        Some(rest) => rest.split_at(rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len())),
        None if rest.is_empty() => ("00:00", ""),
        None => return None,
    };
    // More decimals would be cut off.
    if clock.split_once('.').is_some_and(|(_, decimals)| decimals.len() > DECIMALS) {
        return None;
    }
    let clock = ["%H:%M:%S%.f", "%H:%M"].iter().find_map(|form| NaiveTime::parse_from_str(clock, form).ok())?;
    // Neither the colon nor the minutes need be there.
    let zone = zone.replace(':', "");
    let east = match zone.len() {
        0 => 0,
        1 if matches!(zone.as_str(), "Z" | "z") => 0,
        3 | 5 => format!("{zone:0<5}").parse::<FixedOffset>().ok()?.local_minus_utc(),
        _ => return None,
    };
    let utc = day.and_time(clock).and_utc();
    let nanoseconds = i128::from(utc.timestamp() - i64::from(east)) * PARTS + i128::from(utc.timestamp_subsec_nanos());
    Some(nanoseconds)
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
        for wrong in [
            "",
            "-",
            "1e3",
            "1.",
            ".5",
            "nan",
            "2023-02-29",
            "2024-13-01",
            "2024-1-01",
            "2024-01-01T25:00",
            "12:00",
            "2024-01-01T00:00:00.1234567891",
            "2024-01-01T00:00+01:0",
            "+024-01-01",
        ] {
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
