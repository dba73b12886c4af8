//! The files of a trained classifier: `model.json` with its recipe, and arrays. Reads them back as
//! a [`TrainedClassifier`], and the results of any run as [`Opened`].

mod opened;

pub use opened::{Classes, Opened, Summary, UnknownNode};

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use npyz::NpyFile;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::output::{LEFT, METRICS, RIGHT, ResultFile};
use super::table::quoted;
use crate::config::{MOST_PASSES, MOST_STEPS};
use crate::dataset::Ids;
use crate::experiment::{Recipe, TrainedClassifier, VERSION, Weights};
use crate::finetune::network::{Network, NetworkShape};
use crate::kernel::elementwise::{first_non_finite, largest};
use crate::matrix::Dense;
use crate::model::classifier::Design;
use crate::model::features::Reduction;
use crate::model::vectors::UnlikeSides;

/// What the model is.
pub const MODEL: &str = "model.json";
/// W*, one row a column of M.
pub const WEIGHTS: &str = "weights.npy";
/// The parameters of a network.
pub const NETWORK: &str = "network.npy";
/// The mean of every feature.
pub const MEAN: &str = "mean.npy";
/// The principal directions of the features.
pub const DIRECTIONS: &str = "directions.npy";
/// The class of every node.
pub const PREDICTIONS: &str = "predictions.csv";
/// The probability of every class at every node.
pub const PROBABILITIES: &str = "probabilities.npy";
/// All of them.
pub(super) const FILES: &[&str] = &[MODEL, WEIGHTS, NETWORK, MEAN, DIRECTIONS, PREDICTIONS, PROBABILITIES];

/// More than any `metrics.json`, `model.json` or `report.json` takes.
const MOST_JSON_BYTES: u64 = 64 << 20;

/// Why results cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// The folder holds no model.
    #[error("{} holds no model: it has no {MODEL}; give the folder of a run with [classifier]", path.display())]
    NoModel {
        /// The folder.
        path: PathBuf,
    },
    /// The folder is not that of a run that came to its end.
    #[error("{} holds no finished run: it has no {METRICS} with arrays beside it; give the folder of one", path.display())]
    NoResults {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read {}: run the experiment again", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is damaged.
    #[error("{} is damaged: run the experiment again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and how.
        source: Box<dyn Error + Send + Sync>,
    },
    /// It was written by another version.
    #[error(
        "{} has version {found}, and this program understands {expected}: run the experiment again", path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that is understood.
        expected: u32,
    },
    /// The content of a file contradicts itself or another file.
    #[error("{} {what}: run the experiment again", path.display())]
    Contradiction {
        /// The file.
        path: PathBuf,
        /// What it holds, and what would be right.
        what: String,
    },
    /// There is a classifier, and no vectors.
    #[error(
        "{} holds a classifier and no vectors: give the folder of an embedding, or train with features.embedding = true",
        path.display()
    )]
    NoVectors {
        /// The folder.
        path: PathBuf,
    },
    /// Rows and columns of a stated matrix are not the nodes.
    #[error(
        "{} holds vectors of a matrix of {rows} × {columns}, which scores no pairs of nodes: use cosines, or a matrix of all \
         nodes by all nodes",
        path.display()
    )]
    NoLinks {
        /// The folder.
        path: PathBuf,
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        columns: usize,
    },
    /// Scores depend on whether edges have a direction, and the results do not say.
    #[error(
        "{} does not say whether edges have a direction, which scores depend on: run the experiment again",
        path.display()
    )]
    NoDirection {
        /// The file.
        path: PathBuf,
    },
    /// Both sides cannot be taken together.
    #[error("cannot use both vectors of {}", path.display())]
    Sides {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: UnlikeSides,
    },
}

impl SavedError {
    /// A file that the system does not let be read.
    pub(super) fn unreadable(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Unreadable { path: path.to_owned(), source }
    }

    /// A file whose content makes no sense.
    pub(super) fn damaged<E: Error + Send + Sync + 'static>(path: &Path) -> impl Fn(E) -> Self {
        move |source| Self::Damaged { path: path.to_owned(), source: Box::new(source) }
    }

    /// A file that contradicts itself or another one.
    pub(super) fn contradiction(path: &Path, what: String) -> Self {
        Self::Contradiction { path: path.to_owned(), what }
    }
}

