//! The line of a text with the wrong part underlined.

use std::fmt::{self, Formatter};
use std::ops::Range;

use unicode_width::UnicodeWidthChar;

/// What is shown of a line on each side of the place.
const MOST_COLUMNS: usize = 60;

/// Writes the line that a span begins in, and carets below the span.
pub(super) fn write(text: &str, span: &Range<usize>, f: &mut Formatter<'_>) -> fmt::Result {
    let start = text.floor_char_boundary(span.start);
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let end = text.floor_char_boundary(span.end).clamp(start, line_end);
    let (before, marked, after) = (&text[line_start..start], &text[start..end], &text[end..line_end]);
    let (before, marked, after) = (last(&shown(before)), shown(marked), first(&shown(after)));
    let mark = "^".repeat(columns(&marked).max(1));
    let number = 1 + text[..line_start].matches('\n').count();
    let number = if text.contains('\n') { format!("{number} ") } else { String::new() };
    let margin = " ".repeat(number.len());
    write!(f, "\n  {margin}|\n  {number}| {before}{marked}{after}")?;
    write!(f, "\n  {margin}| {}{mark}", " ".repeat(columns(&before)))
}

/// Characters that a terminal would obey, or show as nothing, are replaced by one that it shows.
fn shown(text: &str) -> String {
    let show = |character: char| match character {
        '\t' => ' ',
        _ if character.width().unwrap_or(0) == 0 => '\u{FFFD}',
        _ => character,
    };
    text.trim_end_matches('\r').chars().map(show).collect()
}

fn columns(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(1)).sum()
}

/// The beginning of a long text.
fn first(text: &str) -> String {
    match text.chars().count() > MOST_COLUMNS {
        true => text.chars().take(MOST_COLUMNS).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// The end of a long text.
fn last(text: &str) -> String {
    let count = text.chars().count();
    match count > MOST_COLUMNS {
        true => ['…'].into_iter().chain(text.chars().skip(count - MOST_COLUMNS)).collect(),
        false => text.to_owned(),
    }
}
