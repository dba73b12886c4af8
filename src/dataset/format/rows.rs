//! Assigns rows to numeric ids, in ascending order of the ids.
//!
//! The distinct ids are collected in a bitmap if the largest id is small enough for that, else by
//! sorting.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{EdgeOptions, FormatError, IdKind};
use crate::dataset::Ids;
use crate::dataset::budget::{Budget, OverBudget, Reservation, bytes_of};
use crate::kernel::buffer::advise_huge_pages;

/// More nodes than this are refused.
const MOST_NODES: u64 = u32::MAX as u64;
/// The way out when an edge names a node beyond the stated number of nodes.
pub(crate) const BEYOND: &str = "remove the edge, or add the node to the files that count or describe the nodes";

/// Pairs of ids, stored in half the memory as long as all ids fit into 32 bits.
#[derive(Debug)]
pub(crate) enum Pairs {
    Narrow(Vec<(u32, u32)>),
    Wide(Vec<(u64, u64)>),
}

impl Default for Pairs {
    fn default() -> Self {
        Self::Narrow(vec![])
    }
}

impl Pairs {
    pub fn len(&self) -> usize {
        match self {
            Self::Narrow(pairs) => pairs.len(),
            Self::Wide(pairs) => pairs.len(),
        }
    }

    /// Reserves capacity for `count` more pairs.
    pub fn reserve(&mut self, count: usize) {
        match self {
            Self::Narrow(pairs) => reserve(pairs, count),
            Self::Wide(pairs) => reserve(pairs, count),
        }
    }

    /// Bytes of the pairs and of `more` others.
    pub fn bytes(&self, more: usize) -> u64 {
        let count = self.len().saturating_add(more);
        match self {
            Self::Narrow(_) => bytes_of::<(u32, u32)>(count),
            Self::Wide(_) => bytes_of::<(u64, u64)>(count),
        }
    }

    /// Whether there is capacity for `more` pairs.
    pub fn has_capacity(&self, more: usize) -> bool {
        match self {
            Self::Narrow(pairs) => pairs.capacity() - pairs.len() >= more,
            Self::Wide(pairs) => pairs.capacity() - pairs.len() >= more,
        }
    }

    /// Reserves capacity for `count` more pairs; `reserved` is the memory of these pairs in the
    /// budget.
    pub fn reserve_within(
        &mut self,
        count: usize,
        budget: &Budget,
        reserved: &mut Reservation,
    ) -> Result<(), OverBudget> {
        // Both the old and the new list exist while it grows.
        let copy = if self.has_capacity(count) { 0 } else { self.bytes(0) };
        budget.resize(reserved, self.bytes(count) + copy)?;
        self.reserve(count);
        Ok(())
    }

    /// Adds a pair for which capacity was reserved. The first pair beyond 32 bits widens all
    /// others.
    #[inline]
    pub fn push_within(
        &mut self,
        from: u64,
        to: u64,
        budget: &Budget,
        reserved: &mut Reservation,
    ) -> Result<(), OverBudget> {
        match self {
            Self::Narrow(pairs) if (from | to) >> 32 != 0 => {
                let (narrow, wide) = (bytes_of::<(u32, u32)>(pairs.len()), bytes_of::<(u64, u64)>(pairs.capacity()));
                budget.resize(reserved, narrow + wide)?;
                self.push_wide(from, to);
                budget.resize(reserved, wide)
            }
            _ => {
                self.push(from, to);
                Ok(())
            }
        }
    }

    /// The list of pairs, as long as all ids fit into 32 bits.
    pub fn narrow(&mut self) -> Option<&mut Vec<(u32, u32)>> {
        match self {
            Self::Narrow(pairs) => Some(pairs),
            Self::Wide(_) => None,
        }
    }

    #[inline]
    pub fn push(&mut self, from: u64, to: u64) {
        match self {
            Self::Narrow(pairs) if (from | to) >> 32 == 0 => pairs.push((from as u32, to as u32)),
            _ => self.push_wide(from, to),
        }
    }

