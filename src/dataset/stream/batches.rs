//! Batches of updates.

use std::path::{Path, PathBuf};

use super::batch_builder::BatchBuilder;
use super::error::{Refusal, StreamError};
use super::folder::Folder;
use super::line::{Problem, Update, parse};
use super::lines::{Lines, Place, Read};
use super::text::Text;
use super::time::{Span, Time};
use super::{Notice, Origin, Position};
use crate::dataset::budget::Reservation;
use crate::dataset::format::{FormatError, excerpt};

/// The rule that ends a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// After this number of updates.
    Count(usize),
    /// Before the first update of another time window.
    Time(Span),
}

/// Updates that are applied together.
#[derive(Debug)]
pub struct Batch {
    /// Its name in messages.
    pub name: String,
    /// The stream, or the file of a folder.
    pub path: PathBuf,
    /// Its updates.
    pub updates: Vec<Update>,
    /// Lines that were left out.
    pub refused: Vec<Refusal>,
    /// Where it ends.
    pub position: Position,
    /// The memory that it takes.
    #[cfg_attr(not(feature = "cli"), expect(dead_code, reason = "it is given back when the batch is dropped"))]
    pub(crate) memory: [Reservation; 2],
}

/// The next part of a stream.
#[derive(Debug)]
pub enum Next {
    /// A batch.
    Batch(Batch),
    /// No complete batch has arrived yet.
    Nothing,
    /// The end of the stream, with the refused lines after the last batch.
    End(Vec<Refusal>),
}

/// The batches of a stream.
pub struct Batches {
    source: Source,
    checker: LineChecker,
    notices: Vec<Notice>,
}

enum Source {
    Lines(Box<LineBatcher>),
    Folder(Folder),
}

/// Checks the lines of a stream in order.
pub(super) struct LineChecker {
    pub is_tolerant: bool,
    pub time: Option<Time>,
}

/// Collects the lines of a text into batches.
struct LineBatcher {
    lines: Lines,
    rule: Rule,
    /// The position to resume from, until it is reached.
    resume: Option<Place>,
    may_be_new: bool,
    builder: BatchBuilder,
    first: u64,
    end: Place,
    /// The first update of the next batch, and the position after it.
    ahead: Option<(Update, Place)>,
    has_any: bool,
}

impl LineChecker {
    /// Reads a line; `None` if it has no update or is left out.
    pub fn read(
        &mut self,
        line: &[u8],
        (path, number): (&Path, u64),
        may_be_header: bool,
        refused: &mut Vec<Refusal>,
    ) -> Result<Option<Update>, StreamError> {
        let update = parse(line, (path, number), may_be_header).and_then(|update| match update {
            Some(update) => self.admit(update, path).map(Some),
            None => Ok(None),
        });
        match update {
            Ok(update) => Ok(update),
            Err(refusal) if self.is_tolerant => {
                refused.push(refusal);
                Ok(None)
            }
            Err(refusal) => Err(StreamError::Refused(refusal)),
        }
    }

    fn admit(&mut self, update: Update, path: &Path) -> Result<Update, Refusal> {
        if let Some(latest) = self.time {
            let refusal = |problem, expected: String, remedy: &'static str| {
                let found = format!("the time {}", update.time);
                Refusal { problem, error: FormatError::line(path, update.line, found, expected, remedy) }
            };
            if update.time.is_date() != latest.is_date() {
                let kind = if latest.is_date() { "a date" } else { "a number" };
                return Err(refusal(Problem::Time, format!("{kind}, as the times before"), "write all times alike"));
            }
            if update.time < latest {
                let expected = format!("a time of {latest} or later, which was the one before");
                return Err(refusal(Problem::Backwards, expected, "sort the updates by their time"));
            }
        }
        self.time = Some(update.time);
        Ok(update)
    }

    /// The latest time, as text.
    pub fn kept_time(&self) -> Option<String> {
        self.time.map(|time| time.to_string())
    }
}

