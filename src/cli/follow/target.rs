//! Where rows that moved are written.

use std::fs;
use std::path::Path;

use super::super::Error;
use crate::report::output::Folder;

/// Where changed rows go.
pub(super) enum Target {
    /// A file that is replaced.
    File(Folder, String),
    /// A folder, one file a batch.
    Folder(Folder),
}

impl Target {
    /// Makes what has to be there. `results` is the folder of the results, which this run has
    /// locked already.
    pub(super) fn prepare(path: &Path, results: &Folder) -> Result<Self, Error> {
        let name = path.file_name().and_then(|name| name.to_str());
        let is_file = !path.is_dir() && path.extension().is_some_and(|ending| ending == "csv");
        Ok(match name.filter(|_| is_file) {
            None if is_same(path, results.path()) => Self::Folder(results.clone()),
            None => Self::Folder(Folder::prepare(path)?),
            Some(name) => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                Self::File(Folder::shared(folder)?, name.to_owned())
            }
        })
    }

    /// The folder and the name of the file for a batch.
    pub(super) fn place(&self, batch: u64) -> (&Folder, String) {
        match self {
            Self::File(folder, name) => (folder, name.clone()),
            Self::Folder(folder) => (folder, format!("batch-{batch:06}.csv")),
        }
    }
}

/// Whether two paths lead to one folder that is there.
fn is_same(one: &Path, other: &Path) -> bool {
    fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}
