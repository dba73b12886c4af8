use std::collections::BTreeMap;
use std::path::Path;

use super::list;
use crate::dataset::UNLABELLED;
use crate::dataset::format::detect::{Format, find};
use crate::dataset::format::{FormatError, npy, text};

/// The class of each node, and what the classes are called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// One class a node, or [`UNLABELLED`].
    pub labels: Vec<u32>,
    /// The name of each class, by its number.
    pub classes: Vec<String>,
}

/// Reads labels: one a line, plain or gzip, or a numpy list of whole numbers.
///
/// A line is a name or a number; an empty one, `-1`, `?` and `nan` are no label. In a numpy list negative numbers and NaN are
/// none. Classes follow the order of their numbers when all labels are whole numbers, else that of their names; numbers
/// that no node has are no classes.
///
/// ```
/// use isvd_dist::dataset::{UNLABELLED, format::read_labels};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("labels.txt");
/// std::fs::write(&path, "tea\ncoffee\n?\ntea\n")?;
/// let read = read_labels(&path)?;
/// assert_eq!((read.labels, read.classes), (vec![1, 0, UNLABELLED, 1], vec!["coffee".to_owned(), "tea".to_owned()]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_labels(path: &Path) -> Result<Labels, FormatError> {
    match find(path)? {
        Format::NumpyPairs => {
            let array = npy::read_npy(path)?;
            list(&array)?;
            let known = |label: Option<i64>| label.filter(|&number| number >= 0);
            Ok(by_order(array.nullable()?.into_iter().map(known).collect()))
        }
        Format::Text => by_line(path),
        Format::ScipySparse | Format::MatrixMarket => {
            let remedy = "write one label a line, or save a list with `numpy.save`";
            Err(FormatError::content(path, "a matrix", "one label a node", remedy))
        }
    }
}

fn by_line(path: &Path) -> Result<Labels, FormatError> {
    let mut lines: Vec<Option<String>> = vec![];
    text::each_line(path, |line| {
        let label = text::utf8(line)?;
        let none = matches!(label, "" | "-1" | "?") || label.eq_ignore_ascii_case("nan");
        lines.push((!none).then(|| label.to_owned()));
        Ok(())
    })?;
    if lines.is_empty() {
        return Err(FormatError::Empty { path: path.to_owned(), expected: "one label a line" });
    }
    // Some programs write whole numbers with a fraction of zero.
    let number = |label: &String| label.strip_suffix(".0").unwrap_or(label).parse::<i64>().ok();
    if lines.iter().flatten().all(|label| number(label).is_some()) {
        return Ok(by_order(lines.iter().map(|label| label.as_ref().and_then(number)).collect()));
    }
    Ok(by_order(lines))
}

/// Numbers the classes by their order.
fn by_order<T: Ord + Clone + ToString>(values: Vec<Option<T>>) -> Labels {
    let mut numbers: BTreeMap<T, u32> = BTreeMap::new();
    for value in values.iter().flatten() {
        if !numbers.contains_key(value) {
            numbers.insert(value.clone(), 0);
        }
    }
    numbers.values_mut().zip(0..).for_each(|(number, next)| *number = next);
    let label = |value: Option<T>| value.map_or(UNLABELLED, |value| numbers[&value]);
    Labels {
        labels: values.into_iter().map(label).collect(),
        classes: numbers.keys().map(ToString::to_string).collect(),
    }
}
