//! Answers on stdout.

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;

use super::Error;
use crate::report::output::Folder;

/// Prints on stdout what is in a folder already.
pub(super) fn print_results(text: io::Result<String>, folder: &Folder) -> Result<(), Error> {
    text.and_then(write_out).map_err(|source| Error::Print { folder: folder.path().to_owned(), source })
}

/// Prints on stdout.
pub(super) fn print_text(text: String) -> Result<(), Error> {
    write_out(text).map_err(Error::Stdout)
}

/// Prints a value as JSON.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Error> {
    print_text(serde_json::to_string_pretty(value).map_err(|error| Error::Stdout(error.into()))? + "\n")
}

/// Prints a value as text or as JSON.
pub(super) fn print_as(value: &(impl Display + Serialize), is_json: bool) -> Result<(), Error> {
    if is_json { print_json(value) } else { print_text(value.to_string()) }
}

/// A reader who closes stdout early (`| head`) is not an error.
fn write_out(text: String) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
