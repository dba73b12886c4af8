//! The matrix that a config states as text.

use super::entries::Entries;
use super::error::{ConfigError, Place};
use super::experiment::{Rank, rank};
use super::keys;
use super::scalar::Scalar;
use crate::matrix::text::Formula;

/// A matrix stated as text, and where it is stated.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// What it says.
    pub formula: Formula,
    /// Where.
    pub place: Place,
}

/// Reads the matrix, if one is stated, and refuses what it leaves without a meaning.
pub(super) fn statement(
    entries: &Entries,
    file: &str,
    is_for_nodes: bool,
    is_updated: bool,
) -> Result<Option<Statement>, ConfigError> {
    let text = |value: &Scalar| match value {
        Scalar::Text(text) => Some(text.clone()),
        _ => None,
    };
    let (Some(text), Some(place)) = (entries.get(&keys::MATRIX, text)?, entries.place(&keys::MATRIX)) else {
        return Ok(None);
    };
    let matrix = keys::MATRIX.path;
    // An override wins over the file. Of two entries of the same rank one would be ignored.
    let contradicts = |other: &Place| !place.is_override() || other.is_override();
    if let Some(other) = keys::OF_THE_MODEL.iter().find(|key| entries.place(key).is_some_and(contradicts)) {
        return Err(ConfigError::Contradiction { config: file.to_owned(), keys: [matrix, other.path] });
    }
    let disagreement =
        |other, rule| Err(ConfigError::Disagreement { config: file.to_owned(), keys: [matrix, other], rule });
    if is_for_nodes {
        return disagreement("classifier", "a classifier has a matrix of its own");
    }
    if is_updated {
        return disagreement("update", "only the matrix of [embedding] is stated again with more edges");
    }
    if entries.get(&keys::RANK, rank)? == Some(Rank::Best) {
        return disagreement(keys::RANK.path, "ranks are tried with the matrix of [embedding] alone: give a number");
    }
    match Formula::parse(&text) {
        Ok(formula) => Ok(Some(Statement { formula, place: place.clone() })),
        Err(error) => Err(ConfigError::Matrix { place: place.clone(), error }),
    }
}
