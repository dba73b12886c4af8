//! What the first lines of an edge list say about the others.

use super::fields::{self, Separator};
use crate::dataset::format::error::{Fault, excerpt};
use crate::dataset::format::{EdgeOptions, IdKind, Weights, rows};

/// Lines that are looked at.
const SAMPLE: usize = 1000;

/// How the lines of an edge list are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub names: bool,
    pub separator: Separator,
    /// The line, from 0, that names the columns.
    pub header: Option<u64>,
    pub columns: Columns,
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
    /// Two ids, and what does not matter.
    PairAndMore,
    /// Two ids, a weight, and what does not matter.
    WeightedAndMore,
}

/// Two ids, and the weight if lines have one.
type Edge<'a> = (&'a [u8], &'a [u8], Option<f32>);

impl Dialect {
    /// Looks at the first lines.
    pub fn find(block: &[u8], options: &EdgeOptions) -> Self {
        let sample: Vec<(u64, &[u8])> = (0..)
            .zip(fields::lines(block))
            .filter_map(|(number, line)| Some((number, fields::data(line)?)))
            .take(SAMPLE)
            .collect();
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
        Self { names, separator, header, columns, nodes }
    }

    /// Whether lines have a weight.
    pub fn weighted(&self) -> bool {
        matches!(self.columns, Columns::Weighted | Columns::WeightedAndMore)
    }

    /// The fields of a trimmed line, as many as there must be, and its weight.
    pub fn split<'a>(&self, line: &'a [u8]) -> Result<Edge<'a>, Fault> {
        let fields = fields::split(line, self.separator)?;
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

/// The narrowest separator that all lines have: names may hold blanks when something else separates them.
fn separator_of_names(data: &[(u64, &[u8])]) -> Separator {
    let everywhere = |byte: u8| !data.is_empty() && data.iter().all(|(_, line)| memchr::memchr(byte, line).is_some());
    [b'\t', b',', b';'].into_iter().find(|&byte| everywhere(byte)).map_or(Separator::Any, Separator::Only)
}
