//! Python with packages, in an environment that is created once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The interpreter of an environment with the packages of `tests/python/requirements.txt`, or the
/// reason why there is none.
pub fn python() -> Result<&'static Path, String> {
    static PYTHON: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PYTHON.get_or_init(make).as_deref().map_err(String::clone)
}

fn make() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let environment = target.join("python");
    let here = root.join("tests/python");
    let output = Command::new(here.join("../../.ci/environment"))
        .arg(&environment)
        .arg(here.join("requirements.txt"))
        .output()
        .map_err(|error| format!(".ci/environment: {error}"))?;
    if !output.status.success() || !environment.join("installed.txt").is_file() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.trim().lines().last().unwrap_or("no environment was made");
        return Err(format!("packages of tests/python/requirements.txt: {last}"));
    }
    Ok(environment.join("bin/python"))
}
