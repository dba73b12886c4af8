//! The raw part of a folder.

use std::path::{Path, PathBuf};

use crate::dataset::UNLABELLED;
use crate::dataset::format::input::Input;
use crate::dataset::format::npz::Npz;
use crate::dataset::format::{Array, EdgeOptions, FormatError, IdKind, Labels, Weights, rows, text};

const REMEDY: &str = "fetch the dataset again";
/// A dataset may have this many classes though it has fewer nodes.
const ALWAYS_ALLOWED: usize = 1 << 16;

/// Edges and, unless all are one, their weights.
type Edges = (Vec<(u32, u32)>, Option<Vec<f32>>);

/// Whatever `raw` holds, as text or in an archive.
pub(super) struct Raw {
    folder: PathBuf,
    archive: Option<Npz>,
    nodes: usize,
}

impl Raw {
    pub fn open(folder: &Path) -> Result<Self, FormatError> {
        let folder = folder.join("raw");
        let data = folder.join("data.npz");
        let archive = if data.is_file() { Some(Npz::open(&data)?) } else { None };
        Ok(Self { folder, archive, nodes: 0 })
    }

    /// A text of the folder, packed or not.
    fn text(&self, name: &str) -> Option<PathBuf> {
        [".csv.gz", ".csv"].iter().map(|ending| self.folder.join(format!("{name}{ending}"))).find(|path| path.is_file())
    }

