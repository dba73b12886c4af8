//! The user's own node ids.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};

use super::budget::{Budget, OverBudget, Reservation, bytes_of};

/// Names that are compared to find the nearest one.
const MOST_COMPARED: usize = 1 << 20;

/// Slots of the first hash table of names.
const FIRST_TABLE: usize = 64;

/// An id occurs on two lines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} has the id `{id}` again")]
pub struct RepeatedId {
    /// The second of the lines, from 1.
    pub line: usize,
    /// The id.
    pub id: String,
}

/// The id that the user gives to the node of each row. Memory for each node: none for consecutive
/// numbers, eight bytes for other numbers, the text and about sixteen bytes for names.
///
/// ```
/// use isvd_dist::dataset::Ids;
/// let ids = Ids::names(["ann", "bob"]);
/// assert_eq!(ids.get(1).as_deref(), Some("bob"));
/// assert_eq!((ids.row("bob"), ids.row("eve")), (Some(1), None));
/// assert_eq!(Ids::counted(10, 3).row("12"), Some(2));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Ids(Kind);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Counted {
        first: u64,
        count: usize,
    },
    Numbers(Vec<u64>),
    Names(Names),
    /// Numbers, and other numbers that were added later, in the order of their arrival.
    Grown {
        base: Box<Ids>,
        more: Names,
    },
}

impl Default for Ids {
    fn default() -> Self {
        Self::counted(0, 0)
    }
}

impl Ids {
    /// Consecutive numbers: `first` is row 0.
    pub fn counted(first: u64, count: usize) -> Self {
        Self(Kind::Counted { first, count })
    }

    /// Numbers in ascending order, each once: the smallest is row 0.
    pub fn numbers(mut numbers: Vec<u64>) -> Self {
        if !numbers.is_sorted_by(|a, b| a < b) {
            numbers.sort_unstable();
            numbers.dedup();
        }
        match (numbers.first(), numbers.last()) {
            (Some(&first), Some(&last)) if last - first == numbers.len() as u64 - 1 => {
                Self::counted(first, numbers.len())
            }
            (None, _) => Self::default(),
            _ => Self(Kind::Numbers(numbers)),
        }
    }

    /// Names in the order of their rows; a repeated name keeps its first row.
    pub fn names(names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut all = Names::default();
        names.into_iter().for_each(|name| {
            all.intern(name.as_ref());
        });
        all.into()
    }

