//! Finding the folder of a dataset.

use std::env;
use std::path::{Path, PathBuf};

use super::{CatalogError, DATA_VARIABLE, Entry, IncompleteFolder, find};

/// The folder of datasets in the current folder.
const LOCAL: &str = "data";
/// The name of the folder in the user's cache.
const CACHE: &str = "isvd-dist";

/// The folder that holds the files of the dataset called `name`.
///
/// `data`, the folder of all datasets that the user named, is searched before those of
/// [`search_folders`]. The first that holds every file an experiment needs is taken.
pub fn locate(name: &str, data: Option<&Path>) -> Result<PathBuf, CatalogError> {
    let entry = find(name)?;
    locate_among(entry, &search_folders(data))
}

/// The folder of `entry` below the first of `folders` that holds every file an experiment needs.
pub fn locate_among(entry: &Entry, folders: &[PathBuf]) -> Result<PathBuf, CatalogError> {
    let mut searched = Vec::new();
    for folder in folders {
        let folder = folder.join(entry.folder);
        let missing: Vec<_> =
            entry.needed().map(|file| file.path).filter(|path| !folder.join(path).is_file()).collect();
        if missing.is_empty() {
            return Ok(folder);
        }
        searched.push(IncompleteFolder { exists: folder.is_dir(), folder, missing });
    }
    Err(CatalogError::Missing { name: entry.name, searched })
}

/// Where datasets are searched for, in order: `data`, `$ISVD_DATA`, `./data`, the user's cache.
pub fn search_folders(data: Option<&Path>) -> Vec<PathBuf> {
    let candidates = [data.map(Path::to_owned), named(), Some(PathBuf::from(LOCAL)), cache_folder()];
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in candidates.into_iter().flatten() {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// Where a fetched dataset goes: `data`, else `$ISVD_DATA`, else `./data` if there is one, else the
/// user's cache.
pub fn target_folder(data: Option<&Path>) -> PathBuf {
    let local = PathBuf::from(LOCAL);
    let existing = Some(local.clone()).filter(|folder| folder.is_dir());
    data.map(Path::to_owned).or_else(named).or(existing).or_else(cache_folder).unwrap_or(local)
}

/// The program's folder in the user's cache, by the custom of the system; `None` when the user has
/// no home.
pub fn cache_folder() -> Option<PathBuf> {
    let cache = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        env::home_dir().map(|home| home.join("Library/Caches"))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| env::home_dir().map(|home| home.join(".cache")))
    };
    cache.filter(|folder| folder.is_absolute()).map(|folder| folder.join(CACHE))
}

fn named() -> Option<PathBuf> {
    env::var_os(DATA_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folder that a variable names. The convention is to ignore relative ones.
fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute())
}
