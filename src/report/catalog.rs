//! What a person sees of the catalog of datasets.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::table::thousands;
use crate::dataset::catalog::{Counts, Entry, File, Status, Task};
use crate::dataset::demo;
use crate::dataset::fetch::Fetched;
use crate::dataset::rmat::{self, SCALES};

/// One line a dataset: what it is, and where.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Listing(Vec<Line>);

#[derive(Debug, Clone, Serialize)]
struct Line {
    name: &'static str,
    about: &'static str,
    task: Task,
    nodes: usize,
    edges: usize,
    folder: Option<String>,
}

impl Listing {
    /// Lists datasets, each with the folder that it was found in.
    pub fn new(entries: impl IntoIterator<Item = (&'static Entry, Option<PathBuf>)>) -> Self {
        let line = |(entry, folder): (&'static Entry, Option<PathBuf>)| Line {
            name: entry.name,
            about: entry.about,
            task: entry.task,
            nodes: entry.counts.nodes,
            edges: entry.counts.edges,
            folder: folder.as_deref().map(shown),
        };
        Self(entries.into_iter().map(line).collect())
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<12}{:<20}{:>9}{:>11}  where", "name", "task", "nodes", "edges")?;
        for line in &self.0 {
            let (nodes, edges) = (thousands(line.nodes), thousands(line.edges));
            let place = line.folder.as_deref().unwrap_or("not here");
            writeln!(f, "{:<12}{:<20}{nodes:>9}{edges:>11}  {place}", line.name, line.task)?;
        }
        writeln!(f)?;
        if let Some(line) = self.0.iter().find(|line| line.folder.is_none()) {
            writeln!(f, "To get one that is not here, type: isvd-dist datasets fetch {}", line.name)?;
        }
        let (smallest, largest) = (SCALES.start(), SCALES.end());
        let (demo, rmat) = (demo::NAME, rmat::NAMES);
        writeln!(f, "{demo} and {rmat} (2^N nodes, N from {smallest} to {largest}) are made up on the spot.")
    }
}

/// All about one dataset.
#[derive(Debug, Clone, Serialize)]
pub struct Details {
    name: &'static str,
    about: &'static str,
    task: Task,
    note: Option<&'static str>,
    source: &'static str,
    downloads: Vec<String>,
    expected: Counts,
    complete: bool,
    folder: String,
    files: Vec<FileDetails>,
    fetch: String,
}

#[derive(Debug, Clone, Serialize)]
struct FileDetails {
    path: &'static str,
    size: Option<u64>,
    sha256: Option<&'static str>,
    needed: bool,
    #[serde(flatten)]
    status: Status,
}

impl Details {
    /// Tells of a dataset and its files in `folder`, which holds all that an experiment needs if it
    /// is `complete`.
    pub fn new(entry: &Entry, folder: &Path, complete: bool, statuses: Vec<Status>) -> Self {
        let file = |(file, status): (&File, Status)| FileDetails {
            path: file.path,
            size: file.size,
            sha256: file.sha256,
            needed: file.needed,
            status,
        };
        Self {
            name: entry.name,
            about: entry.about,
            task: entry.task,
            note: entry.note,
            source: entry.source,
            downloads: entry.downloads().into_iter().map(|(path, _)| format!("{}{path}", entry.source)).collect(),
            expected: entry.counts,
            complete,
            folder: shown(folder),
            files: entry.files.iter().zip(statuses).map(file).collect(),
            fetch: fetch_command(entry.name),
        }
    }
}

/// The command that fetches a dataset.
pub fn fetch_command(name: &str) -> String {
    format!("isvd-dist datasets fetch {name}")
}

