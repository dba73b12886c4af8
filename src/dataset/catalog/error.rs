use std::fmt;
use std::io;
use std::path::PathBuf;

use super::names;

/// Why a dataset of the catalog cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// No dataset has this name.
    #[error("no dataset is called `{name}`: {}", hint(*nearest))]
    Unknown {
        /// The name as it was given.
        name: String,
        /// The name that was probably meant.
        nearest: Option<&'static str>,
    },
    /// No folder has all files that an experiment needs.
    #[error(
        "the files of `{name}` are not here:{}\nfetch the dataset, or name the folder that holds it",
        list(searched)
    )]
    Missing {
        /// The dataset.
        name: &'static str,
        /// Where they were searched for, in order.
        searched: Vec<IncompleteFolder>,
    },
    /// A file is there and cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// A folder that does not hold all files of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncompleteFolder {
    /// The folder.
    pub folder: PathBuf,
    /// Whether it is there at all.
    pub exists: bool,
    /// The files it lacks.
    pub missing: Vec<&'static str>,
}

impl fmt::Display for IncompleteFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exists {
            true => write!(f, "{} lacks {}", self.folder.display(), self.missing.join(", ")),
            false => {
                write!(f, "there is no folder {} (it would hold {})", self.folder.display(), self.missing.join(", "))
            }
        }
    }
}

fn hint(nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`? Known are {}", names()),
        None => format!("known are {}", names()),
    }
}

fn list(searched: &[IncompleteFolder]) -> String {
    searched.iter().map(|incomplete| format!("\n  {incomplete}")).collect()
}
