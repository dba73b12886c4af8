//! Ascending numbers, stored as ranges of consecutive ones: the tiles or rows that a worker owns.

use std::ops::Range;
use std::sync::Arc;

/// Ascending numbers in maximal ranges of consecutive ones.
///
/// ```
/// use isvd_dist::plan::Runs;
/// let runs: Runs = [4..6, 6..7, 9..11].into_iter().collect();
/// assert_eq!(runs.ranges(), [4..7, 9..11]);
/// assert_eq!((runs.len(), runs.position(9), runs.position(8)), (5, Some(3), None));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Runs {
    ranges: Arc<[Range<usize>]>,
    /// How many numbers come before each range.
    before: Arc<[usize]>,
    len: usize,
}

impl Runs {
    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The ranges: none is empty, and no two could be one.
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// All the numbers.
    pub fn iter(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.ranges.iter().cloned().flatten()
    }

    /// How many smaller numbers there are, for a number that is one of these.
    pub fn position(&self, number: usize) -> Option<usize> {
        let place = self.ranges.partition_point(|range| range.end <= number);
        let range = self.ranges.get(place)?;
        range.contains(&number).then(|| self.before[place] + number - range.start)
    }

    /// Where consecutive numbers, all of them among these, stand; an empty range stands anywhere.
    ///
    /// # Panics
    /// If some are not among these, or are in different ranges.
    pub fn place(&self, numbers: &Range<usize>) -> Range<usize> {
        if numbers.is_empty() {
            return 0..0;
        }
        let start = self.position(numbers.start).expect("the numbers are among these");
        let range = start..start + numbers.len();
        assert_eq!(self.position(numbers.end - 1), Some(range.end - 1), "consecutive numbers are in one range");
        range
    }
}

/// Joins ascending ranges.
impl FromIterator<Range<usize>> for Runs {
    fn from_iter<I: IntoIterator<Item = Range<usize>>>(ranges: I) -> Self {
        let mut joined: Vec<Range<usize>> = Vec::new();
        for range in ranges.into_iter().filter(|range| !range.is_empty()) {
            match joined.last_mut().filter(|last| last.end == range.start) {
                Some(last) => last.end = range.end,
                None => joined.push(range),
            }
        }
        let mut len = 0;
        let before = joined.iter().map(|range| {
            len += range.len();
            len - range.len()
        });
        Self { before: before.collect(), ranges: joined.into(), len }
    }
}

impl From<Range<usize>> for Runs {
    fn from(range: Range<usize>) -> Self {
        [range].into_iter().collect()
    }
}
