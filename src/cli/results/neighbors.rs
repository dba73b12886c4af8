//! `isvd-dist neighbors`: the nodes nearest to some nodes.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use super::Model;
use crate::cli::arguments::worker_count;
use crate::cli::{Error, print_json, print_text};
use crate::kernel::cores;
use crate::model::neighbours::Neighbour;
use crate::model::vectors::Side;
use crate::report::saved::Opened;
use crate::report::table::{quoted, shortest};

/// List the nodes nearest to some nodes: exactly, all nodes are compared
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct Neighbors {
    /// What to look in
    #[command(flatten)]
    pub model: Model,

    /// A node by its own id; may be repeated
    #[arg(long, value_name = "ID", required_unless_present = "nodes", allow_hyphen_values = true)]
    pub node: Vec<String>,

    /// A file of ids, one a line; - is stdin
    #[arg(long, value_name = "FILE")]
    pub nodes: Option<PathBuf>,

    /// How many neighbours of each
    #[arg(long, value_name = "N", default_value_t = DEFAULT_TOP)]
    pub top: usize,

    /// What makes nodes near
    #[arg(long, value_enum, default_value = "cosine")]
    pub by: By,

    /// Which vectors cosines are taken of
    #[arg(long, value_enum, default_value = "left")]
    pub which: Side,

    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,

    /// Print a table with commas
    #[arg(long)]
    pub csv: bool,

    /// How many worker threads compute [default: all threads]. The answer does not depend on it
    #[arg(long, value_name = "N", value_parser = worker_count())]
    pub workers: Option<usize>,
}

/// The default number of neighbours.
pub const DEFAULT_TOP: usize = 10;

const EXAMPLES: &str = "\
Examples:
  isvd-dist neighbors --model out/demo --node 17
  isvd-dist neighbors --model out/demo --node 17 --node 42 --top 5 --by score --json
  isvd-dist neighbors --model out/demo --nodes ids.txt --csv > neighbors.csv";

/// What makes nodes near, as the command line spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The angle between their vectors
    Cosine,
    /// How likely the model takes an edge between them
    Score,
}

/// What was found for a node.
type Found = (u32, Vec<Neighbour>);

impl Neighbors {
    /// Opens, compares and prints.
    pub fn run(&self) -> Result<(), Error> {
        let model = self.model.open()?;
        model.vectors()?;
        let rows = self.rows(&model)?;
        let neighbours = match self.by {
            By::Cosine => model.by_cosine(self.which)?,
            By::Score => model.by_score()?,
        };
        let found = neighbours.of(&rows, self.top, self.workers.unwrap_or_else(cores));
        let found: Vec<Found> = rows.into_iter().zip(found).collect();
        match (self.json, self.csv) {
            (true, _) => print_json(&as_json(&model, &found)),
            (_, true) => print_text(as_csv(&model, &found)),
            _ => print_text(as_text(&model, &found)),
        }
    }

    /// The rows of all nodes that are asked for.
    fn rows(&self, model: &Opened) -> Result<Vec<u32>, Error> {
        let mut rows = self.node.iter().map(|id| model.row(id)).collect::<Result<Vec<u32>, _>>()?;
        if let Some(path) = &self.nodes {
            let (text, name) = read(path)?;
            for (number, line) in (1..).zip(text.lines()) {
                // An id that has blanks around it is found as it is.
                let id = if model.ids.row(line).is_some() { line } else { line.trim() };
                if !id.is_empty() {
                    let unknown =
                        |unknown| Error::UnknownNode { place: Some(format!("{name}, line {number}")), unknown };
                    rows.push(model.row(id).map_err(unknown)?);
                }
            }
        }
        Ok(rows)
    }
}

/// A longer list is no list of nodes, or a device that never ends.
const LONGEST_LIST: u64 = 1 << 28;

fn read_bounded(from: impl Read) -> io::Result<String> {
    let mut text = String::new();
    match from.take(LONGEST_LIST).read_to_string(&mut text)? as u64 {
        LONGEST_LIST => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 256 MB")),
        _ => Ok(text),
    }
}

/// The text of a file, or of stdin, and its name.
fn read(path: &Path) -> Result<(String, String), Error> {
    let is_stdin = path == Path::new("-");
    let text = if is_stdin { read_bounded(io::stdin()) } else { File::open(path).and_then(read_bounded) };
    let name = if is_stdin { "stdin".to_owned() } else { path.display().to_string() };
    match text {
        Ok(text) => Ok((text, name)),
        Err(source) => Err(Error::Nodelist { name, source }),
    }
}

fn as_text(model: &Opened, found: &[Found]) -> String {
    let mut text = String::new();
    for (number, (row, neighbours)) in found.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}{}", if number > 0 { "\n" } else { "" }, model.id(*row));
        let ids: Vec<_> = neighbours.iter().map(|neighbour| model.id(neighbour.row)).collect();
        let width = ids.iter().map(|id| id.width()).max().unwrap_or(0);
        for (rank, (id, neighbour)) in (1..).zip(ids.iter().zip(neighbours)) {
            let fill = width - id.width();
            let _ = writeln!(text, "{rank:>5}  {id}{:fill$}  {:>9.6}", "", neighbour.score);
        }
    }
    text
}

fn as_csv(model: &Opened, found: &[Found]) -> String {
    let mut text = "node,rank,neighbor,score\n".to_owned();
    for (row, neighbours) in found {
        let id = model.id(*row);
        for (rank, neighbour) in (1..).zip(neighbours) {
            let other = model.id(neighbour.row);
            let _ = writeln!(text, "{},{rank},{},{:?}", quoted(&id, ','), quoted(&other, ','), neighbour.score);
        }
    }
    text
}

fn as_json(model: &Opened, found: &[Found]) -> Vec<serde_json::Value> {
    let one = |neighbour: &Neighbour| json!({ "node": model.id(neighbour.row), "score": shortest(neighbour.score) });
    let of_node = |(row, neighbours): &Found| json!({ "node": model.id(*row), "neighbors": neighbours.iter().map(one).collect::<Vec<_>>() });
    found.iter().map(of_node).collect()
}
