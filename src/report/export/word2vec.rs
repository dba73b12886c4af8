//! The text form of word2vec.

use std::collections::HashMap;
use std::io::{self, Write};

use super::{Export, ExportError};
use crate::dataset::Ids;

/// The word of each id: the id, with `_` in place of what would end a word.
pub(super) fn words(ids: &Ids) -> Result<Vec<String>, ExportError> {
    let ends_word = |letter: char| letter.is_whitespace() || letter.is_control();
    let word = |id: &str| if id.is_empty() { "_".to_owned() } else { id.replace(ends_word, "_") };
    let words: Vec<String> = ids.iter().map(|id| word(&id)).collect();
    let mut first: HashMap<&str, usize> = HashMap::with_capacity(words.len());
    for (row, word) in words.iter().enumerate() {
        if let Some(earlier) = first.insert(word, row) {
            let id = |row| ids.get(row).unwrap_or_default().into_owned();
            return Err(ExportError::SameWord { one: id(earlier), other: id(row), word: word.clone() });
        }
    }
    Ok(words)
}

/// Writes the sizes, then a word and its vector a line.
pub(super) fn write(export: &Export<'_>, words: &[String], file: &mut impl Write) -> io::Result<()> {
    writeln!(file, "{} {}", words.len(), export.vectors.columns(export.side))?;
    for (row, word) in words.iter().enumerate() {
        write!(file, "{word}")?;
        for entry in export.vectors.row(export.side, row) {
            write!(file, " {entry:?}")?;
        }
        writeln!(file)?;
    }
    Ok(())
}