impl fmt::Display for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        row(f, "name", self.name)?;
        row(f, "what it is", self.about)?;
        row(f, "task", &self.task.to_string())?;
        for (index, download) in self.downloads.iter().enumerate() {
            row(f, if index == 0 { "source" } else { "" }, download)?;
        }
        let items = if self.task == Task::LinkPrediction { "edges" } else { "nodes" };
        let counts = self.expected;
        for (label, count) in [
            ("nodes".to_owned(), Some(counts.nodes)),
            ("edges".to_owned(), Some(counts.edges)),
            ("features".to_owned(), counts.features),
            ("classes".to_owned(), counts.classes),
            (format!("training {items}"), counts.train),
            (format!("validation {items}"), counts.valid),
            ("and non-edges".to_owned(), counts.valid_non_edges),
            (format!("test {items}"), counts.test),
            ("and non-edges".to_owned(), counts.test_non_edges),
        ] {
            if let Some(count) = count {
                row(f, &label, &thousands(count))?;
            }
        }
        if let Some(note) = self.note {
            row(f, "note", note)?;
        }
        row(f, "folder", &self.folder)?;
        writeln!(f)?;
        for file in &self.files {
            show_file(f, file)?;
        }
        match self.complete {
            true => Ok(()),
            false => writeln!(f, "\nTo get what is missing, type: {}", self.fetch),
        }
    }
}

fn show_file(f: &mut fmt::Formatter<'_>, file: &FileDetails) -> fmt::Result {
    let unneeded = if file.needed { "" } else { ", and not needed" };
    let status = match &file.status {
        Status::Missing => format!("missing{unneeded}"),
        Status::Verified { .. } => "here, verified".to_owned(),
        Status::Unverified { found_size } => format!("here, {} bytes, no sum to verify it by", thousands(found_size)),
        Status::WrongSize { found_size } => format!("here, but the wrong size: {} bytes", thousands(found_size)),
        Status::WrongSum { found_sha256, .. } => format!("here, but the wrong sum: {found_sha256}"),
    };
    let size = file.size.map_or("size unknown".to_owned(), |size| format!("{} bytes", thousands(size)));
    writeln!(f, "{:<32}{size:>16}  {status}", file.path)?;
    writeln!(f, "  SHA-256 {}", file.sha256.unwrap_or("unknown"))
}

/// What a fetch has brought.
#[derive(Debug, Clone, Copy)]
pub struct Receipt<'a> {
    /// The dataset.
    pub name: &'a str,
    /// What is in place.
    pub fetched: &'a Fetched,
}

impl fmt::Display for Receipt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} in {}", self.name, self.fetched.folder.display())?;
        for file in &self.fetched.files {
            let came = if file.fresh { "fetched" } else { "was here" };
            let verified = if file.verified { "verified" } else { "could not be verified: no sum is on record" };
            let size = format!("{} bytes", thousands(file.size));
            writeln!(f, "  {:<32}{size:>16}  {came}, {verified}", file.path)?;
        }
        Ok(())
    }
}

const LABEL: usize = 18;

fn row(f: &mut fmt::Formatter<'_>, label: &str, value: &str) -> fmt::Result {
    writeln!(f, "{label:<LABEL$}{value}")
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::catalog::{self, ENTRIES};

    #[test]
    fn the_listing_has_a_line_for_each_and_says_how_to_get_the_rest() {
        let listing = Listing::new(ENTRIES.iter().map(|entry| {
            let here = (entry.name == "ppi").then(|| PathBuf::from("data/asymproj/ppi"));
            (entry, here)
        }));
        let text = listing.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "name        task                    nodes      edges  where");
        assert_eq!(lines[1], "ppi         link prediction         3,852     38,705  data/asymproj/ppi");
        assert_eq!(lines[8], "ogbn-arxiv  node classification   169,343  1,166,243  not here");
        assert_eq!(lines[11], "To get one that is not here, type: isvd-dist datasets fetch facebook");
        assert_eq!(lines[12], "demo and rmat-N (2^N nodes, N from 6 to 26) are made up on the spot.");
    }

    #[test]
    fn the_details_tell_what_is_wrong_with_each_file() {
        let entry = catalog::find("ppi").unwrap();
        let wrong = Status::WrongSum { found_size: 154_928, found_sha256: "00ff".to_owned() };
        let statuses = vec![Status::Verified { found_size: 154_872 }, wrong, Status::Missing];
        let text = Details::new(entry, Path::new("data/asymproj/ppi"), false, statuses).to_string();
        for words in [
            "source            https://raw.githubusercontent.com/samihaija/isvd/main/datasets/asymproj/ppi/train.txt.npy",
            "training edges    19,349",
            "154,872 bytes  here, verified",
            "here, but the wrong sum: 00ff",
            "missing\n",
            "type: isvd-dist datasets fetch ppi",
        ] {
            assert!(text.contains(words), "`{words}` is not in:\n{text}");
        }
    }
}
