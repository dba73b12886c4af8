//! Edge lists as text.

use super::blocks::Blocks;
use super::dialect::{Columns, Dialect, NO_TIME};
use super::fields;
use super::lines::each_line;
use super::numbers::Numbers;
use crate::dataset::budget::{BudgetedVec, OverBudget, Reservation, bytes_of};
use crate::dataset::format::error::{Fault, FormatError, excerpt};
use crate::dataset::format::input::Input;
use crate::dataset::format::rows::{self, Piece};
use crate::dataset::format::{EdgeOptions, Format, PairCollector, ReadEdges, ReadPairs, UnknownIds};
use crate::dataset::ids::Names;
use crate::dataset::{EdgeList, Ids};

const EXPECTED: &str = "lines of two ids and at most one weight";

/// Reads an edge list.
pub(crate) fn read_edges(input: Input, options: &EdgeOptions) -> Result<ReadEdges, FormatError> {
    let path = &input.path().to_owned();
    let mut blocks = Blocks::of(input);
    let dialect = Dialect::find(blocks.first()?, options);
    if let Some(fault) = dialect.unstated_header(blocks.first()?, options) {
        return Err(fault.in_file(path, 0));
    }
    let time = dialect.first_time(blocks.first()?);
    let (pairs, weights, ids) =
        if dialect.names { by_names(blocks, &dialect)? } else { by_numbers(blocks, &dialect, options)? };
    if pairs.is_empty() {
        return Err(FormatError::Empty { path: path.to_owned(), expected: EXPECTED });
    }
    if let Some(weights) = weights.as_ref().filter(|_| dialect.columns == Columns::Weighted) {
        // Some have no time that is known, such as 0.
        if let Some(times) = fields::times(weights) {
            let found = format!("{times} of {} third columns that are times by their size", weights.len());
            let unseen = || FormatError::content(path, found, NO_TIME.0, NO_TIME.1);
            return Err(time.map_or_else(unseen, |fault| fault.in_file(path, 0)));
        }
    }
    let weights = weights.filter(|weights| weights.iter().any(|&weight| weight != 1.0));
    let edges = EdgeList { nodes: ids.len(), edges: pairs, weights, directed: options.directed.unwrap_or(false) };
    let remarks = dialect.remarks(options);
    Ok(ReadEdges { edges, ids, format: Format::Text, header: dialect.header.is_some(), remarks })
}

type Read = (Vec<(u32, u32)>, Option<Vec<f32>>, Ids);

fn by_numbers(mut blocks: Blocks, dialect: &Dialect, options: &EdgeOptions) -> Result<Read, FormatError> {
    let path = blocks.path().to_owned();
    let (threads, budget) = (options.threads(), blocks.budget().clone());
    // Capacity that is not needed is never touched, and growing would copy. Touched memory is
    // counted block by block.
    let most = usize::try_from(budget.available() / bytes_of::<(u32, u32)>(threads)).unwrap_or(usize::MAX);
    let capacity = (blocks.lines()? / threads * 17 / 16).min(most);
    let parts = blocks.parse(threads, |part: &mut Numbers, number, block| {
        if part.blocks.is_empty() {
            part.pairs.reserve(capacity);
        }
        part.parse(number, block, dialect, &budget)
    })?;
    let mut order = vec![];
    for (part, numbers) in parts.iter().enumerate() {
        let starts = std::iter::once(0).chain(numbers.blocks.iter().map(|&(_, end)| end));
        order.extend(starts.zip(&numbers.blocks).map(|(start, &(number, end))| (number, Piece { part, start, end })));
    }
    order.sort_unstable_by_key(|&(number, _)| number);
    let pieces: Vec<Piece> = order.into_iter().map(|(_, piece)| piece).collect();
    let over = |over: OverBudget| over.reading(&path);
    if dialect.weighted() {
        let count = pieces.iter().map(|piece| piece.end - piece.start).sum();
        budget.reserve_for::<f32>(count).map_err(over)?.keep();
    }
    let weights = dialect.weighted().then(|| {
        let pieces = pieces.iter().map(|piece| &parts[piece.part].weights[piece.start..piece.end]);
        pieces.collect::<Vec<_>>().concat()
    });
    let (pairs, _reserved): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.pairs, part.reserved)).unzip();
    let (pairs, ids) = rows::number_rows(pairs, &pieces, options, &path)?;
    Ok((pairs, weights, ids))
}

fn by_names(blocks: Blocks, dialect: &Dialect) -> Result<Read, FormatError> {
    let budget = blocks.budget().clone();
    let mut names = Names::default();
    let (mut pairs, mut weights) = (BudgetedVec::default(), dialect.weighted().then(BudgetedVec::default));
    let mut of_names = Reservation::default();
    visit(blocks, dialect, |line, from, to, weight| {
        let mut row = |field: &[u8]| {
            let name = std::str::from_utf8(field).map_err(|_| {
                let found = format!("{}, which is not UTF-8, in {}", excerpt(field), excerpt(line));
                Fault::new(found, "text in UTF-8", "convert the file, for instance with `iconv -f LATIN1 -t UTF-8`")
            })?;
            let full = || Fault::new("one name too many", "names that 32 bits number", "use fewer nodes");
            names.reserve_within(name, &budget, &mut of_names)?;
            names.intern(name).ok_or_else(full)
        };
        pairs.push((row(from)?, row(to)?))?;
        weights.as_mut().zip(weight).map_or(Ok(()), |(weights, weight)| weights.push(weight))?;
        Ok(())
    })?;
    of_names.keep();
    Ok((pairs.into_kept(), weights.map(BudgetedVec::into_kept), names.into()))
}

/// Reads pairs of ids that a graph has.
pub(crate) fn read_pairs(
    input: Input,
    ids: &Ids,
    options: &EdgeOptions,
    unknown: UnknownIds,
) -> Result<ReadPairs, FormatError> {
    let path = &input.path().to_owned();
    let mut blocks = Blocks::of(input);
    let options = EdgeOptions { signed: true, ..*options };
    let dialect = Dialect::find(blocks.first()?, &options);
    let mut read = PairCollector::new(unknown);
    visit(blocks, &dialect, |_, from, to, _| {
        let row = |field: &&[u8]| std::str::from_utf8(field).ok().and_then(|id| ids.row(id));
        read.push([from, to], row)?.map_or(Ok(()), |id| Err(Fault::unknown_id(id)))
    })?;
    read.finish(path)
}

/// Calls `f(line, from, to, weight)` for each edge in order.
fn visit(
    blocks: Blocks,
    dialect: &Dialect,
    mut f: impl FnMut(&[u8], &[u8], &[u8], Option<f32>) -> Result<(), Fault>,
) -> Result<(), FormatError> {
    let edge = |number, line: &[u8]| match fields::data(line).filter(|_| dialect.header != Some(number)) {
        Some(line) => dialect.split(line).and_then(|(from, to, weight)| f(line, from, to, weight)),
        None => Ok(()),
    };
    each_line(blocks, edge).map(drop)
}
