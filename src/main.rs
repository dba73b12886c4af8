//! `isvd-dist`: run an experiment from the command line.

use std::process::ExitCode;

use clap::Parser;
use isvd_dist::cli::{self, Arguments};

fn main() -> ExitCode {
    match cli::execute(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            cli::print(&error);
            error.exit_code().into()
        }
    }
}