    /// An array of the archive, or of an archive of its own: `node-label.npz` has `node_label`.
    fn array(&mut self, name: &str) -> Result<Option<Array<'static>>, FormatError> {
        if let Some(array) = self.archive.as_mut().map(|archive| archive.array(name)).transpose()?.flatten() {
            return Ok(Some(array));
        }
        let own = self.folder.join(format!("{}.npz", name.replace('_', "-")));
        if own.is_file() { Npz::open(&own)?.array(name) } else { Ok(None) }
    }

    /// The number in a list of one: these datasets are single graphs.
    fn single(&mut self, text: &str, array: &str) -> Result<Option<(usize, PathBuf)>, FormatError> {
        let (numbers, path) = if let Some(path) = self.text(text) {
            (text::read_integers(&path)?.values, path)
        } else if let Some(array) = self.array(array)? {
            (array.integers()?.into_iter().map(Some).collect(), array.path().to_owned())
        } else {
            return Ok(None);
        };
        match numbers[..] {
            [Some(number)] if (0..i64::from(u32::MAX)).contains(&number) => Ok(Some((number as usize, path))),
            [Some(number)] => {
                Err(FormatError::content(&path, number.to_string(), "a count that 32 bits hold", "use fewer nodes"))
            }
            _ => {
                let found = format!("{} numbers", numbers.len());
                Err(FormatError::content(&path, found, "one, as a single graph has", "choose a dataset of one graph"))
            }
        }
    }

    pub fn nodes(&mut self) -> Result<usize, FormatError> {
        let found = self.single("num-node-list", "num_nodes_list")?;
        let Some((nodes, _)) = found else {
            let path = self.folder.join("num-node-list.csv.gz");
            return Err(FormatError::Missing { path, expected: "the number of nodes (or data.npz)".into() });
        };
        self.nodes = nodes;
        Ok(nodes)
    }

    /// Edges, as many as another file says.
    pub fn edges(&mut self) -> Result<Edges, FormatError> {
        let (edges, path) = if let Some(path) = self.text("edge") {
            let options = EdgeOptions {
                header: Some(false),
                ids: IdKind::Rows,
                nodes: Some(self.nodes),
                weights: Weights::Auto,
                ..EdgeOptions::default()
            };
            (text::read_edges(Input::open(&path)?, &options)?.edges.edges, path)
        } else if let Some(array) = self.array("edge_index")? {
            let read = array.pairs()?;
            read.reserved.keep();
            (rows::of_graph(read.pairs, self.nodes, array.path())?, array.path().to_owned())
        } else {
            let path = self.folder.join("edge.csv.gz");
            return Err(FormatError::Missing { path, expected: "the edges (or data.npz)".into() });
        };
        if let Some((count, list)) = self.single("num-edge-list", "num_edges_list")?
            && count != edges.len()
        {
            let expected = format!("{count} as {} says", list.display());
            return Err(FormatError::content(&path, format!("{} edges", edges.len()), expected, REMEDY));
        }
        let weights = self.floats("edge_weight", "edge_weight")?;
        match weights {
            None => Ok((edges, None)),
            Some((weights, 1, _)) if weights.len() == edges.len() => Ok((edges, Some(weights))),
            Some((weights, columns, path)) => {
                let found = format!("{} weights in {columns} columns", weights.len());
                Err(FormatError::content(&path, found, format!("one for each of {} edges", edges.len()), REMEDY))
            }
        }
    }

    /// Numbers, how many there are in a row, and where they are from.
    fn floats(&mut self, text: &str, array: &str) -> Result<Option<(Vec<f32>, usize, PathBuf)>, FormatError> {
        if let Some(path) = self.text(text) {
            let text::Table { columns, values, reserved } = text::read_floats(&path)?;
            reserved.keep();
            return Ok(Some((values, columns, path)));
        }
        let Some(array) = self.array(array)? else { return Ok(None) };
        let columns = array.shape.get(1..).map_or(1, |lengths| lengths.iter().product());
        Ok(Some((array.floats()?, columns, array.path().to_owned())))
    }

    /// Features row after row, and how many a node has.
    pub fn features(&mut self) -> Result<Option<(Vec<f32>, usize)>, FormatError> {
        let Some((features, columns, path)) = self.floats("node-feat", "node_feat")? else { return Ok(None) };
        self.one_a_node(features.len() / columns.max(1), &path)?;
        Ok(Some((features, columns)))
    }

    /// The class of each node, and the names of all: numbers up to the largest.
    pub fn labels(&mut self) -> Result<Option<Labels>, FormatError> {
        let (labels, path) = if let Some(path) = self.text("node-label") {
            (text::read_integers(&path)?.values, path)
        } else if let Some(array) = self.array("node_label")? {
            (array.nullable()?, array.path().to_owned())
        } else {
            return Ok(None);
        };
        self.one_a_node(labels.len(), &path)?;
        let most = self.nodes.max(ALWAYS_ALLOWED);
        let label = |(row, label): (usize, Option<i64>)| match label {
            None | Some(-1) => Ok(UNLABELLED),
            Some(label) => {
                let fits = u32::try_from(label).ok().filter(|&label| (label as usize) < most);
                fits.ok_or_else(|| {
                    let found = format!("the label {label} in row {row} (from 0)");
                    FormatError::content(&path, found, format!("a number from 0 and below {most}"), REMEDY)
                })
            }
        };
        let labels: Vec<u32> = labels.into_iter().enumerate().map(label).collect::<Result<_, _>>()?;
        let classes = labels.iter().filter(|&&label| label != UNLABELLED).max().map_or(0, |&largest| largest + 1);
        Ok(Some(Labels { labels, classes: (0..classes).map(|class| class.to_string()).collect() }))
    }

    pub fn years(&mut self) -> Result<Option<Vec<i32>>, FormatError> {
        let (years, path) = if let Some(path) = self.text("node_year") {
            (text::read_integers(&path)?.values, path)
        } else if let Some(array) = self.array("node_year")? {
            (array.nullable()?, array.path().to_owned())
        } else {
            return Ok(None);
        };
        self.one_a_node(years.len(), &path)?;
        let year = |year: Option<i64>| {
            let fits = year.and_then(|year| i32::try_from(year).ok());
            fits.ok_or_else(|| FormatError::content(&path, format!("the year {year:?}"), "a year", REMEDY))
        };
        years.into_iter().map(year).collect::<Result<_, _>>().map(Some)
    }

    fn one_a_node(&self, rows: usize, path: &Path) -> Result<(), FormatError> {
        if rows == self.nodes {
            return Ok(());
        }
        let expected = format!("{}, one a node", self.nodes);
        Err(FormatError::content(path, format!("{rows} rows"), expected, REMEDY))
    }
}
