use std::fmt;
use std::io;
use std::path::PathBuf;

use super::shipped;
use crate::matrix::text::TextError;

/// Where an entry stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A line of a config file.
    File {
        /// The file, as the person named it.
        name: String,
        /// The line, from 1.
        line: usize,
    },
    /// An assignment that overrides the file.
    Assignment {
        /// The assignment, `key=value`.
        text: String,
    },
    /// An assignment to `matrix`, whose text is shown in the error itself.
    Matrix,
}

impl Place {
    /// Whether it overrides the file.
    pub fn is_override(&self) -> bool {
        !matches!(self, Self::File { .. })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, line } => write!(f, "{name}:{line}"),
            Self::Assignment { text } => f.write_str(text),
            Self::Matrix => f.write_str("matrix"),
        }
    }
}

/// What to write instead of an unknown key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// One known key is close.
    Nearest(&'static str),
    /// None is close: these are the ones known at that place.
    Known(Vec<&'static str>),
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nearest(key) => write!(f, "did you mean `{key}`?"),
            Self::Known(keys) => write!(f, "known here are `{}`", keys.join("`, `")),
        }
    }
}

/// Why a config is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No shipped config has this name.
    #[error(
        "no shipped config is called `{name}`{}: shipped are {}; for a file of your own give its path, such as ./{name}.toml",
        shipped::nearest(name).map_or_else(String::new, |nearest| format!(" (did you mean `{nearest}`?)")),
        shipped::names()
    )]
    UnknownName {
        /// The name as it was given.
        name: String,
    },
    /// The file cannot be read.
    #[error("cannot read the config {}{}", path.display(), shipped::hint(path, source))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The text is not TOML.
    #[error("{place}: this is not valid TOML: {message}")]
    Syntax {
        /// Where reading stopped.
        place: Place,
        /// What the parser said.
        message: String,
    },
    /// An assignment without a key or without a value.
    #[error("{place}: expected key=value, such as embedding.rank=64")]
    Assignment {
        /// The assignment.
        place: Place,
    },
    /// A key that means nothing.
    #[error("{place}: unknown key `{key}`: {hint}")]
    UnknownKey {
        /// Where it stands.
        place: Place,
        /// The key with the tables it is in.
        key: String,
        /// What to write instead.
        hint: Hint,
    },
    /// A value of the wrong type or out of range.
    #[error("{place}: `{key}` is {found}: expected {expected}")]
    Value {
        /// Where it stands.
        place: Place,
        /// The key with the table it is in.
        key: String,
        /// The value.
        found: String,
        /// What is accepted.
        expected: &'static str,
    },
    /// A text that states no matrix. It is shown whole, with its place in the text.
    #[error("{place}: {error}")]
    Matrix {
        /// Where the text stands.
        place: Place,
        /// What is wrong with it.
        error: TextError,
    },
    /// Two keys of which only one may be set.
    #[error("{config}: `{}` and `{}` are both set: leave one of them out", keys[0], keys[1])]
    Contradiction {
        /// The config.
        config: String,
        /// The keys.
        keys: [&'static str; 2],
    },
    /// Two keys whose values do not fit each other.
    #[error("{config}: `{}` and `{}` do not go together: {rule}", keys[0], keys[1])]
    Disagreement {
        /// The config.
        config: String,
        /// The keys.
        keys: [&'static str; 2],
        /// What must hold.
        rule: &'static str,
    },
    /// A key that every config needs.
    #[error("{config}: `{key}` is missing: expected {expected}")]
    Missing {
        /// The config.
        config: String,
        /// The key.
        key: &'static str,
        /// What is accepted.
        expected: &'static str,
    },
}

impl ConfigError {
    /// Where the entry stands that is wrong, if it is a single one.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Syntax { place, .. }
            | Self::Assignment { place }
            | Self::UnknownKey { place, .. }
            | Self::Value { place, .. }
            | Self::Matrix { place, .. } => Some(place),
            _ => None,
        }
    }
}