    #[cold]
    fn push_wide(&mut self, from: u64, to: u64) {
        if let Self::Narrow(pairs) = self {
            *self = Self::Wide(pairs.iter().map(|&(a, b)| (u64::from(a), u64::from(b))).collect());
        }
        if let Self::Wide(pairs) = self {
            pairs.push((from, to));
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let (narrow, wide): (&[_], &[_]) = match self {
            Self::Narrow(pairs) => (pairs, &[]),
            Self::Wide(pairs) => (&[], pairs),
        };
        narrow.iter().map(|&(a, b): &(u32, u32)| (u64::from(a), u64::from(b))).chain(wide.iter().copied())
    }

    fn visit(&self, mut f: impl FnMut(u64)) {
        match self {
            Self::Narrow(pairs) => pairs.iter().for_each(|&(a, b)| {
                f(u64::from(a));
                f(u64::from(b));
            }),
            Self::Wide(pairs) => pairs.iter().for_each(|&(a, b)| {
                f(a);
                f(b);
            }),
        }
    }

    pub fn largest(&self) -> u64 {
        match self {
            Self::Narrow(pairs) => pairs.iter().map(|&(a, b)| a.max(b)).max().map_or(0, u64::from),
            Self::Wide(pairs) => pairs.iter().map(|&(a, b)| a.max(b)).max().unwrap_or(0),
        }
    }
}

/// A pair that names a node which the graph does not have.
pub(crate) fn unknown(path: &Path, entry: usize, id: impl ToString) -> FormatError {
    FormatError::UnknownId { path: path.to_owned(), place: format!("pair {entry} (from 0)"), id: id.to_string() }
}

/// Ids as rows of a graph of `nodes` nodes; other ids are an error.
pub(crate) fn of_graph(pairs: Pairs, nodes: usize, path: &Path) -> Result<Vec<(u32, u32)>, FormatError> {
    let outside = pairs.iter().enumerate().find(|(_, (from, to))| *from.max(to) >= nodes as u64);
    match (outside, pairs) {
        (Some((entry, (from, to))), _) => Err(unknown(path, entry, if from >= nodes as u64 { from } else { to })),
        (None, Pairs::Narrow(pairs)) => Ok(pairs),
        (None, Pairs::Wide(pairs)) => Ok(pairs.iter().map(|&(a, b)| (a as u32, b as u32)).collect()),
    }
}

/// Pairs `start..end` of a part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub part: usize,
    pub start: usize,
    pub end: usize,
}

/// Assigns rows to the ids of all parts. Returns the pairs of rows in the order of `pieces`, and
/// the ids.
pub(crate) fn number_rows(
    parts: Vec<Pairs>,
    pieces: &[Piece],
    options: &EdgeOptions,
    path: &Path,
) -> Result<(Vec<(u32, u32)>, Ids), FormatError> {
    let total: usize = parts.iter().map(Pairs::len).sum();
    if total == 0 {
        return Ok((vec![], Ids::default()));
    }
    let (budget, threads) = (Budget::current(), options.threads());
    let over = |over: OverBudget| over.reading(path);
    // The result, which exists beside the parts for a while.
    budget.reserve_for::<(u32, u32)>(total).map_err(over)?.keep();
    let largest = map_parts(&parts, Pairs::largest).into_iter().max().unwrap_or(0);
    let too_many = |found: String| {
        FormatError::content(path, found, format!("at most {MOST_NODES}"), "use fewer nodes, or ids = \"numbers\"")
    };
    if options.ids == IdKind::Rows {
        let nodes = options.nodes.map_or(largest.saturating_add(1), |nodes| nodes as u64);
        if nodes > MOST_NODES {
            return Err(too_many(format!("{nodes} rows")));
        }
        if largest >= nodes {
            let expected = format!("ids below {nodes}, the number of nodes");
            let beyond = |(_, (from, to)): &(usize, (u64, u64))| *from.max(to) >= nodes;
            let place = match &parts[..] {
                [only] => only.iter().enumerate().find(beyond),
                _ => None,
            };
            let found = place.map_or(format!("the id {largest}"), |(entry, (from, to))| {
                format!("the id {} in pair {entry} (from 0)", if from >= nodes { from } else { to })
            });
            return Err(FormatError::content(path, found, expected, BEYOND));
        }
        return Ok((map_pairs(parts, pieces, threads, |id| id as u32), Ids::counted(0, nodes as usize)));
    }
    if largest / 16 < total as u64 + 0x1_0000 {
        let words = (largest / 64 + 1) as usize;
        let _marks = budget.reserve_for::<(u64, u32)>(words).map_err(over)?;
        let present = IdBitmap::new(&parts, largest);
        let mut reserved = budget.reserve_for::<u64>(present.count()).map_err(over)?;
        let ids = Ids::numbers(present.ids());
        budget.resize(&mut reserved, ids.bytes()).map_err(over)?;
        reserved.keep();
        let pairs = if ids.len() as u64 == largest + 1 {
            map_pairs(parts, pieces, threads, |id| id as u32)
        } else {
            map_pairs(parts, pieces, threads, |id| present.row(id))
        };
        return Ok((pairs, ids));
    }
    let (sorted, mut reserved) = distinct(&parts, &budget).map_err(over)?;
    if sorted.len() as u64 > MOST_NODES {
        return Err(too_many(format!("{} nodes", sorted.len())));
    }
    // At most twice as many starts as ids.
    let _starts = budget.reserve_for::<u64>(sorted.len()).map_err(over)?;
    let index = BucketIndex::new(&sorted);
    let pairs = map_pairs(parts, pieces, threads, |id| index.row(&sorted, id));
    drop(index);
    let ids = Ids::numbers(sorted);
    budget.resize(&mut reserved, ids.bytes()).map_err(over)?;
    reserved.keep();
    Ok((pairs, ids))
}

