//! `isvd-dist explain`: the plan, before anything is run.

use std::path::Path;

use serde_json::Value;

use crate::support::{self, assert_done, assert_refused, data_part, folder, names, run, text};

fn explain(arguments: &[&str]) -> String {
    let folder = folder();
    let output = run(folder.path(), &[&["explain"], arguments].concat());
    assert_done(&output);
    assert!(names(folder.path()).is_empty(), "nothing is written");
    text(&output.stdout).to_owned()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&explain(&[arguments, &["--json"]].concat())).unwrap()
}

#[test]
fn the_plan_is_shown_from_the_expression_to_the_bytes() {
    let shown = explain(&["--config=demo", "--workers=2", "--set=embedding.window=3"]);
    for word in [
        "0.5·D⁻¹·A + 0.3333·(D⁻¹·A)² + 0.1667·(D⁻¹·A)³ − 0.02·(J − A)",
        "M·G             -0.02·1·1ᵀ·G + D⁻¹·A·(",
        "spmm A·G",
        "rank-one -0.02·1·v",
        "both, planned   3 + 3 sparse products",
        "both, shared    3 + 4 sparse products",
        "both, written   7 + 7 sparse products",
        "1 process of 2 workers",
        "panels",
        "fits: ",
    ] {
        assert!(shown.contains(word), "`{word}` is not in:\n{shown}");
    }
}

#[test]
fn a_missing_graph_is_explained_by_its_size() {
    let sizes = ["--nodes=111059956", "--edges=1615685872"];
    let cluster = ["--processes=16", "--workers=16", "--memory=64GB"];
    let plan = json(&[&["--config=demo", "--set=embedding.rank=64"][..], &sizes, &cluster].concat());
    assert_eq!((&plan["dataset"], plan["nodes"].as_u64()), (&Value::Null, Some(111_059_956)));
    let stage = &plan["stages"][0];
    let products: Vec<u64> =
        stage["sides"].as_array().unwrap().iter().map(|side| side["sparse_products"].as_u64().unwrap()).collect();
    assert_eq!(products, [8, 8], "of walks that are nearly those of ten steps");
    assert!(stage["near"].as_str().is_some_and(|near| near != stage["matrix"].as_str().unwrap()));
    let block = stage["block"].as_u64().unwrap();
    // Eight products, each of which sends every row to fifteen others.
    let sent = stage["sides"][0]["network_bytes"].as_u64().unwrap() as f64;
    let padded = block.div_ceil(8) * 8;
    assert!((sent / (8 * 15 * 111_059_956 * padded * 4) as f64 - 1.0).abs() < 0.01, "{sent}");
    let gathered = stage["memory"]["gathered"].as_u64().unwrap();
    assert!((gathered as f64 / (111_059_956 * padded * 4 * 15 / 16) as f64 - 1.0).abs() < 0.01, "{gathered}");
    let shown = explain(&[&["--config=demo"][..], &sizes, &cluster].concat());
    assert!(shown.contains("N, nearly M") && shown.contains("Nᵀ·G"), "{shown}");
    assert!(shown.contains("an iteration") && shown.contains("sent by each process"), "{shown}");
    let small = explain(&[&["--config=demo"][..], &sizes, &["--memory=1GB"]].concat());
    assert!(small.contains("does not fit: 1.0 GB may be used (--memory)"), "{small}");
}

#[test]
fn classifiers_are_explained_by_their_sizes_too() {
    let sizes = ["--config=nodes", "--nodes=169343", "--edges=1166243"];
    let more = ["--features=128", "--classes=40", "--labelled=90941"];
    let plan = json(&[&sizes[..], &more].concat());
    let names: Vec<&str> =
        plan["stages"].as_array().unwrap().iter().map(|stage| stage["name"].as_str().unwrap()).collect();
    assert_eq!(names.last(), Some(&"classifier"));
    let folder = folder();
    let missing = run(folder.path(), &[&["explain"][..], &sizes].concat());
    assert_refused(&missing, 2, &["nodes are classified here: give --features beside --nodes and --edges"]);
}

/// The plan must describe the run: without a short side, `auto` uses the Krylov method.
#[test]
fn auto_is_planned_as_the_iteration_that_runs() {
    let plan = |method: &str| {
        let method = format!("--set=embedding.method={method}");
        // A matrix stated as text has no surrogate, which only `krylov` would use.
        let plan = json(&["--config=demo", "--matrix=S", "--set=embedding.rank=32", "--workers=2", &method]);
        plan["stages"][0].clone()
    };
    let (auto, krylov, subspace) = (plan("auto"), plan("krylov"), plan("subspace"));
    assert_eq!(auto["method"], "block Krylov iteration");
    for key in ["block", "turns", "memory"] {
        assert_eq!(auto[key], krylov[key], "{key}");
    }
    assert_ne!(auto["memory"]["panels"], subspace["memory"]["panels"]);
}

