//! The files of a run, replaced all at once.
//!
//! The files of a result are written into a folder within the one they are for and brought to the
//! disk; only when all of them are there do they replace an earlier result, in one step (`swap`). A
//! full disk or a killed run therefore leaves the earlier result as it was. While a run has a
//! folder no other run may write into it (`lock`).

mod full_disk;
mod lock;
mod single;
mod swap;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use npyz::WriterBuilder;
use tempfile::NamedTempFile;

pub use full_disk::FreeSpace;
pub use lock::remove_lock_files;
pub use single::{FileWriter, SingleFile};

use full_disk::{RetryingWriter, retry_when_full};
use lock::FolderLock;
use swap::{NEW, Swap, settle, synchronize};

use super::saved;
use crate::dataset::Ids;
use crate::engine::checkpoint::Space;
use crate::engine::{Cluster, EngineError, Sharded};
use crate::experiment::metrics::Metrics;
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
    #[error("cannot write into the folder {}: choose another one", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another run writes there.
    #[error(
        "another run{} writes into the folder {}: wait for its end, or choose another folder",
        process.map(|process| format!(", process {process},")).unwrap_or_default(),
        path.display()
    )]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The id of its process, as far as it is known.
        process: Option<u32>,
    },
    /// A folder has the name of a result.
    #[error("{} is a folder, and a result must have that name: choose another place", path.display())]
    Occupied {
        /// The folder in the way.
        path: PathBuf,
    },
    /// What is there already is no file.
    #[error("{} is there and is no file, so it is not replaced: choose another place", path.display())]
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
    /// All files were written, but could not take their names.
    #[error("cannot put the results in place in {}: an earlier result may still be there", path.display())]
    Place {
        /// The folder or file.
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
    /// How long it is, if that is known without writing it.
    bytes: Option<u64>,
    write: WriteContent<'a>,
    /// A panel with rows of other processes, which take part in writing.
    sent: Option<(&'a Sharded, Cluster)>,
}

type WriteContent<'a> = Box<dyn Fn(&mut dyn Write) -> io::Result<()> + 'a>;

impl<'a> ResultFile<'a> {
    /// A file with the content that `write` writes.
    pub fn new(name: &'static str, write: impl Fn(&mut dyn Write) -> io::Result<()> + 'a) -> Self {
        Self { name, bytes: None, write: Box::new(write), sent: None }
    }

    /// The same, known to be of this length.
    pub fn of_bytes(self, bytes: usize) -> Self {
        Self { bytes: Some(bytes as u64), ..self }
    }

    /// How long it is.
    fn length(&self) -> io::Result<u64> {
        let mut count = full_disk::Count::default();
        match self.bytes {
            Some(bytes) => Ok(bytes),
            None => (self.write)(&mut count).map(|()| count.bytes),
        }
    }

    /// A NumPy array.
    pub fn array<T: npyz::AutoSerialize + Copy>(name: &'static str, shape: &[usize], values: &'a [T]) -> Self {
        let shape = shape.to_vec();
        Self::new(name, move |mut file| write_array(&mut file, &shape, values)).of_bytes(size_of_val(values))
    }

    /// A panel as a NumPy array. The leader writes the rows of all processes, which the others
    /// [send](Self::send_rows).
    fn panel(name: &'static str, panel: &'a Sharded, cluster: Cluster) -> Self {
        let bytes = panel.rows() * panel.columns() * size_of::<f32>();
        let file = Self::new(name, move |file| write_panel(file, panel, cluster)).of_bytes(bytes);
        Self { sent: (!panel.is_whole()).then_some((panel, cluster)), ..file }
    }

    /// Sends the rows that this process owns to the leader, which writes the file.
    pub fn send_rows(&self) -> Result<(), EngineError> {
        let Some((panel, cluster)) = self.sent else { return Ok(()) };
        panel.stream(cluster, |_| Ok::<(), ()>(())).map(|_| ())
    }

    /// The files of an embedding.
    pub fn of_embedding(embedding: &'a Embedding, cluster: Cluster) -> Vec<Self> {
        vec![
            Self::panel(LEFT, &embedding.left, cluster),
            Self::panel(RIGHT, &embedding.right, cluster),
            Self::array(SINGULAR_VALUES, &[embedding.singular_values.len()], &embedding.singular_values),
        ]
    }
}

/// A folder that was found to take files. While there is one for results, no other run may write
/// there.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
    /// Held by all clones.
    _lock: Option<Arc<FolderLock>>,
}

