//! The split of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::dataset::budget::{Budget, OverBudget, Reservation};
use crate::dataset::format::pickle::Value;
use crate::dataset::format::rows::{self, Pairs};
use crate::dataset::format::torch::{array_of, read_torch};
use crate::dataset::format::{Array, FormatError, text};

/// One part of a split.
pub(super) enum Part {
    /// Rows of nodes.
    Nodes(Vec<u32>),
    /// Pairs of nodes.
    Links(Links),
}

/// Edges, their weights if they have some, and pairs that are no edges.
pub(super) struct Links {
    pub edges: Vec<(u32, u32)>,
    pub weights: Option<Vec<f32>>,
    pub non_edges: Vec<(u32, u32)>,
}

/// Reads `split/*/STEM.*`; `None` if there is no such file.
pub(super) fn read(folder: &Path, split: Option<&str>, stem: &str, nodes: usize) -> Result<Option<Part>, FormatError> {
    let Some(folder) = choose(&folder.join("split"), split)? else { return Ok(None) };
    let file = |name: &str, endings: &[&str]| {
        endings.iter().map(|ending| folder.join(format!("{name}{ending}"))).find(|path| path.is_file())
    };
    if let Some(path) = file(stem, &[".csv.gz", ".csv"]) {
        let (columns, pairs) = read_text(&path)?;
        if columns == 1 {
            return Ok(Some(Part::Nodes(nodes_of(pairs, nodes, &path)?)));
        }
        let edges = rows::of_graph(pairs, nodes, &path)?;
        let non_edges = match file(&format!("{stem}_neg"), &[".csv.gz", ".csv"]) {
            Some(path) => rows::of_graph(read_text(&path)?.1, nodes, &path)?,
            None => vec![],
        };
        return Ok(Some(Part::Links(Links { edges, weights: None, non_edges })));
    }
    match file(stem, &[".pt"]) {
        Some(path) => read_pt(&path, nodes).map(Some),
        None => Ok(None),
    }
}

fn choose(folder: &Path, split: Option<&str>) -> Result<Option<PathBuf>, FormatError> {
    if let Some(name) = split {
        let path = folder.join(name);
        let missing = || FormatError::Missing { path: path.clone(), expected: "a folder with the split".into() };
        return if path.is_dir() { Ok(Some(path)) } else { Err(missing()) };
    }
    if !folder.is_dir() {
        return Ok(None);
    }
    let failed = |source| FormatError::io(folder, source);
    let mut names = vec![];
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            names.push(path);
        }
    }
    match names.len() {
        0 | 1 => Ok(names.pop()),
        count => Err(FormatError::content(folder, format!("{count} splits"), "one", "say which one to use")),
    }
}

/// The number of columns of a text of whole numbers, and its rows as pairs; a single column is
/// paired with itself.
fn read_text(path: &Path) -> Result<(usize, Pairs), FormatError> {
    let table = text::read_integers(path)?;
    let budget = Budget::current();
    let over = |over: OverBudget| over.reading(path);
    let (mut pairs, mut reserved) = (Pairs::default(), Reservation::default());
    let wrong = |row: usize, found: String| {
        FormatError::line(path, row as u64 + 1, found, "one node, or two", "fetch the dataset again")
    };
    if table.columns > 2 {
        return Err(wrong(0, format!("{} columns", table.columns)));
    }
    pairs.reserve_within(table.values.len() / table.columns, &budget, &mut reserved).map_err(over)?;
    for (row, numbers) in table.values.chunks_exact(table.columns).enumerate() {
        let id = |number: Option<i64>| {
            let id = number.and_then(|number| u64::try_from(number).ok());
            id.ok_or_else(|| wrong(row, number.map_or("no number".into(), |number| format!("the id {number}"))))
        };
        pairs.push_within(id(numbers[0])?, id(numbers[table.columns - 1])?, &budget, &mut reserved).map_err(over)?;
    }
    reserved.keep();
    Ok((table.columns, pairs))
}

fn nodes_of(pairs: Pairs, nodes: usize, path: &Path) -> Result<Vec<u32>, FormatError> {
    Ok(rows::of_graph(pairs, nodes, path)?.into_iter().map(|(node, _)| node).collect())
}

fn read_pt(path: &Path, nodes: usize) -> Result<Part, FormatError> {
    let pickle = read_torch(path)?;
    let value = pickle.value();
    if let Some(array) = value.as_array() {
        return Ok(Part::Nodes(array.indices(nodes)?));
    }
    let pairs = |array: &Array<'_>| {
        let read = array.pairs()?;
        read.reserved.keep();
        rows::of_graph(read.pairs, nodes, path)
    };
    let Some(edge) = array_of(value, "edge") else {
        let names = |(key, _): (Value<'_>, Value<'_>)| key.as_text().map(str::to_owned);
        let keys: Option<Vec<String>> = value.entries().map(|entries| entries.filter_map(names).collect());
        let found = keys.map_or(value.kind().to_owned(), |keys| format!("a dict of {keys:?}"));
        let expected = "an array of nodes, or a dict with an array `edge`";
        return Err(FormatError::content(path, found, expected, "choose a dataset that scores nodes or pairs"));
    };
    let edges = pairs(&edge)?;
    let weights = array_of(value, "weight").map(|weights| weights.floats()).transpose()?;
    if let Some(weights) = weights.as_ref().filter(|weights| weights.len() != edges.len()) {
        let found = format!("{} weights", weights.len());
        return Err(FormatError::content(
            path,
            found,
            format!("one for each of {} edges", edges.len()),
            "fetch it again",
        ));
    }
    let non_edges = array_of(value, "edge_neg").map(|array| pairs(&array)).transpose()?.unwrap_or_default();
    Ok(Part::Links(Links { edges, weights, non_edges }))
}
