//! A trained classifier as files: `model.json` says what it is, arrays beside it hold its numbers. And the way back:
//! [`TrainedClassifier`] to apply a classifier again, [`Opened`] to use what any run found.

mod opened;

pub use opened::{Classes, Opened, Summary, UnknownNode};

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use npyz::NpyFile;
use serde::Deserialize;

use super::output::{LEFT, METRICS, RIGHT, ResultFile};
use super::table::quoted;
use crate::config::{MOST_PASSES, MOST_STEPS};
use crate::dataset::{Ids, RepeatedId};
use crate::experiment::{Recipe, TrainedClassifier, VERSION, Weights};
use crate::finetune::network::{Network, NetworkShape};
use crate::kernel::elementwise::{first_non_finite, largest};
use crate::matrix::{Dense, MatrixError};
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
pub(super) const MOST_JSON_BYTES: u64 = 64 << 20;

/// Why a model cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// The folder holds no model.
    #[error("{} holds no model: it has no {MODEL}; give the --out folder of a run with [classifier]", path.display())]
    NoModel {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read {}: train the model again", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// `model.json` is damaged.
    #[error("{} is damaged: train the model again", path.display())]
    Recipe {
        /// The file.
        path: PathBuf,
        /// Where and how.
        source: serde_json::Error,
    },
    /// It was written by another version.
    #[error("{} has version {found}, and this program understands {VERSION}: train the model again", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// `model.json` says what cannot be.
    #[error("{} says {what}: train the model again", path.display())]
    Impossible {
        /// The file.
        path: PathBuf,
        /// What it says.
        what: String,
    },
    /// An array has another shape than the recipe says.
    #[error("{} holds {found}, and {expected} was expected: train the model again", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: String,
        /// What the recipe needs.
        expected: String,
    },
    /// The folder is not that of a run that came to its end.
    #[error("{} holds no results: it has no metrics.json with arrays beside it; give the --out folder of a run that came to its end", path.display())]
    NoResults {
        /// The folder.
        path: PathBuf,
    },
    /// There is a classifier, and no vectors.
    #[error("{} holds a classifier and no vectors: give the --out folder of an embedding, or train with features.embedding = true", path.display())]
    NoVectors {
        /// The folder.
        path: PathBuf,
    },
    /// The ids are damaged.
    #[error("{} is damaged: run the experiment again", path.display())]
    Ids {
        /// The file.
        path: PathBuf,
        /// How.
        source: RepeatedId,
    },
    /// Rows and columns of a matrix of one's own are not the nodes.
    #[error("{} holds vectors of a matrix of {rows} × {columns}, which scores no pairs of nodes: use cosines, or a matrix of all nodes by all nodes", path.display())]
    NoLinks {
        /// The folder.
        path: PathBuf,
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        columns: usize,
    },
    /// The results are of a version that did not say whether edges have a direction.
    #[error("{} does not say whether edges have a direction, which scores depend on: run the experiment again", path.display())]
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
    /// An array is damaged.
    #[error("{} is damaged: train the model again", path.display())]
    Array {
        /// The file.
        path: PathBuf,
        /// How.
        source: Box<MatrixError>,
    },
}

impl Recipe {
    /// Reads the recipe in a folder.
    pub fn load(folder: &Path) -> Result<Self, SavedError> {
        let path = folder.join(MODEL);
        if !path.is_file() {
            return Err(SavedError::NoModel { path: folder.to_owned() });
        }
        let unreadable = |source| SavedError::Unreadable { path: path.clone(), source };
        let text = read_text(&path, MOST_JSON_BYTES).map_err(unreadable)?;
        let damaged = |source| SavedError::Recipe { path: path.clone(), source };
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let Versioned { version: found } = serde_json::from_str(&text).map_err(damaged)?;
        if found != VERSION {
            return Err(SavedError::Version { path, found });
        }
        let recipe: Recipe = serde_json::from_str(&text).map_err(damaged)?;
        match recipe.impossible() {
            Some(what) => Err(SavedError::Impossible { path, what }),
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

    /// The shape of its network, for so many columns of X as the classifier takes it.
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

/// Reads several files of a folder, again if another run replaced them meanwhile: what is read is of one run.
pub(super) fn of_one_run<T, E>(folder: &Path, read: impl Fn() -> Result<T, E>) -> Result<T, E> {
    // All files are replaced in one step, so this one tells of all.
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
    opened.map_err(|source| SavedError::Unreadable { path: path.to_owned(), source })
}

/// Reads a text of a bounded length: a damaged file can have any.
pub(super) fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(most.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(text)
}

/// More than the ids of any real result take.
pub(super) fn most_id_bytes(rows: usize) -> u64 {
    (1 << 20) + (rows as u64).saturating_mul(1 << 16)
}

pub(super) fn read_array(path: &Path, rows: Option<usize>, columns: Option<usize>) -> Result<Dense, SavedError> {
    let file = open(path)?;
    let found = file.shape().to_vec();
    let fits = |side: u64, expected: Option<usize>| expected.is_none_or(|expected| side == expected as u64);
    let [height, width] = found[..] else { return Err(wrong_shape(path, &found, rows, columns)) };
    if !fits(height, rows) || !fits(width, columns) || file.order() != npyz::Order::C {
        return Err(wrong_shape(path, &found, rows, columns));
    }
    let values = file.into_vec().map_err(|source| SavedError::Unreadable { path: path.to_owned(), source })?;
    if let Some(entry) = first_non_finite(&values) {
        let (found, expected) = (format!("{} as number {entry}", values[entry]), "finite numbers".to_owned());
        return Err(SavedError::Shape { path: path.to_owned(), found, expected });
    }
    Dense::new(height as usize, width as usize, values)
        .map_err(|source| SavedError::Array { path: path.to_owned(), source: Box::new(source) })
}

fn wrong_shape(path: &Path, found: &[u64], rows: Option<usize>, columns: Option<usize>) -> SavedError {
    let side = |side: Option<usize>| side.map_or("any".to_owned(), |side| side.to_string());
    let expected = format!("a shape of {} × {}", side(rows), side(columns));
    SavedError::Shape { path: path.to_owned(), found: format!("a shape of {found:?}"), expected }
}

fn read_network(path: &Path, shape: NetworkShape) -> Result<Network, SavedError> {
    let file = open(path)?;
    let parameters: Vec<f64> =
        file.into_vec().map_err(|source| SavedError::Unreadable { path: path.to_owned(), source })?;
    let found = format!("{} parameters", parameters.len());
    let expected = "as many finite ones as its network has".to_owned();
    Network::from_parameters(shape, parameters).ok_or(SavedError::Shape { path: path.to_owned(), found, expected })
}
