//! The settings that must agree in all processes.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Settings by name. An error reports those in which two processes differ.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterAgreement {
    compared: Vec<(String, String)>,
    /// Memory limit of this process in bytes. It may differ; the least counts for all.
    pub memory: Option<u64>,
}

/// The largest encoded size.
const MOST_BYTES: u32 = 1 << 20;

/// A setting in which two processes differ.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) what: String,
    pub(super) here: String,
    pub(super) there: String,
}

impl ClusterAgreement {
    /// Adds a value.
    pub fn add(&mut self, name: impl Into<String>, value: impl ToString) {
        self.compared.push((name.into(), value.to_string()));
    }

    /// Adds the digest of a long text.
    pub fn add_digest(&mut self, name: impl Into<String>, text: &str) {
        let digest = Sha256::digest(text);
        let digits: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        self.add(name, format_args!("text {digits}"));
    }

    /// The settings of both.
    pub(super) fn and(mut self, others: Self) -> Self {
        self.compared.extend(others.compared);
        self
    }

    /// The first difference from another process.
    pub(super) fn difference(&self, theirs: &Self) -> Option<Difference> {
        let value_in = |agreement: &Self, name: &str| {
            let found = agreement.compared.iter().find(|(found, _)| found == name);
            found.map_or("not set".to_owned(), |(_, value)| value.clone())
        };
        let names = self.compared.iter().chain(&theirs.compared).map(|(name, _)| name);
        let both = names.map(|name| (name, value_in(self, name), value_in(theirs, name)));
        let mut differing = both.filter(|(_, here, there)| here != there);
        differing.next().map(|(what, here, there)| Difference { what: what.clone(), here, there })
    }

    pub(super) fn write(&self, stream: &mut impl Write) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        let length = u32::try_from(text.len()).ok().filter(|&length| length <= MOST_BYTES);
        let length = length.ok_or_else(|| io::Error::other("the config is too long to compare"))?;
        // A single write: a second small one would wait for an acknowledgement of the first.
        stream.write_all(&[&length.to_le_bytes()[..], &text].concat())
    }

    /// Reads the agreement of a process that has proven that it knows the secret.
    pub(super) fn read(stream: &mut impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > MOST_BYTES {
            return Err(io::Error::other("it sent more settings than possible"));
        }
        // Memory is bounded by what arrives, not by what is announced.
        let mut text = Vec::new();
        if stream.take(length.into()).read_to_end(&mut text)? < length as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_slice(&text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(pairs: &[(&str, u32)]) -> ClusterAgreement {
        let mut facts = ClusterAgreement { memory: Some(7), ..ClusterAgreement::default() };
        pairs.iter().for_each(|(name, value)| facts.add(*name, value));
        facts
    }

    #[test]
    fn the_first_difference_is_named_with_both_values() {
        let here = facts(&[("seed", 1), ("rank", 32)]);
        assert_eq!(here.difference(&here), None);
        let differs = |there: &ClusterAgreement| here.difference(there).unwrap();
        let rank = differs(&facts(&[("seed", 1), ("rank", 64)]));
        assert_eq!((rank.what.as_str(), rank.here.as_str(), rank.there.as_str()), ("rank", "32", "64"));
        assert_eq!(differs(&facts(&[("seed", 1)])).there, "not set");
        assert_eq!(differs(&facts(&[("seed", 1), ("rank", 32), ("more", 1)])).here, "not set");
    }
}
