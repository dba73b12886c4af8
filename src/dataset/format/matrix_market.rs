//! Matrix Market coordinate files.

use super::error::{Fault, FormatError, NOT_NEGATIVE, SIGNED, excerpt};
use super::input::Input;
use super::symmetry::{edges_of, weights_of};
use super::text::{Blocks, each_line, parse_number, weight};
use super::{EdgeOptions, Format, ReadEdges};
use crate::dataset::budget::{BudgetedVec, OverBudget};
use crate::dataset::{EdgeList, Ids};

pub(crate) const MAGIC: &[u8] = b"%%MatrixMarket";

/// More than the longest first line that has a meaning.
const MOST_BANNER_BYTES: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

#[derive(Debug)]
struct Reader {
    pattern: bool,
    /// Whether values may be negative.
    signed: bool,
    symmetry: Symmetry,
    /// Rows, and how many entries there must be.
    size: Option<(usize, u64)>,
    places: BudgetedVec<(u32, u32)>,
    values: BudgetedVec<f32>,
    seen: u64,
}

/// Reads an adjacency matrix. Entries of a symmetric one are undirected edges.
pub(crate) fn read_edges(input: Input, options: &EdgeOptions) -> Result<ReadEdges, FormatError> {
    let path = &input.path().to_owned();
    let mut reader: Option<Reader> = None;
    let lines = each_line(Blocks::of(input), |_, line| match &mut reader {
        Some(reader) => reader.add(line),
        None => Reader::new(line, options.signed).map(|new| reader = Some(new)),
    })?;
    let Some(Reader { symmetry, size, places, values, seen, .. }) = reader else {
        return Err(FormatError::Empty { path: path.to_owned(), expected: "a Matrix Market file" });
    };
    let end = |found: String, expected: String| {
        FormatError::line(path, lines + 1, found, expected, "the file is cut off: fetch or write it again")
    };
    let Some((nodes, entries)) = size else {
        return Err(end("the end of the file".into(), "a line with rows, columns and entries".into()));
    };
    if seen < entries {
        return Err(end(format!("the end after {seen} entries"), format!("{entries} as the size line says")));
    }
    let (places, values) = (places.into_kept(), weights_of(path, values.into_kept(), options)?);
    let mut remarks = vec![];
    let edges = match symmetry {
        Symmetry::General | Symmetry::Skew => {
            edges_of(nodes, places, values, options, &mut remarks).map_err(|over| over.reading(path))?
        }
        Symmetry::Symmetric => {
            let weights = Some(values).filter(|values| values.iter().any(|&value| value != 1.0));
            EdgeList { nodes, edges: places, weights, directed: options.directed.unwrap_or(false) }
        }
    };
    Ok(ReadEdges { edges, ids: Ids::counted(1, nodes), format: Format::MatrixMarket, header: false, remarks })
}

impl Reader {
    fn new(line: &[u8], signed: bool) -> Result<Self, Fault> {
        // A line can have any length and any number of words.
        let text = String::from_utf8_lossy(&line[..line.len().min(MOST_BANNER_BYTES)]).to_ascii_lowercase();
        let words: Vec<&str> = text.split_ascii_whitespace().take(6).collect();
        let wrong = |expected: &'static str| {
            Fault::new(excerpt(line), expected, "write the matrix in coordinate form with `scipy.io.mmwrite`")
        };
        let &["%%matrixmarket", "matrix", form, field, symmetry] = &words[..] else {
            return Err(wrong("`%%MatrixMarket matrix coordinate real general` or the like"));
        };
        if form != "coordinate" {
            return Err(wrong("a matrix in coordinate form"));
        }
        let pattern = match field {
            "pattern" => true,
            "real" | "integer" | "double" => false,
            _ => return Err(wrong("entries that are real, integer or pattern")),
        };
        let symmetry = match symmetry {
            "general" => Symmetry::General,
            "symmetric" => Symmetry::Symmetric,
            "skew-symmetric" => Symmetry::Skew,
            _ => return Err(wrong("a general, symmetric or skew-symmetric matrix")),
        };
        if symmetry == Symmetry::Skew && !signed {
            return Err(Fault::new(excerpt(line), NOT_NEGATIVE, SIGNED));
        }
        let (places, values) = Default::default();
        Ok(Self { pattern, signed, symmetry, size: None, places, values, seen: 0 })
    }

    fn add(&mut self, line: &[u8]) -> Result<(), Fault> {
        if line.is_empty() || line[0] == b'%' {
            return Ok(());
        }
        let words: Vec<&[u8]> =
            line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty()).take(4).collect();
        let Some((nodes, entries)) = self.size else {
            self.size = Some(size(line, &words)?);
            return Ok(());
        };
        if self.seen == entries {
            let remedy = "correct the size line, or remove the line";
            return Err(Fault::new(
                format!("one entry more, {}", excerpt(line)),
                format!("{entries} as the size line says"),
                remedy,
            ));
        }
        let expected = if self.pattern { 2 } else { 3 };
        if words.len() != expected {
            let found = format!("{} columns in {}", words.len(), excerpt(line));
            return Err(Fault::new(found, format!("{expected}"), "complete the line, or write the file again"));
        }
        let index = |word: &[u8]| {
            let index = parse_number(word).filter(|&index| index >= 1 && index <= nodes as u64);
            index.map(|index| (index - 1) as u32).ok_or_else(|| {
                let found = format!("the index {} in {}", excerpt(word), excerpt(line));
                Fault::new(found, format!("a number from 1 to {nodes}"), "count rows and columns from 1")
            })
        };
        let (row, col) = (index(words[0])?, index(words[1])?);
        let value = if self.pattern { 1.0 } else { weight(words[2], line)? };
        if value < 0.0 && !self.signed {
            return Err(Fault::new(format!("the value {value} in {}", excerpt(line)), NOT_NEGATIVE, SIGNED));
        }
        self.seen += 1;
        self.push(row, col, value)?;
        if self.symmetry == Symmetry::Skew && row != col {
            self.push(col, row, -value)?;
        }
        Ok(())
    }

    fn push(&mut self, row: u32, col: u32, value: f32) -> Result<(), OverBudget> {
        self.places.push((row, col))?;
        if !self.pattern || self.symmetry == Symmetry::Skew {
            self.values.push(value)?;
        }
        Ok(())
    }
}

fn size(line: &[u8], words: &[&[u8]]) -> Result<(usize, u64), Fault> {
    let numbers: Option<Vec<u64>> = words.iter().map(|word| parse_number(word)).collect();
    match numbers.as_deref() {
        Some(&[rows, cols, entries]) if rows == cols && rows <= u64::from(u32::MAX) => Ok((rows as usize, entries)),
        Some(&[rows, cols, _]) if rows != cols => {
            let found = format!("a {rows} × {cols} matrix");
            Err(Fault::new(found, "as many rows as columns", "give the adjacency matrix of one set of nodes"))
        }
        Some(&[rows, ..]) => {
            Err(Fault::new(format!("{rows} rows"), format!("at most {}", u32::MAX), "use fewer nodes"))
        }
        _ => {
            let expected = "rows, columns and the number of entries";
            Err(Fault::new(excerpt(line), expected, "write the file again with `scipy.io.mmwrite`"))
        }
    }
}
