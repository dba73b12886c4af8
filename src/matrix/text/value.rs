//! Values of names and expressions.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::matrix::{Entries, Matrix};

/// The value of an expression.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Value {
    /// A number.
    Number(f64),
    /// A matrix.
    Matrix(Matrix),
    /// One number a row.
    Vector(Vector),
    /// Rows or columns to take.
    Indices(Arc<[usize]>),
}

impl Value {
    /// The kind of value, in words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Number(_) => "a number",
            Self::Matrix(_) => "a matrix",
            Self::Vector(_) => "a vector",
            Self::Indices(_) => "an index set",
        }
    }
}

/// A vector, which `diag` makes a diagonal matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector {
    /// What the diagonal matrix of it is called; no two vectors of an environment share a name.
    pub name: String,
    /// Its entries.
    pub values: Entries,
}

impl Vector {
    /// `√v`, entry by entry.
    pub fn sqrt(&self) -> Self {
        let name = match self.name.strip_suffix("⁻¹") {
            Some(base) => format!("{base}^-½"),
            None if is_plain(&self.name) => format!("{}^½", self.name),
            None => format!("√({})", self.name),
        };
        self.map(name, f32::sqrt)
    }

    /// `1/v`, entry by entry.
    pub fn inv(&self) -> Self {
        let name = match self.name.strip_suffix("^½") {
            Some(base) => format!("{base}^-½"),
            None if is_plain(&self.name) => format!("{}⁻¹", self.name),
            None => format!("({})⁻¹", self.name),
        };
        self.map(name, f32::recip)
    }

    fn map(&self, name: String, of: fn(f32) -> f32) -> Self {
        Self { name, values: self.values.map(of) }
    }
}

fn is_plain(name: &str) -> bool {
    name.chars().all(char::is_alphanumeric)
}

/// What names stand for, and how the functions that need data are carried out.
pub trait Names {
    /// What a name stands for; `None` if it stands for nothing. Asked twice, it must be the same,
    /// not equal, matrix: what is shared is multiplied by once.
    fn find(&mut self, name: &str) -> Result<Option<Value>, Refusal>;

    /// The names that stand for something, or could on other data.
    fn known(&self) -> Vec<String>;

    /// A matrix less the mean of every column.
    fn center(&mut self, matrix: &Matrix) -> Result<Matrix, Refusal>;

    /// A matrix with this fraction of its entries dropped, differently in every copy.
    fn dropout(&mut self, matrix: &Matrix, rate: f64, copy: u32) -> Result<Matrix, Refusal>;
}

/// Why a known name has no value.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The data that it needs is not there, or not fit for it.
    Absent(Box<dyn Error + Send + Sync>),
    /// It could be had, but finding it failed.
    Failed(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Absent(error) | Self::Failed(error)) = self;
        error.fmt(f)
    }
}
