//! The program: values, and the steps that make them.

use std::fmt;
use std::sync::Arc;

use crate::graph::Sparse;
use crate::kernel::Mask;
use crate::matrix::{Dense, Entries, LinearMap, Matrix, Shape};

/// A panel that a program reads or makes. Value 0 is its input; step `i` makes value `i + 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Value(pub usize);

impl Value {
    /// The panel that the program is given.
    pub const INPUT: Value = Value(0);
}

/// Whether a program multiplies by M or by its transpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// By the matrix.
    Plain,
    /// By its transpose.
    Transposed,
}

impl Side {
    /// The other one.
    pub fn flipped(self) -> Self {
        match self {
            Side::Plain => Side::Transposed,
            Side::Transposed => Side::Plain,
        }
    }

    /// The shape of a matrix, or of its transpose.
    pub fn shape_of(self, matrix: &Matrix) -> Shape {
        match self {
            Side::Plain => matrix.shape(),
            Side::Transposed => matrix.shape().transposed(),
        }
    }
}

/// A diagonal matrix in a program. Two diagonals are the same when they share their values.
#[derive(Debug, Clone)]
pub struct Diagonal {
    /// What the matrix is called.
    pub name: Arc<str>,
    /// Its entries.
    pub values: Entries,
}

impl PartialEq for Diagonal {
    fn eq(&self, other: &Self) -> bool {
        self.values.is_same(&other.values)
    }
}

impl Diagonal {
    /// The product of two diagonals.
    pub(super) fn times(&self, other: &Diagonal) -> Diagonal {
        Diagonal {
            name: format!("{}·{}", self.name, other.name).into(),
            values: Entries::outline(
                self.values.length(),
                self.values.iter().zip(other.values.iter()).map(|(a, b)| a * b).collect(),
            ),
        }
    }
}

/// `coefficient · diagonal · value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// A factor for everything.
    pub coefficient: f64,
    /// A factor for each row.
    pub diagonal: Option<Diagonal>,
    /// The panel.
    pub value: Value,
}

impl Term {
    /// The value itself.
    pub(super) fn plain(value: Value) -> Self {
        Self { coefficient: 1.0, diagonal: None, value }
    }

    /// The sum of two terms of the same value: what they multiply it with is added up once, and not for every column.
    pub(super) fn plus(&self, other: &Term) -> Self {
        let value = self.value;
        if self.diagonal == other.diagonal {
            return Self { coefficient: self.coefficient + other.coefficient, diagonal: self.diagonal.clone(), value };
        }
        let diagonals = || [self, other].into_iter().filter_map(|term| term.diagonal.as_ref());
        let length = diagonals().map(|diagonal| diagonal.values.length()).max().unwrap_or(0);
        // Of an outline there are a few.
        let known = diagonals().map(|diagonal| diagonal.values.len()).min().unwrap_or(0);
        let sums = (0..known).map(|place| (self.factor(place) + other.factor(place)) as f32).collect();
        let name = format!("({} + {})", self.factor_name(), other.factor_name()).into();
        let diagonal = Diagonal { name, values: Entries::outline(length, sums) };
        Self { coefficient: 1.0, diagonal: Some(diagonal), value }
    }

    /// What the row at a place is multiplied by.
    fn factor(&self, place: usize) -> f64 {
        self.coefficient * self.diagonal.as_ref().map_or(1.0, |diagonal| f64::from(diagonal.values[place]))
    }

    /// What the value is multiplied by.
    fn factor_name(&self) -> String {
        let Self { coefficient, diagonal, .. } = self;
        match diagonal {
            None => coefficient.to_string(),
            Some(diagonal) if *coefficient == 1.0 => diagonal.name.to_string(),
            Some(diagonal) => format!("{coefficient}·{}", diagonal.name),
        }
    }

    /// True when the term is the value itself.
    pub(super) fn is_plain(&self) -> bool {
        self.coefficient == 1.0 && self.diagonal.is_none()
    }
}

/// What happens to a product before it is written: `alpha · left · product + add`.
#[derive(Debug, Clone)]
pub struct Epilogue {
    /// A factor for everything.
    pub alpha: f64,
    /// A diagonal before it.
    pub left: Option<Diagonal>,
    /// What the product is added to.
    pub add: Option<Term>,
}

impl Default for Epilogue {
    fn default() -> Self {
        Self { alpha: 1.0, left: None, add: None }
    }
}

/// What a sparse product is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SparseRole {
    /// Multiplication by a stored matrix.
    Multiply,
    /// Picks rows: the matrix has a single one in every row.
    Gather,
    /// Adds rows up where they belong: the transpose of a gather.
    Scatter,
}

/// Consecutive rows of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowRange {
    /// The panel.
    pub value: Value,
    /// The first of them.
    pub first_row: usize,
    /// How many rows.
    pub rows: usize,
}