/// Checks that all estimates exist. Their accuracy can only be checked on an idle machine.
#[test]
fn every_step_has_an_estimate_and_a_measurement() {
    let plan = json(&["--config=demo", "--analyze", "--workers=2", "--set=embedding.window=2"]);
    let stage = &plan["stages"][0];
    for side in stage["sides"].as_array().unwrap() {
        assert!(side["measured"].as_f64().unwrap() > 0.0);
        for step in side["steps"].as_array().unwrap() {
            assert!(step["measured"].as_f64().unwrap() > 0.0 && step["seconds"].as_f64().unwrap() > 0.0, "{step}");
        }
    }
    let steps = stage["sides"].as_array().unwrap().iter().map(|side| side["steps"].as_array().unwrap().len());
    let kinds = plan["kinds"].as_array().unwrap();
    assert_eq!(kinds.iter().map(|kind| kind["steps"].as_u64().unwrap()).sum::<u64>(), steps.sum::<usize>() as u64);
    assert!(kinds.iter().any(|kind| kind["kind"] == "spmm" && kind["measured"].as_f64().unwrap() > 0.0), "{kinds:?}");
    if cfg!(target_os = "linux") {
        let [estimated, measured] = [0, 1].map(|place| stage["memory"]["product"][place].as_u64().unwrap());
        assert!(estimated < 4 * measured && measured < 4 * estimated, "{estimated} and {measured}");
    }
}

#[test]
fn few_rows_are_formed_and_a_power_of_the_graph_is_not() {
    if data_part("planetoid").is_some() {
        let data = format!("--data={}", support::data_folder().display());
        let plan = json(&["--config=cora", &data]);
        let classifier = plan["stages"].as_array().unwrap().iter().find(|stage| stage["name"] == "classifier").unwrap();
        assert_eq!(classifier["formed"][0]["shape"][0], 140);
    }
    let plan = json(&["--config=ddi", "--nodes=4267", "--edges=1067911"]);
    assert_eq!(plan["stages"][0]["formed"].as_array().unwrap().len(), 0);
}

#[test]
fn what_does_not_fit_is_refused_before_it_starts() {
    let folder = folder();
    let refused = run(folder.path(), &["--config=demo", "--set=embedding.rank=400", "--memory=40MB"]);
    assert_refused(&refused, 2, &["takes about", "ask for a rank of at most", "--memory"]);
    assert!(!folder.path().join("out/demo/metrics.json").exists());
    let tiny = run(folder.path(), &["--config=demo", "--memory=many"]);
    assert_refused(&tiny, 2, &["--memory", "16GB"]);
}

/// Catches panels that are kept for reuse while the vectors are copied, and workers that gather
/// complete panels of all vectors.
#[cfg(target_os = "linux")]
#[test]
fn a_run_stays_within_its_memory() {
    const LIMIT: u64 = 130_000_000;
    // The buffers of further workers are not counted, because the size of the basis, and with it
    // the result, must not depend on the number of workers.
    const WORKER: u64 = 16_000_000;
    let (folder, mut found) = (folder(), Vec::new());
    for workers in [1, 2, 3] {
        let (peak, status) = peak_of(folder.path(), "rmat-15", LIMIT, workers);
        let most = LIMIT + WORKER * (workers - 1);
        assert!(status.success() && peak > LIMIT / 4 && peak <= most, "{workers} workers: {peak} bytes, {status}");
        found.push(std::fs::read(folder.path().join("out/ppi/left.npy")).unwrap());
    }
    assert!(found.iter().all(|left| *left == found[0]), "the same bits, whatever is done at a time");
    // Catches a second attempt with two bases of the size that was chosen for one.
    let (peak, status) = peak_of(folder.path(), "rmat-16", 230_000_000, 1);
    assert!(status.success() && peak <= 230_000_000, "{peak} bytes, {status}");
}

/// The peak of anonymous memory of a run with a limit, and its exit status.
#[cfg(target_os = "linux")]
fn peak_of(folder: &Path, dataset: &str, limit: u64, workers: u64) -> (u64, std::process::ExitStatus) {
    use std::process::{Command, Stdio};
    let mut command = Command::new(env!("CARGO_BIN_EXE_isvd-dist"));
    command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    command.args(["--config=ppi", &format!("--set=dataset={dataset}"), "--set=embedding.rank=128", "--no-report"]);
    command.args(["--set=embedding.iterations=2", &format!("--memory={limit}"), &format!("--workers={workers}")]);
    let mut run = command.spawn().unwrap();
    let mut peak = 0;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", run.id())).unwrap_or_default();
        let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB"));
        peak = peak.max(anonymous.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024);
        match run.try_wait().unwrap() {
            Some(status) => return (peak, status),
            None => std::thread::sleep(std::time::Duration::from_millis(2)),
        }
    }
}

#[test]
fn invalid_arguments_are_refused() {
    let folder = folder();
    for (arguments, word) in [
        (&["--nodes=10"][..], "--edges"),
        (&["--nodes=10", "--edges=ten"], "--edges"),
        (&["--nodes=5000000000", "--edges=10"], "5000000000"),
        (&["--processes=0"], "--processes"),
        (&["--graph=crayon"], "--graph"),
        (&["--analyze", "--nodes=10", "--edges=10"], "--analyze"),
        (&["--nodes=3", "--edges=2", "--set=embedding.rank=9"], "rank 9"),
        (&["--nodes=0", "--edges=0"], "rank"),
        (&["--matrix=A +"], "A +"),
        (&["--matrix=X", "--nodes=10", "--edges=20"], "X"),
    ] {
        let output = run(folder.path(), &[&["explain", "--config=demo"], arguments].concat());
        let code = output.status.code();
        assert!(matches!(code, Some(2 | 3)), "{arguments:?}: {code:?} {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(word), "{arguments:?}: {}", text(&output.stderr));
    }
}
