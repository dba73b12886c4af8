//! `isvd-dist doctor`: what this machine has, and whether a run would get through.

use std::env;
use std::fmt;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::{Error, memory, print_as};
use crate::dataset::catalog::{self, CatalogError, DATA_VARIABLE, ENTRIES};
use crate::engine::Cluster;
use crate::graph::Sparse;
use crate::kernel::{Simd, cores};
use crate::matrix::Matrix;
use crate::report::catalog::fetch_command;
use crate::report::table::thousands;
use crate::svd::{Options, decompose};

/// Look at this machine: cores, memory, instruction set, ports, folders and datasets
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct Doctor {
    /// The folder that holds datasets [default: $ISVD_DATA, ./data, the user's cache folder]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// The folder that results are to be written to
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub out: PathBuf,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  isvd-dist doctor
  isvd-dist doctor --out results --json

Exit code 1 says that something is broken; beside it stands the way out.";

/// What a small decomposition may be off by.
const GOOD_RESIDUAL: f64 = 1e-3;
/// The longest wait for a connection of this machine to itself.
const PATIENCE: Duration = Duration::from_secs(5);

impl Doctor {
    /// Looks, prints, and fails if something is broken.
    pub(super) fn run(&self) -> Result<(), Error> {
        let mut findings = vec![
            Finding::good(
                "version",
                format!("{} ({}, {})", env!("CARGO_PKG_VERSION"), env::consts::ARCH, env::consts::OS),
            ),
            Finding::good("cores", format!("{}, all of them used by default", cores())),
            memory_finding(),
            instructions(),
            computing(),
            ports(),
            writable("results", &self.out, "choose another folder with --out"),
            writable("temporary files", &env::temp_dir(), "set TMPDIR to a folder that takes files"),
        ];
        findings.extend(data_folder(self.data.as_deref()));
        findings.extend(datasets(self.data.as_deref()));
        let checkup = Checkup { findings };
        print_as(&checkup, self.json)?;
        match checkup.findings.iter().filter(|finding| finding.state == State::Broken).count() {
            0 => Ok(()),
            broken => Err(Error::Unwell { broken }),
        }
    }
}

/// All findings, in the order in which people read them.
#[derive(Serialize)]
struct Checkup {
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Finding {
    name: String,
    state: State,
    found: String,
    /// The way out, where there is something to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Good,
    /// Runs can do without it.
    Absent,
    /// Runs would fail.
    Broken,
}

impl Finding {
    fn good(name: impl Into<String>, found: impl Into<String>) -> Self {
        Self { name: name.into(), state: State::Good, found: found.into(), remedy: None }
    }

    fn absent(name: impl Into<String>, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: State::Absent, remedy: Some(remedy.into()), ..Self::good(name, found) }
    }

    fn broken(name: impl Into<String>, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: State::Broken, ..Self::absent(name, found, remedy) }
    }
}

impl fmt::Display for Checkup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { name, state, found, remedy } in &self.findings {
            let mark = match state {
                State::Good => "ok",
                State::Absent => "-",
                State::Broken => "BROKEN",
            };
            writeln!(f, "{mark:<8}{name:<20}{found}")?;
            if let (State::Broken, Some(remedy)) = (state, remedy) {
                writeln!(f, "{:28}{remedy}", "")?;
            }
        }
        // The remedy for all absent datasets is alike, so one is shown.
        let absent = self.findings.iter().find(|finding| finding.state == State::Absent);
        match absent.and_then(|finding| finding.remedy.as_ref()) {
            Some(remedy) => {
                writeln!(f, "\nWhat is marked - is not needed. To have it, type for instance: {remedy}")
            }
            None => Ok(()),
        }
    }
}

fn memory_finding() -> Finding {
    match memory::share() {
        Some(share) => {
            let megabytes = |bytes: u64| thousands(bytes / 1_000_000);
            Finding::good(
                "memory",
                format!("{} MB, of which a run takes {} MB at most", megabytes(share / 3 * 4), megabytes(share)),
            )
        }
        None => {
            Finding::absent("memory", "the system does not tell", "isvd-dist --memory 8GB sets what a run may take")
        }
    }
}

