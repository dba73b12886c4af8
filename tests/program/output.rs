//! The files of a run, and the errors of writing them.

use std::fs;

use serde_json::Value;

use crate::support::need::{Need, found_or_skip};
use crate::support::{SMALL, assert_done, assert_refused, folder, names, run, small, text};

#[test]
fn json_on_stdout_is_the_content_of_the_file() {
    let folder = folder();
    let output = small(folder.path(), &["--json", "--seed=7", "--out=results"]);
    assert_done(&output);
    let file = fs::read_to_string(folder.path().join("results/metrics.json")).unwrap();
    assert_eq!(text(&output.stdout), file);

    let metrics: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(metrics["config"], "demo");
    assert_eq!(metrics["dataset"], "demo");
    assert_eq!((&metrics["nodes"], &metrics["edges"]), (&Value::from(5_000), &Value::from(59_000)));
    assert_eq!((&metrics["workers"], &metrics["processes"]), (&Value::from(1), &Value::from(1)));
    assert_eq!(metrics["seed"], 7);
    let stage = &metrics["stages"][0];
    assert_eq!(stage["name"], "embedding");
    assert_eq!(stage["rank"], 4);
    assert!(stage["operator_columns"].as_u64().unwrap() > 0);
    assert!(stage["iterations"].is_u64());
    assert!(stage["max_relative_residual"].as_f64().unwrap() >= 0.0);
    for split in ["valid", "test"] {
        let auc = stage[split]["auc"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&auc), "{split} {auc}");
    }
    for part in ["load", "train", "evaluate", "total"] {
        assert!(metrics["seconds"][part].as_f64().unwrap() >= 0.0, "{part}");
    }
    assert!(!cfg!(target_os = "linux") || metrics["peak_memory_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn arrays_are_what_numpy_reads_and_ids_are_one_a_row() {
    let folder = folder();
    assert_done(&small(folder.path(), &["--out=results"]));
    let open = |name: &str| {
        let bytes = fs::read(folder.path().join("results").join(name)).unwrap();
        let array = npyz::NpyFile::new(std::io::Cursor::new(bytes)).unwrap();
        assert_eq!(array.dtype().descr(), "'<f4'");
        assert_eq!(array.order(), npyz::Order::C);
        let shape = array.shape().to_vec();
        (shape, array.into_vec::<f32>().unwrap())
    };
    for name in ["left.npy", "right.npy"] {
        let (shape, values) = open(name);
        assert_eq!(shape, [5_000, 4], "{name}");
        assert!(values.iter().all(|value| value.is_finite()), "{name}");
    }
    let (shape, values) = open("singular_values.npy");
    assert_eq!(shape, [4]);
    assert!(values.iter().all(|value| *value > 0.0));
    let ids = fs::read_to_string(folder.path().join("results/ids.txt")).unwrap();
    let ids: Vec<&str> = ids.lines().collect();
    assert_eq!((ids.len(), ids[0], ids[4_999]), (5_000, "n0", "n4999"));
}

#[test]
fn a_folder_that_takes_no_files_is_refused_before_anything_is_computed() {
    let folder = folder();
    fs::write(folder.path().join("file"), "").unwrap();
    // Even root cannot create a folder below a file or in /proc.
    let mut places = vec!["file", "file/below"];
    if cfg!(target_os = "linux") {
        places.push("/proc/results");
    }
    for out in places {
        let words = ["cannot write into the folder", out, "--out", "because: "];
        assert_refused(&run(folder.path(), &["--out", out]), 1, &words);
    }
}

/// A limit on the size of files stands in for a full disk: writing fails half-way.
#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_fills_up_leaves_the_earlier_result() {
    let folder = folder();
    assert_done(&small(folder.path(), &["--out=results"]));
    let read = || {
        let results = folder.path().join("results");
        names(&results).into_iter().map(|name| (fs::read(results.join(&name)).unwrap(), name)).collect::<Vec<_>>()
    };
    let before = read();

    let script = "trap '' XFSZ; ulimit -f 16; exec \"$@\"";
    let output = std::process::Command::new("sh")
        .current_dir(folder.path())
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_isvd-dist"), "--out=results", "--seed=9"])
        .args(SMALL)
        .output()
        .unwrap();
    assert_refused(&output, 1, &["cannot write results/left.npy", "no result in that folder was changed", "because: "]);
    assert!(before == read(), "the earlier result changed");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_stdout_is_an_error_and_the_results_are_kept() {
    let folder = folder();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_isvd-dist"))
        .current_dir(folder.path())
        .args(SMALL)
        .stdout(full)
        .output()
        .unwrap();
    assert_refused(&output, 1, &["cannot print the results on stdout", "out/demo", "because: "]);
    assert!(folder.path().join("out/demo/metrics.json").is_file());
}

/// As in `isvd-dist | head -0`.
#[test]
#[cfg(unix)]
fn a_closed_pipe_is_no_error() {
    let folder = folder();
    for arguments in [&[][..], &["--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_isvd-dist"))
            .current_dir(folder.path())
            .args(SMALL)
            .args(arguments)
            .stdout(writer)
            .output()
            .unwrap();
        assert_done(&output);
    }
}

