//! The layout of an edge list, inferred from its first lines.

use super::fields::{self, Separator};
use crate::dataset::format::error::{Fault, NOT_NEGATIVE, SIGNED, excerpt};
use crate::dataset::format::{EdgeOptions, IdKind, Remark, Weights, rows};

/// Lines that are inspected.
const SAMPLE: usize = 1000;

/// How the lines of an edge list are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub names: bool,
    pub separator: Separator,
    /// The line, from 0, that names the columns.
    pub header: Option<u64>,
    pub columns: Columns,
    /// Whether weights may be negative.
    pub signed: bool,
    /// Ids are below this.
    pub nodes: Option<usize>,
}

/// How many columns a line has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Columns {
    /// Two ids.
    Pair,
    /// Two ids and a weight.
    Weighted,
    /// Two ids, and ignored columns.
    PairAndMore,
    /// Two ids, a weight, and ignored columns.
    WeightedAndMore,
}

/// What is expected where a weight looks like a time, and the way out.
pub(crate) const NO_TIME: (&str, &str) = (
    "a weight in the third column",
    "ignore the column (weights = \"ignore\"), or say that it is the weight (weights = \"third\")",
);

/// Two ids and an optional weight.
type Edge<'a> = (&'a [u8], &'a [u8], Option<f32>);

impl Dialect {
    /// Infers the dialect from the first lines.
    pub fn find(block: &[u8], options: &EdgeOptions) -> Self {
        let sample: Vec<(u64, &[u8])> = sample(block).collect();
        let both = |line: &[u8], holds: fn(&[u8]) -> bool| {
            fields::split(line, Separator::Any).is_ok_and(|fields| holds(fields.from) && holds(fields.to))
        };
        let numeric = |line: &[u8]| both(line, fields::looks_numeric);
        let wordy = |line: &[u8]| both(line, |field| !fields::looks_numeric(field));
        let header = match (options.header, sample.first(), sample.get(1)) {
            (Some(true), Some(first), _) => Some(first.0),
            (None, Some(first), Some(second)) if wordy(first.1) && numeric(second.1) => Some(first.0),
            _ => None,
        };
        let data = &sample[usize::from(header.is_some()).min(sample.len())..];
        let names = match options.ids {
            IdKind::Names => true,
            IdKind::Numbers | IdKind::Rows => false,
            IdKind::Auto => 2 * data.iter().filter(|(_, line)| !numeric(line)).count() > data.len(),
        };
        let separator = if names { separator_of_names(data) } else { Separator::Any };
        let count = data.first().and_then(|(_, line)| fields::split(line, separator).ok()).map_or(2, |f| f.count);
        let columns = match options.weights {
            Weights::Auto if count == 2 => Columns::Pair,
            Weights::Auto => Columns::Weighted,
            Weights::Third => Columns::WeightedAndMore,
            Weights::Ignore => Columns::PairAndMore,
        };
        let nodes = options.nodes.filter(|_| options.ids == IdKind::Rows);
        Self { names, separator, header, columns, signed: options.signed, nodes }
    }

