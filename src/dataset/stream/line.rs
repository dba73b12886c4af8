//! One update a line.

use super::error::Refusal;
use super::time::Time;
use crate::dataset::format::{FormatError, data, excerpt, looks_like_a_time, next_field, other_format, trim, weight};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The effect of an update on an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Adds the edge with the given weight, or with weight one.
    Add,
    /// Removes the edge.
    Remove,
    /// Changes the weight of the edge.
    Weigh,
}

/// A line of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// When it happened.
    pub time: Time,
    /// The action.
    pub action: Action,
    /// The user's id of the node that the edge starts from.
    pub from: String,
    /// The user's id of the node that it ends at.
    pub to: String,
    /// The weight, where one is given.
    pub weight: Option<f32>,
    /// The line of its file, from 1.
    pub line: u64,
    /// The weight as it was written, if it is as large as a time.
    pub(super) like_a_time: Option<Box<str>>,
}

impl Update {
    /// Whether its weight is written like a time.
    #[cfg(feature = "cli")]
    pub(crate) fn has_time_as_weight(&self) -> bool {
        self.like_a_time.is_some()
    }

    /// Approximate memory of its texts.
    pub(crate) fn text_bytes(&self) -> u64 {
        let time = self.like_a_time.as_ref().map_or(0, |text| text_bytes(text));
        text_bytes(&self.from) + text_bytes(&self.to) + time
    }
}

/// The memory that an allocator uses for a text.
pub(crate) fn text_bytes(text: &str) -> u64 {
    (text.len() as u64 + 8).next_multiple_of(16).max(32)
}

/// The kind of fault of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Problem {
    /// Fields are missing, or there are too many.
    Fields,
    /// The time is none, or of another kind than those before.
    Time,
    /// The time is before that of an earlier line.
    Backwards,
    /// The operation is unknown.
    Operation,
    /// An id cannot be one of this graph.
    Id,
    /// The weight is no finite number, or missing.
    Weight,
}

impl Problem {
    /// The label of a count of such lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fields => "lines with missing or extra fields",
            Self::Time => "lines without a usable time",
            Self::Backwards => "lines whose time runs backwards",
            Self::Operation => "lines with an unknown operation",
            Self::Id => "lines with an id that the graph cannot have",
            Self::Weight => "lines without a usable weight",
        }
    }
}

/// The fields of a line.
const FORM: &str = "time, operation, source, target, and a weight if there is one";

/// Reads line `number` of a file; `None` for blank lines, comments and, if it may be one, a line
/// that names the columns.
pub(super) fn parse(line: &[u8], (path, number): (&Path, u64), may_be_header: bool) -> Result<Option<Update>, Refusal> {
    let Some(line) = data(line) else { return Ok(None) };
    let refused = |problem, found: String, expected: &str, remedy: &'static str| Refusal {
        problem,
        error: FormatError::line(path, number, found, expected.to_owned(), remedy),
    };
    let Ok(text) = std::str::from_utf8(line) else {
        let found = format!("{}, which is not UTF-8", excerpt(line));
        return Err(refused(Problem::Fields, found, "text in UTF-8", "convert the stream to UTF-8"));
    };
    let fields = split(text);
    if may_be_header && fields[0].eq_ignore_ascii_case("time") {
        return Ok(None);
    }
    let (time, fields) = match fields.as_slice() {
        // A blank may stand between a day and a time of it.
        [day, clock, rest @ ..] if clock.contains(':') && is_day(day) => (format!("{day}T{clock}"), rest),
        [time, rest @ ..] => ((*time).to_owned(), rest),
        [] => return Ok(None),
    };
    let (operation, from, to, weight_field) = match fields {
        [operation, from, to] => (operation, from, to, None),
        [operation, from, to, weight] => (operation, from, to, Some(weight)),
        _ => {
            let found = format!("{} fields in {}", fields.len() + 1, excerpt(line));
            let remedy = "repair the line; if the file was cut off there, complete it";
            return Err(refused(Problem::Fields, found, FORM, remedy));
        }
    };
    let found = |what: &str, field: &str| format!("the {what} {} in {}", excerpt(field.as_bytes()), excerpt(line));
    let time = time.parse::<Time>().map_err(|no_time| {
        refused(Problem::Time, found("time", &time), &no_time.to_string()[9..], "repair the line")
    })?;
    let action = match operation.to_ascii_lowercase().as_str() {
        "+" | "add" => Action::Add,
        "-" | "remove" => Action::Remove,
        "=" | "weigh" => Action::Weigh,
        _ => {
            let expected = "`+` or `add`, `-` or `remove`, `=` or `weigh`";
            return Err(refused(Problem::Operation, found("operation", operation), expected, "repair the line"));
        }
    };
    if from.is_empty() || to.is_empty() {
        let found = format!("an empty field in {}", excerpt(line));
        return Err(refused(Problem::Fields, found, "an id", "repair the line"));
    }
    if let Some(fault) = other_format(line, from.as_bytes(), to.as_bytes()) {
        return Err(Refusal { problem: Problem::Id, error: fault.in_file(path, number - 1) });
    }
    let given = match weight_field.filter(|field| !field.is_empty() && action != Action::Remove) {
        None => None,
        Some(field) => {
            // Zero has one form, so that weights can be compared by their bits.
            let read = weight(field.as_bytes(), line).map(|weight| if weight == 0.0 { 0.0 } else { weight });
            let expected = |expected| refused(Problem::Weight, found("weight", field), expected, "repair the line");
            let read = read.map_err(|_| expected("a finite number"))?;
            if read < 0.0 {
                return Err(expected("a weight of 0 or more"));
            }
            Some(read)
        }
    };
    if action == Action::Weigh && given.is_none() {
        let found = format!("no weight in {}", excerpt(line));
        return Err(refused(Problem::Weight, found, "the new weight after the two ids", "complete the line"));
    }
    let is_like_a_time = |_: &&&str| given.is_some_and(looks_like_a_time);
    let like_a_time = weight_field.filter(is_like_a_time).map(|&field| field.into());
    let (from, to) = (from.to_string(), to.to_string());
    Ok(Some(Update { time, action, from, to, weight: given, line: number, like_a_time }))
}

