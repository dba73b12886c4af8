//! `isvd-dist completions` and `isvd-dist man`: what shells and readers of manuals want to know of
//! the command line.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Arguments, Error, print_text};
use crate::report::output::OutputError;

/// What the program is called.
const NAME: &str = "isvd-dist";

/// Print what a shell needs to complete commands
#[derive(Debug, Clone, Args)]
#[command(after_help = COMPLETIONS)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

const COMPLETIONS: &str = "\
Examples:
  isvd-dist completions bash > isvd-dist.bash
  isvd-dist completions zsh > _isvd-dist
  isvd-dist completions fish > isvd-dist.fish

A shell reads them from a folder of its own, such as ~/.local/share/bash-completion/completions for bash.";

impl Completions {
    /// Prints them.
    pub(super) fn run(&self) -> Result<(), Error> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), NAME, &mut text);
        print_text(String::from_utf8_lossy(&text).into_owned())
    }
}

/// Print the manual page, or write those of all commands into a folder
#[derive(Debug, Clone, Args)]
#[command(after_help = MANUAL)]
pub struct Man {
    /// The folder to write isvd-dist.1 and a page for every command into [default: print the first
    /// on stdout]
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

const MANUAL: &str = "\
Examples:
  isvd-dist man > isvd-dist.1
  isvd-dist man man1";

impl Man {
    /// Prints or writes.
    pub(super) fn run(&self) -> Result<(), Error> {
        match &self.folder {
            None => {
                let mut text = Vec::new();
                let printed = clap_mangen::Man::new(Arguments::command()).render(&mut text);
                printed.map_err(Error::Stdout)?;
                print_text(String::from_utf8_lossy(&text).into_owned())
            }
            Some(folder) => {
                self.write(folder).map_err(|source| Error::Output(OutputError::Folder { path: folder.clone(), source }))
            }
        }
    }

    fn write(&self, folder: &std::path::Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        clap_mangen::generate_to(Arguments::command(), folder)
    }
}
