//! The files of a run, each written whole or not at all.
//!
//! Every file is first written to a temporary one in the same folder and brought to the disk; only when all of them are
//! there do they take their names, `metrics.json` last. A full disk therefore leaves an earlier result as it was, and a
//! `metrics.json` means that the files beside it are those of the same run.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use npyz::WriterBuilder;
use tempfile::NamedTempFile;

use super::metrics::Metrics;
use crate::dataset::Ids;
use crate::model::embedding::Embedding;

/// The figures.
pub const METRICS: &str = "metrics.json";
/// `L = U√S`, `nodes × rank`.
pub const LEFT: &str = "left.npy";
/// `R = V√S`, `nodes × rank`.
pub const RIGHT: &str = "right.npy";
/// The singular values, the largest first.
pub const SINGULAR_VALUES: &str = "singular_values.npy";
/// The name of the node of each row.
pub const IDS: &str = "ids.txt";

/// Why results cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The folder cannot be made or takes no files.
    #[error("cannot write into the folder {}: choose another one with --out", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A folder has the name of a result.
    #[error("{} is a folder, and a result must have that name: choose another place with --out", path.display())]
    Occupied {
        /// The folder in the way.
        path: PathBuf,
    },
    /// A file could not be written; what was there before is untouched.
    #[error("cannot write {}: no result in that folder was changed", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// All files were written, but one could not take its name.
    #[error("cannot put {} in place: the results in that folder are incomplete", path.display())]
    Place {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What a run leaves behind.
#[derive(Debug, Clone, Copy)]
pub struct Results<'a> {
    /// The figures.
    pub metrics: &'a Metrics,
    /// The embedding of every node.
    pub embedding: &'a Embedding,
    /// The user's own node ids, one a row.
    pub ids: &'a Ids,
}

/// A folder that was found to take files.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder if need be and tries to write there, so that a run fails before it computes rather than after.
    pub fn prepare(path: &Path) -> Result<Self, OutputError> {
        let refused = |source| OutputError::Folder { path: path.to_owned(), source };
        fs::create_dir_all(path).map_err(refused)?;
        temporary(path).and_then(NamedTempFile::close).map_err(refused)?;
        for name in [METRICS, LEFT, RIGHT, SINGULAR_VALUES, IDS] {
            let path = path.join(name);
            if path.is_dir() {
                return Err(OutputError::Occupied { path });
            }
        }
        Ok(Self(path.to_owned()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes every file of a run.
    pub fn write(&self, results: Results<'_>) -> Result<(), OutputError> {
        let Results { metrics, embedding, ids } = results;
        let shape = [embedding.nodes, embedding.rank];
        let staged = [
            self.stage(LEFT, |file| write_array(file, &shape, &embedding.left))?,
            self.stage(RIGHT, |file| write_array(file, &shape, &embedding.right))?,
            self.stage(SINGULAR_VALUES, |file| {
                write_array(file, &[embedding.singular_values.len()], &embedding.singular_values)
            })?,
            self.stage(IDS, |file| ids.write(file))?,
            self.stage(METRICS, |file| file.write_all(metrics.to_json()?.as_bytes()))?,
        ];
        self.remove_earlier_metrics()?;
        for staged in staged {
            staged.place()?;
        }
        self.synchronize()
    }

    fn stage(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<Staged, OutputError> {
        let path = self.0.join(name);
        let written = temporary(&self.0).and_then(|temporary| {
            let mut writer = BufWriter::new(temporary.as_file());
            write(&mut writer)?;
            writer.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            Ok(temporary)
        });
        match written {
            Ok(temporary) => Ok(Staged { temporary, path }),
            Err(source) => Err(OutputError::File { path, source }),
        }
    }

    /// While the other files change, figures of an earlier run must not stand beside them.
    fn remove_earlier_metrics(&self) -> Result<(), OutputError> {
        let path = self.0.join(METRICS);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(OutputError::File { path, source }),
            _ => Ok(()),
        }
    }

    /// Brings the new names to the disk as well. Not every system can open a folder.
    fn synchronize(&self) -> Result<(), OutputError> {
        if cfg!(unix) {
            let synchronized = File::open(&self.0).and_then(|folder| folder.sync_all());
            synchronized.map_err(|source| OutputError::Place { path: self.0.clone(), source })?;
        }
        Ok(())
    }
}

/// A file that is whole and on the disk, but has no name yet.
struct Staged {
    temporary: NamedTempFile,
    path: PathBuf,
}

impl Staged {
    fn place(self) -> Result<(), OutputError> {
        let Self { temporary, path } = self;
        match temporary.persist(&path) {
            Ok(_) => Ok(()),
            Err(error) => Err(OutputError::Place { path, source: error.error }),
        }
    }
}

/// A temporary file for everyone to read, as far as the user's mask allows; by default only the owner could.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".isvd-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Writes `values` as a NumPy array: little-endian f32 in C order.
fn write_array(file: &mut impl Write, shape: &[usize], values: &[f32]) -> io::Result<()> {
    let dtype = npyz::DType::Plain("<f4".parse().expect("a type string that NumPy documents"));
    let shape: Vec<u64> = shape.iter().map(|&side| side as u64).collect();
    let mut array = npyz::WriteOptions::new().dtype(dtype).shape(&shape).writer(file).begin_nd()?;
    array.extend(values.iter().copied())?;
    array.finish()
}

#[cfg(test)]
mod tests;