/// Rows may be permuted during the computation, but every written row is that of its node.
#[test]
fn rows_are_in_the_order_of_the_data_however_nodes_were_numbered() {
    let folder = folder();
    let [renumbered, given] = ["auto", "given"].map(|order| {
        let (order, out) = (format!("--set=data.order={order}"), format!("--out={order}"));
        let settings = ["--set=dataset=rmat-16x4", "--set=embedding.rank=3", "--set=embedding.tolerance=1e-4"];
        assert_done(&run(folder.path(), &[&settings[..], &[&order, &out]].concat()));
        ["left.npy", "right.npy"].map(|name| {
            let bytes = fs::read(folder.path().join(&out["--out=".len()..]).join(name)).unwrap();
            npyz::NpyFile::new(std::io::Cursor::new(bytes)).unwrap().into_vec::<f32>().unwrap()
        })
    });
    assert!(renumbered != given, "this graph is worth it");
    for (one, other) in renumbered.iter().zip(&given) {
        let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
        let cosine = product(one, other) / (product(one, one) * product(other, other)).sqrt();
        assert!(cosine > 0.999, "{cosine}");
    }
}

/// Every file of a result, by name.
fn result_files(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let shown = names(folder).into_iter().filter(|name| !name.starts_with('.'));
    shown
        .filter_map(|name| Some((fs::read(folder.join(&name)).ok()?, name)))
        .map(|(bytes, name)| (name, bytes))
        .collect()
}

/// The vectors and ids, which must be equal bit for bit between runs.
fn vectors_in(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let is_stable = |name: &str| name.ends_with(".npy") || name == "ids.txt";
    result_files(folder).into_iter().filter(|(name, _)| is_stable(name)).collect()
}

