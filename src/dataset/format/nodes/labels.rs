use std::collections::BTreeMap;
use std::path::Path;

use super::list;
use crate::dataset::UNLABELLED;
use crate::dataset::budget::{Budget, BudgetedVec, OverBudget, Reservation, bytes_of};
use crate::dataset::format::input::Input;
use crate::dataset::format::{Fault, Format, FormatError, excerpt, npy, text};

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
/// A line is a name or a number; an empty one, `-1`, `?` and `nan` are no label. In a numpy list
/// negative numbers and NaN are none. Classes follow the order of their numbers when all labels are
/// whole numbers, else that of their names; unused numbers are no classes.
///
/// ```
/// use isvd_dist::dataset::{UNLABELLED, format::read_labels};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("labels.txt");
/// std::fs::write(&path, "tea\ncoffee\n?\ntea\n")?;
/// let read = read_labels(&path)?;
/// assert_eq!(read.labels, [1, 0, UNLABELLED, 1]);
/// assert_eq!(read.classes, ["coffee", "tea"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_labels(path: &Path) -> Result<Labels, FormatError> {
    let input = Input::open(path)?;
    match input.format() {
        Format::NumpyPairs => {
            let array = npy::read_array(input)?;
            list(&array)?;
            let known = |label: Option<i64>| label.filter(|&number| number >= 0);
            let labels = array.nullable()?.into_iter().map(known).collect();
            by_order(labels, |_| 0).map_err(|over| over.reading(path))
        }
        Format::Text => by_line(input),
        Format::ScipySparse | Format::MatrixMarket => {
            let remedy = "write one label a line, or save a list with `numpy.save`";
            Err(FormatError::content(path, "a matrix", "one label a node", remedy))
        }
    }
}

/// Bytes that a small piece of memory of its own takes at least.
const PIECE: u64 = 32;

fn by_line(input: Input) -> Result<Labels, FormatError> {
    let (path, budget) = (&input.path().to_owned(), input.budget().clone());
    let mut lines = BudgetedVec::<Option<String>>::default();
    let mut of_names = Reservation::default();
    let mut names = 0;
    text::each_line(text::Blocks::of(input), |_, line| {
        let label = text::utf8(line)?;
        if text::is_quoted(line) {
            let remedy = "write the file again without quotes";
            return Err(Fault::new(format!("{} in quotes", excerpt(line)), "a label without quotes", remedy));
        }
        let none = matches!(label, "" | "-1" | "?") || label.eq_ignore_ascii_case("nan");
        if !none {
            names += PIECE + label.len() as u64;
            if names > of_names.bytes() {
                budget.resize(&mut of_names, names + names / 4)?;
            }
        }
        lines.push((!none).then(|| label.to_owned()))?;
        Ok(())
    })?;
    if lines.is_empty() {
        return Err(FormatError::Empty { path: path.to_owned(), expected: "one label a line" });
    }
    let (lines, _reserved) = lines.into_parts();
    let over = |over: OverBudget| over.reading(path);
    // Some programs write whole numbers with a fraction of zero.
    let number = |label: &String| label.strip_suffix(".0").unwrap_or(label).parse::<i64>().ok();
    if lines.iter().flatten().all(|label| number(label).is_some()) {
        let _numbers = budget.reserve_for::<Option<i64>>(lines.len()).map_err(over)?;
        let numbers = lines.iter().map(|label| label.as_ref().and_then(number)).collect();
        return by_order(numbers, |_| 0).map_err(over);
    }
    by_order(lines, String::len).map_err(over)
}

/// Numbers the classes by their order. `letters` says how many bytes a value has elsewhere.
fn by_order<T: Ord + Clone + ToString>(
    values: Vec<Option<T>>,
    letters: impl Fn(&T) -> usize,
) -> Result<Labels, OverBudget> {
    let budget = Budget::current();
    budget.reserve_for::<u32>(values.len())?.keep();
    let (mut bytes, mut reserved) = (0, Reservation::default());
    let mut numbers: BTreeMap<T, u32> = BTreeMap::new();
    for value in values.iter().flatten() {
        if !numbers.contains_key(value) {
            // As a key and as a name.
            bytes += 2 * (PIECE + letters(value) as u64) + bytes_of::<(T, String)>(1);
            if bytes > reserved.bytes() {
                budget.resize(&mut reserved, bytes + bytes / 4)?;
            }
            numbers.insert(value.clone(), 0);
        }
    }
    numbers.values_mut().zip(0..).for_each(|(number, next)| *number = next);
    let label = |value: Option<T>| value.map_or(UNLABELLED, |value| numbers[&value]);
    reserved.keep();
    Ok(Labels {
        labels: values.into_iter().map(label).collect(),
        classes: numbers.keys().map(ToString::to_string).collect(),
    })
}
