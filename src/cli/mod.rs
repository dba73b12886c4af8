//! The command line: arguments in, exit code out.
//!
//! Raw [`Arguments`] become a validated [`Request`] once; [`run`] carries it out. An [`Error`] knows its exit code.

mod arguments;
mod error;
mod request;
mod run;
mod stages;

pub use arguments::Arguments;
pub use error::{Error, print};
pub use request::{Format, Request};
pub use run::run;