impl Recipe {
    /// Reads the recipe in a folder.
    pub fn load(folder: &Path) -> Result<Self, SavedError> {
        let path = folder.join(MODEL);
        if !path.is_file() {
            return Err(SavedError::NoModel { path: folder.to_owned() });
        }
        let recipe: Recipe = read_version(&path, VERSION)?;
        match recipe.impossible() {
            Some(what) => Err(SavedError::contradiction(&path, format!("says {what}"))),
            None => Ok(recipe),
        }
    }

    /// What no training writes.
    fn impossible(&self) -> Option<String> {
        match self {
            Self { layers, .. } if *layers > MOST_STEPS as usize => Some(format!("{layers} layers")),
            Self { passes, .. } if !(1..=MOST_PASSES as usize).contains(passes) => Some(format!("{passes} passes")),
            Self { classes, .. } if classes.is_empty() => Some("that there are no classes".to_owned()),
            _ => None,
        }
    }

    /// The shape of its network, for this number of features.
    fn shape(&self, features: usize) -> NetworkShape {
        NetworkShape { features, classes: self.classes.len(), layers: self.layers, label_reuse: self.label_reuse }
    }
}

impl TrainedClassifier {
    /// The files that hold it.
    pub fn files(&self) -> Vec<ResultFile<'_>> {
        let mut files = vec![ResultFile::new(MODEL, |file| {
            file.write_all(serde_json::to_string_pretty(&self.recipe)?.as_bytes())?;
            writeln!(file)
        })];
        if let Some(reduction) = &self.reduction {
            files.push(array_file(MEAN, &reduction.mean));
            files.push(array_file(DIRECTIONS, &reduction.directions));
        }
        if let Some((left, right)) = &self.embedding {
            files.push(array_file(LEFT, left));
            files.push(array_file(RIGHT, right));
        }
        files.push(match &self.weights {
            Weights::Linear(weights) => array_file(WEIGHTS, weights),
            Weights::Network(network) => {
                ResultFile::array(NETWORK, &[network.parameters().len()], network.parameters())
            }
        });
        files
    }

    /// Reads the model in a folder.
    pub fn load(folder: &Path) -> Result<Self, SavedError> {
        of_one_run(folder, || Self::load_once(folder))
    }

    fn load_once(folder: &Path) -> Result<Self, SavedError> {
        let recipe = Recipe::load(folder)?;
        let embedding = match recipe.embedding {
            false => None,
            true => {
                let side = |name| read_array(&folder.join(name), Some(recipe.nodes), None);
                Some((side(LEFT)?, side(RIGHT)?))
            }
        };
        let beside = embedding.as_ref().map_or(0, |(left, right)| left.columns() + right.columns());
        let reduction = match recipe.reduced {
            false => None,
            true => {
                let columns = recipe.features + beside;
                let mean = read_array(&folder.join(MEAN), Some(1), Some(columns))?;
                let directions = Arc::new(read_array(&folder.join(DIRECTIONS), Some(columns), None)?);
                Some(Reduction { mean, directions })
            }
        };
        let features = reduction.as_ref().map_or(recipe.features, |reduction| reduction.directions.columns()) + beside;
        let weights = match recipe.network {
            true => Weights::Network(read_network(&folder.join(NETWORK), recipe.shape(features))?),
            false => {
                let (classes, label_classes) =
                    (recipe.classes.len(), if recipe.label_reuse { recipe.classes.len() } else { 0 });
                let rows = Design::columns_of(features, recipe.layers, label_classes);
                Weights::Linear(Arc::new(read_array(&folder.join(WEIGHTS), Some(rows), Some(classes))?))
            }
        };
        Ok(Self { recipe, reduction, embedding, weights })
    }
}

/// How often a result is read that is replaced meanwhile.
const READS: usize = 10;

/// Reads several files of a folder, again if another run replaced them meanwhile: what is read is
/// of one run.
pub(super) fn of_one_run<T, E>(folder: &Path, read: impl Fn() -> Result<T, E>) -> Result<T, E> {
    // All files are replaced in one step, so `metrics.json` stands for all.
    let version = || {
        let found = fs::metadata(folder.join(METRICS)).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&found);
        #[cfg(not(unix))]
        let number = 0;
        Some((number, found.len(), found.modified().ok()))
    };
    for _ in 1..READS {
        let before = version();
        let result = read();
        if version() == before {
            return result;
        }
    }
    read()
}

