//! A run as a report shows it: just made, or read back from its folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use npyz::NpyFile;

use super::details::{Details, Mapped, NodeMap, VERSION, log_odds};
use super::output::{DETAILS, IDS, LEFT, METRICS, SINGULAR_VALUES};
use super::saved::{MOST_JSON_BYTES, PROBABILITIES, SavedError, most_id_bytes, of_one_run, read_array, read_text};
use crate::dataset::Ids;
use crate::experiment::details::StageDetails;
use crate::experiment::metrics::Metrics;

/// A run to show.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// What it is called beside others.
    pub name: String,
    /// Its figures.
    pub metrics: Metrics,
    /// Everything else.
    pub details: Details,
}

/// Why a run cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShownError {
    /// There is no such folder, or it holds no run.
    #[error(
        "{} holds no finished run: it has no {METRICS}; give the --out folder of a run, or run it again", path.display()
    )]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read {}: run it again", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is damaged.
    #[error("{} is damaged: run it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and how.
        source: serde_json::Error,
    },
    /// A file says what cannot be.
    #[error("{} {what}: run it again", path.display())]
    Impossible {
        /// The file.
        path: PathBuf,
        /// What it says.
        what: String,
    },
    /// It was written by another version.
    #[error("{} has version {found}, and this program understands {VERSION}: run it again", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// An array is damaged.
    #[error(transparent)]
    Array(#[from] SavedError),
}

impl Shown {
    /// Reads the run in a folder. What a run without a report did not write is found again from its arrays, as far as they
    /// tell it.
    pub fn load(folder: &Path) -> Result<Self, ShownError> {
        of_one_run(folder, || Self::load_once(folder))
    }

    fn load_once(folder: &Path) -> Result<Self, ShownError> {
        let path = folder.join(METRICS);
        if !path.is_file() {
            return Err(ShownError::NoRun { path: folder.to_owned() });
        }
        let metrics: Metrics = read_json(&path)?;
        let path = folder.join(DETAILS);
        let details = match path.exists() {
            true => read_details(&path, &metrics)?,
            false => of_arrays(folder, &metrics)?,
        };
        let absolute = std::path::absolute(folder).unwrap_or(folder.to_owned());
        let name = absolute.file_name().map_or(metrics.config.clone(), |name| name.to_string_lossy().into_owned());
        Ok(Self { name, metrics, details })
    }

    /// Gives runs whose folders have the same name other names: those of the folders above, too.
    pub fn tell_apart(runs: &mut [Self], folders: &[PathBuf]) {
        for depth in 2..5 {
            let is_shared = |name: &str| runs.iter().filter(|run| run.name == name).count() > 1;
            let shared: Vec<bool> = runs.iter().map(|run| is_shared(&run.name)).collect();
            for ((run, folder), _) in runs.iter_mut().zip(folders).zip(shared).filter(|(_, is_shared)| *is_shared) {
                let absolute = std::path::absolute(folder).unwrap_or(folder.clone());
                let parts: Vec<_> = absolute.components().map(|part| part.as_os_str().to_string_lossy()).collect();
                run.name = parts[parts.len().saturating_sub(depth)..].join("/");
            }
        }
    }
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ShownError> {
    let text =
        read_text(path, MOST_JSON_BYTES).map_err(|source| ShownError::Unreadable { path: path.to_owned(), source })?;
    serde_json::from_str(&text).map_err(|source| ShownError::Damaged { path: path.to_owned(), source })
}

fn read_details(path: &Path, metrics: &Metrics) -> Result<Details, ShownError> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    let Versioned { version: found } = read_json(path)?;
    if found != VERSION {
        return Err(ShownError::Version { path: path.to_owned(), found });
    }
    let details: Details = read_json(path)?;
    let impossible = |what: String| ShownError::Impossible { path: path.to_owned(), what };
    let (found, expected) = (details.stages.len(), metrics.stages.len());
    if found != expected {
        return Err(impossible(format!("is of {found} stages, and {METRICS} of {expected}")));
    }
    if details.map.as_ref().is_some_and(|map| !map.is_whole()) {
        return Err(impossible("has a map whose lists do not fit each other".to_owned()));
    }
    Ok(details)
}

/// What the arrays of a run tell.
fn of_arrays(folder: &Path, metrics: &Metrics) -> Result<Details, ShownError> {
    let mut stages = vec![StageDetails::default(); metrics.stages.len()];
    let path = folder.join(SINGULAR_VALUES);
    if let Some(last) = stages.last_mut().filter(|_| path.is_file()) {
        let unreadable = |source| ShownError::Unreadable { path: path.clone(), source };
        let file = fs::File::open(&path).and_then(|file| NpyFile::new(io::BufReader::new(file))).map_err(unreadable)?;
        let values: Vec<f32> = file.into_vec().map_err(unreadable)?;
        last.singular_values = values.into_iter().map(f64::from).collect();
    }
    let (classified, embedded) = (folder.join(PROBABILITIES), folder.join(LEFT));
    let vectors = match (classified.is_file(), embedded.is_file()) {
        (true, _) => Some(("class probabilities", log_odds(&read_array(&classified, None, None)?))),
        (false, true) => Some(("embedding", read_array(&embedded, None, None)?)),
        (false, false) => None,
    };
    let mut map = None;
    if let Some((of, vectors)) = vectors {
        let names = folder.join(IDS);
        let ids = match names.is_file() {
            false => None,
            true => {
                let text = read_text(&names, most_id_bytes(vectors.rows()));
                let text = text.map_err(|source| ShownError::Unreadable { path: names.clone(), source })?;
                Some(Ids::names(text.lines()))
            }
        };
        let ids = ids.filter(|ids| ids.len() == vectors.rows());
        map = NodeMap::new(&Mapped {
            of,
            vectors: vectors.data(),
            rank: vectors.columns(),
            rows: vectors.rows(),
            ids: ids.as_ref(),
            labels: None,
            seed: metrics.seed,
        });
    }
    Ok(Details { version: VERSION, stages, map, ..Details::default() })
}
