//! The files of a run, each written whole or not at all.
//!
//! Every file is first written to a temporary one in the same folder and brought to the disk; only when all of them are
//! there do they take their names, `metrics.json` last. A full disk therefore leaves an earlier result as it was, and a
//! `metrics.json` means that the files beside it are those of the same run.

mod single;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use npyz::WriterBuilder;
use tempfile::NamedTempFile;

pub use single::{FileWriter, SingleFile};

use super::metrics::Metrics;
use super::saved;
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
/// What was found, drawn.
pub const REPORT: &str = "report.html";
/// What the report shows beyond the figures.
pub const DETAILS: &str = "report.json";
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
    /// What is there already is no file.
    #[error("{} is there and is no file, so it is not replaced: choose another place with --out", path.display())]
    NoFile {
        /// What is in the way.
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
pub struct Results<'a> {
    /// The figures.
    pub metrics: &'a Metrics,
    /// The user's own node ids, one a row, if rows are nodes.
    pub ids: Option<&'a Ids>,
    /// Everything else.
    pub files: Vec<ResultFile<'a>>,
}

/// A file of a run, not yet written.
pub struct ResultFile<'a> {
    name: &'static str,
    write: WriteContent<'a>,
}

type WriteContent<'a> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'a>;

impl<'a> ResultFile<'a> {
    /// A file with the content that `write` writes.
    pub fn new(name: &'static str, write: impl FnOnce(&mut dyn Write) -> io::Result<()> + 'a) -> Self {
        Self { name, write: Box::new(write) }
    }

    /// A NumPy array.
    pub fn array<T: npyz::AutoSerialize + Copy>(name: &'static str, shape: &[usize], values: &'a [T]) -> Self {
        let shape = shape.to_vec();
        Self::new(name, move |mut file| write_array(&mut file, &shape, values))
    }

    /// The files of an embedding.
    pub fn of_embedding(embedding: &'a Embedding) -> Vec<Self> {
        vec![
            Self::array(LEFT, &[embedding.nodes, embedding.rank], &embedding.left),
            Self::array(RIGHT, &[embedding.right_rows(), embedding.rank], &embedding.right),
            Self::array(SINGULAR_VALUES, &[embedding.singular_values.len()], &embedding.singular_values),
        ]
    }
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
        remove_leftovers(path);
        for name in known_names() {
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

    /// Writes files that have no figures beside them.
    pub fn write_files(&self, files: Vec<ResultFile<'_>>) -> Result<(), OutputError> {
        let staged = files.into_iter().map(|file| self.stage(file.name, |mut writer| (file.write)(&mut writer)));
        staged.collect::<Result<Vec<_>, _>>()?.into_iter().try_for_each(Staged::place)?;
        self.synchronize()
    }

    /// Writes one file under any name.
    pub fn write_one(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        self.stage(name, |mut writer| write(&mut writer))?.place()?;
        self.synchronize()
    }

    /// Writes every file of a run.
    pub fn write(&self, results: Results<'_>) -> Result<(), OutputError> {
        let Results { metrics, ids, files } = results;
        let mut staged = Vec::with_capacity(files.len() + 2);
        for file in files {
            staged.push(self.stage(file.name, |mut writer| (file.write)(&mut writer))?);
        }
        if let Some(ids) = ids {
            staged.push(self.stage(IDS, |file| ids.write(file))?);
        }
        staged.push(self.stage(METRICS, |file| file.write_all(metrics.to_json()?.as_bytes()))?);
        self.remove_earlier_metrics()?;
        self.remove_others(&staged)?;
        for staged in staged {
            staged.place()?;
        }
        self.synchronize()
    }

    fn stage(
        &self,
        name: impl AsRef<OsStr>,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<Staged, OutputError> {
        let path = self.0.join(name.as_ref());
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

    /// Files of an earlier run that this one does not replace must not be taken for its own.
    fn remove_others(&self, staged: &[Staged]) -> Result<(), OutputError> {
        for path in known_names().map(|name| self.0.join(name)) {
            if !staged.iter().any(|staged| staged.path == path) {
                remove_if_there(&path)?;
            }
        }
        Ok(())
    }

    /// While the other files change, figures of an earlier run must not stand beside them.
    fn remove_earlier_metrics(&self) -> Result<(), OutputError> {
        remove_if_there(&self.0.join(METRICS))
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

/// Writes one file, whole or not at all, whatever its name.
pub fn write_text(path: &Path, text: &str) -> Result<(), OutputError> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|_| !path.is_dir()) else {
        return Err(OutputError::Occupied { path: path.to_owned() });
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|source| OutputError::Folder { path: folder.to_owned(), source })?;
    let folder = Folder(folder.to_owned());
    folder.stage(name, |file| file.write_all(text.as_bytes()))?.place()?;
    folder.synchronize()
}

/// The names of all files that a run may leave.
fn known_names() -> impl Iterator<Item = &'static str> {
    [METRICS, LEFT, RIGHT, SINGULAR_VALUES, IDS, REPORT, DETAILS].into_iter().chain(saved::FILES.iter().copied())
}

fn remove_if_there(path: &Path) -> Result<(), OutputError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(OutputError::File { path: path.to_owned(), source })
        }
        _ => Ok(()),
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

/// How the names of temporary files begin and end.
const TEMPORARY: (&str, &str) = (".isvd-", ".tmp");

/// Removes what a run left that was killed while it wrote its results. What cannot be removed is in nobody's way.
fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A temporary file for everyone to read, as far as the user's mask allows; by default only the owner could.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY.0).suffix(TEMPORARY.1);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Writes `values` as a NumPy array, little-endian in C order.
pub(super) fn write_array<T: npyz::AutoSerialize + Copy>(
    file: &mut impl Write,
    shape: &[usize],
    values: &[T],
) -> io::Result<()> {
    let dtype = T::default_dtype();
    let shape: Vec<u64> = shape.iter().map(|&side| side as u64).collect();
    let mut array = npyz::WriteOptions::new().dtype(dtype).shape(&shape).writer(file).begin_nd()?;
    array.extend(values.iter().copied())?;
    array.finish()
}

#[cfg(test)]
mod tests;
