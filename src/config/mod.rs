//! An experiment as TOML, with assignments `key=value` that override it.
//!
//! A config is read once into a validated [`Experiment`]; nothing after that meets a raw value.
//! Each key is declared once, as a [`Key`] with what it accepts and its default. Error messages,
//! the help of the command line and `docs/config.md` are written from that declaration. Every error
//! names the key, the place (the line of the file, or the assignment) and what is accepted.

mod defaults;
mod entries;
mod error;
mod experiment;
mod keys;
mod nodes;
mod scalar;
pub mod shipped;
mod statement;

pub use defaults::{
    DEFAULT_DEGREE_WEIGHTED, DEFAULT_METRICS, DEFAULT_NEGATIVE, DEFAULT_NORMALIZE, DEFAULT_RANK, DEFAULT_SEED,
    DEFAULT_WINDOW, MOST_PASSES, MOST_STEPS,
};
pub use error::{ConfigError, Hint, Place};
pub use experiment::{Experiment, usual_import};
pub use keys::{KEYS, Key};
pub use nodes::{LearnFrom, NodeTask};
pub use statement::Statement;
