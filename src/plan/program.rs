//! The program: values, and the steps that compute them.

use std::fmt;
use std::sync::Arc;

use crate::graph::Sparse;
use crate::kernel::Mask;
use crate::matrix::{Dense, Entries, LinearMap, Matrix, Shape};

/// A panel that a program reads or computes. Value 0 is its input; step `i` computes value `i + 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Value(pub usize);

impl Value {
    /// The input of the program.
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
    /// The other side.
    pub fn flipped(self) -> Self {
        match self {
            Side::Plain => Side::Transposed,
            Side::Transposed => Side::Plain,
        }
    }

    /// The shape of a matrix on this side.
    pub fn shape_of(self, matrix: &Matrix) -> Shape {
        match self {
            Side::Plain => matrix.shape(),
            Side::Transposed => matrix.shape().transposed(),
        }
    }
}

/// A diagonal matrix in a program. Two diagonals are equal if they share their values.
#[derive(Debug, Clone)]
pub struct Diagonal {
    /// Its name.
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
    /// A scalar factor.
    pub coefficient: f64,
    /// A factor for each row, if there is one.
    pub diagonal: Option<Diagonal>,
    /// The panel.
    pub value: Value,
}

impl Term {
    /// `1 · value`.
    pub(super) fn plain(value: Value) -> Self {
        Self { coefficient: 1.0, diagonal: None, value }
    }

    /// The sum of two terms of the same value. Their factors are added here, once for all columns.
    pub(super) fn plus(&self, other: &Term) -> Self {
        let value = self.value;
        if self.diagonal == other.diagonal {
            return Self { coefficient: self.coefficient + other.coefficient, diagonal: self.diagonal.clone(), value };
        }
        let diagonals = || [self, other].into_iter().filter_map(|term| term.diagonal.as_ref());
        let length = diagonals().map(|diagonal| diagonal.values.length()).max().unwrap_or(0);
        // An outline stores only a few of its entries.
        let stored = diagonals().map(|diagonal| diagonal.values.len()).min().unwrap_or(0);
        let sums = (0..stored).map(|row| (self.factor(row) + other.factor(row)) as f32).collect();
        let name = format!("({} + {})", self.factor_name(), other.factor_name()).into();
        let diagonal = Diagonal { name, values: Entries::outline(length, sums) };
        Self { coefficient: 1.0, diagonal: Some(diagonal), value }
    }

    /// The factor of a row.
    fn factor(&self, row: usize) -> f64 {
        self.coefficient * self.diagonal.as_ref().map_or(1.0, |diagonal| f64::from(diagonal.values[row]))
    }

    /// The factors of the value, as text.
    fn factor_name(&self) -> String {
        let Self { coefficient, diagonal, .. } = self;
        match diagonal {
            None => coefficient.to_string(),
            Some(diagonal) if *coefficient == 1.0 => diagonal.name.to_string(),
            Some(diagonal) => format!("{coefficient}·{}", diagonal.name),
        }
    }

    /// Whether the term is `1 · value`.
    pub(super) fn is_plain(&self) -> bool {
        self.coefficient == 1.0 && self.diagonal.is_none()
    }

    fn read_mut(&mut self) -> ReadMut<'_> {
        ReadMut { value: &mut self.value, diagonal: Some(&mut self.diagonal) }
    }
}

/// The end of a product, computed before the result is written: `alpha · left · product + add`.
#[derive(Debug, Clone)]
pub struct Epilogue {
    /// A scalar factor.
    pub alpha: f64,
    /// A diagonal factor from the left.
    pub left: Option<Diagonal>,
    /// A term to add.
    pub add: Option<Term>,
}

impl Default for Epilogue {
    fn default() -> Self {
        Self { alpha: 1.0, left: None, add: None }
    }
}

/// The purpose of a sparse product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SparseRole {
    /// Multiplication by a stored matrix.
    Multiply,
    /// Selection of rows: each row of the matrix has a single entry, which is one.
    Gather,
    /// The transpose of a gather: adds each row to the row it was selected from.
    Scatter,
}

/// Consecutive rows of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowRange {
    /// The panel.
    pub value: Value,
    /// The number of the first row.
    pub first_row: usize,
    /// The number of rows.
    pub rows: usize,
}