    /// Reads what [`Ids::write`] wrote: ids that are ascending numbers become numbers, all others
    /// names.
    ///
    /// ```
    /// use isvd_dist::dataset::Ids;
    /// assert_eq!(Ids::parse("7\n8\n9\n")?, Ids::counted(7, 3));
    /// assert_eq!(Ids::parse("07\n8\n")?, Ids::names(["07", "8"]));
    /// # Ok::<(), isvd_dist::dataset::RepeatedId>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, RepeatedId> {
        let lines = || text.strip_suffix('\n').into_iter().flat_map(|text| text.split('\n'));
        let number = |line: &str| match line.as_bytes() {
            [b'0'] => Some(0),
            [b'1'..=b'9', ..] if line.bytes().all(|byte| byte.is_ascii_digit()) => line.parse::<u64>().ok(),
            _ => None,
        };
        if let Some(numbers) = lines().map(number).collect::<Option<Vec<u64>>>()
            && numbers.is_sorted_by(|a, b| a < b)
        {
            return Ok(Self::numbers(numbers));
        }
        let mut names = Names::default();
        for (before, name) in lines().enumerate() {
            if names.intern(name).is_none_or(|row| (row as usize) < before) {
                return Err(RepeatedId { line: before + 1, id: name.to_owned() });
            }
        }
        Ok(names.into())
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::Counted { count, .. } => *count,
            Kind::Numbers(numbers) => numbers.len(),
            Kind::Names(names) => names.len(),
            Kind::Grown { base, more } => base.len() + more.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of a row.
    pub fn get(&self, row: usize) -> Option<Cow<'_, str>> {
        match &self.0 {
            Kind::Counted { first, count } => (row < *count).then(|| Cow::Owned((first + row as u64).to_string())),
            Kind::Numbers(numbers) => numbers.get(row).map(|number| Cow::Owned(number.to_string())),
            Kind::Names(names) => (row < names.len()).then(|| Cow::Borrowed(names.get(row))),
            Kind::Grown { base, more } => match row.checked_sub(base.len()) {
                None => base.get(row),
                Some(row) => (row < more.len()).then(|| Cow::Borrowed(more.get(row))),
            },
        }
    }

    /// The row of an id.
    pub fn row(&self, id: &str) -> Option<usize> {
        match &self.0 {
            Kind::Names(names) => names.find(id).map(|row| row as usize),
            _ if id.bytes().all(|byte| byte.is_ascii_digit()) => self.row_of_number(id.parse().ok()?),
            _ => None,
        }
    }

    /// The row of an id that is a number; no name is one.
    pub fn row_of_number(&self, id: u64) -> Option<usize> {
        match &self.0 {
            Kind::Counted { first, count } => {
                let row = usize::try_from(id.checked_sub(*first)?).ok()?;
                (row < *count).then_some(row)
            }
            Kind::Numbers(numbers) => numbers.binary_search(&id).ok(),
            Kind::Grown { base, more } => {
                let late = || more.find(&id.to_string()).map(|row| base.len() + row as usize);
                base.row_of_number(id).or_else(late)
            }
            Kind::Names(_) => None,
        }
    }

    /// The id that is nearest to an unknown one: the nearest number, or a name that differs in at
    /// most a third of its letters.
    pub fn nearest(&self, id: &str) -> Option<Cow<'_, str>> {
        let number = || id.bytes().all(|byte| byte.is_ascii_digit()).then(|| id.parse().unwrap_or(u64::MAX));
        match &self.0 {
            _ if self.is_empty() || id.is_empty() => None,
            // Ids that were added later are not searched.
            Kind::Grown { base, .. } => base.nearest(id),
            Kind::Counted { first, count } => {
                let last = first + (*count as u64 - 1);
                Some(Cow::Owned(number()?.clamp(*first, last).to_string()))
            }
            Kind::Numbers(numbers) => {
                let number = number()?;
                let after = numbers.partition_point(|&other| other < number);
                let around = numbers[after.saturating_sub(1)..].iter().take(2);
                around.min_by_key(|other| other.abs_diff(number)).map(|other| Cow::Owned(other.to_string()))
            }
            Kind::Names(names) => {
                let length = id.chars().count();
                let mut nearest: Option<((usize, bool), &str)> = None;
                let mut limit = (length / 3).max(1);
                for number in 0..names.len().min(MOST_COMPARED) {
                    let name = names.get(number);
                    // The edit distance is at least the difference of the lengths.
                    if name.chars().count().abs_diff(length) <= limit {
                        let distance = strsim::osa_distance(id, name);
                        // Of equally near names, one that contains the given id.
                        let key = (distance, !name.contains(id));
                        if distance <= limit && nearest.is_none_or(|(best, _)| key < best) {
                            (nearest, limit) = (Some((key, name)), distance);
                        }
                    }
                }
                nearest.map(|(_, name)| Cow::Borrowed(name))
            }
        }
    }

    /// Whether an id can be added: where ids are numbers, it must be a number.
    pub fn admits(&self, id: &str) -> bool {
        matches!(self.0, Kind::Names(_)) || (id.bytes().all(|byte| byte.is_ascii_digit()) && id.parse::<u64>().is_ok())
    }

    /// The row of an id; a new id gets a new row after all others. `None` if the id cannot be
    /// added: ids are numbers and it is not a number, or there are too many.
    ///
    /// ```
    /// use isvd_dist::dataset::Ids;
    /// let mut ids = Ids::counted(10, 3);
    /// assert_eq!((ids.grow("13"), ids.grow("7")), (Some(3), Some(4)));
    /// assert_eq!((ids.grow("11"), ids.grow("007")), (Some(1), Some(4)));
    /// assert_eq!((ids.grow("eve"), ids.len(), ids.get(4).as_deref()), (None, 5, Some("7")));
    /// ```
    pub fn grow(&mut self, id: &str) -> Option<u32> {
        if let Kind::Names(names) = &mut self.0 {
            return names.intern(id);
        }
        let number: u64 = Some(id).filter(|id| id.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()?;
        if let Some(row) = self.row_of_number(number) {
            return u32::try_from(row).ok();
        }
        let row = u32::try_from(self.len()).ok().filter(|&row| row < u32::MAX - 1)?;
        match &mut self.0 {
            Kind::Counted { first, count } if *count == 0 => (*first, *count) = (number, 1),
            Kind::Counted { first, count } if first.checked_add(*count as u64) == Some(number) => *count += 1,
            Kind::Numbers(numbers) if numbers.last().is_some_and(|&last| last < number) => numbers.push(number),
            Kind::Grown { more, .. } => {
                more.intern(&number.to_string())?;
            }
            _ => {
                let mut more = Names::default();
                more.intern(&number.to_string())?;
                *self = Self(Kind::Grown { base: Box::new(std::mem::take(self)), more });
            }
        }
        Some(row)
    }

    /// Approximate size in memory, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.0 {
            Kind::Counted { .. } => 0,
            Kind::Numbers(numbers) => bytes_of::<u64>(numbers.len()),
            Kind::Names(names) => names.bytes(),
            Kind::Grown { base, more } => base.bytes() + more.bytes(),
        }
    }

    /// Removes all ids after the first `count`.
    ///
    /// ```
    /// use isvd_dist::dataset::Ids;
    /// let mut ids = Ids::counted(10, 3);
    /// ids.grow("7");
    /// ids.truncate(3);
    /// assert_eq!((ids.row("7"), ids.grow("13")), (None, Some(3)));
    /// ```
    pub fn truncate(&mut self, count: usize) {
        match &mut self.0 {
            Kind::Counted { count: all, .. } => *all = count.min(*all),
            Kind::Numbers(numbers) => numbers.truncate(count),
            Kind::Names(names) => names.truncate(count),
            Kind::Grown { base, more } => match count.checked_sub(base.len()) {
                Some(rest) if rest > 0 => more.truncate(rest),
                _ => {
                    base.truncate(count);
                    *self = std::mem::take(base);
                }
            },
        }
    }

    /// The first of consecutive numbers.
    pub(crate) fn first_of_counted(&self) -> Option<u64> {
        match self.0 {
            Kind::Counted { first, .. } => Some(first),
            _ => None,
        }
    }

    /// Numbers that are not consecutive.
    pub(crate) fn as_numbers(&self) -> Option<&[u64]> {
        match &self.0 {
            Kind::Numbers(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// Whether ids are names rather than numbers.
    pub(crate) fn are_names(&self) -> bool {
        matches!(self.0, Kind::Names(_))
    }

    /// Whether ids are consecutive numbers.
    pub(crate) fn are_counted(&self) -> bool {
        matches!(self.0, Kind::Counted { .. })
    }

    /// All ids, row after row.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, str>> {
        (0..self.len()).filter_map(|row| self.get(row))
    }

    /// Writes all ids, one a line.
    pub fn write(&self, file: &mut impl Write) -> io::Result<()> {
        self.iter().try_for_each(|id| writeln!(file, "{id}"))
    }
}

impl From<Names> for Ids {
    fn from(names: Names) -> Self {
        Self(Kind::Names(names))
    }
}

/// Distinct names, numbered in the order of their first occurrence.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    text: String,
    ends: Vec<usize>,
    /// Open-addressing hash table: the number of a name plus one, or 0. Its length is a power of
    /// two.
    table: Vec<u32>,
    hasher: RandomState,
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, &self.ends) == (&other.text, &other.ends)
    }
}

