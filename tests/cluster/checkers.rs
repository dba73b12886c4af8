//! Checkers of scripts, manifests and container files accept the files of this project.
//!
//! `.ci/run` installs them. Each must also reject a file with a deliberate fault; otherwise its
//! acceptance would prove nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::need::{Need, found_or_skip};
use crate::support::{folder, text};

/// Releases of Kubernetes for the manifest: an old one, and the newest known one.
const RELEASES: [&str; 2] = ["1.25", "1.37"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A program that `.ci/run` has installed, or one of this machine. If it is missing, the test is
/// skipped.
#[track_caller]
fn checker(name: &str) -> Option<PathBuf> {
    let installed = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("checkers").join("bin").join(name);
    let found = [installed, name.into()];
    let is_there = |path: &PathBuf| Command::new(path).arg("--version").output().is_ok_and(|it| it.status.success());
    found_or_skip(Need::Python, found.into_iter().find(is_there).ok_or_else(|| name.to_owned()))
}

fn check(checker: &Path, arguments: &[&str], file: &Path) -> Output {
    Command::new(checker).args(arguments).arg(file).output().unwrap()
}

#[track_caller]
fn assert_is_clean(output: &Output) {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// A file with a replaced part must be rejected.
#[track_caller]
fn assert_finds(checker: &Path, arguments: &[&str], file: &Path, (part, spoilt): (&str, &str)) {
    let (folder, content) = (folder(), fs::read_to_string(file).unwrap());
    assert!(content.contains(part), "`{part}` is in {}", file.display());
    let copy = folder.path().join(file.file_name().unwrap());
    fs::write(&copy, content.replacen(part, spoilt, 1)).unwrap();
    assert!(!check(checker, arguments, &copy).status.success(), "`{spoilt}` was not found");
}

/// All files of the project with a shell in their first line.
fn scripts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let (path, kind, name) = (entry.path(), entry.file_type().unwrap(), entry.file_name());
        if kind.is_dir() && ![".git", "target", "out", "data"].iter().any(|other| *other == name) {
            scripts(&path, found);
        }
        let is_script = |content: Vec<u8>| {
            let first = content.split(|&byte| byte == b'\n').next().unwrap_or_default();
            first.starts_with(b"#!") && first.ends_with(b"sh")
        };
        if kind.is_file() && fs::read(&path).is_ok_and(is_script) {
            found.push(path);
        }
    }
}

#[test]
fn shellcheck_accepts_the_scripts() {
    let Some(shellcheck) = checker("shellcheck") else { return };
    let (slurm, mut all) = (root().join("cluster/slurm.sh"), Vec::new());
    scripts(root(), &mut all);
    assert!(all.contains(&slurm) && all.contains(&root().join(".ci/run")), "{all:?}");
    let strictly =
        ["--severity=style", "--enable=quote-safe-variables,require-double-brackets,check-unassigned-uppercase"];
    all.iter().for_each(|script| assert_is_clean(&check(&shellcheck, &strictly, script)));
    assert_finds(&shellcheck, &strictly, &slurm, ("\"$@\"", "$@"));
    assert_finds(&shellcheck, &strictly, &slurm, ("[[ -z", "[ -z"));
}

#[test]
fn kubernetes_schemas_accept_the_manifest() {
    let Some(validate) = checker("kubernetes-validate") else { return };
    let manifest = root().join("cluster/kubernetes.yaml");
    for release in RELEASES {
        let strictly = ["--strict", "--kubernetes-version", release];
        let output = check(&validate, &strictly, &manifest);
        assert_is_clean(&output);
        let said = [text(&output.stdout), text(&output.stderr)].concat();
        for kind in ["service/isvd-mesh", "statefulset/isvd"] {
            assert!(said.contains(&format!("passed for resource {kind} against version {release}")), "{said}");
        }
        for spoilt in [
            ("serviceName:", "servicename:"),
            ("replicas: 4", "replicas: \"4\""),
            ("value: \"4\"", "value: 4"),
            ("secretKeyRef:", "secretRef:"),
            ("containerPort: 7461", "port: 7461"),
        ] {
            assert_finds(&validate, &strictly, &manifest, spoilt);
        }
    }
}

#[test]
fn hadolint_accepts_the_container_file() {
    let Some(hadolint) = checker("hadolint") else { return };
    let file = root().join("cluster/Containerfile");
    assert_is_clean(&check(&hadolint, &[], &file));
    assert_finds(&hadolint, &[], &file, ("debian:stable-slim", "debian"));
    assert_finds(&hadolint, &[], &file, ("WORKDIR /source", "WORKDIR source"));
    assert_finds(&hadolint, &[], &file, ("ENTRYPOINT [\"isvd-dist\"]", "ENTRYPOINT isvd-dist"));
}