/// What a step computes.
#[derive(Clone)]
#[non_exhaustive]
pub enum Action {
    /// `matrix · right · input`, sparse.
    Sparse {
        /// Its purpose.
        role: SparseRole,
        /// The name of the matrix.
        name: String,
        /// The stored matrix.
        matrix: Arc<Sparse>,
        /// A diagonal between the matrix and the input.
        right: Option<Diagonal>,
        /// The panel that is read.
        input: Value,
        /// The end of the product.
        epilogue: Epilogue,
    },
    /// `matrix · input`, dense.
    Dense {
        /// The name of the matrix.
        name: String,
        /// The stored matrix.
        matrix: Arc<Dense>,
        /// The entries that are dropped.
        mask: Option<Mask>,
        /// The panel that is read.
        input: Value,
        /// The end of the product.
        epilogue: Epilogue,
    },
    /// `map · input` or `mapᵀ · input`, for a linear map defined by the user.
    Map {
        /// The name of the map.
        name: String,
        /// The map.
        map: Arc<dyn LinearMap>,
        /// Whether the map is transposed.
        side: Side,
        /// The panel that is read.
        input: Value,
        /// The end of the product.
        epilogue: Epilogue,
    },
    /// `matrixᵀ · input`, dense: a reduction over all rows, whose result every worker has.
    Project {
        /// The name of the matrix.
        name: String,
        /// The stored matrix.
        matrix: Arc<Dense>,
        /// The entries that are dropped.
        mask: Option<Mask>,
        /// The panel that is read.
        input: Value,
    },
    /// `1ᵀ · input`, the column sums: a reduction to one row, which every worker has.
    ColumnSums {
        /// The panel that is read.
        input: Value,
    },
    /// A reduced panel, distributed again: each worker takes its rows.
    Spread {
        /// The panel that is read.
        input: Value,
        /// The end of the product.
        epilogue: Epilogue,
    },
    /// `1 · input`, where the input is one reduced row: that row everywhere.
    RankOne {
        /// The panel that is read.
        input: Value,
        /// The end of the product.
        epilogue: Epilogue,
    },
    /// A linear combination; zero if it has no terms.
    Combine {
        /// The terms.
        terms: Vec<Term>,
        /// A value with the columns of the result, read if there are no terms.
        like: Value,
    },
    /// Row ranges of other values, one below the other.
    Arrange {
        /// From the top down.
        pieces: Vec<RowRange>,
    },
    /// The entries of a stored matrix, as a panel.
    Stored {
        /// The name of the matrix.
        name: String,
        /// The matrix.
        source: Source,
    },
    /// The columns of several values in one panel.
    HStack {
        /// From the left.
        values: Vec<Value>,
    },
}

/// A matrix whose entries fill a panel.
#[derive(Debug, Clone)]
pub enum Source {
    /// A dense matrix.
    Dense {
        /// The matrix.
        matrix: Arc<Dense>,
        /// The entries that are dropped.
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

/// Which part of a value a worker needs to compute a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// The rows that the worker owns.
    OwnRows,
    /// All rows: the panel is gathered first.
    AllRows,
    /// The result of a reduction, which every worker has.
    Reduced,
}

/// A stored matrix or a linear map that a step applies or loads.
#[derive(Clone, Copy)]
pub enum Leaf<'a> {
    /// A stored sparse matrix.
    Sparse(&'a Arc<Sparse>),
    /// A stored dense matrix.
    Dense(&'a Arc<Dense>),
    /// A linear map defined by the user.
    Map(&'a Arc<dyn LinearMap>),
}

impl Leaf<'_> {
    /// Bytes that it takes in memory.
    pub fn bytes(self) -> u64 {
        match self {
            Leaf::Sparse(matrix) => matrix.bytes() as u64,
            Leaf::Dense(matrix) => matrix.bytes(),
            Leaf::Map(map) => map.bytes(),
        }
    }

    /// Whether only its size is known.
    pub fn is_outline(self) -> bool {
        match self {
            Leaf::Sparse(matrix) => matrix.is_outline(),
            Leaf::Dense(matrix) => matrix.is_outline(),
            Leaf::Map(_) => false,
        }
    }

    /// The address of the shared data: equal for equal leaves.
    pub(super) fn address(self) -> usize {
        match self {
            Leaf::Sparse(matrix) => Arc::as_ptr(matrix).addr(),
            Leaf::Dense(matrix) => Arc::as_ptr(matrix).addr(),
            Leaf::Map(map) => Arc::as_ptr(map).addr(),
        }
    }
}

/// The properties of an action that the planner asks for, in one match for all of them.
#[derive(Default)]
struct Parts<'a> {
    /// The values that it reads, as often as it reads them, without that of the epilogue.
    reads: Vec<(Value, Access)>,
    /// The name and the data of its leaf.
    leaf: Option<(&'a str, Leaf<'a>)>,
    /// The diagonal between a sparse matrix and the value.
    right: Option<&'a Diagonal>,
    /// The terms of a linear combination.
    terms: &'a [Term],
    epilogue: Option<&'a Epilogue>,
    /// Whether it makes parts of a sum over all rows, to be reduced.
    is_reduced: bool,
}

/// A value that an action reads, for rewriting.
pub(super) struct ReadMut<'a> {
    pub(super) value: &'a mut Value,
    /// Where a diagonal factor of the value is stored, if the action can apply one.
    pub(super) diagonal: Option<&'a mut Option<Diagonal>>,
}

