//! What a question says after its path.

use std::borrow::Cow;

use super::answer::Answer;

/// Parameters by name, each known and at most once.
pub(super) struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    /// Reads them; `known` are those that mean something here.
    pub fn parse(text: &'a str, known: &[&str]) -> Result<Self, Answer> {
        let mut found: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::new();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            if !known.contains(&name.as_ref()) {
                let known = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "none".to_owned() } else { known };
                return Err(Answer::refused(format!("unknown parameter `{name}`: known are {known}")));
            }
            if found.iter().any(|(other, _)| *other == name) {
                return Err(Answer::refused(format!("the parameter `{name}` stands there twice")));
            }
            found.push((name, value));
        }
        Ok(Self(found))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_ref())
    }

    /// A parameter that must be there.
    pub fn need(&self, name: &str) -> Result<&str, Answer> {
        self.get(name).ok_or_else(|| Answer::refused(format!("the parameter `{name}` is missing")))
    }

    /// A number from 1 to `most`.
    pub fn count(&self, name: &str, default: usize, most: usize) -> Result<usize, Answer> {
        let Some(text) = self.get(name) else { return Ok(default) };
        match text.parse() {
            Ok(count) if (1..=most).contains(&count) => Ok(count),
            _ => Err(Answer::refused(format!("`{name}` is `{text}`: expected a number from 1 to {most}"))),
        }
    }

    /// One of some words; the first is the default.
    pub fn choice<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<T, Answer> {
        let text = self.get(name).unwrap_or(words[0].0);
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        found.ok_or_else(|| {
            let known = words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(" or ");
            Answer::refused(format!("`{name}` is `{text}`: expected {known}"))
        })
    }
}
