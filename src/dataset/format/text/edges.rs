//! Edge lists as text.

use super::blocks::{Block, Blocks};
use super::dialect::{Columns, Dialect, NO_TIME};
use super::fields;
use super::numbers::Numbers;
use crate::dataset::budget::{OverBudget, Taken, bytes_of};
use crate::dataset::format::error::{Fault, FormatError, excerpt};
use crate::dataset::format::input::Input;
use crate::dataset::format::rows::{self, Piece};
use crate::dataset::format::{EdgeOptions, Format, ReadEdges, ReadPairs, UnknownIds};
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
    // Room that is not needed is never touched, and growing would copy. What is touched is counted block by block.
    let most = usize::try_from(budget.left() / bytes_of::<(u32, u32)>(threads)).unwrap_or(usize::MAX);
    let room = (blocks.lines()? / threads * 17 / 16).min(most);
    let parts = blocks.parse(threads, |part: &mut Numbers, number, block| {
        if part.blocks.is_empty() {
            part.pairs.reserve(room);
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
        budget.take_for::<f32>(count).map_err(over)?.keep();
    }
    let weights = dialect.weighted().then(|| {
        let pieces = pieces.iter().map(|piece| &parts[piece.part].weights[piece.start..piece.end]);
        pieces.collect::<Vec<_>>().concat()
    });
    let (pairs, _taken): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.pairs, part.taken)).unzip();
    let (pairs, ids) = rows::number(pairs, &pieces, options, &path)?;
    Ok((pairs, weights, ids))
}

fn by_names(blocks: Blocks, dialect: &Dialect) -> Result<Read, FormatError> {
    let budget = blocks.budget().clone();
    let mut names = Names::default();
    let mut pairs = vec![];
    let mut weights = dialect.weighted().then(Vec::new);
    let [mut of_names, mut of_pairs, mut of_weights] = [(); 3].map(|()| Taken::default());
    visit(blocks, dialect, |line, from, to, weight| {
        let mut row = |field: &[u8]| {
            let name = std::str::from_utf8(field).map_err(|_| {
                let found = format!("{}, which is not UTF-8, in {}", excerpt(field), excerpt(line));
                Fault::new(found, "text in UTF-8", "convert the file, for instance with `iconv -f LATIN1 -t UTF-8`")
            })?;
            let full = || Fault::new("one name too many", "names that 32 bits number", "use fewer nodes");
            names.make_room(name, &budget, &mut of_names)?;
            names.intern(name).ok_or_else(full)
        };
        let pair = (row(from)?, row(to)?);
        budget.room_for_one(&mut of_pairs, &mut pairs)?;
        pairs.push(pair);
        if let Some(weights) = &mut weights {
            budget.room_for_one(&mut of_weights, weights)?;
            weights.extend(weight);
        }
        Ok(())
    })?;
    [of_names, of_pairs, of_weights].into_iter().for_each(Taken::keep);
    Ok((pairs, weights, names.into()))
}

/// Reads pairs of ids that a graph has.
pub(crate) fn read_pairs(
    input: Input,
    ids: &Ids,
    options: &EdgeOptions,
    unknown: UnknownIds,
) -> Result<ReadPairs, FormatError> {
    let (path, budget) = (&input.path().to_owned(), input.budget().clone());
    let mut blocks = Blocks::of(input);
    let options = EdgeOptions { signed: true, ..*options };
    let dialect = Dialect::find(blocks.first()?, &options);
    let mut read = ReadPairs::default();
    let (mut refused, mut taken) = (None, Taken::default());
    let visited = visit(blocks, &dialect, |_, from, to, _| {
        let row = |field: &&[u8]| std::str::from_utf8(field).ok().and_then(|id| ids.row(id));
        budget.room_for_one(&mut taken, &mut read.pairs)?;
        read.push(unknown, [from, to], row).map_err(|field| {
            refused = Some(String::from_utf8_lossy(field).into_owned());
            Fault::new("", "", "")
        })
    });
    match (visited, refused) {
        (Err(FormatError::Line { path, line, .. }), Some(id)) => {
            Err(FormatError::UnknownId { path, place: format!("line {line}"), id })
        }
        (Err(error), _) => Err(error),
        (Ok(()), _) if read == ReadPairs::default() => {
            Err(FormatError::Empty { path: path.to_owned(), expected: EXPECTED })
        }
        (Ok(()), _) => {
            taken.keep();
            Ok(read)
        }
    }
}

/// Calls `f(line, from, to, weight)` for each line in order.
fn visit(
    mut blocks: Blocks,
    dialect: &Dialect,
    mut f: impl FnMut(&[u8], &[u8], &[u8], Option<f32>) -> Result<(), Fault>,
) -> Result<(), FormatError> {
    let path = blocks.path().to_owned();
    let mut buffer = Block::default();
    let mut before = 0;
    while let Some(number) = blocks.next(&mut buffer)? {
        let header = dialect.header.filter(|_| number == 0);
        let mut block = || {
            let mut lines = 0;
            for line in fields::lines(&buffer) {
                if let Some(line) = fields::data(line).filter(|_| header != Some(lines)) {
                    let fields = dialect.split(line);
                    fields.and_then(|(a, b, weight)| f(line, a, b, weight)).map_err(|fault| fault.at(lines))?;
                }
                lines += 1;
            }
            Ok(lines)
        };
        let lines: Result<u64, Fault> = block();
        before += lines.map_err(|fault| fault.in_file(&path, before))?;
    }
    Ok(())
}
