//! A module uses only modules to its left in the drawing of the library's page.

use std::collections::BTreeSet;
use std::path::Path;

use crate::source::{Token, sources, tokens, without_tests};

/// The modules from left to right, and the modules that each may use. Some modules to the left are
/// excluded: graphs for solvers, workers for metrics, plans and workers for configs, and files for
/// everything between a matrix and its decomposition.
const MODULES: [(&str, &[&str]); 16] = [
    ("kernel", &[]),
    ("graph", &["kernel"]),
    ("dataset", &["kernel", "graph"]),
    ("matrix", &["kernel", "graph"]),
    ("plan", &["kernel", "graph", "matrix"]),
    ("engine", &["kernel", "graph", "matrix", "plan"]),
    ("svd", &["kernel", "matrix", "plan", "engine"]),
    ("evaluate", &["kernel", "matrix"]),
    ("model", &["kernel", "graph", "dataset", "matrix", "plan", "engine", "svd", "evaluate"]),
    ("finetune", &["kernel", "graph", "dataset", "matrix", "plan", "engine", "svd", "evaluate", "model"]),
    ("config", &["kernel", "graph", "dataset", "matrix", "svd", "evaluate", "model", "finetune"]),
    ("experiment", ALL),
    ("report", ALL),
    ("serve", ALL),
    ("cli", ALL),
    ("prelude", ALL),
];

/// Every module to the left.
const ALL: &[&str] = &["*"];

/// Dataflow libraries, and the only module that may use them.
const DATAFLOW: [&str; 2] = ["timely", "differential_dataflow"];
const KNOWS_DATAFLOW: &str = "engine";

/// Files outside of `crates/kernel` that have `unsafe` code, and why.
const UNSAFE: [(&str, &str); 2] = [
    ("fuzz/memory.rs", "counting allocations takes a `GlobalAlloc`, an unsafe trait"),
    ("support/need.rs", "to print a line when a test program ends takes `atexit`, a function of C"),
];

/// A forbidden use of a module.
#[derive(Debug, PartialEq, Eq)]
struct Arrow {
    line: usize,
    to: String,
}

/// The root modules that a file names. `level` is that of its own module below the root.
fn uses(tokens: &[Token], level: usize) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    // Inline modules, by the depth of their opening brace.
    let (mut depth, mut inner) = (0, Vec::new());
    for (number, token) in tokens.iter().enumerate() {
        let is_first = number == 0 || tokens[number - 1].text != "::";
        match token.text.as_str() {
            "{" => {
                depth += 1;
                if number >= 2 && tokens[number - 2].text == "mod" {
                    inner.push(depth);
                }
            }
            "}" => {
                if inner.last() == Some(&depth) {
                    inner.pop();
                }
                depth -= 1;
            }
            "crate" | "isvd_dist" if is_first => follow(&tokens[number + 1..], 0, &mut arrows),
            "self" if is_first => follow(&tokens[number + 1..], level + inner.len(), &mut arrows),
            "super" if is_first => {
                follow(&tokens[number + 1..], (level + inner.len()).saturating_sub(1), &mut arrows);
            }
            _ => {}
        }
    }
    arrows
}

/// Follows a path from a module at a given level below the root.
fn follow(tokens: &[Token], level: usize, arrows: &mut Vec<Arrow>) {
    if tokens.first().is_some_and(|token| token.text == "::") {
        step(&tokens[1..], level, arrows);
    }
}

/// The next part of a path: a name, a module above, or several in braces.
fn step(tokens: &[Token], level: usize, arrows: &mut Vec<Arrow>) {
    let Some(token) = tokens.first() else { return };
    match token.text.as_str() {
        "super" => follow(&tokens[1..], level.saturating_sub(1), arrows),
        "self" => follow(&tokens[1..], level, arrows),
        "{" => {
            let mut depth = 0;
            for (number, token) in tokens.iter().enumerate() {
                match token.text.as_str() {
                    "{" => depth += 1,
                    "}" => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
                let starts = (number == 0 || token.text == ",") && depth == 1;
                if starts && tokens[number + 1].text != "}" {
                    step(&tokens[number + 1..], level, arrows);
                }
            }
        }
        _ if level == 0 => arrows.push(Arrow { line: token.line, to: token.text.clone() }),
        _ => {}
    }
}

/// The level of the module of a file below the root, and the root module that it belongs to.
fn place(path: &Path) -> (String, usize) {
    let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).skip(1).collect();
    let (file, folders) = parts.split_last().unwrap();
    let name = folders.first().copied().unwrap_or(file.trim_end_matches(".rs"));
    (name.to_owned(), folders.len() + usize::from(*file != "mod.rs"))
}

