use std::path::Path;

use super::list;
use crate::dataset::Ids;
use crate::dataset::budget::BudgetedVec;
use crate::dataset::format::array::ElementKind;
use crate::dataset::format::error::{Fault, excerpt};
use crate::dataset::format::input::Input;
use crate::dataset::format::{Format, FormatError, npy, text};

const REMEDY: &str = "remove it, or name a node as the graph's file does";

/// Reads which nodes of a graph with these ids belong to something: one id a line, plain or gzip, a
/// numpy list of ids, or a numpy list of true and false, one for each node. Where ids are names,
/// the numbers of a numpy list are rows. Rows come in the order of the file.
pub fn read_nodes(path: &Path, ids: &Ids) -> Result<Vec<u32>, FormatError> {
    let input = Input::open(path)?;
    match input.format() {
        Format::NumpyPairs => of_array(input, ids),
        Format::Text => by_line(input, ids),
        Format::ScipySparse | Format::MatrixMarket => {
            let remedy = "write one node a line, or save a list with `numpy.save`";
            Err(FormatError::content(path, "a matrix", "a list of nodes", remedy))
        }
    }
}

fn by_line(input: Input, ids: &Ids) -> Result<Vec<u32>, FormatError> {
    let path = &input.path().to_owned();
    let mut rows = BudgetedVec::default();
    text::each_line(text::Blocks::of(input), |_, line| {
        let Some(line) = text::data(line) else { return Ok(()) };
        let row = ids.row(text::utf8(line)?);
        let unknown = || Fault::new(format!("the id {}", excerpt(line)), known(ids), REMEDY);
        rows.push(row.ok_or_else(unknown)? as u32)?;
        Ok(())
    })?;
    if rows.is_empty() {
        return Err(FormatError::Empty { path: path.to_owned(), expected: "one node a line" });
    }
    Ok(rows.into_kept())
}

fn of_array(input: Input, ids: &Ids) -> Result<Vec<u32>, FormatError> {
    let path = &input.path().to_owned();
    let array = npy::read_array(input)?;
    let entries = list(&array)?;
    let numbers = array.integers()?;
    if array.element.kind == ElementKind::Boolean {
        if entries != ids.len() {
            let expected = format!("{}, one for each node", ids.len());
            let remedy = "save a mask of all nodes, or their numbers";
            return Err(FormatError::content(path, format!("{entries} times true or false"), expected, remedy));
        }
        return Ok((0..).zip(numbers).filter(|(_, member)| *member != 0).map(|(row, _)| row).collect());
    }
    let row = |(entry, number): (usize, i64)| {
        let id = u64::try_from(number).ok();
        let row = id.and_then(|id| if ids.are_names() { usize::try_from(id).ok() } else { ids.row_of_number(id) });
        let row = row.filter(|&row| row < ids.len()).map(|row| row as u32);
        row.ok_or_else(|| {
            FormatError::content(path, format!("the id {number} in entry {entry} (from 0)"), known(ids), REMEDY)
        })
    };
    numbers.into_iter().enumerate().map(row).collect()
}

/// The description of a valid id.
fn known(ids: &Ids) -> String {
    match (ids.get(0), ids.get(ids.len().saturating_sub(1))) {
        (Some(first), Some(last)) if ids.are_counted() => format!("a node of the graph, {first} to {last}"),
        _ => "a node of the graph".to_owned(),
    }
}
