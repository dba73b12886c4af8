//! A batch on its way, and the memory that it takes.

use std::path::Path;

use super::error::{Refusal, StreamError};
use super::line::Update;
use crate::dataset::budget::{Budget, OverBudget, Taken};

/// Bytes of the messages of a refused line, about.
const MESSAGE: usize = 256;

/// Updates and refused lines, which take their memory from the budget of the thread as they come.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub updates: Vec<Update>,
    pub refused: Vec<Refusal>,
    memory: Memory,
    /// Refused lines that are counted.
    counted: usize,
}

/// What a batch takes, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    list: Taken,
    texts: Taken,
}

impl Gathered {
    /// Adds what was read of a line of a file: an update, none, or a refused line.
    pub fn add(&mut self, update: Option<Update>, path: &Path) -> Result<(), StreamError> {
        self.try_add(update, &Budget::current()).map_err(|over| over.reading(path).into())
    }

    fn try_add(&mut self, update: Option<Update>, budget: &Budget) -> Result<(), OverBudget> {
        let refused = (self.refused.len() - self.counted) * (size_of::<Refusal>() + MESSAGE);
        self.counted = self.refused.len();
        let texts = update.as_ref().map_or(0, Update::text_bytes) + refused as u64;
        if texts > 0 {
            let held = self.memory.texts.bytes();
            budget.resize(&mut self.memory.texts, held + texts)?;
        }
        if let Some(update) = update {
            budget.room_for_one(&mut self.memory.list, &mut self.updates)?;
            self.updates.push(update);
        }
        Ok(())
    }

    /// Everything so far; what comes after begins anew.
    pub fn take(&mut self) -> (Vec<Update>, Vec<Refusal>, Memory) {
        let Self { updates, refused, memory, .. } = std::mem::take(self);
        (updates, refused, memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::format::FormatError;
    use crate::dataset::stream::line::parse;

    /// Catches a list that grows beyond the limit, and a limit that is used up by batches that are gone.
    #[test]
    fn a_batch_takes_what_it_holds_and_gives_it_back() {
        let update = parse(b"1 + ann bob", 1, false).unwrap();
        Budget::new(100_000).within(|| {
            for _ in 0..5 {
                let mut gathered = Gathered::default();
                let error = loop {
                    if let Err(error) = gathered.add(update.clone(), Path::new("updates.txt")) {
                        break error;
                    }
                };
                assert!(matches!(error, StreamError::Format(FormatError::Memory { limit: 100_000, .. })), "{error}");
                let held = gathered.updates.len() * (size_of::<Update>() + 64);
                assert!((50_000..=100_000).contains(&held), "{held}");
            }
        });
    }
}