impl Folder {
    /// Makes the folder of a run if need be, locks it and tries to write there, so that a run fails
    /// before it computes rather than after. What a killed run left is cleared away.
    pub fn prepare(path: &Path) -> Result<Self, OutputError> {
        let refused = |source| OutputError::Folder { path: path.to_owned(), source };
        fs::create_dir_all(path).map_err(refused)?;
        let lock = FolderLock::take(path)?.map(Arc::new);
        temporary(path).and_then(NamedTempFile::close).map_err(refused)?;
        remove_leftovers(path);
        settle(path, &all_names(), &mut || ()).map_err(refused)?;
        for name in known_names() {
            let path = path.join(name);
            if path.is_dir() {
                return Err(OutputError::Occupied { path });
            }
        }
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Makes a folder if need be for single files, which others may write there, too.
    pub fn shared(path: &Path) -> Result<Self, OutputError> {
        let refused = |source| OutputError::Folder { path: path.to_owned(), source };
        fs::create_dir_all(path).map_err(refused)?;
        temporary(path).and_then(NamedTempFile::close).map_err(refused)?;
        Ok(Self { path: path.to_owned(), _lock: None })
    }

    /// A folder that is there, for a file made of results in it. Where it is one of results, no run
    /// may write there meanwhile: the file would be of the results before.
    pub fn hold(path: &Path) -> Result<Self, OutputError> {
        let is_of_results = path.join(METRICS).is_file() || FolderLock::is_there(path);
        let lock = if is_of_results { FolderLock::take(path)?.map(Arc::new) } else { None };
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes files that have no figures beside them; other files stay.
    pub fn write_files(&self, files: Vec<ResultFile<'_>>) -> Result<(), OutputError> {
        let names: Vec<&OsStr> = files.iter().map(|file| OsStr::new(file.name)).collect();
        self.stage_all(files, &full_disk::nothing_to_free)?;
        self.swap(&names, &names, &full_disk::nothing_to_free, &mut || ())
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

    /// Writes every file of a run, in place of all of an earlier one. `free_space` is called where
    /// the disk is full.
    pub fn write(&self, results: Results<'_>, free_space: &FreeSpace<'_>) -> Result<(), OutputError> {
        self.write_in_steps(results, free_space, &mut || ())
    }

    fn write_in_steps(
        &self,
        results: Results<'_>,
        free_space: &FreeSpace<'_>,
        step: swap::Step<'_>,
    ) -> Result<(), OutputError> {
        let Results { metrics, ids, mut files } = results;
        if let Some(ids) = ids {
            files.push(ResultFile::new(IDS, |mut file| ids.write(&mut file)));
        }
        // The last to be put in place, where that is done one by one.
        files.push(ResultFile::new(METRICS, |file| file.write_all(metrics.to_json()?.as_bytes())));
        let names: Vec<&OsStr> = files.iter().map(|file| OsStr::new(file.name)).collect();
        self.stage_all(files, free_space)?;
        self.swap(&names, &all_names(), free_space, step)
    }

    /// Brings all files to the disk, under a folder of their own.
    fn stage_all(&self, files: Vec<ResultFile<'_>>, free_space: &FreeSpace<'_>) -> Result<(), OutputError> {
        let folder = self.path.join(NEW);
        let length = |file: &ResultFile<'_>| {
            file.length().map_err(|source| OutputError::File { path: self.path.join(file.name), source })
        };
        let lengths = files.iter().map(length).collect::<Result<Vec<_>, _>>()?;
        let mut to_come = Space { bytes: lengths.iter().sum(), files: 1 + files.len() as u64 };
        let made = retry_when_full(to_come, free_space, || match fs::create_dir(&folder) {
            // Of a result that could not be written.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_dir_all(&folder).and_then(|()| fs::create_dir(&folder))
            }
            made => made,
        });
        made.map_err(|source| OutputError::File { path: folder.clone(), source })?;
        for (ResultFile { name, write, .. }, length) in files.into_iter().zip(lengths) {
            let created = retry_when_full(to_come, free_space, || File::create(folder.join(name)));
            let written = created.and_then(|file| {
                let mut writer = BufWriter::new(RetryingWriter::new(&file, to_come, free_space));
                write(&mut writer)?;
                writer.flush()?;
                drop(writer);
                // Some file systems find the place of what was written only now.
                retry_when_full(to_come, free_space, || file.sync_all())
            });
            to_come.bytes -= length;
            to_come.files -= 1;
            if let Err(source) = written {
                // What was written so far would only take space.
                let _ = fs::remove_dir_all(&folder);
                return Err(OutputError::File { path: self.path.join(name), source });
            }
        }
        Ok(())
    }

    fn swap(
        &self,
        new: &[&OsStr],
        old: &[&OsStr],
        free_space: &FreeSpace<'_>,
        step: swap::Step<'_>,
    ) -> Result<(), OutputError> {
        let swap = Swap { folder: &self.path, new, old, free_space };
        swap.run(step).map_err(|source| OutputError::Place { path: self.path.clone(), source })
    }

    fn stage(
        &self,
        name: impl AsRef<OsStr>,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<Staged, OutputError> {
        let path = self.path.join(name.as_ref());
        let written = temporary(&self.path).and_then(|temporary| {
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

    fn synchronize(&self) -> Result<(), OutputError> {
        synchronize(&self.path).map_err(|source| OutputError::Place { path: self.path.clone(), source })
    }
}

/// The folder that a file is in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes one file, whole or not at all, whatever its name.
pub fn write_text(path: &Path, text: &str) -> Result<(), OutputError> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|_| !path.is_dir()) else {
        return Err(OutputError::Occupied { path: path.to_owned() });
    };
    let folder = folder_of(path);
    fs::create_dir_all(folder).map_err(|source| OutputError::Folder { path: folder.to_owned(), source })?;
    let folder = Folder { path: folder.to_owned(), _lock: None };
    folder.stage(name, |file| file.write_all(text.as_bytes()))?.place()?;
    folder.synchronize()
}

/// The names of all files that a run may leave.
fn known_names() -> impl Iterator<Item = &'static str> {
    [METRICS, LEFT, RIGHT, SINGULAR_VALUES, IDS, REPORT, DETAILS].into_iter().chain(saved::FILES.iter().copied())
}

fn all_names() -> Vec<&'static OsStr> {
    known_names().map(OsStr::new).collect()
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

/// Removes what a run left that was killed while it wrote its results. What cannot be removed is in
/// nobody's way.
fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A temporary file for everyone to read, as far as the user's mask allows; by default only the
/// owner could.
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

/// Writes a panel as a NumPy array, as [`write_array`] does.
fn write_panel(file: &mut dyn Write, panel: &Sharded, cluster: Cluster) -> io::Result<()> {
    let shape = [panel.rows() as u64, panel.columns() as u64];
    let options = npyz::WriteOptions::new().dtype(<f32 as npyz::AutoSerialize>::default_dtype()).shape(&shape);
    let mut array = options.writer(file).begin_nd()?;
    let written = panel.stream(cluster, |row| array.extend(row.iter().copied()));
    written.map_err(io::Error::other)??;
    array.finish()
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
