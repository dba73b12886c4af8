//! One value of a config, and the names of the choices.

use std::fmt;

use toml::Spanned;
use toml::de::DeValue;

use super::nodes::LearnFrom;
use crate::dataset::format::{IdKind, Weights};
use crate::graph::{Duplicates, SelfLoops};
use crate::model::classifier::Rows;
use crate::model::embedding::Normalize;
use crate::svd::Method;

/// The names of a choice.
pub(super) type Names<T> = &'static [(&'static str, T)];

pub(super) const NORMALIZE: Names<Normalize> = &[("row", Normalize::Row), ("symmetric", Normalize::Symmetric)];
pub(super) const DUPLICATES: Names<Duplicates> = &[("add", Duplicates::Add), ("once", Duplicates::Once)];
pub(super) const IDS: Names<IdKind> =
    &[("auto", IdKind::Auto), ("numbers", IdKind::Numbers), ("names", IdKind::Names), ("rows", IdKind::Rows)];
pub(super) const WEIGHTS: Names<Weights> =
    &[("auto", Weights::Auto), ("third", Weights::Third), ("ignore", Weights::Ignore)];
pub(super) const SELF_LOOPS: Names<SelfLoops> = &[("keep", SelfLoops::Keep), ("drop", SelfLoops::Drop)];
/// Whether nodes may be renumbered.
pub(super) const ORDER: Names<bool> = &[("auto", true), ("given", false)];
/// The one kernel, and the one set of edges, that there is so far.
pub(super) const KERNEL: Names<()> = &[("gaussian", ())];
pub(super) const UPDATE_EDGES: Names<()> = &[("valid", ())];
pub(super) const METHOD: Names<Method> =
    &[("subspace", Method::Subspace), ("krylov", Method::Krylov), ("gram", Method::Gram), ("auto", Method::Auto)];
pub(super) const ROWS: Names<Rows> = &[("labelled", Rows::Labelled), ("all", Rows::All)];
pub(super) const LEARN_FROM: Names<LearnFrom> =
    &[("train", LearnFrom::Train), ("train+valid", LearnFrom::TrainAndValid)];

/// The quoted name of a choice.
pub(super) fn name_of<T: PartialEq>(names: Names<T>, choice: T) -> String {
    names.iter().find(|(_, value)| *value == choice).map_or_else(String::new, |(name, _)| format!("{name:?}"))
}

/// A value as TOML has it, without its place and its lifetime.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Text(String),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    List(Vec<Scalar>),
    /// Entries in the order of their names.
    Table(Vec<(String, Scalar)>),
    /// What no key accepts, by its name.
    Other(&'static str),
}

impl Scalar {
    pub fn new(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(text) => Self::Text(text.to_string()),
            DeValue::Integer(digits) => i128::from_str_radix(digits.as_str(), digits.radix())
                .map_or(Self::Other("a number beyond all limits"), Self::Integer),
            DeValue::Float(digits) => {
                digits.as_str().parse().map_or(Self::Other("a number beyond all limits"), Self::Float)
            }
            DeValue::Boolean(value) => Self::Boolean(*value),
            DeValue::Datetime(_) => Self::Other("a date or time"),
            DeValue::Array(values) => Self::List(values.iter().map(|value| Self::new(value.get_ref())).collect()),
            DeValue::Table(entries) => {
                let entry = |(name, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
                    (ToString::to_string(name.get_ref()), Self::new(value.get_ref()))
                };
                Self::Table(entries.iter().map(entry).collect())
            }
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::List(values) => {
                let values: Vec<String> = values.iter().map(Self::to_string).collect();
                write!(f, "[{}]", values.join(", "))
            }
            Self::Table(entries) if entries.is_empty() => f.write_str("a table"),
            Self::Table(entries) => {
                let entries: Vec<String> = entries.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                write!(f, "{{ {} }}", entries.join(", "))
            }
            Self::Other(name) => f.write_str(name),
        }
    }
}