/// What a model says of every node, as files.
pub fn prediction_files<'a>(probabilities: &'a Dense, classes: &'a [String], ids: &'a Ids) -> Vec<ResultFile<'a>> {
    vec![
        array_file(PROBABILITIES, probabilities),
        ResultFile::new(PREDICTIONS, move |file| {
            writeln!(file, "id,class,probability")?;
            for (row, id) in ids.iter().enumerate() {
                let best = largest(probabilities.row(row));
                let class = classes.get(best).map_or("", String::as_str);
                writeln!(file, "{},{},{:.6}", quoted(&id, ','), quoted(class, ','), probabilities.row(row)[best])?;
            }
            file.flush()
        }),
    ]
}

fn array_file<'a>(name: &'static str, dense: &'a Dense) -> ResultFile<'a> {
    ResultFile::array(name, &[dense.rows(), dense.columns()], dense.data())
}

fn open(path: &Path) -> Result<NpyFile<BufReader<File>>, SavedError> {
    let opened = File::open(path).and_then(|file| NpyFile::new(BufReader::new(file)));
    opened.map_err(SavedError::unreadable(path))
}

/// Reads a text of a bounded length: a damaged file can have any.
fn read_text(path: &Path, most: u64) -> Result<String, SavedError> {
    let read = || {
        let mut text = String::new();
        File::open(path)?.take(most.saturating_add(1)).read_to_string(&mut text)?;
        match text.len() as u64 > most {
            true => Err(io::Error::other(format!("it has more than {most} bytes"))),
            false => Ok(text),
        }
    };
    read().map_err(SavedError::unreadable(path))
}

/// Reads the ids of so many rows, one a line. The bound is more than the ids of any real result
/// take.
pub(super) fn read_ids(path: &Path, rows: usize) -> Result<String, SavedError> {
    read_text(path, (1 << 20) + (rows as u64).saturating_mul(1 << 16))
}

/// Reads `metrics.json` or another file of JSON.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, SavedError> {
    serde_json::from_str(&read_text(path, MOST_JSON_BYTES)?).map_err(SavedError::damaged(path))
}

/// Reads a file of JSON that says which version wrote it.
pub(super) fn read_version<T: DeserializeOwned>(path: &Path, expected: u32) -> Result<T, SavedError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    match read_json(path)? {
        Versioned { version: found } if found != expected => {
            Err(SavedError::Version { path: path.to_owned(), found, expected })
        }
        _ => read_json(path),
    }
}

/// Reads an array of one dimension.
pub(super) fn read_vector<T: npyz::Deserialize>(path: &Path) -> Result<Vec<T>, SavedError> {
    open(path)?.into_vec().map_err(SavedError::unreadable(path))
}

pub(super) fn read_array(path: &Path, rows: Option<usize>, columns: Option<usize>) -> Result<Dense, SavedError> {
    let file = open(path)?;
    let found = file.shape().to_vec();
    let fits = |side: u64, expected: Option<usize>| expected.is_none_or(|expected| side == expected as u64);
    let [height, width] = found[..] else { return Err(wrong_shape(path, &found, rows, columns)) };
    if !fits(height, rows) || !fits(width, columns) || file.order() != npyz::Order::C {
        return Err(wrong_shape(path, &found, rows, columns));
    }
    let values = file.into_vec().map_err(SavedError::unreadable(path))?;
    if let Some(entry) = first_non_finite(&values) {
        let what = format!("holds {} as number {entry}, and finite numbers were expected", values[entry]);
        return Err(SavedError::contradiction(path, what));
    }
    Dense::new(height as usize, width as usize, values).map_err(SavedError::damaged(path))
}

fn wrong_shape(path: &Path, found: &[u64], rows: Option<usize>, columns: Option<usize>) -> SavedError {
    let side = |side: Option<usize>| side.map_or("any".to_owned(), |side| side.to_string());
    let what = format!("has a shape of {found:?}, and {} × {} was expected", side(rows), side(columns));
    SavedError::contradiction(path, what)
}

fn read_network(path: &Path, shape: NetworkShape) -> Result<Network, SavedError> {
    let parameters: Vec<f64> = read_vector(path)?;
    let what =
        format!("holds {} parameters, and as many finite ones as its network has were expected", parameters.len());
    Network::from_parameters(shape, parameters).ok_or_else(|| SavedError::contradiction(path, what))
}
