//! The manifest of a checkpoint: the run, its stages, and their files.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::file::CheckpointFile;

/// Version of the format of manifests and files.
const FORMAT: u32 = 4;

/// The settings and the data that a result depends on, by name.
pub type Identity = BTreeMap<String, String>;

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: u32,
    /// Checksum of all other fields.
    checksum: u32,
    pub(super) number: u64,
    pub(super) run: Identity,
    /// At most one record a stage.
    pub(super) records: Vec<Record>,
}

/// The state or the result of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The number of the stage in the run, from 0.
    pub(super) work: usize,
    /// Identifies the problem.
    pub(super) label: String,
    /// Whether it is the result, or a state on the way.
    pub(super) is_finished: bool,
    /// Everything but the panels.
    pub(super) numbers: CheckpointFile,
    pub(super) panels: Vec<CheckpointFile>,
}

impl Record {
    pub(super) fn files(&self) -> impl Iterator<Item = &CheckpointFile> {
        std::iter::once(&self.numbers).chain(&self.panels)
    }
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManifestError {
    #[error("it is not a manifest: {0}")]
    Syntax(#[from] serde_json::Error),
    #[error("its format has version {found}, and this program reads version {FORMAT}")]
    Format { found: u32 },
    #[error("its checksum is wrong")]
    Checksum,
    #[error("its files are inconsistent")]
    Files,
}

impl Manifest {
    pub(super) fn new(number: u64, run: Identity, records: Vec<Record>) -> Self {
        let mut manifest = Self { format: FORMAT, checksum: 0, number, run, records };
        manifest.checksum = manifest.sum();
        manifest
    }

    /// The expected checksum. The text that serde writes depends on the content alone.
    fn sum(&self) -> u32 {
        crc32fast::hash(Self { checksum: 0, ..self.clone() }.text().as_bytes())
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("a manifest is plain data") + "\n"
    }

    pub(super) fn parse(text: &[u8]) -> Result<Self, ManifestError> {
        #[derive(Deserialize)]
        struct Versioned {
            format: u32,
        }
        let Versioned { format } = serde_json::from_slice(text)?;
        if format != FORMAT {
            return Err(ManifestError::Format { found: format });
        }
        let manifest: Self = serde_json::from_slice(text)?;
        if manifest.sum() != manifest.checksum {
            return Err(ManifestError::Checksum);
        }
        let mut works = BTreeSet::new();
        let is_sound = manifest.records.iter().all(|record| {
            let are_panels = record.panels.iter().all(CheckpointFile::is_of_panel);
            works.insert(record.work) && record.files().all(CheckpointFile::is_sound) && are_panels
        });
        if is_sound { Ok(manifest) } else { Err(ManifestError::Files) }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &CheckpointFile> {
        self.records.iter().flat_map(Record::files)
    }
}

/// The differences between two runs, as text.
pub fn differences(was: &Identity, is: &Identity) -> Vec<String> {
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let value = |run: &Identity, name: &String| run.get(name).map_or("not set".to_owned(), Clone::clone);
    let differing = names.into_iter().filter(|name| was.get(*name) != is.get(*name));
    differing.map(|name| format!("{name} was {} and is {}", value(was, name), value(is, name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let piece = |file: &str, rows, checksums: usize| CheckpointFile {
            file: file.into(),
            rows,
            row_bytes: 12,
            tile_rows: 64,
            checksums: (0..checksums as u32).collect(),
        };
        let panels = vec![piece("0-left-0", 128, 2), piece("0-left-1", 129, 3)];
        let record =
            Record { work: 0, label: "krylov".into(), is_finished: false, numbers: piece("0-numbers-7", 1, 1), panels };
        Manifest::new(7, BTreeMap::from([("seed".into(), "1".into())]), vec![record])
    }

    #[test]
    fn differences_are_named_with_both_values() {
        let run = |entries: &[(&str, &str)]| entries.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let (was, is): (Identity, Identity) =
            (run(&[("seed", "1"), ("rank", "4")]), run(&[("seed", "2"), ("rank", "4")]));
        assert_eq!(differences(&was, &is), ["seed was 1 and is 2"]);
        assert_eq!(differences(&was, &run(&[("seed", "1")])), ["rank was 4 and is not set"]);
        assert!(differences(&was, &was).is_empty());
    }

    #[test]
    fn two_records_of_one_stage_are_refused() {
        let one = manifest();
        let records = [&one.records[..], &one.records[..]].concat();
        let both = Manifest::new(1, one.run, records);
        assert!(matches!(Manifest::parse(both.text().as_bytes()), Err(ManifestError::Files)));
    }

    #[test]
    fn a_panel_with_incomplete_numbers_is_refused() {
        let Manifest { run, mut records, .. } = manifest();
        records[0].panels[0].row_bytes = 13;
        let broken = Manifest::new(1, run, records);
        assert!(matches!(Manifest::parse(broken.text().as_bytes()), Err(ManifestError::Files)));
    }

    /// A panel without columns has no bytes, but a checksum for every tile.
    #[test]
    fn a_panel_with_more_rows_than_checksums_is_refused() {
        for (rows, tile_rows, is_sound) in [(128, 64, true), (128, 128, false), (1 << 60, 1 << 59, false)] {
            let Manifest { run, mut records, .. } = manifest();
            let checksums = u64::div_ceil(rows, tile_rows);
            let panel = CheckpointFile { rows, row_bytes: 0, tile_rows, ..records[0].panels[0].clone() };
            records[0].panels = vec![CheckpointFile { checksums: vec![0; checksums as usize], ..panel }];
            let forged = Manifest::new(1, run, records);
            assert_eq!(Manifest::parse(forged.text().as_bytes()).is_ok(), is_sound, "{rows} rows");
        }
    }
}