    /// The properties that were inferred rather than stated in the options.
    pub fn remarks(&self, options: &EdgeOptions) -> Vec<Remark> {
        let header = self.header.filter(|_| options.header.is_none());
        let names = Remark::Names {
            separator: match self.separator {
                Separator::Only(byte) => Some(char::from(byte)),
                Separator::Any => None,
            },
            is_first_line_an_edge: options.header.is_none() && self.header.is_none(),
        };
        let third = self.columns == Columns::Weighted;
        [
            header.map(|line| Remark::Header { line: line + 1 }),
            (self.names && options.ids == IdKind::Auto).then_some(names),
            third.then_some(Remark::ThirdColumnIsWeight),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The fault of the first sampled line whose weight looks like a time, to be reported if most
    /// weights do.
    pub fn first_time(&self, block: &[u8]) -> Option<Fault> {
        let third = |line| fields::split(line, self.separator).ok()?.third;
        let is_time = |line| {
            let weight = third(line).and_then(|third| fields::weight(third, line).ok());
            weight.is_some_and(fields::looks_like_a_time)
        };
        let mut data = sample(block).filter(|&(number, _)| Some(number) != self.header);
        let (number, line) = data.find(|&(_, line)| is_time(line))?;
        let found = format!("{} in {}, a time by its size", excerpt(third(line)?), excerpt(line));
        Some(Fault::new(found, NO_TIME.0, NO_TIME.1).at(number))
    }

    /// The fault of a first line that is probably an unstated header: its fields are words, its
    /// third field is no weight, and that of the second line is one.
    pub fn unstated_header(&self, block: &[u8], options: &EdgeOptions) -> Option<Fault> {
        let mut data = sample(block);
        let ((number, first), (_, second)) = (data.next()?, data.next()?);
        let third = |line| fields::split(line, self.separator).ok()?.third;
        let is_weight = |line| third(line).is_some_and(|third| fields::weight(third, line).is_ok());
        let names = fields::split(first, self.separator).ok()?;
        let is_wordy = ![names.from, names.to].into_iter().any(fields::looks_numeric);
        let is_edge = options.header.is_some() || self.header.is_some() || is_weight(first) || !is_weight(second);
        if is_edge || !self.weighted() || !is_wordy || fields::other_format(first, names.from, names.to).is_some() {
            return None;
        }
        let found = format!("the weight {} in {}", excerpt(third(first)?), excerpt(first));
        let remedy = "say that the line names the columns (header = true), repair it, or ignore weights \
                      (weights = \"ignore\")";
        Some(Fault::new(found, "a finite number", remedy).at(number))
    }

    /// Whether lines have a weight.
    pub fn weighted(&self) -> bool {
        matches!(self.columns, Columns::Weighted | Columns::WeightedAndMore)
    }

    /// The fields of a trimmed line, as many as there must be, and its weight.
    pub fn split<'a>(&self, line: &'a [u8]) -> Result<Edge<'a>, Fault> {
        // A line of another format seldom has two fields.
        let fields = fields::split(line, self.separator)
            .map_err(|fault| fields::other_format(line, line, line).unwrap_or(fault))?;
        if let Some(fault) = fields::other_format(line, fields.from, fields.to) {
            return Err(fault);
        }
        let begins_dict = |third: &[u8]| matches!(third, [b'{', b'\'' | b'"' | b'}', ..]);
        let is_dict = self.columns != Columns::PairAndMore && fields.third.is_some_and(begins_dict);
        if is_dict {
            let remedy = "write weights alone, with `networkx.write_weighted_edgelist`, or ignore what follows the ids \
                          (weights = \"ignore\")";
            let found = format!("a dict of Python in {}", excerpt(line));
            return Err(Fault::new(found, "two ids and at most one weight", remedy));
        }
        let found = || format!("{} columns in {}", fields.count, excerpt(line));
        let more = "ignore what follows the ids (weights = \"ignore\") or the weight (weights = \"third\")";
        match (self.columns, fields.count) {
            (Columns::Pair, 2) | (Columns::Weighted, 3) | (Columns::PairAndMore, _) => {}
            (Columns::WeightedAndMore, 3..) => {}
            (Columns::Pair, _) => return Err(Fault::new(found(), "two columns as in the lines before", more)),
            (_, 2) => {
                let remedy = "complete the line, or ignore weights (weights = \"ignore\")";
                return Err(Fault::new(found(), "two ids and a weight as in the lines before", remedy));
            }
            (..) => return Err(Fault::new(found(), "two ids and at most one weight", more)),
        }
        let third = fields.third.filter(|_| self.weighted());
        let weight = third.map(|third| fields::weight(third, line)).transpose()?;
        if let Some(weight) = weight.filter(|&weight| weight < 0.0 && !self.signed) {
            return Err(Fault::new(format!("the weight {weight} in {}", excerpt(line)), NOT_NEGATIVE, SIGNED));
        }
        Ok((fields.from, fields.to, weight))
    }

    /// A number that is an id.
    pub fn number(&self, field: &[u8], line: &[u8]) -> Result<u64, Fault> {
        let number = fields::number(field, line)?;
        match self.nodes {
            Some(nodes) if number >= nodes as u64 => {
                let found = format!("the id {number} in {}", excerpt(line));
                Err(Fault::new(found, format!("an id below {nodes}, the number of nodes"), rows::BEYOND))
            }
            _ => Ok(number),
        }
    }
}

/// The first lines that have fields, by their numbers from 0.
fn sample(block: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    (0..).zip(fields::lines(block)).filter_map(|(number, line)| Some((number, fields::data(line)?))).take(SAMPLE)
}

/// The narrowest separator that all lines have: names may hold blanks when something else separates
/// them.
fn separator_of_names(data: &[(u64, &[u8])]) -> Separator {
    let everywhere = |byte: u8| {
        !data.is_empty() && data.iter().all(|(_, line)| memchr::memchr(byte, fields::before_attributes(line)).is_some())
    };
    [b'\t', b',', b';'].into_iter().find(|&byte| everywhere(byte)).map_or(Separator::Any, Separator::Only)
}