/// What a step does.
#[derive(Clone)]
#[non_exhaustive]
pub enum Action {
    /// `matrix · right · input`, sparse.
    Sparse {
        /// What it is for.
        role: SparseRole,
        /// What the matrix is called.
        name: String,
        /// The stored matrix.
        matrix: Arc<Sparse>,
        /// A diagonal between them.
        right: Option<Diagonal>,
        /// What is multiplied.
        input: Value,
        /// What happens before it is written.
        epilogue: Epilogue,
    },
    /// `matrix · input`, dense.
    Dense {
        /// What the matrix is called.
        name: String,
        /// The stored matrix.
        matrix: Arc<Dense>,
        /// What is dropped of it.
        mask: Option<Mask>,
        /// What is multiplied.
        input: Value,
        /// What happens before it is written.
        epilogue: Epilogue,
    },
    /// `map · input`, or the transpose of the map, by code of the user's own.
    Own {
        /// What the matrix is called.
        name: String,
        /// What it does.
        map: Arc<dyn LinearMap>,
        /// Whether it is transposed.
        side: Side,
        /// What is multiplied.
        input: Value,
        /// What happens before it is written.
        epilogue: Epilogue,
    },
    /// `matrixᵀ · input`, dense, summed over all rows: a panel as high as the matrix is wide, which every worker has whole.
    Project {
        /// What the matrix is called.
        name: String,
        /// The stored matrix.
        matrix: Arc<Dense>,
        /// What is dropped of it.
        mask: Option<Mask>,
        /// What is multiplied.
        input: Value,
    },
    /// The sum of every column: one row that every worker has.
    ColumnSums {
        /// What is multiplied.
        input: Value,
    },
    /// The rows of a whole panel that every worker has, each to its owner.
    Spread {
        /// What is multiplied.
        input: Value,
        /// What happens before it is written.
        epilogue: Epilogue,
    },
    /// All ones times the sums: the same row everywhere.
    RankOne {
        /// What is multiplied.
        input: Value,
        /// What happens before it is written.
        epilogue: Epilogue,
    },
    /// A linear combination; of nothing, zero.
    Combine {
        /// What is added up.
        terms: Vec<Term>,
        /// A value with as many columns, for a sum of nothing.
        like: Value,
    },
    /// Pieces of other values, one below the other.
    Arrange {
        /// From the top down.
        pieces: Vec<RowRange>,
    },
    /// The entries of a stored matrix, as a panel.
    Stored {
        /// What the matrix is called.
        name: String,
        /// What is stored.
        source: Source,
    },
    /// Other values, side by side.
    HStack {
        /// From the left.
        values: Vec<Value>,
    },
}

/// What a panel is filled from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A dense matrix.
    Dense {
        /// What is stored.
        matrix: Arc<Dense>,
        /// What is dropped of it.
        mask: Option<Mask>,
    },
    /// A sparse matrix.
    Sparse(Arc<Sparse>),
    /// Ones on the diagonal of a square panel.
    Identity,
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb(), self.formula(&|value| value.to_string()))
    }
}

