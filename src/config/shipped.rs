//! The configs that are part of the binary, so that they run by name from anywhere.

use std::ffi::OsStr;
use std::path::Path;
use std::{fs, io};

/// A config inside the binary.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// The name that `--config` takes.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The config that runs when none is named.
pub const DEFAULT: &str = "demo";

/// All of them.
pub const SHIPPED: &[Shipped] = &[
    Shipped { name: "demo", text: include_str!("../../configs/demo.toml") },
    Shipped { name: "links", text: include_str!("../../configs/links.toml") },
    Shipped { name: "ppi", text: include_str!("../../configs/ppi.toml") },
    Shipped { name: "facebook", text: include_str!("../../configs/facebook.toml") },
    Shipped { name: "hepth", text: include_str!("../../configs/hepth.toml") },
    Shipped { name: "astroph", text: include_str!("../../configs/astroph.toml") },
    Shipped { name: "ppi-best-rank", text: include_str!("../../configs/ppi-best-rank.toml") },
    Shipped { name: "facebook-best-rank", text: include_str!("../../configs/facebook-best-rank.toml") },
    Shipped { name: "hepth-best-rank", text: include_str!("../../configs/hepth-best-rank.toml") },
    Shipped { name: "astroph-best-rank", text: include_str!("../../configs/astroph-best-rank.toml") },
    Shipped { name: "ddi", text: include_str!("../../configs/ddi.toml") },
    Shipped { name: "nodes", text: include_str!("../../configs/nodes.toml") },
    Shipped { name: "cora", text: include_str!("../../configs/cora.toml") },
    Shipped { name: "cora-dropout", text: include_str!("../../configs/cora-dropout.toml") },
    Shipped { name: "citeseer", text: include_str!("../../configs/citeseer.toml") },
    Shipped { name: "citeseer-dropout", text: include_str!("../../configs/citeseer-dropout.toml") },
    Shipped { name: "pubmed", text: include_str!("../../configs/pubmed.toml") },
    Shipped { name: "pubmed-dropout", text: include_str!("../../configs/pubmed-dropout.toml") },
    Shipped { name: "arxiv", text: include_str!("../../configs/arxiv.toml") },
];

/// The text of the config called `name`.
pub fn find(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|config| config.name == name).map(|config| config.text)
}

/// The names of all, quoted and separated by commas.
pub fn names() -> String {
    SHIPPED.iter().map(|config| format!("`{}`", config.name)).collect::<Vec<_>>().join(", ")
}

/// The name that was probably meant.
pub(super) fn nearest(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase().replace('_', "-");
    super::keys::nearest(word.strip_suffix(".toml").unwrap_or(&word), SHIPPED.iter().map(|config| config.name))
}

/// Whether `config` is meant as a name: it has no folder in front and does not end in `.toml`.
pub(super) fn is_name(config: &Path) -> bool {
    config.file_name() == Some(config.as_os_str()) && config.extension() != Some(OsStr::new("toml"))
}

/// The shipped config whose file is meant by a path: its own file name, in the current folder or in
/// `configs`.
pub(super) fn named_by_file(path: &Path) -> Option<&'static str> {
    let folder = path.parent()?.strip_prefix(".").unwrap_or(path.parent()?);
    let is_usual = folder == Path::new("") || folder == Path::new("configs");
    let name = stem(path).filter(|_| is_usual && !path.is_absolute())?;
    SHIPPED.iter().map(|config| config.name).find(|shipped| *shipped == name)
}

/// The configs with names like that of a missing file: a file of its folder, or a shipped config.
pub(super) fn hint(path: &Path, error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::NotFound {
        return String::new();
    }
    let near: Vec<String> =
        nearest_file(path).into_iter().chain(stem(path).and_then(nearest).map(String::from)).collect();
    match near.is_empty() {
        true => String::new(),
        false => format!(" (did you mean `{}`?)", near.join("` or `")),
    }
}

/// The name that a file gives its config.
fn stem(path: &Path) -> Option<&str> {
    path.file_name()?.to_str().map(|name| name.strip_suffix(".toml").unwrap_or(name))
}

/// The config file of the same folder with the nearest name.
fn nearest_file(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let listed = fs::read_dir(if folder == Path::new("") { Path::new(".") } else { folder }).ok()?;
    let names = listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let configs: Vec<String> = names.filter(|name| name.ends_with(".toml")).collect();
    let nearest = super::keys::nearest(stem(path)?, configs.iter().filter_map(|name| name.strip_suffix(".toml")))?;
    Some(folder.join(format!("{nearest}.toml")).display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        assert_eq!(nearest("dem0"), Some("demo"));
        assert_eq!(nearest("cora_dropuot"), Some("cora-dropout"));
        assert_eq!(nearest("ddi.TOML"), Some("ddi"));
        assert_eq!(nearest("something"), None);
    }

    #[test]
    fn the_file_names_of_shipped_configs_are_known() {
        for path in ["demo.toml", "./demo.toml", "configs/demo.toml", "./configs/demo.toml", "./demo", "configs/demo"] {
            assert_eq!(named_by_file(path.as_ref()), Some("demo"), "{path}");
        }
        for path in
            ["", ".", "..", "/", "mine.toml", "/demo.toml", "/configs/demo.toml", "../demo.toml", "own/demo.toml"]
        {
            assert_eq!(named_by_file(path.as_ref()), None, "{path}");
        }
    }

    #[test]
    fn names_and_paths_are_told_apart() {
        assert!(is_name("demo".as_ref()));
        for path in ["", "demo.toml", "./demo", "configs/demo", "/demo", "..", "demo/"] {
            assert!(!is_name(path.as_ref()), "{path}");
        }
    }
}
