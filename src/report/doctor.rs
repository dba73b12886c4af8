//! What a machine has, and what is wrong with it.

use std::fmt;

use serde::Serialize;

/// All that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Checkup {
    /// In the order in which people read them.
    pub findings: Vec<Finding>,
}

/// Something that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub name: String,
    /// How it is.
    pub state: State,
    /// What was found.
    pub found: String,
    /// The way out, where there is something to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Good,
    /// Runs can do without it.
    Absent,
    /// Runs would fail.
    Broken,
}

impl Finding {
    /// Something that is as it should be.
    pub fn good(name: impl Into<String>, found: impl Into<String>) -> Self {
        Self { name: name.into(), state: State::Good, found: found.into(), remedy: None }
    }

    /// Something that runs can do without, and how to get it.
    pub fn absent(name: impl Into<String>, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name: name.into(), state: State::Absent, found: found.into(), remedy: Some(remedy.into()) }
    }

    /// Something that runs would fail by, and the way out.
    pub fn broken(name: impl Into<String>, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name: name.into(), state: State::Broken, found: found.into(), remedy: Some(remedy.into()) }
    }
}

impl Checkup {
    /// How many things are broken.
    pub fn broken(&self) -> usize {
        self.findings.iter().filter(|finding| finding.state == State::Broken).count()
    }
}

impl fmt::Display for Checkup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            let mark = match finding.state {
                State::Good => "ok",
                State::Absent => "-",
                State::Broken => "BROKEN",
            };
            writeln!(f, "{mark:<8}{:<20}{}", finding.name, finding.found)?;
            // That of something absent is the same for all of its kind, and said once below.
            if let Some(remedy) = finding.remedy.as_ref().filter(|_| finding.state == State::Broken) {
                writeln!(f, "{:28}{remedy}", "")?;
            }
        }
        if let Some(remedy) = self
            .findings
            .iter()
            .find(|finding| finding.state == State::Absent)
            .and_then(|finding| finding.remedy.as_ref())
        {
            writeln!(f, "\nWhat is marked - is not needed. To have it, type for instance: {remedy}")?;
        }
        Ok(())
    }
}
