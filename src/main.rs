//! `isvd-dist`: run an experiment from the command line.

use std::process::ExitCode;

use clap::Parser;
use isvd_dist::cli::{self, Arguments, Request};

fn main() -> ExitCode {
    match Request::new(Arguments::parse()).and_then(|request| cli::run(&request)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            cli::print(&error);
            error.exit_code().into()
        }
    }
}
