//! A run as a report shows it: just made, or read back from its folder.

use std::path::{Path, PathBuf};

use super::details::{Details, Mapped, NodeMap, VERSION, log_odds, sample_of};
use super::output::{DETAILS, IDS, LEFT, METRICS, SINGULAR_VALUES};
use super::saved::{PROBABILITIES, SavedError, of_one_run, read_array, read_ids, read_json, read_vector, read_version};
use crate::dataset::Ids;
use crate::experiment::details::StageDetails;
use crate::experiment::metrics::Metrics;

/// A run to show.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Its name in a comparison.
    pub name: String,
    /// Its figures.
    pub metrics: Metrics,
    /// Everything else.
    pub details: Details,
}

impl Shown {
    /// Reads the run in a folder. What a run without a report did not write is found again from its
    /// arrays, as far as they tell it.
    pub fn load(folder: &Path) -> Result<Self, SavedError> {
        of_one_run(folder, || Self::load_once(folder))
    }

    fn load_once(folder: &Path) -> Result<Self, SavedError> {
        let path = folder.join(METRICS);
        if !path.is_file() {
            return Err(SavedError::NoResults { path: folder.to_owned() });
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

    /// Renames runs whose folders have the same name: adds the folders above.
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

fn read_details(path: &Path, metrics: &Metrics) -> Result<Details, SavedError> {
    let details: Details = read_version(path, VERSION)?;
    let (found, expected) = (details.stages.len(), metrics.stages.len());
    if found != expected {
        let what = format!("is of {found} stages, and {METRICS} of {expected}");
        return Err(SavedError::contradiction(path, what));
    }
    if details.map.as_ref().is_some_and(|map| !map.is_whole()) {
        return Err(SavedError::contradiction(path, "has a map whose lists do not fit each other".to_owned()));
    }
    Ok(details)
}

/// The details that the arrays of a run hold.
fn of_arrays(folder: &Path, metrics: &Metrics) -> Result<Details, SavedError> {
    let mut stages = vec![StageDetails::default(); metrics.stages.len()];
    let path = folder.join(SINGULAR_VALUES);
    if let Some(last) = stages.last_mut().filter(|_| path.is_file()) {
        let values: Vec<f32> = read_vector(&path)?;
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
            true => Some(Ids::names(read_ids(&names, vectors.rows())?.lines())),
        };
        let ids = ids.filter(|ids| ids.len() == vectors.rows());
        map = NodeMap::new(Mapped {
            of,
            sample: sample_of(&vectors, metrics.seed),
            rank: vectors.columns(),
            rows: vectors.rows(),
            ids: ids.as_ref(),
            labels: None,
            seed: metrics.seed,
        });
    }
    Ok(Details { version: VERSION, stages, map, ..Details::default() })
}
