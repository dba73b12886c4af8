//! Properties of a file that its reader inferred.

use std::fmt;

/// A property that a reader inferred from the content of a file. A key of the config can state it
/// instead.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// A line without numbers before lines of numbers names the columns.
    Header {
        /// The line, from 1.
        line: u64,
    },
    /// Ids are names.
    Names {
        /// Their separator: a comma, a semicolon or a tab; `None` for blanks.
        separator: Option<char>,
        /// Whether the first line was read as an edge, for nothing tells names of columns from
        /// names of nodes.
        is_first_line_an_edge: bool,
    },
    /// The third column is the weight.
    ThirdColumnIsWeight,
    /// A matrix that is stored in full is symmetric, so its edges have no direction.
    Symmetric,
    /// An array of two rows has a pair in each column.
    PairsInColumns {
        /// How many pairs.
        pairs: usize,
    },
    /// A matrix that is stored in full is not symmetric, so its edges have a direction.
    NotSymmetric,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header { line } => write!(f, "line {line} names the columns (data.header)"),
            Self::Names { separator, is_first_line_an_edge } => {
                let separator = match separator {
                    Some(',') => "commas",
                    Some(';') => "semicolons",
                    Some(_) => "tabs",
                    None => "blanks",
                };
                write!(f, "ids are names separated by {separator} (data.ids)")?;
                match is_first_line_an_edge {
                    true => f.write_str(", the first line is an edge (data.header)"),
                    false => Ok(()),
                }
            }
            Self::ThirdColumnIsWeight => f.write_str("the third column is the weight (data.weights)"),
            Self::Symmetric => f.write_str("the matrix is symmetric: edges have no direction (data.directed)"),
            Self::PairsInColumns { pairs } => {
                write!(
                    f,
                    "the array of shape (2, {pairs}) has an edge in each column (transpose it if its rows are edges)"
                )
            }
            Self::NotSymmetric => f.write_str("the matrix is not symmetric: edges have a direction (data.directed)"),
        }
    }
}