/// Reserves capacity, on huge pages if it is large.
fn reserve<T>(pairs: &mut Vec<T>, count: usize) {
    let before = pairs.capacity();
    pairs.reserve(count);
    if pairs.capacity() > before {
        advise_huge_pages(pairs);
    }
}

/// The results of `work` for all parts, each on a thread of its own.
fn map_parts<T: Send>(parts: &[Pairs], work: impl Fn(&Pairs) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = parts.iter().map(|part| scope.spawn(move || work(part))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// The pairs of all pieces in order, with each id replaced by its row.
fn map_pairs(parts: Vec<Pairs>, pieces: &[Piece], threads: usize, row: impl Fn(u64) -> u32 + Sync) -> Vec<(u32, u32)> {
    let mut all = vec![(0u32, 0u32); pieces.iter().map(|piece| piece.end - piece.start).sum()];
    advise_huge_pages(&all);
    let mut rest = &mut all[..];
    let mut work = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (place, more) = rest.split_at_mut(piece.end - piece.start);
        work.push((piece, place));
        rest = more;
    }
    let work = Mutex::new(work);
    let run = || {
        while let Some((piece, place)) = work.lock().ok().and_then(|mut work| work.pop()) {
            match &parts[piece.part] {
                Pairs::Narrow(pairs) => {
                    for (place, &(a, b)) in place.iter_mut().zip(&pairs[piece.start..piece.end]) {
                        *place = (row(u64::from(a)), row(u64::from(b)));
                    }
                }
                Pairs::Wide(pairs) => {
                    for (place, &(a, b)) in place.iter_mut().zip(&pairs[piece.start..piece.end]) {
                        *place = (row(a), row(b));
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (1..threads).for_each(|_| {
            scope.spawn(run);
        });
        run();
    });
    drop(work);
    // Freeing much memory takes time as well, so each part is freed on its own thread.
    std::thread::scope(|scope| {
        parts.into_iter().for_each(|part| {
            scope.spawn(move || drop(part));
        });
    });
    all
}

/// A bitmap of the ids that occur, with the number of ids before each word.
struct IdBitmap {
    words: Vec<u64>,
    before: Vec<u32>,
}

impl IdBitmap {
    fn new(parts: &[Pairs], largest: u64) -> Self {
        let words: Vec<AtomicU64> = (0..=largest / 64).map(|_| AtomicU64::new(0)).collect();
        map_parts(parts, |part| {
            part.visit(|id| {
                let (word, bit) = (&words[(id / 64) as usize], 1 << (id % 64));
                // Most ids occur many times, and reading a shared word is much cheaper than writing
                // it.
                if word.load(Ordering::Relaxed) & bit == 0 {
                    word.fetch_or(bit, Ordering::Relaxed);
                }
            });
        });
        let words: Vec<u64> = words.into_iter().map(AtomicU64::into_inner).collect();
        let before = words.iter().scan(0u32, |sum, word| {
            let before = *sum;
            *sum += word.count_ones();
            Some(before)
        });
        Self { before: before.collect(), words }
    }

    /// The number of ids.
    fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn ids(&self) -> Vec<u64> {
        let mut ids = Vec::with_capacity(self.count());
        for (n, &word) in self.words.iter().enumerate() {
            let mut bits = word;
            while bits != 0 {
                ids.push(64 * n as u64 + u64::from(bits.trailing_zeros()));
                bits &= bits - 1;
            }
        }
        ids
    }

    #[inline]
    fn row(&self, id: u64) -> u32 {
        let (word, bit) = ((id / 64) as usize, id % 64);
        self.before[word] + (self.words[word] & ((1 << bit) - 1)).count_ones()
    }
}

/// The distinct ids in order. Memory is a small multiple of the result, whatever the number of
/// pairs.
fn distinct(parts: &[Pairs], budget: &Budget) -> Result<(Vec<u64>, Reservation), OverBudget> {
    const SMALLEST: usize = 1 << 20;
    let total: usize = parts.iter().map(Pairs::len).sum();
    let mut kept: Vec<u64> = vec![];
    let mut fresh: Vec<u64> = vec![];
    // The kept ids, a copy to sort them, and the new ids.
    let memory = |kept: usize| bytes_of::<u64>(2 * kept + SMALLEST.max(kept / 2).min(2 * total));
    let mut reserved = budget.reserve(memory(0))?;
    let mut outcome = Ok(());
    let mut merge = |kept: &mut Vec<u64>, fresh: &mut Vec<u64>| {
        fresh.sort_unstable();
        fresh.dedup();
        fresh.retain(|id| kept.binary_search(id).is_err());
        if outcome.is_ok() {
            outcome = budget.resize(&mut reserved, memory(kept.len() + fresh.len()));
        }
        if outcome.is_err() {
            fresh.clear();
            return;
        }
        kept.append(fresh);
        // Two runs in order, which a stable sort only has to merge.
        kept.sort();
    };
    for part in parts {
        part.visit(|id| {
            if fresh.last() != Some(&id) {
                fresh.push(id);
            }
            if fresh.len() > SMALLEST.max(kept.len() / 2) {
                merge(&mut kept, &mut fresh);
            }
        });
    }
    merge(&mut kept, &mut fresh);
    outcome?;
    kept.shrink_to_fit();
    budget.resize(&mut reserved, bytes_of::<u64>(kept.len()))?;
    Ok((kept, reserved))
}

/// Buckets of sorted ids by their leading bits. A look-up searches one bucket, so it is never
/// slower than a binary search of all ids.
struct BucketIndex {
    first: u64,
    shift: u32,
    starts: Vec<u32>,
}

impl BucketIndex {
    fn new(sorted: &[u64]) -> Self {
        let (first, last) = (sorted.first().copied().unwrap_or(0), sorted.last().copied().unwrap_or(0));
        let bits = 64 - (last - first).leading_zeros();
        let wanted = (usize::BITS - sorted.len().leading_zeros()).min(bits);
        let shift = bits - wanted;
        let mut starts = vec![0u32; ((last - first).checked_shr(shift).unwrap_or(0)) as usize + 2];
        for &id in sorted {
            starts[((id - first).checked_shr(shift).unwrap_or(0)) as usize + 1] += 1;
        }
        for n in 1..starts.len() {
            starts[n] += starts[n - 1];
        }
        Self { first, shift, starts }
    }

    #[inline]
    fn row(&self, sorted: &[u64], id: u64) -> u32 {
        let bucket = ((id - self.first).checked_shr(self.shift).unwrap_or(0)) as usize;
        let (start, end) = (self.starts[bucket], self.starts[bucket + 1]);
        let inside = &sorted[start as usize..end as usize];
        start + inside.partition_point(|&other| other < id) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(pairs: &[(u64, u64)], threads: usize) -> (Vec<(u32, u32)>, Ids) {
        let (mut parts, mut pieces) = (vec![], vec![]);
        for (part, chunk) in pairs.chunks(3).enumerate() {
            parts.push(Pairs::default());
            chunk.iter().for_each(|&(a, b)| parts[part].push(a, b));
            pieces.push(Piece { part, start: 0, end: chunk.len() });
        }
        let options = EdgeOptions { threads: Some(threads), ..EdgeOptions::default() };
        number_rows(parts, &pieces, &options, Path::new("x")).unwrap()
    }

    #[test]
    fn rows_follow_the_order_of_the_ids() {
        for far in [3, 1 << 20, 1 << 31, 1 << 40, u64::MAX] {
            let pairs = [(5, 9), (far, 5), (9, 9), (7, 1), (1, far)];
            let mut order: Vec<u64> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
            order.sort_unstable();
            order.dedup();
            let row = |id| order.binary_search(&id).unwrap() as u32;
            let expected: Vec<_> = pairs.iter().map(|&(a, b)| (row(a), row(b))).collect();
            for threads in [1, 3] {
                let (rows, ids) = numbered(&pairs, threads);
                assert_eq!((&rows, ids.len()), (&expected, order.len()), "{far}");
                assert!(order.iter().enumerate().all(|(row, &id)| ids.row_of_number(id) == Some(row)));
            }
        }
    }

    #[test]
    fn one_id_is_one_row() {
        assert_eq!(numbered(&[(u64::MAX, u64::MAX)], 1), (vec![(0, 0)], Ids::counted(u64::MAX, 1)));
    }
}
