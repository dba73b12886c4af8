//! The manifest of a store, `store.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{MANIFEST, MANIFEST_SUM, StoreError, VERSION, sum_line};
use crate::dataset::catalog::sha256;

/// The content of `store.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub version: u32,
    pub dataset: Facts,
    /// The description of the matrix.
    pub matrix: serde_json::Value,
    /// The pieces of every file, one after the other.
    pub files: BTreeMap<String, Vec<PieceEntry>>,
}

/// The properties of a dataset that are not arrays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Facts {
    pub name: String,
    pub nodes: usize,
    pub edges: usize,
    pub directed: bool,
    /// Whether some weight is negative.
    #[serde(default)]
    pub signed: bool,
    pub features: usize,
    pub classes: Vec<String>,
    pub ids: IdKind,
}

/// The kind of ids.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum IdKind {
    /// Consecutive numbers.
    Counted {
        first: u64,
    },
    Numbers,
    Names,
}

impl Default for IdKind {
    fn default() -> Self {
        Self::Counted { first: 0 }
    }
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PieceEntry {
    pub bytes: usize,
    /// In hexadecimal.
    pub xxh3: String,
}

impl PieceEntry {
    pub fn new(bytes: usize, checksum: u64) -> Self {
        Self { bytes, xxh3: format!("{checksum:016x}") }
    }
}

impl Manifest {
    /// Reads the manifest of a folder, if it is one of this format and what it was when it was
    /// written.
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let path = folder.join(MANIFEST);
        if !path.is_file() {
            return Err(StoreError::None { folder: folder.to_owned() });
        }
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            |source| StoreError::Read { path, source }
        };
        let text = fs::read(&path).map_err(unreadable(&path))?;
        let sum_path = folder.join(MANIFEST_SUM);
        let expected = fs::read(&sum_path).map_err(unreadable(&sum_path))?;
        if sum_line(&sha256(&path).map_err(unreadable(&path))?).as_bytes() != expected {
            return Err(StoreError::Damaged { path, part: format!(" (or {MANIFEST_SUM} beside it)") });
        }
        let wrong = |error: serde_json::Error| StoreError::Content {
            path: path.clone(),
            part: String::new(),
            what: error.to_string(),
        };
        let Version { version } = serde_json::from_slice(&text).map_err(wrong)?;
        match version == VERSION {
            true => serde_json::from_slice(&text).map_err(wrong),
            false => Err(StoreError::Version { path: path.clone(), found: version }),
        }
    }
}