/// The forbidden modules that a file of `src` uses.
fn wrong_arrows(path: &Path, tokens: &[Token]) -> Vec<Arrow> {
    let (from, level) = place(path);
    let number = MODULES.iter().position(|(name, _)| *name == from);
    let may_use = |used: &str| match number.map(|number| MODULES[number].1) {
        Some(ALL) => MODULES[..number.unwrap_or(0)].iter().any(|(name, _)| *name == used),
        allowed => allowed.is_some_and(|allowed| allowed.contains(&used)),
    };
    let dataflow = tokens.iter().filter(|token| from != KNOWS_DATAFLOW && DATAFLOW.contains(&token.text.as_str()));
    let dataflow = dataflow.map(|token| Arrow { line: token.line, to: token.text.clone() });
    let arrows = uses(tokens, level).into_iter().filter(|arrow| arrow.to != from && !may_use(&arrow.to));
    arrows.chain(dataflow).collect()
}

/// The lines of `unsafe` code and of SIMD.
fn unsafe_lines(tokens: &[Token]) -> BTreeSet<usize> {
    let word = |number: usize| tokens.get(number).map_or("", |token| token.text.as_str());
    let is_unsafe = |number: &usize| match word(*number) {
        "unsafe" | "target_feature" | "is_x86_feature_detected" | "portable_simd" => true,
        "std" | "core" => word(number + 1) == "::" && ["arch", "simd"].contains(&word(number + 2)),
        _ => false,
    };
    (0..tokens.len()).filter(is_unsafe).map(|number| tokens[number].line).collect()
}

#[test]
fn modules_are_ordered() {
    for (number, (name, allowed)) in MODULES.iter().enumerate() {
        let left: Vec<&str> = MODULES[..number].iter().map(|(name, _)| *name).collect();
        assert!(
            *allowed == ALL || allowed.iter().all(|used| left.contains(used)),
            "{name} may use {allowed:?}, and left of it are {left:?}"
        );
    }
    let page = tokens(include_str!("../../src/lib.rs"));
    let declared: BTreeSet<&str> = page
        .windows(3)
        .filter(|words| (words[0].text.as_str(), words[2].text.as_str()) == ("mod", ";"))
        .map(|words| words[1].text.as_str())
        .chain(["kernel"])
        .collect();
    assert_eq!(declared, MODULES.iter().map(|(name, _)| *name).collect(), "the modules of src/lib.rs");
}

