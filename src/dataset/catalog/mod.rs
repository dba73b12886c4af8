//! The datasets of the paper: where they come from, what their files are, and where they are
//! searched for.
//!
//! Nothing here reads what is in a file. [`locate`] finds the folder of a dataset, [`Entry::check`]
//! compares its files with the sizes and sums on record, and [`fetch`](super::fetch) gets what is
//! missing.
//!
//! ```
//! use isvd_dist::dataset::catalog;
//!
//! let ppi = catalog::find("ppi")?;
//! assert_eq!((ppi.counts.nodes, ppi.folder), (3_852, "asymproj/ppi"));
//! assert!(catalog::find("pip").unwrap_err().to_string().contains("did you mean `ppi`?"));
//! # Ok::<(), isvd_dist::dataset::catalog::CatalogError>(())
//! ```

mod entries;
mod error;
mod locate;
mod status;

use std::fmt;

use serde::Serialize;

pub use entries::ENTRIES;
pub use error::{CatalogError, IncompleteFolder};
pub use locate::{cache_folder, locate, locate_among, search_folders, target_folder};
pub use status::{Status, sha256};

/// The environment variable that names the folder of all datasets.
pub const DATA_VARIABLE: &str = "ISVD_DATA";

/// A dataset that can be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its name in a config.
    pub name: &'static str,
    /// A description of its nodes and edges.
    pub about: &'static str,
    /// Its task.
    pub task: Task,
    /// The address that its files are below; it ends in a slash.
    pub source: &'static str,
    /// The folder that holds its files, below the folder of all datasets.
    pub folder: &'static str,
    /// How the files in it are laid out.
    pub layout: Layout,
    /// How the source packs the files.
    pub package: Package,
    /// The files, below [`folder`](Self::folder).
    pub files: &'static [File],
    /// The counts that its reader should find.
    pub counts: Counts,
    /// A remark for the user.
    pub note: Option<&'static str>,
}

/// How the files of a dataset are laid out: which reader reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Three numpy arrays of pairs.
    Asymproj,
    /// Planetoid's pickles.
    Planetoid,
    /// A folder of the Open Graph Benchmark.
    Ogb,
}

/// The task of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Task {
    /// Telling edges that were held out from pairs that are no edges.
    LinkPrediction,
    /// Telling the class of a node.
    NodeClassification,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::LinkPrediction => "link prediction",
            Self::NodeClassification => "node classification",
        })
    }
}

/// How the source packs the files of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Package {
    /// One by one.
    Loose {
        /// The folder that they are in, below the source address; empty, or ending in a slash.
        below: &'static str,
    },
    /// All in a zip archive.
    Zip {
        /// The archive, below the source address.
        archive: File,
        /// The folder inside the archive that becomes the folder of the dataset.
        root: &'static str,
    },
}

/// A file, and what is on record about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct File {
    /// Its path below the folder of the dataset, with slashes.
    pub path: &'static str,
    /// Its bytes.
    pub size: Option<u64>,
    /// The SHA-256 of its content, in lower-case hexadecimal.
    pub sha256: Option<&'static str>,
    /// Whether an experiment needs it.
    pub needed: bool,
}

impl File {
    /// A file whose content is known.
    pub const fn known(path: &'static str, size: u64, sha256: &'static str) -> Self {
        Self { path, size: Some(size), sha256: Some(sha256), needed: true }
    }

    /// A file of which nothing but the name is known.
    pub const fn unknown(path: &'static str) -> Self {
        Self { path, size: None, sha256: None, needed: true }
    }

    /// The file, marked as optional.
    pub const fn optional(self) -> Self {
        Self { needed: false, ..self }
    }
}

/// The expected counts of a dataset; `None` where a count is not on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Nodes.
    pub nodes: usize,
    /// Edges, those of all splits together.
    pub edges: usize,
    /// Features of each node.
    pub features: Option<usize>,
    /// Classes.
    pub classes: Option<usize>,
    /// Edges or nodes to train on, as the task has it.
    pub train: Option<usize>,
    /// Edges or nodes for choosing settings.
    pub valid: Option<usize>,
    /// Edges or nodes for the final figure.
    pub test: Option<usize>,
    /// Pairs that are no edges, against the edges of `valid`.
    pub valid_non_edges: Option<usize>,
    /// Pairs that are no edges, against the edges of `test`.
    pub test_non_edges: Option<usize>,
}

impl Entry {
    /// The files that an experiment cannot do without.
    pub fn needed(&self) -> impl Iterator<Item = &'static File> {
        self.files.iter().filter(|file| file.needed)
    }

    /// The files to download, with their paths below the source address or below that of a mirror.
    pub fn downloads(&self) -> Vec<(String, File)> {
        match self.package {
            Package::Loose { below } => {
                self.files.iter().map(|file| (format!("{below}{}", file.path), *file)).collect()
            }
            Package::Zip { archive, .. } => vec![(archive.path.to_owned(), archive)],
        }
    }
}

/// The dataset called `name`.
pub fn find(name: &str) -> Result<&'static Entry, CatalogError> {
    let found = ENTRIES.iter().find(|entry| entry.name == name);
    found.ok_or_else(|| CatalogError::Unknown { name: name.to_owned(), nearest: nearest(name) })
}

/// The names of all datasets, quoted and separated by commas.
pub fn names() -> String {
    ENTRIES.iter().map(|entry| format!("`{}`", entry.name)).collect::<Vec<_>>().join(", ")
}

/// The name closest to `word`: one that differs in a third of the letters, or that holds it, as
/// `ogbl-ddi` holds `ddi`.
fn nearest(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase().replace('_', "-");
    let limit = (word.chars().count() / 3).max(1);
    let names = || ENTRIES.iter().map(|entry| entry.name);
    let close = names()
        .map(|name| (strsim::damerau_levenshtein(&word, name), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance);
    let holding = || names().find(|name| word.len() >= 3 && (name.contains(&word) || word.contains(name)));
    close.map(|(_, name)| name).or_else(holding)
}

#[cfg(all(test, feature = "formats"))]
mod tests;