/// Catches a result that is replaced file by file: the program is killed at every call that changes
/// names in a folder, and the result in it must be the old one or the new one, as other programs
/// and `isvd-dist` itself read it.
#[test]
#[cfg(target_os = "linux")]
fn a_run_killed_while_it_replaces_a_result_leaves_the_old_or_the_new_one() {
    const CALLS: &str = "rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir";
    let version = std::process::Command::new("strace").arg("-V").output();
    let strace = version.map_err(|error| format!("strace: {error}"));
    let Some(_) = found_or_skip(Need::Programs, strace) else { return };
    let folder = folder();
    assert_done(&small(folder.path(), &["--out=old", "--seed=1"]));
    assert_done(&small(folder.path(), &["--out=new", "--seed=2", "--no-report"]));
    let [old, new] = ["old", "new"].map(|name| vectors_in(&folder.path().join(name)));
    assert!(old != new);
    let results = folder.path().join("results");
    let (mut kept, mut replaced) = (0, 0);
    for moment in 1.. {
        let _ = fs::remove_dir_all(&results);
        assert_done(&small(folder.path(), &["--out=results", "--seed=1"]));
        fs::create_dir(results.join("mine")).unwrap();
        fs::write(results.join("mine/notes.txt"), "mine").unwrap();
        let status = std::process::Command::new("strace")
            .current_dir(folder.path())
            .args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={CALLS}")])
            .args(["-e", &format!("inject={CALLS}:signal=SIGKILL:when={moment}")])
            .arg(env!("CARGO_BIN_EXE_isvd-dist"))
            .args(["--out=results", "--seed=2", "--no-report", "--quiet"])
            .args(SMALL)
            .output()
            .unwrap()
            .status;
        let found = vectors_in(&results);
        let metrics: Value = serde_json::from_slice(&fs::read(results.join("metrics.json")).unwrap_or_default())
            .unwrap_or_else(|error| panic!("killed at call {moment}: metrics.json: {error}"));
        let expected = if found == old { 1 } else { 2 };
        assert!(found == old || found == new, "killed at call {moment}: {:?}", names(&results));
        assert_eq!(metrics["seed"], expected, "killed at call {moment}");
        assert_eq!(results.join("report.html").is_file(), expected == 1, "killed at call {moment}");
        assert_done(&run(folder.path(), &["neighbors", "--model=results", "--node=n0", "--top=1"]));
        *(if expected == 1 { &mut kept } else { &mut replaced }) += 1;
        assert_eq!(fs::read_to_string(results.join("mine/notes.txt")).unwrap(), "mine");
        // The files of the killed run do not disturb the next run, which removes them.
        assert_done(&small(folder.path(), &["--out=results", "--seed=2", "--no-report"]));
        assert!(vectors_in(&results) == new, "killed at call {moment}");
        assert_eq!(names(&results).iter().filter(|name| name.starts_with('.')).count(), 0, "{:?}", names(&results));
        if status.success() {
            break;
        }
    }
    assert!(kept > 3 && replaced > 3, "{kept} times the old and {replaced} times the new result");
}

/// Catches two runs that mix their files in one folder, and a lock that outlives its run.
#[test]
#[cfg(unix)]
fn a_second_run_into_the_folder_of_a_running_one_is_refused() {
    let folder = folder();
    assert_done(&small(folder.path(), &["--out=results"]));
    let before = result_files(&folder.path().join("results"));
    struct Running(std::process::Child);
    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let first = std::process::Command::new(env!("CARGO_BIN_EXE_isvd-dist"))
        .current_dir(folder.path())
        .args(["--workers=1", "--out=results", "--quiet", "--checkpoint=0", "--set=embedding.rank=64"])
        .args([
            "--set=embedding.method=subspace",
            "--set=embedding.tolerance=1e-9",
            "--set=embedding.iterations=100000",
        ])
        .spawn()
        .unwrap();
    let mut first = Running(first);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !folder.path().join("results/checkpoint").exists() {
        assert!(std::time::Instant::now() < deadline, "no checkpoint after a minute");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // Another name of the folder is the same folder.
    std::os::unix::fs::symlink("results", folder.path().join("link")).unwrap();
    for out in ["--out=results", "--out=link"] {
        let process = format!("process {}", first.0.id());
        assert_refused(&small(folder.path(), &[out, "--quiet"]), 1, &["another run", &process, "--out"]);
    }
    // Derived files must not appear next to the files of the run.
    let process = format!("process {}", first.0.id());
    let page = |arguments: &[&str]| run(folder.path(), &[&["report", "results"], arguments].concat());
    let vectors = |out| run(folder.path(), &["export", "--model=results", "--format=csv", out]);
    for output in [page(&[]), page(&["--out=link/mine.html"]), vectors("--out=results/vectors.csv")] {
        assert_refused(&output, 1, &["another run", &process, "--out"]);
    }
    assert_done(&page(&["--out=page.html"]));
    assert_done(&vectors("--out=vectors.csv"));
    assert!(first.0.try_wait().unwrap().is_none(), "the first run goes on");
    drop(first);
    assert!(result_files(&folder.path().join("results")) == before);
    let output = small(folder.path(), &["--out=results", "--seed=3"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
