//! Pages of Markdown, and the blocks in them.

use std::fs;
use std::path::{Path, PathBuf};

/// A page.
pub struct Page {
    /// Relative to the folder of the project.
    pub path: PathBuf,
    pub text: String,
}

/// A fenced block.
pub struct Block {
    pub language: String,
    pub text: String,
    /// The line of its fence, from 1.
    pub line: usize,
    /// The comment right before it, without its brackets.
    pub mark: Option<String>,
}

/// The folder of the project.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All pages: those of the project's folder and those of `docs/`.
pub fn pages() -> Vec<Page> {
    let mut paths =
        vec!["README.md".into(), "CONTRIBUTING.md".into(), "CHANGELOG.md".into(), "cluster/README.md".into()];
    let docs = fs::read_dir(project().join("docs")).unwrap().map(|entry| entry.unwrap().file_name());
    let is_page = |name: &PathBuf| name.extension().is_some_and(|ending| ending == "md");
    let mut docs: Vec<PathBuf> = docs.map(|name| Path::new("docs").join(name)).filter(is_page).collect();
    docs.sort();
    paths.extend(docs);
    paths.into_iter().map(Page::read).collect()
}

impl Page {
    pub fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(project().join(&path)).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        Self { path, text }
    }

    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut mark = None;
        let mut lines = self.text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            if let Some(language) = line.strip_prefix("```") {
                let text = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
                let text = text.map(|line| format!("{line}\n")).collect();
                blocks.push(Block { language: language.to_owned(), text, line: number + 1, mark: mark.take() });
            } else if !line.is_empty() {
                let comment = line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->"));
                mark = comment.map(str::to_owned);
            }
        }
        blocks
    }
}

#[test]
fn blocks_are_found_with_their_marks() {
    let text = "a\n\n<!-- not run: no -->\n```sh\none\n\ntwo\n```\n\nb\n```text\nthree\n```\n".to_owned();
    let page = Page { path: "page.md".into(), text };
    let blocks = page.blocks();
    let found: Vec<_> =
        blocks.iter().map(|b| (b.language.as_str(), b.text.as_str(), b.line, b.mark.as_deref())).collect();
    assert_eq!(found, [("sh", "one\n\ntwo\n", 4, Some("not run: no")), ("text", "three\n", 11, None)]);
}
