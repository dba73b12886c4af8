use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::{Dataset, demo};

/// A dataset that an experiment can name.
///
/// ```
/// use isvd_dist::dataset::Source;
/// let source: Source = "demo".parse()?;
/// assert_eq!(source.load(None).name, "demo");
/// # Ok::<(), isvd_dist::dataset::UnknownDataset>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The generated graph that comes with the program.
    Demo,
}

/// A name that no dataset has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown dataset `{name}`: known are {}", Source::known())]
pub struct UnknownDataset {
    /// The name as it was given.
    pub name: String,
}

impl Source {
    /// Every dataset there is.
    pub const ALL: &'static [Self] = &[Self::Demo];

    /// The name that a config uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Demo => demo::NAME,
        }
    }

    /// The names of all datasets, quoted and separated by commas.
    pub fn known() -> String {
        Self::ALL.iter().map(|source| format!("`{source}`")).collect::<Vec<_>>().join(", ")
    }

    /// Makes or reads the dataset; `_folder` is where files are looked for. The demo is generated and reads none.
    pub fn load(self, _folder: Option<&Path>) -> Dataset {
        match self {
            Self::Demo => demo::demo(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Source {
    type Err = UnknownDataset;

    fn from_str(name: &str) -> Result<Self, UnknownDataset> {
        let found = Self::ALL.iter().find(|source| source.name() == name);
        found.copied().ok_or_else(|| UnknownDataset { name: name.to_owned() })
    }
}
