//! `isvd-dist datasets`: which there are, where they are, and how to get them.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::slice;

use clap::{Args, Subcommand};

use super::{Error, print_as, print_text, signals};
use crate::dataset::catalog::{self, CatalogError, ENTRIES, Entry};
use crate::dataset::fetch::{self, Mirror, Options};
use crate::report::catalog::{Details, Listing, Receipt};
use crate::report::progress::{Bar, ProgressSink};

/// The datasets of the catalog
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Datasets {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    list: List,
}

/// What to do with datasets.
#[derive(Debug, Clone, Subcommand)]
enum Action {
    /// List all datasets, and where they are (what `datasets` alone does)
    List(List),
    /// Tell all about a dataset: its source, its files and what is in them
    Info(Info),
    /// Download datasets, verify and unpack them; a download that was broken off goes on where it
    /// stopped
    Fetch(Fetch),
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  isvd-dist datasets list\n  isvd-dist datasets list --json")]
struct List {
    /// The folder that holds datasets [default: $ISVD_DATA, ./data, the user's cache folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  isvd-dist datasets info ppi")]
struct Info {
    /// The dataset
    name: String,

    #[command(flatten)]
    list: List,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  isvd-dist datasets fetch ppi\n  isvd-dist datasets fetch cora pubmed --data data")]
struct Fetch {
    /// The datasets
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    /// The folder to put datasets into [default: $ISVD_DATA, ./data if there is one, the user's
    /// cache folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// A mirror, with the files of the source under the same names: URL/ppi/train.txt.npy,
    /// URL/ind.cora.x, URL/ddi.zip
    #[arg(long, value_name = "URL")]
    from: Option<Mirror>,

    /// Print nothing but errors
    #[arg(long)]
    quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  isvd-dist datasets
  isvd-dist datasets info ppi
  isvd-dist datasets fetch ppi";

impl Datasets {
    /// Does what was asked for.
    pub fn run(&self) -> Result<(), Error> {
        match &self.action {
            None => list(&self.list),
            Some(Action::List(options)) => list(options),
            Some(Action::Info(options)) => info(options),
            Some(Action::Fetch(options)) => fetch(options),
        }
    }
}

fn list(options: &List) -> Result<(), Error> {
    let folders = folders(options.data.as_deref())?;
    let listing = Listing::new(ENTRIES.iter().map(|entry| (entry, catalog::locate_among(entry, &folders).ok())));
    print_as(&listing, options.json)
}

fn info(options: &Info) -> Result<(), Error> {
    let entry = catalog::find(&options.name)?;
    let found = catalog::locate_among(entry, &folders(options.list.data.as_deref())?);
    let complete = found.is_ok();
    let folder = match found {
        Ok(folder) => folder,
        // The folder that holds some of it, or else the one that a fetch would fill.
        Err(CatalogError::Missing { searched, .. }) => {
            let partly = searched.into_iter().find(|incomplete| incomplete.missing.len() < entry.needed().count());
            partly.map_or_else(|| target(entry, options.list.data.as_deref()), |incomplete| incomplete.folder)
        }
        Err(error) => return Err(error.into()),
    };
    let statuses = entry.check(&folder)?;
    print_as(&Details::new(entry, &folder, complete, statuses), options.list.json)
}

fn fetch(options: &Fetch) -> Result<(), Error> {
    signals::end_at_once("interrupted: type the same command again to go on from there", || ());
    // A name that is wrong should not come to light after an hour of downloading.
    let entries = options.names.iter().map(|name| catalog::find(name)).collect::<Result<Vec<_>, _>>()?;
    let settings = Options { from: options.from.clone(), ..Options::default() };
    for entry in entries {
        let data = options.data.clone().unwrap_or_else(|| home(entry));
        let downloads = Downloads::new(ProgressSink::for_stderr(options.quiet));
        let fetched = fetch::fetch(entry, &data, &settings, &|file, done, total| downloads.show(file, done, total))
            .map_err(|source| Error::Fetch { dataset: entry.name, source: source.into() })?;
        downloads.end();
        if !options.quiet {
            print_text(Receipt { name: entry.name, fetched: &fetched }.to_string())?;
        }
    }
    Ok(())
}

/// Files on their way, one after the other, each with a bar.
struct Downloads {
    sink: ProgressSink,
    under_way: RefCell<Option<(String, Bar)>>,
}

impl Downloads {
    fn new(sink: ProgressSink) -> Self {
        Self { sink, under_way: RefCell::default() }
    }

    fn show(&self, file: &str, done: u64, total: Option<u64>) {
        if self.under_way.borrow().as_ref().is_none_or(|(name, _)| name != file) {
            self.end();
            *self.under_way.borrow_mut() = Some((file.to_owned(), Bar::of_bytes(format!("fetch {file}"), self.sink)));
        }
        if let Some((_, bar)) = &*self.under_way.borrow() {
            bar.show(done, total);
        }
    }

    /// The file under way is here.
    fn end(&self) {
        if let Some((_, bar)) = self.under_way.take() {
            bar.done("");
        }
    }
}

/// Where to look; a folder that the user names must be there.
fn folders(data: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
    match data.filter(|path| !path.is_dir()) {
        Some(path) => Err(Error::DataFolder { path: path.to_owned() }),
        None => Ok(catalog::search_folders(data)),
    }
}

/// The folder of datasets that has this one already, or else the one for new ones.
fn home(entry: &Entry) -> PathBuf {
    let mut folders = catalog::search_folders(None).into_iter();
    let found = folders.find(|folder| catalog::locate_among(entry, slice::from_ref(folder)).is_ok());
    found.unwrap_or_else(|| catalog::target_folder(None))
}

fn target(entry: &Entry, data: Option<&Path>) -> PathBuf {
    catalog::target_folder(data).join(entry.folder)
}
