//! One file, from a server to the disk.

use std::io::{self, Read, Write};
use std::path::Path;

use super::error::judge;
use super::part::{Held, Part};
use super::{FetchError, Job, http};
use crate::dataset::catalog::File;

/// How many bytes are moved at a time.
const PIECE: usize = 1 << 16;

impl Job<'_> {
    /// Downloads `file` to `ready`, where it appears when it is complete and verified. One that is
    /// there already has been brought by an earlier fetch from the same place, and stays.
    pub(super) fn download(&self, path: &str, file: &File, ready: &Path) -> Result<(), FetchError> {
        let check = |path: &Path| file.check(path).map_err(|source| FetchError::Disk { path: path.to_owned(), source });
        if check(ready)?.is_good() {
            return Ok(());
        }
        let address = self.address(path);
        let part = self.work.part(file.path);
        self.receive(&address, path, file, &part)?;
        judge(file, &check(part.path())?, || address.clone())?;
        part.finish(ready)
    }

    /// Brings the rest of the file, or all of it, to the disk.
    fn receive(&self, address: &str, name: &str, file: &File, part: &Part) -> Result<(), FetchError> {
        let held = part.held().filter(|held| is_worth_keeping(held, file));
        let mut answer = http::ask(&self.agent, address, held.as_ref())?;
        let total = answer.facts.total;
        if let Some((expected, found)) = file.size.zip(total).filter(|(expected, found)| expected != found) {
            return Err(FetchError::Size { what: address.to_owned(), expected, found });
        }
        let limit = file.size.unwrap_or(self.limits.download);
        if total.is_some_and(|total| total > limit) {
            return Err(FetchError::TooLarge { address: address.to_owned(), limit });
        }
        let mut output = part.open(answer.start, &answer.facts)?;
        let mut arrived = answer.start;
        let mut input = answer.body.as_reader();
        let mut piece = vec![0; PIECE];
        let interrupted = |arrived, source| {
            let expected = total.or(file.size);
            FetchError::Interrupted { address: address.to_owned(), arrived, expected, source }
        };
        (self.progress)(name, arrived, total.or(file.size));
        loop {
            let count = match input.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(interrupted(arrived, Some(error))),
            };
            if arrived + count as u64 > limit {
                return Err(FetchError::TooLarge { address: address.to_owned(), limit });
            }
            output.write_all(&piece[..count]).map_err(|source| part.error(source))?;
            arrived += count as u64;
            (self.progress)(name, arrived, total.or(file.size));
        }
        if total.or(file.size).is_some_and(|total| arrived < total) {
            return Err(interrupted(arrived, None));
        }
        output.sync_all().map_err(|source| part.error(source))
    }
}

/// Whether a partial download can be continued: the server can tell that the file is the same, or
/// its sum will.
fn is_worth_keeping(held: &Held, file: &File) -> bool {
    let unfinished = held.facts.total.is_none_or(|total| held.bytes < total);
    unfinished && (held.facts.validator().is_some() || file.sha256.is_some())
}
