//! A dense matrix, stored.

mod convert;

use super::{MatrixError, Shape};

/// A stored dense matrix, row after row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dense {
    rows: usize,
    columns: usize,
    data: Vec<f32>,
}

impl Dense {
    /// Takes `data`, row after row, as a matrix of `rows` by `columns`.
    pub fn new(rows: usize, columns: usize, data: Vec<f32>) -> Result<Self, MatrixError> {
        if rows.checked_mul(columns) != Some(data.len()) {
            return Err(MatrixError::WrongLength {
                name: "a dense matrix".into(),
                shape: Shape::new(rows, columns),
                entries: data.len(),
            });
        }
        Ok(Self { rows, columns, data })
    }

    /// A matrix of which only the shape is known: it can be planned with, and not multiplied with.
    pub fn outline(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: Vec::new() }
    }

    /// Whether only the shape is known.
    pub fn is_outline(&self) -> bool {
        self.data.is_empty() && self.rows > 0 && self.columns > 0
    }

    /// Bytes of all entries.
    pub fn bytes(&self) -> u64 {
        self.rows as u64 * self.columns as u64 * size_of::<f32>() as u64
    }

    /// Rows and columns.
    pub fn shape(&self) -> Shape {
        Shape::new(self.rows, self.columns)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The entries, row after row.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// The entries of consecutive rows.
    pub fn row_range(&self, rows: std::ops::Range<usize>) -> &[f32] {
        &self.data[rows.start * self.columns..rows.end * self.columns]
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f32] {
        self.row_range(row..row + 1)
    }

    /// Rows and columns exchanged.
    pub fn transposed(&self) -> Self {
        let column = |column: usize| (0..self.rows).map(move |row| self.data[row * self.columns + column]);
        Self { rows: self.columns, columns: self.rows, data: (0..self.columns).flat_map(column).collect() }
    }

    /// Gives the entries back.
    pub fn into_data(self) -> Vec<f32> {
        self.data
    }
}
