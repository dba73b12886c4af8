//! Tokens of Rust sources, without comments, literals and code for tests.

use std::fs;
use std::path::PathBuf;

use crate::page::project;

/// A word or a punctuation mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    /// From 1.
    pub line: usize,
}

/// A file of Rust.
pub struct Source {
    /// Relative to the folder of the project.
    pub path: PathBuf,
    pub text: String,
}

/// All files of Rust in some folders of the project and in theirs.
pub fn sources(folders: &[&str]) -> Vec<Source> {
    let mut rest: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    let mut sources = Vec::new();
    while let Some(folder) = rest.pop() {
        for entry in fs::read_dir(project().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                rest.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(entry.path()).unwrap();
                sources.push(Source { path, text });
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

/// The tokens of a text; `::` is one token. Comments, strings, characters and lifetimes are
/// skipped.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut scan = Scan { rest: text, line: 1 };
    let mut tokens = Vec::new();
    while let Some(first) = scan.rest.chars().next() {
        let line = scan.line;
        if scan.rest.starts_with("//") {
            scan.skip_while(|c| c != '\n');
        } else if scan.rest.starts_with("/*") {
            scan.skip_block_comment();
        } else if let Some(hashes) = raw_string(scan.rest) {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = scan.rest.find('"').map_or(0, |quote| quote + 1);
            let length = scan.rest[start..].find(&end).map_or(scan.rest.len(), |at| start + at + end.len());
            scan.take(length);
        } else if first == '"' {
            scan.skip_quoted('"');
        } else if first == '\'' {
            // A character literal ends after one character or escape; a lifetime has no closing
            // quote.
            let mut after = scan.rest.chars().skip(1);
            let is_character = after.next() == Some('\\') || after.next() == Some('\'');
            if is_character {
                scan.skip_quoted('\'');
            } else {
                scan.take(1);
                scan.skip_while(is_of_word);
            }
        } else if is_of_word(first) {
            let text = scan.skip_while(is_of_word).to_owned();
            // The prefix of a string or a character is a part of it.
            let is_prefix = ["b", "c"].contains(&text.as_str()) && scan.rest.starts_with(['"', '\'']);
            if !is_prefix {
                tokens.push(Token { text, line });
            }
        } else {
            let sign = scan.take(if scan.rest.starts_with("::") { 2 } else { first.len_utf8() });
            if !first.is_whitespace() {
                tokens.push(Token { text: sign.to_owned(), line });
            }
        }
    }
    tokens
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The number of hashes of a raw string, if one starts here.
fn raw_string(text: &str) -> Option<usize> {
    let rest = ["r", "br", "cr"].iter().find_map(|prefix| text.strip_prefix(prefix))?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

struct Scan<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Scan<'a> {
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn skip_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        self.take(self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len()))
    }

    fn skip_quoted(&mut self, quote: char) {
        self.take(1);
        let mut is_escaped = false;
        let end = self.rest.find(|c| {
            let is_end = c == quote && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        });
        self.take(end.map_or(self.rest.len(), |end| end + 1));
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0;
        loop {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.take(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.take(2);
            } else {
                let Some(next) = self.rest.chars().next() else { return };
                self.take(next.len_utf8());
            }
            if depth == 0 {
                return;
            }
        }
    }
}

/// The tokens that are compiled without `cfg(test)`, and the modules in files of their own that are
/// compiled with it alone.
pub fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let (mut kept, mut files) = (Vec::new(), Vec::new());
    let mut next = 0;
    while next < tokens.len() {
        if is_for_tests(&tokens[next..]) {
            let end = next + item(&tokens[next..]);
            if let [.., keyword, name, end] = &tokens[next..end]
                && (keyword.text.as_str(), end.text.as_str()) == ("mod", ";")
            {
                files.push(name.text.clone());
            }
            next = end;
        } else {
            kept.push(tokens[next].clone());
            next += 1;
        }
    }
    (kept, files)
}

/// Whether an attribute starts here that restricts its item to tests.
fn is_for_tests(tokens: &[Token]) -> bool {
    let starts =
        |with: &[&str]| tokens.len() >= with.len() && tokens.iter().zip(with).all(|(token, with)| token.text == *with);
    starts(&["#", "[", "cfg", "(", "test", ")", "]"]) || starts(&["#", "[", "cfg", "(", "all", "(", "test"])
}

/// The number of tokens of an item, including its attributes.
fn item(tokens: &[Token]) -> usize {
    let mut next = 0;
    while tokens.get(next).is_some_and(|token| token.text == "#") {
        next += 1 + group(&tokens[next + 1..]);
    }
    // These items end with a semicolon, also if they contain braces.
    let keywords = ["use", "static", "type"];
    let is_statement = tokens[next..]
        .iter()
        .take_while(|token| !["{", ";", "="].contains(&token.text.as_str()))
        .any(|token| keywords.contains(&token.text.as_str()));
    while next < tokens.len() {
        let length = group(&tokens[next..]);
        let (first, is_block) = (next, tokens[next].text == "{");
        next += length;
        if tokens[first].text == ";" || is_block && !is_statement {
            break;
        }
    }
    next
}

/// The number of tokens from an opening bracket to its closing one; 1 if there is none.
fn group(tokens: &[Token]) -> usize {
    let mut depth = 0;
    for (number, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "{" | "[" | "(" => depth += 1,
            "}" | "]" | ")" => depth -= 1,
            _ => {}
        }
        if depth <= 0 {
            return number + 1;
        }
    }
    tokens.len()
}

#[test]
fn comments_literals_and_tests_are_left_out() {
    let text = r##"//! a
/* b /* c */ d */ use e; /// f
let g = "h \" i
"; let j = ['k', '\'', '"']; let l: &'m str = r#"n "o" p"#; b'q' == br"r";
#[cfg(test)]
mod s;
#[cfg(all(test, unix))]
#[allow(t)]
pub(super) mod u { fn v() {} }
#[cfg(test)]
use w::{x, y}; #[cfg(unix)] mod z;
"##;
    let (kept, files) = without_tests(&tokens(text));
    let words: Vec<(&str, usize)> = kept
        .iter()
        .filter(|token| token.text.starts_with(char::is_alphabetic))
        .map(|token| (token.text.as_str(), token.line))
        .collect();
    let expected = [
        ("use", 2),
        ("e", 2),
        ("let", 3),
        ("g", 3),
        ("let", 4),
        ("j", 4),
        ("let", 4),
        ("l", 4),
        ("str", 4),
        ("cfg", 11),
        ("unix", 11),
        ("mod", 11),
        ("z", 11),
    ];
    assert_eq!(words, expected);
    assert_eq!(files, ["s"]);
}
