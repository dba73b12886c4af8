//! The part of a file that has arrived so far.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::FetchError;

/// Headers that identify the version of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    /// The size of the complete file.
    pub total: Option<u64>,
    /// The server's name for this version.
    pub etag: Option<String>,
    /// When it was last changed.
    pub last_modified: Option<String>,
}

impl Facts {
    /// The value of an `If-Range` header: a strong tag, or a date.
    pub fn validator(&self) -> Option<&str> {
        let strong = self.etag.as_deref().filter(|tag| !tag.starts_with("W/"));
        strong.or(self.last_modified.as_deref())
    }

    /// Whether these can be facts about the same version as the `earlier` ones.
    pub fn continues(&self, earlier: &Self) -> bool {
        fn agree<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
            one.is_none() || other.is_none() || one == other
        }
        agree(&self.total, &earlier.total)
            && agree(&self.etag, &earlier.etag)
            && agree(&self.last_modified, &earlier.last_modified)
    }
}

/// Bytes that an earlier download has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    /// How many.
    pub bytes: u64,
    /// The file that they are part of.
    pub facts: Facts,
}

/// A partial download, with the headers of the complete file in a second file.
#[derive(Debug)]
pub(super) struct Part {
    path: PathBuf,
    facts: PathBuf,
}

impl Part {
    /// The partial download at `path`.
    pub fn new(path: PathBuf) -> Self {
        let facts = path.with_added_extension("json");
        Self { path, facts }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of an earlier download. Without the headers of the complete file it cannot be
    /// continued.
    pub fn held(&self) -> Option<Held> {
        let bytes = fs::metadata(&self.path).ok()?.len();
        let facts = serde_json::from_slice(&fs::read(&self.facts).ok()?).ok()?;
        (bytes > 0).then_some(Held { bytes, facts })
    }

    /// Opens the file to take the bytes from `start` on, which are those of a whole with these
    /// `facts`.
    pub fn open(&self, start: u64, facts: &Facts) -> Result<File, FetchError> {
        if start > 0 {
            let opened = File::options().append(true).open(&self.path);
            return opened.map_err(|source| self.error(source));
        }
        // Old bytes must be gone before new facts stand beside them.
        let file = File::create(&self.path).map_err(|source| self.error(source))?;
        let text = serde_json::to_vec(facts).map_err(io::Error::from);
        let written = text.and_then(|text| fs::write(&self.facts, text));
        written.map_err(|source| FetchError::Disk { path: self.facts.clone(), source })?;
        Ok(file)
    }

    /// Moves the complete file to its path.
    pub fn finish(self, path: &Path) -> Result<(), FetchError> {
        fs::rename(&self.path, path).map_err(|source| self.error(source))?;
        // A leftover is removed with the folder.
        let _ = fs::remove_file(&self.facts);
        Ok(())
    }

    pub fn error(&self, source: io::Error) -> FetchError {
        FetchError::Disk { path: self.path.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(total: Option<u64>, etag: Option<&str>, last_modified: Option<&str>) -> Facts {
        Facts { total, etag: etag.map(str::to_owned), last_modified: last_modified.map(str::to_owned) }
    }

    #[test]
    fn a_weak_tag_validates_nothing() {
        assert_eq!(facts(None, Some("\"a\""), Some("date")).validator(), Some("\"a\""));
        assert_eq!(facts(None, Some("W/\"a\""), Some("date")).validator(), Some("date"));
        assert_eq!(facts(None, Some("W/\"a\""), None).validator(), None);
    }

    #[test]
    fn another_size_tag_or_date_is_another_file() {
        let earlier = facts(Some(9), Some("\"a\""), Some("date"));
        assert!(facts(Some(9), None, Some("date")).continues(&earlier));
        assert!(!facts(Some(8), Some("\"a\""), Some("date")).continues(&earlier));
        assert!(!facts(Some(9), Some("\"b\""), Some("date")).continues(&earlier));
        assert!(!facts(Some(9), None, Some("later")).continues(&earlier));
    }
}
