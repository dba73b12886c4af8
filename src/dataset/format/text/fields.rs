//! Lines and their fields.

use crate::dataset::format::error::{Fault, excerpt};

/// The separator of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Separator {
    /// Spaces and tabs, with at most one comma or semicolon among them.
    Any,
    /// This byte; blanks around fields do not belong to them.
    Only(u8),
}

/// The fields of an edge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub from: &'a [u8],
    pub to: &'a [u8],
    pub third: Option<&'a [u8]>,
    /// How many fields there are.
    pub count: usize,
}

/// The lines of a block, without their ends.
pub(crate) fn lines(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = block;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or(&[]);
        Some(line)
    })
}

/// Without blanks and carriage returns around it.
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t' | b'\r', rest @ ..] | [rest @ .., b' ' | b'\t' | b'\r'] = bytes {
        bytes = rest;
    }
    bytes
}

/// A trimmed line that has fields; `None` for comments and blank lines.
pub(crate) fn data(line: &[u8]) -> Option<&[u8]> {
    let line = trim(line);
    (!matches!(line.first(), None | Some(b'#' | b'%'))).then_some(line)
}

/// Splits a trimmed line that is not empty.
pub(crate) fn split(line: &[u8], separator: Separator) -> Result<Fields<'_>, Fault> {
    let mut found: [&[u8]; 3] = [&[]; 3];
    let mut count = 0;
    let mut rest = line;
    loop {
        let (field, more) = match separator {
            Separator::Only(byte) => match memchr::memchr(byte, rest) {
                Some(end) => (trim(&rest[..end]), Some(&rest[end + 1..])),
                None => (trim(rest), None),
            },
            Separator::Any => next_field(rest),
        };
        if field.is_empty() && count < 2 {
            let remedy = "write two ids and at most one weight a line, with one separator between them";
            return Err(Fault::new(format!("an empty field in {}", excerpt(line)), "an id", remedy));
        }
        if let Some(place) = found.get_mut(count) {
            *place = field;
        }
        count += 1;
        match more {
            Some(more) => rest = more,
            None => break,
        }
    }
    if count < 2 {
        let remedy = "complete the line, or remove it if the file was cut off there";
        return Err(Fault::new(format!("one column in {}", excerpt(line)), "two ids", remedy));
    }
    Ok(Fields { from: found[0], to: found[1], third: (count > 2).then_some(found[2]), count })
}

/// The first field, and what follows its separator if there is one.
pub(crate) fn next_field(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let end = memchr::memchr2(b' ', b'\t', bytes).unwrap_or(bytes.len());
    let end = memchr::memchr2(b',', b';', &bytes[..end]).unwrap_or(end);
    let mut next = end + bytes[end..].iter().take_while(|byte| blank(byte)).count();
    if next == bytes.len() {
        return (&bytes[..end], None);
    }
    if matches!(bytes[next], b',' | b';') {
        next += 1;
        next += bytes[next..].iter().take_while(|byte| blank(byte)).count();
    }
    (&bytes[..end], Some(&bytes[next..]))
}

