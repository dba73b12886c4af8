//! Links between pages have existing targets.

use std::path::Path;

use crate::page::{Page, pages, project};

/// The targets of the links of a text, except in comments and code.
fn targets(text: &str) -> Vec<String> {
    let parts = text.split("<!--").enumerate();
    let text: String = parts
        .map(|(n, part)| if n == 0 { part } else { part.split_once("-->").map_or("", |(_, rest)| rest) })
        .collect();
    let mut is_code = false;
    let mut targets = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        // Text between backquotes is not a link.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let links = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        targets.extend(links.map(|(target, _)| target.to_owned()));
    }
    targets
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || c == ' ' || c == '-' || c == '_';
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .chars()
        .filter(|&c| kept(c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn is_there(page: &Page, target: &str) -> bool {
    let (path, place) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => project().join(&page.path),
        path => project().join(&page.path).parent().unwrap_or(Path::new("")).join(path),
    };
    let has_place = || {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        text.lines().filter(|line| line.starts_with('#')).any(|heading| anchor(heading) == place)
    };
    path.exists() && (place.is_empty() || has_place())
}

#[test]
fn every_link_leads_somewhere() {
    let mut broken = Vec::new();
    let mut count = 0;
    for page in pages() {
        for target in targets(&page.text).iter().filter(|target| !target.contains("://")) {
            count += 1;
            if !is_there(&page, target) {
                broken.push(format!("{}: {target}", page.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(count > 20, "{count}");
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = targets(include_str!("../../docs/SUMMARY.md"));
    for page in pages().iter().filter(|page| page.path.starts_with("docs") && !page.path.ends_with("SUMMARY.md")) {
        let name = page.path.file_name().unwrap().to_str().unwrap();
        assert!(summary.iter().any(|target| target == name), "add {name} to docs/SUMMARY.md");
    }
}

#[test]
fn links_and_headings_are_understood() {
    assert_eq!(
        targets("<!-- [x](y)\n-->\n[a](b.md) and `[c](d)` ![e](f.svg#g)\n```sh\n[h](i)\n```\n"),
        ["b.md", "f.svg#g"]
    );
    assert_eq!(anchor("## What it saves, and `when`"), "what-it-saves-and-when");
}