fn is_day(text: &str) -> bool {
    text.len() == 10 && text.parse::<Time>().is_ok_and(Time::is_date)
}

/// The fields of a trimmed line that is not empty. A tab, comma or semicolon that occurs at least
/// three times is the separator, and names may then contain blanks; else blanks are, with at most
/// one comma or semicolon among them.
fn split(line: &str) -> Vec<&str> {
    let only = ['\t', ',', ';'].into_iter().find(|&separator| line.matches(separator).count() >= 3);
    if let Some(separator) = only {
        return line.split(separator).map(|field| field.trim_matches([' ', '\t', '\r'])).collect();
    }
    let (mut fields, mut rest) = (Vec::with_capacity(5), Some(trim(line.as_bytes())));
    while let Some(bytes) = rest {
        let (field, more) = next_field(bytes);
        // Separators are ASCII, so nothing is cut in two.
        fields.push(std::str::from_utf8(field).unwrap_or_default());
        rest = more;
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_alone(line: &[u8], may_be_header: bool) -> Result<Option<Update>, Refusal> {
        parse(line, (Path::new("updates.txt"), 1), may_be_header)
    }

    fn read(line: &str) -> Update {
        parse_alone(line.as_bytes(), false).unwrap_or_else(|refused| panic!("{line}: {refused:?}")).unwrap()
    }

    #[test]
    fn lines_may_be_separated_in_any_usual_way() {
        let expected = read("7 + a b 0.5");
        for line in ["7\t+\ta\tb\t0.5", "7,add,a,b,0.5", "7, + , a, b , 0.5", "  7   ADD a b 0.5\r", "7;+;a;b;0.5"] {
            assert_eq!(read(line), expected, "{line}");
        }
        assert_eq!(read("7,-,New York,Rio").from, "New York");
        assert_eq!(read("2024-02-29 12:30 - a b").time, read("2024-02-29T12:30\t-\ta\tb").time);
        assert_eq!(read("7 - a b 3").weight, None, "what is removed needs no weight");
        assert_eq!(read("7 = a b -0.0").weight.map(f32::to_bits), Some(0));
    }

    #[test]
    fn what_is_no_update_is_nothing() {
        for line in ["", "  ", "# 7 + a b", "% comment"] {
            assert_eq!(parse_alone(line.as_bytes(), false).unwrap(), None);
        }
        assert_eq!(parse_alone(b"time,op,source,target", true).unwrap(), None);
        assert!(parse_alone(b"time,op,source,target", false).is_err());
    }

    #[test]
    fn every_problem_has_its_name() {
        let problem = |line: &[u8]| parse_alone(line, false).unwrap_err().problem;
        for (line, expected) in [
            ("7 + a", Problem::Fields),
            ("7 + a b 1 2", Problem::Fields),
            ("7,+,,b", Problem::Fields),
            ("soon + a b", Problem::Time),
            ("7 * a b", Problem::Operation),
            ("7 + a b nan", Problem::Weight),
            ("7 + a b inf", Problem::Weight),
            ("7 = a b -0.5", Problem::Weight),
            ("7 = a b", Problem::Weight),
            ("7 + \"a\" b", Problem::Id),
            ("7,+,a,\"b\"", Problem::Id),
        ] {
            assert_eq!(problem(line.as_bytes()), expected, "{line}");
        }
        assert_eq!(problem(b"7 + a \xff"), Problem::Fields);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_a_reason_to_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60)) {
            let _ = parse_alone(&bytes, true);
        }
    }
}