/// A number without a sign, up to 64 bits.
pub(crate) fn parse_number(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { sum.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// Whether a field is a number of any size and sign, rather than a name.
pub(crate) fn looks_numeric(field: &[u8]) -> bool {
    let digits = field.strip_prefix(b"-").unwrap_or(field);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// The fault of a line in a format that this reader does not understand: JSON, XML, Graphviz, dicts
/// and tuples of Python, or CSV with quotes.
pub(crate) fn other_format(line: &[u8], from: &[u8], to: &[u8]) -> Option<Fault> {
    let inner = trim(&line[1..]).first();
    let is_json = match line[0] {
        b'{' => matches!(inner, None | Some(b'"' | b'}')),
        b'[' => matches!(inner, None | Some(b'"' | b'{' | b'[' | b'-' | b'0'..=b'9')),
        _ => false,
    };
    if is_json {
        let remedy = "write two ids a line, for instance with `jq -r '[.source, .target] | @tsv'`";
        return Some(Fault::new(format!("JSON, {}", excerpt(line)), "lines of two ids", remedy));
    }
    if is_dot(line) {
        let remedy = "write two ids a line, for instance with `networkx.write_edgelist(networkx.nx_pydot.read_dot(file), \
                      \"edges.txt\", data=False)`";
        return Some(Fault::new(format!("a graph of Graphviz, {}", excerpt(line)), "lines of two ids", remedy));
    }
    if is_markup(line) {
        let remedy = "write two ids a line, for instance with `networkx.write_edgelist(networkx.read_graphml(file), \
                      \"edges.txt\", data=False)`";
        return Some(Fault::new(format!("XML or HTML, {}", excerpt(line)), "lines of two ids", remedy));
    }
    if is_python(line) {
        let remedy = "write two ids a line, for instance with `print(source, target, sep='\\t')`";
        return Some(Fault::new(format!("a dict or tuple of Python, {}", excerpt(line)), "lines of two ids", remedy));
    }
    let quoted = [from, to].into_iter().find(|field| is_quoted(field))?;
    let found = format!("{} in quotes in {}", excerpt(quoted), excerpt(line));
    let remedy = "write the file again without quotes, separated by tabs if ids have commas in them";
    Some(Fault::new(found, "ids without quotes", remedy))
}

/// Whether a field starts with a double quote or is enclosed in other quotes.
pub(crate) fn is_quoted(field: &[u8]) -> bool {
    const PAIRS: [(&str, &str); 4] = [("'", "'"), ("`", "`"), ("‘", "’"), ("“", "”")];
    let is_between = |(open, close): (&str, &str)| {
        field
            .strip_prefix(open.as_bytes())
            .is_some_and(|rest| rest.len() > close.len() && rest.ends_with(close.as_bytes()))
    };
    match field.first() {
        Some(b'"') => true,
        Some(b'\'' | b'`' | 0xE2) => PAIRS.into_iter().any(is_between),
        _ => false,
    }
}

/// Whether a line begins a graph in the language of Graphviz. A node may be called `graph`, too.
fn is_dot(line: &[u8]) -> bool {
    let is_open = match line.last() {
        Some(b'{') => true,
        Some(b'}') => [&b"--"[..], b"->"].iter().any(|edge| memchr::memmem::find(line, edge).is_some()),
        _ => false,
    };
    let word = line.split(|byte| matches!(byte, b' ' | b'\t' | b'{')).next().unwrap_or_default();
    is_open && [&b"graph"[..], b"digraph", b"strict"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether a line begins a document in XML or HTML. Other names in angle brackets may be nodes.
fn is_markup(line: &[u8]) -> bool {
    const OPENINGS: [&str; 6] = ["<?xml", "<!doctype", "<!--", "<graphml", "<gexf", "<html"];
    line[0] == b'<'
        && OPENINGS.iter().any(|opening| {
            line.get(..opening.len()).is_some_and(|start| start.eq_ignore_ascii_case(opening.as_bytes()))
        })
}

/// Whether a line that is no JSON is a dict, a tuple, or a list of them as Python prints it.
fn is_python(line: &[u8]) -> bool {
    let whole = line.trim_ascii_end();
    let whole = whole.strip_suffix(b",").unwrap_or(whole);
    let close = match line[0] {
        b'{' => b'}',
        b'(' => b')',
        b'[' => b']',
        _ => return false,
    };
    let inner = trim(&whole[1..]);
    match inner.first() {
        Some(b'\'' | b'"') => true,
        Some(b'(' | b'[' | b'{') => inner.last() == Some(&close),
        // Names may begin with a bracket, too: `(2)-a,(3)-b`.
        Some(b'-' | b'0'..=b'9') => memchr::memchr(close, inner) == Some(inner.len() - 1),
        _ => false,
    }
}

/// The part of a line before the attributes that networkx writes after two ids: `1 2 {'weight':
/// 3}`.
pub(crate) fn before_attributes(line: &[u8]) -> &[u8] {
    let at = memchr::memmem::find(line, b"{'").or_else(|| memchr::memmem::find(line, b"{}"));
    at.filter(|&at| at > 0 && line.last() == Some(&b'}')).map_or(line, |at| trim(&line[..at]))
}

/// An id that is a number.
pub(crate) fn number(field: &[u8], line: &[u8]) -> Result<u64, Fault> {
    if let Some(number) = parse_number(field) {
        return Ok(number);
    }
    let found = format!("{} in {}", excerpt(field), excerpt(line));
    Err(if !looks_numeric(field) {
        Fault::new(found, "a number as the ids before", "repair the line, or read ids as names (ids = \"names\")")
    } else if field[0] == b'-' {
        let found = format!("the negative id {found}");
        Fault::new(found, "an id of 0 or more", "renumber the nodes, or read ids as names (ids = \"names\")")
    } else {
        let found = format!("the id {found}, which 64 bits do not hold");
        Fault::new(found, format!("an id of at most {}", u64::MAX), "read ids as names (ids = \"names\")")
    })
}

/// Whether a number is as large as a time in seconds to nanoseconds is: at least 10⁸, a day of
/// 1973, and at most 64 bits.
pub(crate) fn looks_like_a_time(number: f32) -> bool {
    const LEAST: f32 = 1e8;
    (LEAST..=u64::MAX as f32).contains(&number)
}

/// How many of some weights are as large as times, if these are more than half.
pub(crate) fn times(weights: &[f32]) -> Option<usize> {
    let times = weights.iter().filter(|&&weight| looks_like_a_time(weight)).count();
    (2 * times > weights.len()).then_some(times)
}

/// A finite weight.
pub(crate) fn weight(field: &[u8], line: &[u8]) -> Result<f32, Fault> {
    let parsed = std::str::from_utf8(field).ok().and_then(|text| text.parse::<f32>().ok());
    match parsed {
        Some(weight) if weight.is_finite() => Ok(weight),
        _ => {
            let found = format!("the weight {} in {}", excerpt(field), excerpt(line));
            Err(Fault::new(found, "a finite number", "repair the line, or ignore weights (weights = \"ignore\")"))
        }
    }
}
