use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::budget::Budget;
use super::catalog::{self, CatalogError, ENTRIES, Entry};
use super::format::{EdgeOptions, FormatError, OgbOptions, read_asymproj, read_edges, read_ogb, read_planetoid};
use super::holdout::{HeldOut, Holdout, HoldoutError, bytes_to_hold_out, hold_out};
use super::nodes::{self, FractionsError, NodeDataError, NodeFiles};
use super::rmat::{self, GraphTooLarge, Rmat};
use super::store::{Store, StoreError};
use super::{Dataset, demo};

/// A dataset that an experiment can name.
///
/// ```
/// use isvd_dist::dataset::Source;
/// let source: Source = "demo".parse()?;
/// assert_eq!(source.load(None, 1)?.name, "demo");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Source {
    /// The generated graph that comes with the program.
    Demo,
    /// A generated graph of any size.
    Rmat(Rmat),
    /// A dataset of the catalog.
    Catalog(&'static Entry),
    /// A user's own graph.
    Edges(EdgeFile),
    /// A folder that holds any of these, made ready.
    Store(PathBuf),
}

/// A graph in one file, and what to hold out of it or what its nodes carry.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeFile {
    /// The file.
    pub path: PathBuf,
    /// How to read it.
    pub options: EdgeOptions,
    /// The fractions to hold out. Nothing is held out if there are node files, because all edges
    /// help to classify.
    pub holdout: Holdout,
    /// Features, labels and splits of nodes, for classification.
    pub nodes: Option<NodeFiles>,
}

/// A name that no dataset has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown dataset `{name}`: known are {}", Source::known())]
pub struct UnknownDataset {
    /// The name as it was given.
    pub name: String,
}

/// Why a dataset could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It is not here.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A file of it cannot be read.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// No edges can be held out of it.
    #[error("cannot hold edges out of {}", path.display())]
    Holdout {
        /// The file.
        path: PathBuf,
        /// Why.
        source: HoldoutError,
    },
    /// No nodes can be drawn in these parts.
    #[error(transparent)]
    Fractions(#[from] FractionsError),
    /// It is too large to generate here.
    #[error(transparent)]
    TooLarge(#[from] GraphTooLarge),
    /// It is in a store that cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It lacks what a classifier needs.
    #[error(transparent)]
    Nodes(#[from] NodeDataError),
}

impl LoadError {
    /// Whether it would take more memory than the [`Budget`] allows.
    pub fn is_over_budget(&self) -> bool {
        matches!(self, Self::Format(FormatError::Memory { .. }) | Self::Store(StoreError::Memory { .. }))
    }
}

impl Source {
    /// The names of all datasets, quoted and separated by commas.
    pub fn known() -> String {
        let names = std::iter::once(demo::NAME).chain(ENTRIES.iter().map(|entry| entry.name)).chain([rmat::NAMES]);
        names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }

    /// The files and folders that the config names.
    pub fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Demo | Self::Rmat(_) | Self::Catalog(_) => vec![],
            Self::Store(folder) => vec![folder],
            Self::Edges(file) => {
                let nodes = file.nodes.iter().flat_map(NodeFiles::paths);
                std::iter::once(file.path.as_path()).chain(nodes).collect()
            }
        }
    }

    /// Makes or reads the dataset. `folder` is where datasets of the catalog are searched first;
    /// `seed` chooses the edges that are held out of a user's own graph, or its training nodes, and
    /// draws an R-MAT graph.
    pub fn load(&self, folder: Option<&Path>, seed: u64) -> Result<Dataset, LoadError> {
        match self {
            Self::Demo => Ok(demo::demo()),
            Self::Rmat(graph) => Ok(graph.load(seed)?),
            Self::Catalog(entry) => {
                let folder = catalog::locate(entry.name, folder)?;
                Ok(match entry.layout {
                    catalog::Layout::Asymproj => read_asymproj(&folder, entry.name)?,
                    catalog::Layout::Planetoid => read_planetoid(&folder, entry.name)?,
                    catalog::Layout::Ogb => read_ogb(&folder, entry.name, &OgbOptions::default())?,
                })
            }
            Self::Store(folder) => Ok(Store::open(folder)?.dataset()?),
            Self::Edges(EdgeFile { path, options, nodes: Some(nodes), .. }) => {
                Ok(Dataset { name: self.to_string(), ..nodes::load(path, options, nodes, seed)? })
            }
            Self::Edges(file) => {
                let read = read_edges(&file.path, &file.options)?;
                let reserved = Budget::current().reserve(bytes_to_hold_out(&read.edges));
                let _reserved = reserved.map_err(|over| over.reading(&file.path))?;
                let held = hold_out(&read.edges, file.holdout, seed);
                let HeldOut { graph, valid, test } =
                    held.map_err(|source| LoadError::Holdout { path: file.path.clone(), source })?;
                let (name, graph) = (self.to_string(), graph.into());
                Ok(Dataset { name, graph, valid, test, ids: read.ids, remarks: read.remarks, ..Dataset::default() })
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Demo => f.write_str(demo::NAME),
            Self::Rmat(graph) => write!(f, "{graph}"),
            Self::Catalog(entry) => f.write_str(entry.name),
            Self::Edges(file) => write!(f, "{}", file.path.display()),
            Self::Store(folder) => write!(f, "{}", folder.display()),
        }
    }
}

impl FromStr for Source {
    type Err = UnknownDataset;

    fn from_str(name: &str) -> Result<Self, UnknownDataset> {
        if name == demo::NAME {
            return Ok(Self::Demo);
        }
        if let Some(graph) = Rmat::named(name) {
            return Ok(Self::Rmat(graph));
        }
        if let Some(entry) = ENTRIES.iter().find(|entry| entry.name == name) {
            return Ok(Self::Catalog(entry));
        }
        // A path with a folder can only be a store; opening it fails if it is none.
        let folder = Path::new(name);
        match folder.components().count() > 1 || Store::is_at(folder) {
            true => Ok(Self::Store(folder.to_owned())),
            false => Err(UnknownDataset { name: name.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_out_of_range_is_unknown_and_the_known_are_named() {
        let error = "rmat-27".parse::<Source>().unwrap_err().to_string();
        assert!(
            error.starts_with("unknown dataset `rmat-27`: known are `demo`, ") && error.ends_with("`rmat-N`"),
            "{error}"
        );
        for name in ["demo", "ppi", "rmat-18", "rmat-18x16", "stores/ppi"] {
            assert_eq!(name.parse::<Source>().unwrap().to_string(), name);
        }
    }
}