impl Batches {
    /// Opens a stream and resumes after `done`, the positions of all applied batches in order.
    pub fn open(
        origin: &Origin,
        rule: Rule,
        is_watched: bool,
        is_tolerant: bool,
        done: &[Position],
    ) -> Result<Self, StreamError> {
        let path = origin.shown();
        let time = done.last().and_then(Position::time).and_then(|time| time.parse().ok());
        let checker = LineChecker { is_tolerant, time };
        let was = |was| StreamError::OtherKind { path: path.to_owned(), was };
        if origin.is_folder() {
            let mut folder = Folder::new(path, is_watched);
            for position in done {
                match position {
                    Position::File { name, bytes, checksum, .. } => folder.has_done(name, *bytes, *checksum)?,
                    Position::Text(_) => return Err(was("a text")),
                }
            }
            return Ok(Self { source: Source::Folder(folder), checker, notices: Vec::new() });
        }
        let resume = match done.last() {
            None => None,
            Some(Position::Text(place)) => Some(place.clone()),
            Some(Position::File { .. }) => return Err(was("a folder of batches")),
        };
        let (text, may_be_new) = match origin {
            Origin::Input if is_watched => return Err(StreamError::InputWatched),
            Origin::Input => (Text::input(), true),
            Origin::Path(path) => {
                let text = Text::open(path, is_watched)?;
                let read = resume.as_ref().map_or(0, |place| place.bytes);
                let found = std::fs::metadata(path).map_or(u64::MAX, |metadata| metadata.len());
                if is_watched && found < read {
                    return Err(StreamError::Cut { path: path.clone(), found, read });
                }
                (text, false)
            }
        };
        let batcher = LineBatcher {
            lines: Lines::new(path, text),
            rule,
            resume,
            may_be_new,
            builder: BatchBuilder::default(),
            first: 1,
            end: Place::default(),
            ahead: None,
            has_any: !done.is_empty(),
        };
        Ok(Self { source: Source::Lines(Box::new(batcher)), checker, notices: Vec::new() })
    }

    /// The notices since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// The next batch, if it is complete.
    pub fn next_batch(&mut self) -> Result<Next, StreamError> {
        match &mut self.source {
            Source::Lines(batcher) => batcher.next(&mut self.checker, &mut self.notices),
            Source::Folder(folder) => folder.next(&mut self.checker, &mut self.notices),
        }
    }

    /// The incomplete batch, if it has updates.
    pub fn flush(&mut self) -> Option<Batch> {
        match &mut self.source {
            Source::Lines(batcher) if !batcher.builder.updates.is_empty() => Some(batcher.emit(&self.checker)),
            _ => None,
        }
    }
}

impl LineBatcher {
    fn next(&mut self, checker: &mut LineChecker, notices: &mut Vec<Notice>) -> Result<Next, StreamError> {
        if let Some(place) = &self.resume {
            if !self.lines.skip_to(place, self.may_be_new)? || !self.lines.check_end()? {
                return Ok(Next::Nothing);
            }
            if self.lines.place().bytes == 0 && place.bytes > 0 {
                notices.push(Notice::GoesOn);
            }
            (self.resume, self.end) = (None, self.lines.place());
            self.first = self.end.lines + 1;
        }
        if let Some((update, place)) = self.ahead.take() {
            self.builder.add(Some(update), self.lines.path())?;
            self.end = place;
        }
        loop {
            let line = match self.lines.next()? {
                Read::Line(line) => line,
                Read::Nothing => return Ok(Next::Nothing),
                Read::End if !self.builder.updates.is_empty() => return Ok(Next::Batch(self.emit(checker))),
                Read::End => {
                    if !self.has_any {
                        notices.push(Notice::Empty { path: self.lines.path().to_owned() });
                        self.has_any = true;
                    }
                    return Ok(Next::End(self.builder.take().1));
                }
            };
            let place = self.lines.place();
            if place.is_unfinished {
                notices.push(Notice::Unfinished { path: self.lines.path().to_owned(), line: place.lines });
            }
            let before = checker.time;
            let at = (self.lines.path(), place.lines);
            let read = checker.read(&line, at, !self.has_any, &mut self.builder.refused)?;
            let Some(update) = read else {
                self.builder.add(None, self.lines.path())?;
                self.end = place;
                continue;
            };
            self.has_any = true;
            if let Rule::Time(span) = self.rule
                && let Some(last) = self.builder.updates.last()
                && last.time.window(span) != update.time.window(span)
            {
                self.ahead = Some((update, place));
                // The batch ends before this line, and so does its latest time.
                let later = std::mem::replace(&mut checker.time, before);
                let batch = self.emit(checker);
                checker.time = later;
                return Ok(Next::Batch(batch));
            }
            self.builder.add(Some(update), self.lines.path())?;
            self.end = place;
            if matches!(self.rule, Rule::Count(count) if self.builder.updates.len() >= count) {
                return Ok(Next::Batch(self.emit(checker)));
            }
        }
    }