impl Names {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> u64 {
        self.text.len() as u64 + bytes_of::<usize>(self.ends.len()) + bytes_of::<u32>(self.table.len())
    }

    fn get(&self, number: usize) -> &str {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }

    fn find(&self, name: &str) -> Option<u32> {
        if self.table.is_empty() { None } else { self.table[self.place(name)].checked_sub(1) }
    }

    /// Reserves the memory that one more name may need, in growing steps.
    pub fn reserve_within(&self, name: &str, budget: &Budget, taken: &mut Reservation) -> Result<(), OverBudget> {
        let grows = 4 * (self.len() + 1) > 3 * self.table.len();
        let needed = self.bytes() + (name.len() + size_of::<usize>()) as u64;
        // While the table grows, both the old and the new one exist.
        let table = if grows { 2 * bytes_of::<u32>(self.table.len()).max(FIRST_TABLE as u64) } else { 0 };
        if needed + table <= taken.bytes() { Ok(()) } else { budget.resize(taken, needed + needed / 4 + table) }
    }

    /// The number of a name, assigned if the name is new; `None` if there are more names than 32
    /// bits can number.
    pub fn intern(&mut self, name: &str) -> Option<u32> {
        if 4 * (self.len() + 1) > 3 * self.table.len() {
            self.grow();
        }
        let place = self.place(name);
        if let Some(number) = self.table[place].checked_sub(1) {
            return Some(number);
        }
        let number = u32::try_from(self.len()).ok().filter(|&number| number < u32::MAX - 1)?;
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.table[place] = number + 1;
        Some(number)
    }

