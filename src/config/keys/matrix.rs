//! The key of a matrix of one's own.

use super::{DEGREE_WEIGHTED, Key, NEGATIVE, NORMALIZE, STAY, WALK_WEIGHTS, WINDOW};

pub const MATRIX: Key = Key {
    path: "matrix",
    about: "decompose this matrix instead of that of [embedding], whose rank and method it takes; --matrix is the same",
    accepts: "a text such as \"walk(T, 5) - 0.02 * (J - A)\"",
    default: || Some("that of [embedding]".to_owned()),
};

/// The keys that say what the matrix of an embedding is.
pub const OF_THE_MODEL: [&Key; 6] = [&WINDOW, &WALK_WEIGHTS, &NEGATIVE, &NORMALIZE, &DEGREE_WEIGHTED, &STAY];