impl Action {
    fn parts(&self) -> Parts<'_> {
        let all = |value: &Value| vec![(*value, Access::AllRows)];
        let own = |value: &Value| (*value, Access::OwnRows);
        let none = Parts::default();
        match self {
            Action::Sparse { name, matrix, right, input, epilogue, .. } => {
                let leaf = Some((name.as_str(), Leaf::Sparse(matrix)));
                Parts { reads: all(input), leaf, right: right.as_ref(), epilogue: Some(epilogue), ..none }
            }
            Action::Dense { name, matrix, input, epilogue, .. } => {
                let leaf = Some((name.as_str(), Leaf::Dense(matrix)));
                Parts { reads: all(input), leaf, epilogue: Some(epilogue), ..none }
            }
            Action::Map { name, map, input, epilogue, .. } => {
                let leaf = Some((name.as_str(), Leaf::Map(map)));
                Parts { reads: all(input), leaf, epilogue: Some(epilogue), ..none }
            }
            Action::Project { name, matrix, input, .. } => {
                let leaf = Some((name.as_str(), Leaf::Dense(matrix)));
                Parts { reads: vec![own(input)], leaf, is_reduced: true, ..none }
            }
            Action::ColumnSums { input } => Parts { reads: vec![own(input)], is_reduced: true, ..none },
            Action::Spread { input, epilogue } | Action::RankOne { input, epilogue } => {
                Parts { reads: vec![(*input, Access::Reduced)], epilogue: Some(epilogue), ..none }
            }
            Action::Combine { terms, like } if terms.is_empty() => Parts { reads: vec![own(like)], ..none },
            Action::Combine { terms, .. } => {
                Parts { reads: terms.iter().map(|term| own(&term.value)).collect(), terms, ..none }
            }
            Action::Arrange { pieces } => {
                Parts { reads: pieces.iter().flat_map(|piece| all(&piece.value)).collect(), ..none }
            }
            Action::Stored { name, source } => {
                let leaf = match source {
                    Source::Dense { matrix, .. } => Some(Leaf::Dense(matrix)),
                    Source::Sparse(matrix) => Some(Leaf::Sparse(matrix)),
                    Source::Identity => None,
                };
                Parts { leaf: leaf.map(|leaf| (name.as_str(), leaf)), ..none }
            }
            Action::HStack { values } => Parts { reads: values.iter().map(own).collect(), ..none },
        }
    }

    /// The values that the step reads, as often as it reads them.
    pub fn reads(&self) -> Vec<(Value, Access)> {
        let Parts { mut reads, epilogue, .. } = self.parts();
        reads.extend(epilogue.and_then(|epilogue| epilogue.add.as_ref()).map(|add| (add.value, Access::OwnRows)));
        reads
    }

    /// The values that the step reads, each once.
    pub fn inputs(&self) -> Vec<Value> {
        let mut values: Vec<Value> = self.reads().into_iter().map(|(value, _)| value).collect();
        values.sort_unstable();
        values.dedup();
        values
    }

    /// The values of which the step reads all rows.
    pub fn gathered(&self) -> Vec<Value> {
        let reads = self.reads().into_iter();
        reads.filter(|(_, access)| *access == Access::AllRows).map(|(value, _)| value).collect()
    }

    /// The name and the data of the stored matrix or the linear map of the step.
    pub fn leaf(&self) -> Option<(&str, Leaf<'_>)> {
        self.parts().leaf
    }

    /// The terms of a linear combination.
    pub(super) fn terms(&self) -> &[Term] {
        self.parts().terms
    }

    /// Whether a value is a plain term of the sum that the step makes.
    pub(super) fn is_sum_of(&self, value: Value) -> bool {
        let Parts { terms, epilogue, .. } = self.parts();
        let add = epilogue.and_then(|epilogue| epilogue.add.as_ref());
        terms.iter().chain(add).any(|term| term.value == value && term.is_plain())
    }

    /// The epilogue of an action that has one.
    pub fn epilogue(&self) -> Option<&Epilogue> {
        self.parts().epilogue
    }

    /// The diagonals that the step multiplies by.
    pub fn diagonals(&self) -> Vec<&Diagonal> {
        let Parts { right, terms, epilogue, .. } = self.parts();
        let left = epilogue.and_then(|epilogue| epilogue.left.as_ref());
        let add = epilogue.and_then(|epilogue| epilogue.add.as_ref());
        let of_terms = terms.iter().chain(add).filter_map(|term| term.diagonal.as_ref());
        right.into_iter().chain(left).chain(of_terms).collect()
    }

    /// Whether the result is a sum over all rows, which every worker has.
    pub fn is_reduced(&self) -> bool {
        self.parts().is_reduced
    }

    /// The values that the step reads, without that of the epilogue, and the epilogue.
    fn parts_mut(&mut self) -> (Vec<ReadMut<'_>>, Option<&mut Epilogue>) {
        let bare = |value| ReadMut { value, diagonal: None };
        match self {
            Action::Sparse { input, right, epilogue, .. } => {
                (vec![ReadMut { value: input, diagonal: Some(right) }], Some(epilogue))
            }
            Action::Dense { input, epilogue, .. }
            | Action::Map { input, epilogue, .. }
            | Action::Spread { input, epilogue }
            | Action::RankOne { input, epilogue } => (vec![bare(input)], Some(epilogue)),
            Action::Project { input, .. } | Action::ColumnSums { input } => (vec![bare(input)], None),
            // `like` is not read when there are terms, and may have been removed.
            Action::Combine { terms, like } if terms.is_empty() => (vec![bare(like)], None),
            Action::Combine { terms, .. } => (terms.iter_mut().map(Term::read_mut).collect(), None),
            Action::Arrange { pieces } => (pieces.iter_mut().map(|piece| bare(&mut piece.value)).collect(), None),
            Action::Stored { .. } => (Vec::new(), None),
            Action::HStack { values } => (values.iter_mut().map(bare).collect(), None),
        }
    }

    /// The values that the step reads, as often as it reads them.
    pub(super) fn reads_mut(&mut self) -> Vec<ReadMut<'_>> {
        let (mut reads, epilogue) = self.parts_mut();
        reads.extend(epilogue.and_then(|epilogue| epilogue.add.as_mut()).map(Term::read_mut));
        reads
    }

    pub(super) fn epilogue_mut(&mut self) -> Option<&mut Epilogue> {
        self.parts_mut().1
    }

    /// Replaces the diagonals.
    fn replace_diagonals(&mut self, other: impl Fn(&Diagonal) -> Diagonal) {
        let left = self.epilogue_mut().map(|epilogue| &mut epilogue.left);
        left.into_iter().for_each(|left| *left = left.as_ref().map(&other));
        for slot in self.reads_mut().into_iter().filter_map(|read| read.diagonal) {
            *slot = slot.as_ref().map(&other);
        }
    }

    /// Replaces every value that is read.
    pub(super) fn rename(&mut self, new_name: impl Fn(Value) -> Value) {
        self.reads_mut().into_iter().for_each(|read| *read.value = new_name(*read.value));
    }
}

/// One step of a program.
#[derive(Debug, Clone)]
pub struct Step {
    /// The rows of the result.
    pub rows: usize,
    /// What the step computes.
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
    /// Rows of the input.
    pub fn input_rows(&self) -> usize {
        self.input_rows
    }

    /// Rows of the output.
    pub fn output_rows(&self) -> usize {
        self.rows(self.output)
    }

    /// The steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The value that the program returns.
    pub fn output(&self) -> Value {
        self.output
    }

    /// The program with each diagonal replaced.
    pub fn with_diagonals(&self, other: impl Fn(&Diagonal) -> Diagonal) -> Self {
        let mut program = self.clone();
        program.steps.iter_mut().for_each(|step| step.action.replace_diagonals(&other));
        program
    }

    /// The name of a leaf of which only the size is known, if there is one.
    pub fn outline(&self) -> Option<&str> {
        self.steps.iter().find_map(|step| {
            let leaf = step.action.leaf().filter(|(_, leaf)| leaf.is_outline()).map(|(name, _)| name);
            let diagonals = step.action.diagonals();
            let diagonal = diagonals.into_iter().find(|diagonal| diagonal.values.is_outline());
            leaf.or(diagonal.map(|diagonal| &*diagonal.name))
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
