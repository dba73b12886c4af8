//! Errors of the library in the words of the command line.
//!
//! The library names no options: it also serves programs that have none. [`worded`] adds to the
//! message of an error the option that leads out, and in front of an entry of the config the option
//! that it was typed with. A new way out is a line in [`option_for`].

use std::error::Error as StdError;

use super::Error;
use super::follow::FollowError;
use crate::config::{ConfigError, Place};
use crate::dataset::catalog::CatalogError;
use crate::dataset::fetch::FetchError;
use crate::dataset::format::FormatError;
use crate::dataset::store::{StoreError, WriteError};
use crate::dataset::stream::{LogError, StreamError};
use crate::dataset::{LoadError, OverBudget};
use crate::engine::EngineError;
use crate::engine::checkpoint::{CheckpointError, Notice};
use crate::experiment::RunError;
use crate::graph::TileError;
use crate::model::classifier::ClassifierError;
use crate::model::embedding::ModelError;
use crate::model::features::FeatureError;
use crate::model::rank::RankError;
use crate::report::catalog::fetch_command;
use crate::report::export::ExportError;
use crate::report::output::OutputError;
use crate::report::saved::SavedError;
use crate::serve::ServeError;
use crate::svd::SvdError;

/// An error or one of its causes, of any type.
type Cause = dyn StdError + 'static;

/// The message of an error or of one of its causes.
pub(super) fn worded(error: &Cause) -> String {
    let typed = match place(error) {
        Some(Place::Assignment { .. }) => "--set ",
        Some(Place::Matrix) => "--",
        _ => "",
    };
    let message = with_option(format!("{typed}{error}"), way_out(error));
    match missing_dataset(error) {
        Some(name) => format!("{message}\nto get them, type: {}", fetch_command(name)),
        None => message,
    }
}

/// A notice of a checkpoint.
pub(super) fn worded_notice(notice: &Notice) -> String {
    let option = match notice {
        Notice::NotResumed { .. } => Some("--resume"),
        Notice::NotKept { .. } => Some("--out, --checkpoint off"),
        _ => None,
    };
    with_option(notice.to_string(), option)
}

fn with_option(message: String, option: Option<&str>) -> String {
    match option {
        Some(option) => format!("{message} ({option})"),
        None => message,
    }
}

/// The dataset of the catalog that an error, or the error that it shows as its own message, misses.
fn missing_dataset(error: &Cause) -> Option<&'static str> {
    match of(error) {
        Some(CatalogError::Missing { name, .. }) => Some(name),
        _ => missing_dataset(shown_by(error)?),
    }
}

/// The option for an error, or for the error that it shows as its own message.
fn way_out(error: &Cause) -> Option<&'static str> {
    option_for(error).or_else(|| way_out(shown_by(error)?))
}

/// An error by its type, boxed or not.
fn of<T: StdError + 'static>(error: &Cause) -> Option<&T> {
    error.downcast_ref::<T>().or_else(|| error.downcast_ref::<Box<T>>().map(|error| &**error))
}

/// The option that leads out of an error, if one does.
fn option_for(error: &Cause) -> Option<&'static str> {
    if let Some(OverBudget { .. }) = of(error) {
        return Some("--memory");
    }
    if let Some(FormatError::Memory { .. }) = of(error) {
        return Some("--memory");
    }
    if let Some(error) = of::<StoreError>(error) {
        return match error {
            StoreError::Memory { .. } => Some("--memory"),
            StoreError::Tile(_) | StoreError::BigEndian => None,
            _ => Some("isvd-dist convert"),
        };
    }
    if let Some(SvdError::NoRoom { .. }) = of(error) {
        return Some("--memory");
    }
    if let Some(WriteError::Occupied { .. }) = of(error) {
        return Some("--out");
    }
    if let Some(error) = of::<FetchError>(error) {
        return match error {
            FetchError::Status { .. } | FetchError::Unreachable { .. } => Some("--from"),
            FetchError::Disk { .. } => Some("--data"),
            _ => None,
        };
    }
    if let Some(error) = of::<CheckpointError>(error) {
        return match error {
            CheckpointError::OtherRun { .. } => Some("without --resume"),
            CheckpointError::Unreadable { .. } => Some("--out"),
            CheckpointError::Lost { .. } => Some("--resume"),
            CheckpointError::Unwritable { .. } => Some("--out, --checkpoint off"),
        };
    }
    if let Some(error) = of::<EngineError>(error) {
        return match error {
            EngineError::Checkpoint { .. } => Some("--checkpoint, --out"),
            EngineError::Tile { .. } => Some("isvd-dist convert"),
            _ => None,
        };
    }
    if let Some(error) = of::<StreamError>(error) {
        return match error {
            StreamError::Refused(_) => Some("--tolerate"),
            StreamError::PackedAndWatched { .. } | StreamError::InputWatched => Some("without --watch"),
            StreamError::Cut { .. }
            | StreamError::OtherText { .. }
            | StreamError::TakenEarly { .. }
            | StreamError::OtherBatch { .. }
            | StreamError::OtherKind { .. } => Some("without --resume"),
            StreamError::Format(_) | StreamError::Replaced { .. } => None,
        };
    }
    if let Some(LogError::Damaged { .. } | LogError::Version { .. }) = of(error) {
        return Some("without --resume");
    }
    if let Some(error) = of::<OutputError>(error) {
        return match error {
            OutputError::File { .. } | OutputError::Place { .. } => None,
            _ => Some("--out"),
        };
    }
    if let Some(SavedError::NoResults { .. } | SavedError::NoModel { .. } | SavedError::NoVectors { .. }) = of(error) {
        return Some("its --out folder");
    }
    if let Some(ServeError::Address { .. } | ServeError::Listen { .. }) = of(error) {
        return Some("--address");
    }
    None
}

/// Where the entry of a config stands that an error is about.
fn place(error: &Cause) -> Option<&Place> {
    match (of(error), of(error)) {
        (Some(Error::Config(error)), _) => error.place(),
        (Some(Error::Run(error)), _) => error.place(),
        (_, Some(error)) => ConfigError::place(error),
        _ => None,
    }
}

/// The inner error of a variant that shows it as its own message.
fn shown_by(error: &Cause) -> Option<&Cause> {
    if let Some(error) = of::<Error>(error) {
        return match error {
            Error::Run(inner) => Some(inner),
            Error::Config(inner) => Some(inner),
            Error::Catalog(inner) => Some(inner),
            Error::Store(inner) => Some(inner),
            Error::Saved(inner) => Some(inner),
            Error::Export(inner) => Some(inner),
            Error::Serve(inner) => Some(inner),
            Error::Output(inner) => Some(inner),
            Error::Follow(inner) => Some(inner),
            _ => None,
        };
    }
    if let Some(error) = of::<TileError>(error) {
        return Some(error.cause());
    }
    macro_rules! transparent {
        ($($outer:ident::$variant:ident),*) => {
            $(if let Some($outer::$variant(inner)) = of(error) {
                return Some(inner);
            })*
        };
    }
    transparent!(
        RunError::Load,
        RunError::Checkpoint,
        LoadError::Catalog,
        LoadError::Format,
        LoadError::Store,
        StoreError::Tile,
        ModelError::Svd,
        ModelError::Engine,
        RankError::Model,
        ClassifierError::Svd,
        FeatureError::Svd,
        SvdError::Engine,
        ExportError::Output,
        WriteError::Store,
        FollowError::Stream,
        FollowError::Log,
        StreamError::Format
    );
    None
}
