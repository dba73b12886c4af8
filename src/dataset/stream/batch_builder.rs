//! A batch that is being read, and its memory.

use std::path::Path;

use super::error::{Refusal, StreamError};
use super::line::Update;
use crate::dataset::budget::{Budget, BudgetedVec, OverBudget, Reservation};

/// Approximate size of the message of a refused line.
const MESSAGE: usize = 256;

/// Updates and refused lines, whose memory is reserved in the budget of the thread as they are
/// added.
#[derive(Debug, Default)]
pub(super) struct BatchBuilder {
    pub updates: BudgetedVec<Update>,
    pub refused: Vec<Refusal>,
    /// Memory of ids and messages.
    texts: Reservation,
    /// Refused lines whose memory is taken.
    counted: usize,
}

impl BatchBuilder {
    /// Adds the update of a line, if it has one, and counts a line that was added to `refused`.
    pub fn add(&mut self, update: Option<Update>, path: &Path) -> Result<(), StreamError> {
        self.try_add(update, &Budget::current()).map_err(|over| over.reading(path).into())
    }

    fn try_add(&mut self, update: Option<Update>, budget: &Budget) -> Result<(), OverBudget> {
        let refused = (self.refused.len() - self.counted) * (size_of::<Refusal>() + MESSAGE);
        self.counted = self.refused.len();
        let texts = update.as_ref().map_or(0, Update::text_bytes) + refused as u64;
        if texts > 0 {
            let held = self.texts.bytes();
            budget.resize(&mut self.texts, held + texts)?;
        }
        update.map_or(Ok(()), |update| self.updates.push(update))
    }

    /// Everything so far, and its memory; the next batch starts empty.
    pub fn take(&mut self) -> (Vec<Update>, Vec<Refusal>, [Reservation; 2]) {
        let Self { updates, refused, texts, .. } = std::mem::take(self);
        let (updates, list) = updates.into_parts();
        (updates, refused, [list, texts])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::format::FormatError;
    use crate::dataset::stream::line::parse;

    /// Catches a list that grows beyond the limit, and a limit that is used up by dropped batches.
    #[test]
    fn a_batch_takes_what_it_holds_and_gives_it_back() {
        let update = parse(b"1 + ann bob", (Path::new("updates.txt"), 1), false).unwrap();
        Budget::new(100_000).within(|| {
            for _ in 0..5 {
                let mut builder = BatchBuilder::default();
                let error = loop {
                    if let Err(error) = builder.add(update.clone(), Path::new("updates.txt")) {
                        break error;
                    }
                };
                assert!(matches!(error, StreamError::Format(FormatError::Memory { limit: 100_000, .. })), "{error}");
                let held = builder.updates.len() * (size_of::<Update>() + 64);
                assert!((50_000..=100_000).contains(&held), "{held}");
            }
        });
    }
}