impl Action {
    /// The values that the step reads, each once.
    pub fn inputs(&self) -> Vec<Value> {
        let mut values: Vec<Value> = self.reads().collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// The values that the step reads, as often as it reads them.
    pub(super) fn reads(&self) -> impl Iterator<Item = Value> {
        let values: Vec<Value> = match self {
            Action::Sparse { input, .. }
            | Action::Dense { input, .. }
            | Action::Own { input, .. }
            | Action::Project { input, .. }
            | Action::ColumnSums { input }
            | Action::Spread { input, .. }
            | Action::RankOne { input, .. } => vec![*input],
            Action::Combine { terms, like } if terms.is_empty() => vec![*like],
            Action::Combine { terms, .. } => terms.iter().map(|term| term.value).collect(),
            Action::Arrange { pieces } => pieces.iter().map(|piece| piece.value).collect(),
            Action::Stored { .. } => Vec::new(),
            Action::HStack { values } => values.clone(),
        };
        let add = self.epilogue().and_then(|epilogue| epilogue.add.as_ref()).map(|add| add.value);
        values.into_iter().chain(add)
    }

    /// Whether a value is a plain term of the sum that the step makes.
    pub(super) fn is_sum_of(&self, value: Value) -> bool {
        let is_plain = |term: &Term| term.value == value && term.is_plain();
        match self {
            Action::Combine { terms, .. } => terms.iter().any(is_plain),
            _ => self.epilogue().and_then(|epilogue| epilogue.add.as_ref()).is_some_and(is_plain),
        }
    }

    /// The epilogue, for the steps that have one.
    pub fn epilogue(&self) -> Option<&Epilogue> {
        match self {
            Action::Sparse { epilogue, .. }
            | Action::Dense { epilogue, .. }
            | Action::Own { epilogue, .. }
            | Action::Spread { epilogue, .. }
            | Action::RankOne { epilogue, .. } => Some(epilogue),
            _ => None,
        }
    }

    /// The diagonals that the step multiplies with.
    pub fn diagonals(&self) -> Vec<&Diagonal> {
        let right = match self {
            Action::Sparse { right, .. } => right.as_ref(),
            _ => None,
        };
        let terms = match self {
            Action::Combine { terms, .. } => terms.as_slice(),
            _ => &[],
        };
        let add = self.epilogue().and_then(|epilogue| epilogue.add.as_ref());
        let left = self.epilogue().and_then(|epilogue| epilogue.left.as_ref());
        let of_terms = terms.iter().chain(add).filter_map(|term| term.diagonal.as_ref());
        right.into_iter().chain(left).chain(of_terms).collect()
    }

    /// Replaces the diagonals.
    fn replace_diagonals(&mut self, other: impl Fn(&Diagonal) -> Diagonal) {
        let replace = |diagonal: &mut Option<Diagonal>| *diagonal = diagonal.as_ref().map(&other);
        match self {
            Action::Sparse { right, .. } => replace(right),
            Action::Combine { terms, .. } => terms.iter_mut().for_each(|term| replace(&mut term.diagonal)),
            _ => {}
        }
        if let Some(Epilogue { left, add, .. }) = self.epilogue_mut() {
            replace(left);
            add.iter_mut().for_each(|add| replace(&mut add.diagonal));
        }
    }

    pub(super) fn epilogue_mut(&mut self) -> Option<&mut Epilogue> {
        match self {
            Action::Sparse { epilogue, .. }
            | Action::Dense { epilogue, .. }
            | Action::Own { epilogue, .. }
            | Action::Spread { epilogue, .. }
            | Action::RankOne { epilogue, .. } => Some(epilogue),
            _ => None,
        }
    }

    /// True when the result is small and every worker has all of it.
    pub fn is_reduced(&self) -> bool {
        matches!(self, Action::Project { .. } | Action::ColumnSums { .. })
    }

    /// Replaces every value that is read.
    pub(super) fn rename(&mut self, new_name: impl Fn(Value) -> Value) {
        match self {
            Action::Sparse { input, .. }
            | Action::Dense { input, .. }
            | Action::Own { input, .. }
            | Action::Project { input, .. }
            | Action::ColumnSums { input }
            | Action::Spread { input, .. }
            | Action::RankOne { input, .. } => *input = new_name(*input),
            Action::Combine { terms, like } => {
                terms.iter_mut().for_each(|term| term.value = new_name(term.value));
                // Beside terms it is not read, and may have no name any more.
                *like = if terms.is_empty() { new_name(*like) } else { *like };
            }
            Action::Arrange { pieces } => pieces.iter_mut().for_each(|piece| piece.value = new_name(piece.value)),
            Action::Stored { .. } => {}
            Action::HStack { values } => values.iter_mut().for_each(|value| *value = new_name(*value)),
        }
        if let Some(add) = self.epilogue_mut().and_then(|epilogue| epilogue.add.as_mut()) {
            add.value = new_name(add.value);
        }
    }
}

/// One step: what it does, and how many rows its result has.
#[derive(Debug, Clone)]
pub struct Step {
    /// How many rows.
    pub rows: usize,
    /// What it does.
    pub action: Action,
}

/// The steps that multiply a panel by M or by Mᵀ.
#[derive(Debug, Clone)]
pub struct Program {
    pub(super) input_rows: usize,
    pub(super) steps: Vec<Step>,
    pub(super) output: Value,
}

impl Program {
    /// Rows of the panel that is given.
    pub fn input_rows(&self) -> usize {
        self.input_rows
    }

    /// Rows of the panel that comes out.
    pub fn output_rows(&self) -> usize {
        self.rows(self.output)
    }

    /// The steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The value that is the answer.
    pub fn output(&self) -> Value {
        self.output
    }

    /// The same with other diagonals.
    pub fn with_diagonals(&self, other: impl Fn(&Diagonal) -> Diagonal) -> Self {
        let mut program = self.clone();
        program.steps.iter_mut().for_each(|step| step.action.replace_diagonals(&other));
        program
    }

    /// The name of a leaf of which only the size is known, if there is one.
    pub fn outline(&self) -> Option<&str> {
        self.steps.iter().find_map(|step| {
            let is_outline = |diagonal: &&Diagonal| diagonal.values.is_outline();
            let diagonal = step.action.diagonals().into_iter().find(is_outline).map(|diagonal| &*diagonal.name);
            let leaf = match &step.action {
                Action::Sparse { name, matrix, .. } => matrix.is_outline().then_some(name),
                Action::Dense { name, matrix, .. } | Action::Project { name, matrix, .. } => {
                    matrix.is_outline().then_some(name)
                }
                Action::Stored { name, source: Source::Dense { matrix, .. } } => matrix.is_outline().then_some(name),
                Action::Stored { name, source: Source::Sparse(matrix) } => matrix.is_outline().then_some(name),
                _ => None,
            };
            leaf.map(String::as_str).or(diagonal)
        })
    }

    /// Rows of a value.
    pub fn rows(&self, value: Value) -> usize {
        match value.0.checked_sub(1) {
            None => self.input_rows,
            Some(step) => self.steps[step].rows,
        }
    }
}