fn instructions() -> Finding {
    match (Simd::best().is_fast(), Simd::best().is_wide()) {
        (_, true) => Finding::good("instruction set", "AVX-512"),
        (true, false) => Finding::good("instruction set", "AVX2 and FMA"),
        (false, false) => {
            Finding::good("instruction set", "portable: this machine lacks AVX2 and FMA, so runs are slower")
        }
    }
}

/// A decomposition on all threads.
fn computing() -> Finding {
    let workers = cores().min(64);
    let found = || -> Result<f64, Box<dyn std::error::Error>> {
        let ring = (0..500u32).map(|node| (node, (node * 7 + 1) % 500)).filter(|(from, to)| from != to).collect();
        let matrix = Matrix::sparse("A", Arc::new(Sparse::symmetric_from_pairs(500, ring, None)?));
        let options = Options { tolerance: Some(GOOD_RESIDUAL), ..Options::of_rank(4) };
        Ok(decompose(&matrix, &options, Cluster::threads(workers))?.certificate.worst())
    };
    let remedy = "try fewer workers, such as: isvd-dist --workers 1";
    match found() {
        Ok(residual) if residual <= GOOD_RESIDUAL => {
            Finding::good("computing", format!("{workers} workers, worst residual {residual:.1e}"))
        }
        Ok(residual) => {
            Finding::broken("computing", format!("{workers} workers, worst residual {residual:.1e}"), remedy)
        }
        Err(error) => Finding::broken("computing", error.to_string(), remedy),
    }
}

/// Whether processes of this machine can talk to each other.
fn ports() -> Finding {
    let heard = || -> std::io::Result<u16> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        TcpStream::connect_timeout(&address, PATIENCE)?.write_all(b"!")?;
        let (mut caller, _) = listener.accept()?;
        caller.set_read_timeout(Some(PATIENCE))?;
        caller.read_exact(&mut [0])?;
        Ok(address.port())
    };
    match heard() {
        Ok(port) => Finding::good("ports", format!("127.0.0.1 can be listened on and called, as on port {port}")),
        Err(error) => Finding::broken(
            "ports",
            format!("127.0.0.1 cannot be listened on or called: {error}"),
            "allow connections to 127.0.0.1; until then, run on one process: isvd-dist without launch",
        ),
    }
}

/// Whether a folder takes files, or could be made.
fn writable(name: &str, folder: &Path, remedy: &str) -> Finding {
    let there = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
    let is_in_the_way = folder.ancestors().any(|folder| folder.exists() && !folder.is_dir());
    let tried = match is_in_the_way {
        true => Err(std::io::ErrorKind::NotADirectory.into()),
        false => tempfile::tempfile_in(there).map(|_| ()),
    };
    match tried {
        Ok(()) if folder.is_dir() => Finding::good(name, format!("{} takes files", folder.display())),
        Ok(()) => Finding::good(name, format!("{} can be made", folder.display())),
        Err(error) => Finding::broken(name, format!("{} takes no files: {error}", folder.display()), remedy),
    }
}

/// A folder of datasets that is named and not there.
fn data_folder(named: Option<&Path>) -> Option<Finding> {
    let variable = env::var_os(DATA_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let (path, name) = match (named, &variable) {
        (Some(path), _) => (path, "--data"),
        (None, Some(path)) => (path.as_path(), DATA_VARIABLE),
        (None, None) => return None,
    };
    let shown = path.display();
    Some(match path.is_dir() {
        true => Finding::good(name, shown.to_string()),
        false => Finding::broken(
            name,
            format!("there is no folder {shown}"),
            format!("make it, or name another: mkdir -p {shown}"),
        ),
    })
}

fn datasets(data: Option<&Path>) -> Vec<Finding> {
    let folders = catalog::search_folders(data);
    let finding = |entry: &'static catalog::Entry| {
        let name = format!("dataset {}", entry.name);
        match catalog::locate_among(entry, &folders) {
            Ok(folder) => Finding::good(name, folder.display().to_string()),
            Err(CatalogError::Missing { searched, .. }) => {
                let partly = searched.iter().find(|incomplete| incomplete.missing.len() < entry.needed().count());
                let found =
                    partly.map_or("not here".to_owned(), |incomplete| format!("not all of it is here: {incomplete}"));
                Finding::absent(name, found, fetch_command(entry.name))
            }
            Err(error) => Finding::broken(name, error.to_string(), "make the file readable"),
        }
    };
    ENTRIES.iter().map(finding).collect()
}
