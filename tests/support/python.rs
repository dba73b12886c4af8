//! Python with packages, in an environment that is made once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The interpreter of an environment with what `tests/python/requirements.txt` pins, or `None` with a line that says why.
pub fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    PYTHON.get_or_init(make).as_deref()
}

fn make() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let environment = target.join("python");
    let here = root.join("tests/python");
    let output = Command::new(here.join("../../.ci/environment"))
        .arg(&environment)
        .arg(here.join("requirements.txt"))
        .output()
        .ok()?;
    if !output.status.success() || !environment.join("installed.txt").is_file() {
        println!("no Python with packages: {}: skipped", String::from_utf8_lossy(&output.stderr).trim());
        return None;
    }
    Some(environment.join("bin/python"))
}