    fn truncate(&mut self, count: usize) {
        if count < self.len() {
            self.ends.truncate(count);
            self.text.truncate(self.ends.last().copied().unwrap_or(0));
            self.table.fill(0);
            for number in 0..count {
                let place = self.place(self.get(number));
                self.table[place] = number as u32 + 1;
            }
        }
    }

    /// The slot of a name, or the slot where it would be inserted.
    fn place(&self, name: &str) -> usize {
        let mask = self.table.len() - 1;
        let mut place = self.hasher.hash_one(name) as usize & mask;
        while let Some(number) = self.table[place].checked_sub(1) {
            if self.get(number as usize) == name {
                break;
            }
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        self.table = vec![0; (2 * self.table.len()).max(FIRST_TABLE)];
        for number in 0..self.len() {
            let place = self.place(self.get(number));
            self.table[place] = number as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(ids: &Ids) -> String {
        let mut bytes = vec![];
        ids.write(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn numbers_are_found_and_written_back() {
        let ids = Ids::numbers(vec![7, 3, u64::MAX, 7]);
        assert_eq!(written(&ids), "3\n7\n18446744073709551615\n");
        assert_eq!((ids.row("7"), ids.row("8"), ids.row("+7"), ids.row("")), (Some(1), None, None, None));
        assert_eq!(ids.get(3), None);
    }

    #[test]
    fn consecutive_numbers_need_no_table() {
        assert_eq!(Ids::numbers(vec![4, 5, 6]), Ids::counted(4, 3));
        assert_eq!((Ids::counted(4, 3).row("3"), Ids::counted(4, 3).row("7")), (None, None));
        assert!(Ids::numbers(vec![]).is_empty());
    }

    #[test]
    fn what_was_written_is_read_again() {
        let all = [
            Ids::default(),
            Ids::counted(0, 4),
            Ids::counted(u64::MAX, 1),
            Ids::numbers(vec![3, 7, u64::MAX]),
            Ids::names(["7", "3"]),
            Ids::names(["New York", "a,b\"c", "ü\r", "", "18446744073709551616"]),
        ];
        for ids in all {
            assert_eq!(Ids::parse(&written(&ids)), Ok(ids));
        }
        assert_eq!(Ids::parse("b\na\nb\n"), Err(RepeatedId { line: 3, id: "b".into() }));
        assert_eq!(Ids::parse("2\n2\n"), Err(RepeatedId { line: 2, id: "2".into() }));
    }

    #[test]
    fn the_nearest_id_is_named() {
        let names = Ids::names(["alice", "bob", "carol", "Zoë"]);
        let nearest = |ids: &Ids, id: &str| ids.nearest(id).map(Cow::into_owned);
        assert_eq!(nearest(&names, "alcie").as_deref(), Some("alice"));
        assert_eq!(nearest(&names, "Zoe").as_deref(), Some("Zoë"));
        assert_eq!((nearest(&names, "nobody"), nearest(&names, "")), (None, None));
        assert_eq!(nearest(&Ids::names(["n7", "n17"]), "17").as_deref(), Some("n17"));
        let numbers = Ids::numbers(vec![10, 20, 400]);
        assert_eq!(nearest(&numbers, "17").as_deref(), Some("20"));
        assert_eq!(nearest(&numbers, "99999999999999999999").as_deref(), Some("400"));
        assert_eq!(nearest(&numbers, "x"), None);
        assert_eq!(nearest(&Ids::counted(5, 3), "1").as_deref(), Some("5"));
        assert_eq!(nearest(&Ids::counted(5, 3), "100").as_deref(), Some("7"));
        assert_eq!(nearest(&Ids::default(), "1"), None);
    }

    #[test]
    fn many_names_keep_their_rows() {
        let ids = Ids::names((0..10_000).map(|n| format!("node {}", n % 5_000)));
        assert_eq!(ids.len(), 5_000);
        assert!((0..5_000).all(|n| ids.row(&format!("node {n}")) == Some(n)));
        assert_eq!((ids.row("node 5000"), ids.row_of_number(1)), (None, None));
    }
}
