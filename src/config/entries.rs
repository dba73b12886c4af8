//! The entries of a config, each with its place, before they become an experiment.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Place};
use super::experiment::finite;
use super::keys::{self, KEYS, Key};
use super::scalar::{Names, Scalar};

/// The value of every key that was set, the last one where it was set twice, and the tables that
/// were opened and left empty.
#[derive(Debug, Default)]
pub(super) struct Entries(BTreeMap<&'static str, Entry>, BTreeSet<String>);

#[derive(Debug)]
struct Entry {
    value: Scalar,
    place: Place,
}

/// A key as it was written, not yet known to be one.
struct Found {
    offset: usize,
    path: String,
    value: Scalar,
}

impl Entries {
    /// Reads a whole file; `name` is what messages call it.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let at = |offset| Place::File { name: name.to_owned(), line: line(text, offset) };
        let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            place: at(error.span().map_or(0, |Range { start, .. }| start)),
            message: error.message().to_owned(),
        })?;
        let mut found = Vec::new();
        flatten(table.get_ref(), "", &mut found);
        // The parser sorts by name; a person reads from the top.
        found.sort_by_key(|found| found.offset);
        let mut entries = Self::default();
        for found in found {
            let place = at(found.offset);
            entries.insert(found, place)?;
        }
        Ok(entries)
    }

    /// Overrides one entry by `key=value`. A value that is not TOML is taken as a string, so that
    /// words need no quotes.
    pub fn set(&mut self, assignment: &str) -> Result<(), ConfigError> {
        let written = || Place::Assignment { text: assignment.to_owned() };
        let malformed = || ConfigError::Assignment { place: written() };
        let (path, text) = assignment.split_once('=').ok_or_else(malformed)?;
        let (path, text) = (path.trim(), text.trim());
        if path.split('.').any(str::is_empty) {
            return Err(malformed());
        }
        let mut found = Vec::new();
        let place = match path == keys::MATRIX.path {
            true => Place::Matrix,
            false => written(),
        };
        match DeValue::parse(text) {
            // A matrix may look like a TOML list, or like a number; only quotes are those of TOML.
            Ok(value) if place != Place::Matrix || value.get_ref().is_str() => {
                visit(path.to_owned(), 0, value.get_ref(), &mut found)
            }
            _ => found.push(Found { offset: 0, path: path.to_owned(), value: Scalar::Text(text.to_owned()) }),
        }
        for found in found {
            self.insert(found, place.clone())?;
        }
        Ok(())
    }

    fn insert(&mut self, Found { path, value, .. }: Found, place: Place) -> Result<(), ConfigError> {
        if let Some(key) = KEYS.iter().find(|key| key.path == path) {
            self.0.insert(key.path, Entry { value, place });
            return Ok(());
        }
        if !keys::TABLES.contains(&path.as_str()) {
            let hint = keys::hint(&path);
            return Err(ConfigError::UnknownKey { place, key: path, hint });
        }
        match value {
            // Only an empty table gets here: it sets nothing, but is there.
            Scalar::Table(_) => {
                self.1.insert(path);
                Ok(())
            }
            _ => {
                let expected = "a table of settings";
                Err(ConfigError::Value { place, key: path, found: value.to_string(), expected })
            }
        }
    }

    /// The value of `key` as `read` understands it; what `read` turns down is an error that says
    /// what is accepted.
    pub fn get<T>(&self, key: &Key, read: impl Fn(&Scalar) -> Option<T>) -> Result<Option<T>, ConfigError> {
        let Some(entry) = self.0.get(key.path) else {
            return Ok(None);
        };
        match read(&entry.value) {
            Some(value) => Ok(Some(value)),
            None => Err(ConfigError::Value {
                place: entry.place.clone(),
                key: key.path.to_owned(),
                found: entry.value.to_string(),
                expected: key.accepts,
            }),
        }
    }

    /// The value of every key that was set, as text.
    pub fn settings(&self) -> BTreeMap<String, String> {
        self.0.iter().map(|(&key, entry)| (key.to_owned(), entry.value.to_string())).collect()
    }

    /// Whether a key was set.
    pub fn has(&self, key: &Key) -> bool {
        self.0.contains_key(key.path)
    }

    /// Where a key was set, if it was.
    pub fn place(&self, key: &Key) -> Option<&Place> {
        self.0.get(key.path).map(|entry| &entry.place)
    }

    /// Whether a table is there, with anything set or empty.
    pub fn has_table(&self, table: &str) -> bool {
        self.1.contains(table)
            || self.0.keys().any(|path| path.split_once('.').is_some_and(|(first, _)| first == table))
    }

    /// A whole number in `range`. Node numbers are `u32`, so nothing that is counted exceeds that.
    pub fn count(&self, key: &Key, range: RangeInclusive<u32>) -> Result<Option<usize>, ConfigError> {
        self.get(key, |value| match *value {
            Scalar::Integer(count) => {
                u32::try_from(count).ok().filter(|count| range.contains(count)).map(|count| count as usize)
            }
            _ => None,
        })
    }

    /// A finite number that `accept` likes, written with or without a point.
    pub fn number(&self, key: &Key, accept: impl Fn(f64) -> bool) -> Result<Option<f64>, ConfigError> {
        self.get(key, |value| finite(value).filter(|number| accept(*number)))
    }

    /// One of a few names.
    pub fn choice<T: Copy>(&self, key: &Key, names: Names<T>) -> Result<Option<T>, ConfigError> {
        self.get(key, |value| match value {
            Scalar::Text(text) => names.iter().find(|(name, _)| name == text).map(|(_, choice)| *choice),
            _ => None,
        })
    }
}

fn flatten(table: &DeTable<'_>, prefix: &str, found: &mut Vec<Found>) {
    for (key, value) in table {
        let name = key.get_ref();
        let path = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
        visit(path, key.span().start, value.get_ref(), found);
    }
}

fn visit(path: String, offset: usize, value: &DeValue<'_>, found: &mut Vec<Found>) {
    match value {
        // Inside an unknown table the table itself is what is wrong.
        DeValue::Table(table) if !table.is_empty() && keys::TABLES.contains(&path.as_str()) => {
            flatten(table, &path, found);
        }
        _ => found.push(Found { offset, path, value: Scalar::new(value) }),
    }
}

fn line(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count()
}