    fn emit(&mut self, checker: &LineChecker) -> Batch {
        let end = Place { time: checker.kept_time(), ..self.end.clone() };
        let (path, first) = (self.lines.path().to_owned(), self.first);
        self.first = end.lines + 1;
        let (updates, refused, memory) = self.builder.take();
        Batch {
            name: format!("{}, lines {first} to {}", path.display(), end.lines),
            path,
            updates,
            refused,
            position: Position::Text(end),
            memory,
        }
    }
}

/// Refusals that depend on the graph.
impl Refusal {
    /// An update with an invalid id.
    pub fn of_id(path: &Path, line: u64, id: &str, expected: &'static str) -> Self {
        let found = format!("the id {}", excerpt(id.as_bytes()));
        let remedy = "repair the line, or read the ids of the graph as names (ids = \"names\")";
        Self { problem: Problem::Id, error: FormatError::line(path, line, found, expected, remedy) }
    }

    /// An update whose weight looks like a time, in a batch where all weights do; `None` if its
    /// weight does not.
    pub fn of_time(path: &Path, update: &Update) -> Option<Self> {
        let weight = excerpt(update.like_a_time.as_ref()?.as_bytes());
        let found = format!("the weight {weight} of the edge {} {}, a time by its size", update.from, update.to);
        let remedy = "leave the column out, ignore weights (weights = \"ignore\"), or say that it is the weight \
                      (weights = \"third\")";
        let error = FormatError::line(path, update.line, found, "a weight", remedy);
        Some(Self { problem: Problem::Weight, error })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// All batches of a text, as numbers of updates, and their positions.
    fn batches(text: &str, rule: Rule, done: &[Position]) -> Result<(Vec<usize>, Vec<Position>), StreamError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("updates.txt");
        fs::write(&path, text).unwrap();
        let mut batches = Batches::open(&Origin::Path(path), rule, false, true, done)?;
        let (mut counts, mut positions) = (Vec::new(), Vec::new());
        loop {
            match batches.next_batch()? {
                Next::Batch(batch) => {
                    counts.push(batch.updates.len());
                    positions.push(batch.position);
                }
                Next::Nothing => panic!("a file is there as a whole"),
                Next::End(_) => return Ok((counts, positions)),
            }
        }
    }

    const TEXT: &str = "time op source target\n1 + a b\n# one\n1 + b c\n4 + c d\nnonsense\n5 + d e\n\n14 - a b\n";

    #[test]
    fn batches_end_by_count_or_by_time() {
        let by_time = |span: &str| Rule::Time(span.parse().unwrap());
        assert_eq!(batches(TEXT, Rule::Count(2), &[]).unwrap().0, [2, 2, 1]);
        assert_eq!(batches(TEXT, Rule::Count(100), &[]).unwrap().0, [5]);
        assert_eq!(batches(TEXT, by_time("1"), &[]).unwrap().0, [2, 1, 1, 1]);
        assert_eq!(batches(TEXT, by_time("10"), &[]).unwrap().0, [4, 1]);
        assert_eq!(batches("", by_time("10"), &[]).unwrap().0, [0; 0]);
    }

    #[test]
    fn reading_goes_on_from_every_position() {
        for rule in [Rule::Count(1), Rule::Count(2), Rule::Time("1".parse().unwrap())] {
            let (counts, positions) = batches(TEXT, rule, &[]).unwrap();
            for done in 1..=positions.len() {
                let rest = batches(TEXT, rule, &positions[..done]).unwrap();
                assert_eq!((&rest.0[..], &rest.1[..]), (&counts[done..], &positions[done..]), "{rule:?} after {done}");
                let other = TEXT.replacen("a b", "a c", 1);
                assert!(matches!(batches(&other, rule, &positions[..done]), Err(StreamError::OtherText { .. })));
            }
        }
    }

    #[test]
    fn time_does_not_run_backwards_over_a_position() {
        let (_, positions) = batches("7 + a b\n", Rule::Count(1), &[]).unwrap();
        let more = batches("7 + a b\n6 + a c\n7 + a d\n", Rule::Count(9), &positions).unwrap();
        assert_eq!(more.0, [1]);
    }
}
