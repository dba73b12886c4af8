//! `isvd-dist`: run an experiment from the command line.

use std::process::ExitCode;

use isvd_dist::cli::{self, Arguments};

fn main() -> ExitCode {
    match cli::execute(Arguments::typed()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            cli::print(&error);
            error.exit_code().into()
        }
    }
}