#[test]
fn modules_use_only_those_to_their_left() {
    let all: Vec<_> = sources(&["src"])
        .into_iter()
        .filter(|source| source.path.components().count() > 2)
        .map(|source| {
            let (tokens, files) = without_tests(&tokens(&source.text));
            (source.path, tokens, files)
        })
        .collect();
    let of_tests: Vec<_> = all
        .iter()
        .flat_map(|(path, _, files)| {
            let folder =
                if path.ends_with("mod.rs") { path.parent().unwrap().to_owned() } else { path.with_extension("") };
            files.iter().map(move |name| folder.join(name))
        })
        .collect();
    let is_of_tests = |path: &Path| of_tests.iter().any(|module| path.with_extension("").starts_with(module));
    let mut wrong = Vec::new();
    for (path, tokens, _) in all.iter().filter(|(path, ..)| !is_of_tests(path)) {
        let (from, _) = place(path);
        for Arrow { line, to } in wrong_arrows(path, tokens) {
            wrong.push(format!("{}:{line}: {from} must not use {to}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}\nsee the drawing of the modules in src/lib.rs", wrong.join("\n"));
    assert!(of_tests.len() > 10 && all.len() > 200, "{} of {} files", of_tests.len(), all.len());
}

/// Functions that print, end the process, or read the terminal or the environment.
const OF_PROGRAMS: [&str; 9] =
    ["print", "println", "eprint", "eprintln", "process", "stdout", "stderr", "IsTerminal", "env"];

/// An experiment is library code: its caller decides what is printed, and adds its own options to
/// errors.
#[test]
fn experiments_do_not_print() {
    for source in sources(&["src/experiment"]) {
        // `env!` is known when the library is built.
        let built_in = |pair: &&[Token]| pair[0].text == "env" && pair[1].text == "!";
        let tokens = tokens(&source.text);
        let words = tokens.windows(2).filter(|pair| !built_in(pair)).map(|pair| &pair[0]);
        for word in words {
            let is_of_programs = OF_PROGRAMS.contains(&word.text.as_str());
            assert!(!is_of_programs, "{}:{}: {}", source.path.display(), word.line, word.text);
        }
        let option = source.text.lines().position(|line| line.contains("\"--") || line.contains(" --"));
        assert!(option.is_none(), "{}:{}: an option of the command line", source.path.display(), option.unwrap() + 1);
    }
}

/// Texts outside of `cli` that name options: help that the command line shows, and not errors.
const SHOWN_BY_CLI: [&str; 2] = ["config/keys.rs", "report/explain.rs"];

/// An error of the library says what is wrong in words that hold without a command line; `cli::hint`
/// adds the option that leads out.
#[test]
fn only_the_command_line_names_options() {
    for source in sources(&["src"]) {
        if source.path.starts_with("src/cli") || SHOWN_BY_CLI.iter().any(|path| source.path.ends_with(path)) {
            continue;
        }
        let names_option = |line: &str| {
            let is_comment = line.trim_start().starts_with("//");
            let mut options =
                line.match_indices("--").filter(|(at, _)| line[at + 2..].starts_with(char::is_alphabetic));
            !is_comment && options.any(|(at, _)| line[..at].ends_with([' ', '"', '`', '(']))
        };
        let found = source.text.lines().position(names_option);
        assert!(found.is_none(), "{}:{}: an option of the command line", source.path.display(), found.unwrap_or(0) + 1);
    }
}

#[test]
fn unsafe_code_and_simd_are_in_the_kernels_alone() {
    let mut met = BTreeSet::new();
    for source in sources(&["src", "benches", "examples", "tests"]) {
        let Some(&line) = unsafe_lines(&tokens(&source.text)).first() else { continue };
        let known = UNSAFE.iter().find(|(path, _)| source.path.ends_with(path));
        let (path, _) =
            known.unwrap_or_else(|| panic!("{}:{line}: this belongs into crates/kernel", source.path.display()));
        met.insert(*path);
    }
    assert_eq!(met.len(), UNSAFE.len(), "no longer unsafe: strike what is not among {met:?}");
}

#[test]
fn uses_of_later_modules_are_detected() {
    let text = r#"//! See [`plan`](crate::plan).
use super::super::engine::Cluster;
use crate::{kernel::Tile, dataset::{EdgeList, store::Store}, graph};
use crate::matrix; // use crate::svd;
pub(in crate::graph) fn f() -> crate::model::Options { "crate::report::table" }
mod inner {
    use super::super::super::cli;
    use super::super::{super::serve, row_set};
}
use super::{evaluate, self::finetune};
use timely::worker::Worker;
#[cfg(test)]
use crate::config::Experiment;
"#;
    let arrows = |path: &str| -> Vec<(usize, String)> {
        let (tokens, _) = without_tests(&tokens(text));
        wrong_arrows(Path::new(path), &tokens).into_iter().map(|arrow| (arrow.line, arrow.to)).collect()
    };
    let expected = |all: &[(usize, &str)]| -> Vec<(usize, String)> {
        all.iter().map(|&(line, to)| (line, to.to_owned())).collect()
    };
    let found = expected(&[
        (2, "engine"),
        (3, "dataset"),
        (4, "matrix"),
        (5, "model"),
        (7, "cli"),
        (8, "serve"),
        (11, "timely"),
    ]);
    assert_eq!(arrows("src/graph/order.rs"), found);
    assert_eq!(arrows("src/graph/sparse/mod.rs"), found);
    // One level up: `super` refers to another module.
    let from_the_root = arrows("src/graph/mod.rs");
    assert!(
        from_the_root.contains(&(10, "evaluate".to_owned())) && from_the_root.contains(&(10, "finetune".to_owned()))
    );
    assert_eq!(arrows("src/experiment/order.rs"), expected(&[(7, "cli"), (8, "serve"), (11, "timely")]));
    let of_engine = expected(&[(3, "dataset"), (5, "model"), (7, "cli"), (8, "serve")]);
    assert_eq!(arrows("src/engine/order.rs"), of_engine);
    assert!(arrows("src/cli/order.rs").iter().all(|(_, to)| to == "timely"));
    assert_eq!(
        unsafe_lines(&tokens("fn f() {\n    unsafe { g() }\n    use std::arch::x86_64::*; // unsafe\n}")),
        [2, 3].into()
    );
}
