//! Errors of matrices stated as text.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::value::Refusal;
use super::{MOST_BYTES, MOST_DEPTH, MOST_PRODUCTS, caret, hint};
use crate::matrix::MatrixError;

/// Why a text states no matrix, with the place in the text and a hint.
#[derive(Debug)]
pub struct TextError {
    text: Arc<str>,
    span: Range<usize>,
    problem: Box<Problem>,
}

impl TextError {
    pub(super) fn new(text: &Arc<str>, fault: Fault) -> Self {
        Self { text: text.clone(), span: fault.span, problem: fault.problem }
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The bytes of the text that are wrong.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// A correction, if one is known.
    pub fn hint(&self) -> Option<String> {
        hint::hint(&self.problem)
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.problem)?;
        caret::write(&self.text, &self.span, f)?;
        match self.hint() {
            Some(hint) => write!(f, "\n  = help: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TextError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problem.source()
    }
}

/// A problem and its place, before it is known in which text.
#[derive(Debug)]
pub(super) struct Fault {
    pub span: Range<usize>,
    pub problem: Box<Problem>,
}

impl Fault {
    pub fn new(span: Range<usize>, problem: Problem) -> Self {
        Self { span, problem: Box::new(problem) }
    }
}

/// What stands where something else should.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// A number.
    Number(String),
    /// A name.
    Name(String),
    /// An operator, a bracket or a separator.
    Sign(String),
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Number(text) | Self::Name(text) | Self::Sign(text)) = self;
        write!(f, "`{text}`")
    }
}

/// What is wrong with a text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// There is nothing to read.
    #[error("the text is empty: it states no matrix")]
    Empty,
    /// There is too much to read.
    #[error("the text is {bytes} bytes long: at most {MOST_BYTES} are read")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Forms inside forms inside forms.
    #[error("more than {MOST_DEPTH} forms are inside each other here")]
    TooDeep,
    /// A multiplication by the matrix would take too many products.
    #[error(
        "a multiplication by this takes {products} products with stored matrices: at most {MOST_PRODUCTS} are made"
    )]
    TooManyProducts {
        /// How many, written out.
        products: u64,
    },
    /// A character that means nothing.
    #[error("`{}` means nothing here", character.escape_debug())]
    Character {
        /// The character.
        character: char,
    },
    /// A number beyond what a number can be.
    #[error("this number is too large")]
    TooLargeNumber,
    /// Something else should stand here.
    #[error("{found} stands where {expected} is expected")]
    Unexpected {
        /// What stands here.
        found: Found,
        /// What should.
        expected: &'static str,
    },
    /// Something should follow.
    #[error("the text ends where {expected} is expected")]
    Ends {
        /// What should follow.
        expected: &'static str,
    },
    /// The text ends inside a bracket.
    #[error("this `{opening}` is never closed")]
    NeverClosed {
        /// The bracket.
        opening: char,
        /// What would close it.
        closing: char,
    },
    /// A bracket closes what was not opened.
    #[error("this `{closing}` closes nothing")]
    NeverOpened {
        /// The bracket.
        closing: char,
    },
    /// Text follows a complete matrix.
    #[error("the matrix is complete before {found}")]
    Trailing {
        /// What follows.
        found: Found,
    },
    /// `[a, b; c]`
    #[error("`,` and `;` stand in the same brackets")]
    MixedBrackets,
    /// `a^b^c`
    #[error("a power of a power can be read in two ways")]
    PowerOfPower,
    /// A name that stands for nothing.
    #[error("nothing is called `{name}`")]
    UnknownName {
        /// The name.
        name: String,
        /// The most similar one, if one is similar.
        nearest: Option<String>,
        /// Those that stand for something.
        known: Vec<String>,
    },
    /// A function that does not exist.
    #[error("there is no function `{name}`")]
    UnknownFunction {
        /// Its name.
        name: String,
        /// The most similar one, if one is similar.
        nearest: Option<&'static str>,
        /// Those that exist.
        known: Vec<&'static str>,
    },
    /// A function without arguments.
    #[error("`{name}` is a function")]
    FunctionAlone {
        /// Its name.
        name: String,
        /// How it is called.
        usage: &'static str,
    },
    /// A function with a wrong number of arguments.
    #[error("`{name}` does not take {found} argument{}", if *found == 1 { "" } else { "s" })]
    WrongCount {
        /// Its name.
        name: String,
        /// How many were given.
        found: usize,
        /// How it is called.
        usage: &'static str,
    },
    /// One kind of thing where another is needed.
    #[error("{found} stands where {needed} is needed")]
    WrongKind {
        /// What stands here.
        found: &'static str,
        /// What is needed.
        needed: &'static str,
    },
    /// `*` is for numbers.
    #[error("`*` stands between two matrices")]
    StarOfMatrices,
    /// `@` is for matrices.
    #[error("`@` is the product of two matrices, and one of these is a number")]
    ProductWithNumber,
    /// A number plus a matrix.
    #[error("a number and a matrix cannot be added or subtracted")]
    NumberPlusMatrix,
    /// Not a whole number, or too small or too large a one.
    #[error("{what} is {value}: expected a whole number from {least} to {most}")]
    NotWhole {
        /// What the number is for.
        what: &'static str,
        /// The number.
        value: f64,
        /// The smallest that will do.
        least: usize,
        /// The largest that will do.
        most: usize,
    },
    /// A dropout rate that leaves nothing, or is none.
    #[error("the rate of dropout is {value}: expected a number from 0 and below 1")]
    BadRate {
        /// The number.
        value: f64,
    },
    /// Arithmetic that has no result.
    #[error("the result is {value}: only finite numbers can be used")]
    NotFinite {
        /// What came out.
        value: f64,
    },
    /// Matrices that do not fit each other.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A name or function that is not available here.
    #[error("`{name}` cannot be used here: {refusal}")]
    Refused {
        /// Its name.
        name: String,
        /// Why.
        refusal: Refusal,
    },
}
