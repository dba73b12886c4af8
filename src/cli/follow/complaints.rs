//! Warnings: each kind is printed a few times and always counted.

use std::collections::BTreeMap;

use super::super::error::note;

/// How often a kind of warning is printed.
const TOLD: u64 = 5;

/// Counts of warnings by their kind.
#[derive(Debug, Default)]
pub(super) struct Complaints {
    /// Since the counts were taken last.
    counts: BTreeMap<String, u64>,
    told: BTreeMap<&'static str, u64>,
}

impl Complaints {
    /// Counts a warning, and prints it unless its kind was printed often.
    pub(super) fn tell(&mut self, what: &'static str, text: impl FnOnce() -> String) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
        let told = self.told.entry(what).or_default();
        *told += 1;
        match *told {
            1..=TOLD => note(&format!("warning: {}", text())),
            over if over == TOLD + 1 => note(&format!("warning: there are more {what}; they are counted")),
            _ => {}
        }
    }

    /// Prints a warning the first time, and does not count it.
    pub(super) fn tell_once(&mut self, what: &'static str, text: impl FnOnce() -> String) {
        let told = self.told.entry(what).or_default();
        if std::mem::replace(told, 1) == 0 {
            note(&format!("warning: {}", text()));
        }
    }

    /// Counts a warning that an earlier run printed.
    pub(super) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    /// The counts since the last call.
    pub(super) fn take(&mut self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.counts)
    }
}
