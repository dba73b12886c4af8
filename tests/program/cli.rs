//! Command lines and their results.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::{SMALL, assert_done, assert_refused, folder, is_shortfall, names, run, small, text, write_config};

#[test]
fn without_arguments_the_demo_goes_to_its_own_folder() {
    let folder = folder();
    let output = small(folder.path(), &[]);
    assert_done(&output);
    let table = text(&output.stdout);
    for word in ["dataset         demo", "5,000", "50,000", "workers         1", "auc", "valid", "test", "out/demo"] {
        assert!(table.contains(word), "`{word}` is not in:\n{table}");
    }
    let expected =
        ["ids.txt", "left.npy", "metrics.json", "report.html", "report.json", "right.npy", "singular_values.npy"];
    assert_eq!(names(&folder.path().join("out/demo")), expected);
}

#[test]
fn a_config_of_ones_own_gives_its_name_to_the_folder() {
    let folder = folder();
    write_config(folder.path(), "dataset = \"demo\"\n[evaluate]\nmetrics = [\"hits@20\", \"ap\"]\n");
    let output = small(folder.path(), &["--config=mine.toml", "--json"]);
    assert_done(&output);
    let metrics: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(metrics["config"], "mine");
    let figures: Vec<&String> = metrics["stages"][0]["test"].as_object().unwrap().keys().collect();
    assert_eq!(figures, ["hits@20", "ap"]);
    assert!(folder.path().join("out/mine/metrics.json").is_file());
}

#[test]
fn usage_errors_end_with_2() {
    let folder = folder();
    for (arguments, word) in [
        (&["--workers=0"][..], "0 is not in 1..="),
        (&["--workers=many"], "--workers"),
        (&["--workers=-1"], "--workers"),
        (&["--wrokers=2"], "--workers"),
        (&["--seed=-1"], "--seed"),
        (&["--transport=pigeons"], "--transport"),
        (&["extra"], "extra"),
        (&["--data=nowhere"], "--data nowhere: there is no such folder"),
    ] {
        assert_refused(&run(folder.path(), arguments), 2, &[word]);
    }
    assert!(names(folder.path()).is_empty(), "a refused run leaves nothing behind");
}

/// A run starts the requested number of workers, also if there are fewer cores. It then reports
/// that fewer workers would be faster, and has the same bits.
#[test]
fn as_many_workers_are_started_as_asked_for() {
    let (one, many) = (folder(), folder());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let with = |folder: &Path, arguments: &[&str]| {
        let small = ["--out=out", "--json", "--set=embedding.rank=4", "--set=embedding.iterations=1"];
        run(folder, &[&small[..], arguments].concat())
    };
    let workers = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).unwrap()["workers"].clone();
    let asked = cores + 6;
    let output = with(many.path(), &[&format!("--workers={asked}")]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(workers(&output), asked);
    let line = format!("{asked} workers on {cores} cores: --workers {cores} would be faster");
    let lines: Vec<&str> = text(&output.stderr).lines().filter(|line| line.contains("workers")).collect();
    assert_eq!(lines, [line]);

    assert_done(&with(one.path(), &["--workers=1"]));
    for name in ["left.npy", "right.npy"] {
        let bytes = |folder: &Path| std::fs::read(folder.join("out").join(name)).unwrap();
        assert!(bytes(many.path()) == bytes(one.path()), "{name}");
    }
    let by_default = with(one.path(), &[]);
    assert_done(&by_default);
    assert_eq!(workers(&by_default), cores);
    let quiet = with(many.path(), &[&format!("--workers={asked}"), "--quiet"]);
    assert_eq!((workers(&quiet), text(&quiet.stderr).contains("would be faster")), (asked.into(), false));
}

#[test]
fn config_errors_end_with_2_and_name_the_place() {
    let folder = folder();
    for (content, message) in [
        ("dataset = \"demo\"\n[embedding]\nwindw = 5\n", "unknown key `embedding.windw`: did you mean `window`?"),
        ("dataset = \"demo\"\n[embedding]\nrank = -1\n", "`embedding.rank` is -1: expected a whole number from 1"),
        ("dataset = \"demo\"\n[embedding]\nnegative = nan\n", "`embedding.negative` is NaN: expected a finite number"),
        ("dataset = \"demo\"\n\nseed = [\n", "this is not valid TOML"),
    ] {
        write_config(folder.path(), content);
        assert_refused(&run(folder.path(), &["--config", "mine.toml"]), 2, &["mine.toml:3: ", message]);
    }
    write_config(folder.path(), "seed = 1\n");
    assert_refused(
        &run(folder.path(), &["--config", "mine.toml"]),
        2,
        &["mine.toml: `dataset` is missing", "\"demo\""],
    );
    write_config(folder.path(), "dataset = \"karate\"\n");
    assert_refused(
        &run(folder.path(), &["--config", "mine.toml"]),
        2,
        &["mine.toml:1: `dataset` is \"karate\"", "\"demo\""],
    );
}

/// A shipped config is also found by its file name.
#[test]
fn a_shipped_config_is_found_by_its_name_and_by_its_file_name() {
    let folder = folder();
    for config in ["demo", "demo.toml", "./demo.toml", "configs/demo.toml", "./configs/demo.toml"] {
        let output = small(folder.path(), &["--config", config, "--json", "--no-report"]);
        assert_done(&output);
        let metrics: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(metrics["config"], "demo", "{config}");
        assert_done(&run(folder.path(), &["explain", "--quiet", "--config", config, "--set=embedding.rank=4"]));
    }
    assert_eq!(names(&folder.path().join("out")), ["demo"]);
    let store = folder.path().join("store");
    assert_done(&run(folder.path(), &["convert", "--config=demo.toml", "--out=store"]));
    assert!(store.is_dir());
    std::fs::write(folder.path().join("updates.txt"), "2024-03-01 + n1 n2\n").unwrap();
    assert_done(&run(folder.path(), &[&["follow", "--config=demo.toml", "--updates=updates.txt"], SMALL].concat()));
    #[cfg(unix)]
    assert_done(&run(folder.path(), &[&["launch", "-n", "2", "--config=demo.toml"], SMALL].concat()));
}

#[test]
fn a_config_file_of_that_name_is_preferred_to_the_shipped_config() {
    let folder = folder();
    let content = |seed: u64| format!("dataset = \"rmat-6\"\nseed = {seed}\n");
    std::fs::create_dir(folder.path().join("configs")).unwrap();
    std::fs::write(folder.path().join("demo.toml"), content(5)).unwrap();
    std::fs::write(folder.path().join("configs/demo.toml"), content(6)).unwrap();
    for (config, seed) in [("demo.toml", 5), ("./demo.toml", 5), ("configs/demo.toml", 6), ("demo", 1)] {
        let output = small(folder.path(), &["--config", config, "--json", "--no-report"]);
        assert_done(&output);
        let metrics: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(metrics["seed"], seed, "{config}");
    }
}

#[test]
fn a_config_that_does_not_exist_says_which_do() {
    let folder = folder();
    assert_refused(&run(folder.path(), &["--config", "domo"]), 2, &["`domo`", "shipped are `demo`", "./domo.toml"]);
    write_config(folder.path(), "dataset = \"demo\"\n");
    std::fs::create_dir(folder.path().join("own")).unwrap();
    std::fs::write(folder.path().join("own/first.toml"), "dataset = \"demo\"\n").unwrap();
    for (config, words) in [
        ("domo.toml", &["cannot read the config domo.toml", "did you mean `demo`?", "because: "][..]),
        ("mien.toml", &["cannot read the config mien.toml", "did you mean `mine.toml`?"]),
        ("elsewhere/demo.toml", &["cannot read the config elsewhere/demo.toml", "did you mean `demo`?"]),
        ("own/frist.toml", &["cannot read the config own/frist.toml", "did you mean `own/first.toml`?"]),
        ("/configs/demo.toml", &["cannot read the config /configs/demo.toml", "did you mean `demo`?"]),
        ("own", &["no shipped config is called `own`"]),
        ("./own", &["cannot read the config ./own"]),
    ] {
        assert_refused(&run(folder.path(), &["--config", config]), 2, words);
    }
}

#[test]
fn set_overrides_and_is_refused_like_a_file() {
    let folder = folder();
    let output = small(folder.path(), &["--json", "--set", "embedding.rank=3", "--set", "evaluate.metrics=[\"ap\"]"]);
    assert_done(&output);
    let metrics: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(metrics["stages"][0]["rank"], 3);
    assert!(metrics["stages"][0]["test"].get("auc").is_none());

    for (assignment, message) in [
        ("embedding.rnk=3", "--set embedding.rnk=3: unknown key `embedding.rnk`: did you mean `rank`?"),
        ("embedding.rank=few", "--set embedding.rank=few: `embedding.rank` is \"few\": expected a whole number"),
        ("embedding.tolerance=0", "`embedding.tolerance` is 0: expected a finite number above 0"),
        ("embedding.rank", "--set embedding.rank: expected key=value"),
    ] {
        assert_refused(&run(folder.path(), &["--set", assignment]), 2, &[message]);
    }
}

#[test]
fn a_rank_beyond_the_graph_is_a_config_error() {
    let folder = folder();
    let output = run(folder.path(), &["--set", "embedding.rank=5001"]);
    assert_refused(&output, 2, &["cannot embed the nodes of `demo`", "because: ", "5001", "5000"]);
}

#[test]
fn a_made_up_graph_of_any_size_is_embedded_without_scores() {
    let folder = folder();
    let output = small(folder.path(), &["--config=demo", "--set=dataset=rmat-8", "--json"]);
    assert_done(&output);
    let metrics: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&metrics["dataset"], &metrics["nodes"]), (&"rmat-8".into(), &256.into()));
    // 32 edges are drawn for each node, and many pairs are drawn repeatedly.
    let edges = metrics["edges"].as_u64().unwrap();
    assert!((1_000..32 * 256).contains(&edges), "{edges}");
    let stage = &metrics["stages"][0];
    assert!(stage["rank"] == 4 && stage.get("valid").is_none() && stage.get("test").is_none(), "{stage}");
    let ids = std::fs::read_to_string(folder.path().join("out/demo/ids.txt")).unwrap();
    assert!(ids.lines().map(|id| id.parse::<usize>().unwrap()).eq(0..256));
    let output = small(folder.path(), &["--set=dataset=rmat-8x16", "--seed=2"]);
    assert_done(&output);
    let table = text(&output.stdout);
    assert!(table.contains("rmat-8x16") && !table.contains("auc"), "{table}");

    for name in ["rmat-5", "rmat-27", "rmat-8x0", "rmat-"] {
        let output = run(folder.path(), &[&format!("--set=dataset={name}")]);
        assert_refused(&output, 2, &[&format!("`dataset` is \"{name}\""), "\"rmat-N\"", "N from 6 to 26"]);
    }
}

/// A run that ends above its tolerance prints a warning.
#[test]
fn a_run_that_ends_above_its_tolerance_prints_a_warning() {
    let folder = folder();
    let path = folder.path();
    let shortfalls = |output: &Output| -> Vec<String> {
        text(&output.stderr).lines().filter(|line| is_shortfall(line)).map(str::to_owned).collect()
    };
    let hurried = ["--workers=1", "--set=embedding.rank=8", "--set=embedding.iterations=0"];
    let [tight, loose] = ["--set=embedding.tolerance=1e-4", "--set=embedding.tolerance=0.5"];
    let output = run(path, &[&hurried[..], &[tight]].concat());
    assert_done(&output);
    let lines = shortfalls(&output);
    assert!(lines.len() == 1 && lines[0].starts_with("warning: embedding: the worst residual is "), "{lines:?}");
    assert!(lines[0].contains("above the tolerance of 0.0001 (measured): raise embedding.iterations"), "{lines:?}");
    assert!(text(&output.stdout).contains("of its σ, above the tolerance of 0.0001"), "{}", text(&output.stdout));
    let page = std::fs::read_to_string(path.join("out/demo/report.html")).unwrap();
    assert!(page.contains("above the tolerance of 0.0001"));

    let stages = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).unwrap()["stages"].clone();
    let output = run(path, &[&hurried[..], &[tight, "--json", "--quiet"]].concat());
    assert_eq!(shortfalls(&output), lines, "whatever is printed on stdout");
    let stage = &stages(&output)[0];
    assert_eq!((&stage["tolerance"], &stage["is_tolerance_met"]), (&1e-4.into(), &false.into()));
    let output = run(path, &[&hurried[..], &[loose, "--set=embedding.iterations=10", "--json"]].concat());
    assert_eq!(shortfalls(&output), [""; 0]);
    assert_eq!(stages(&output)[0]["is_tolerance_met"], true);

    // Also for the update, for a matrix stated as text, and for every batch of `follow`.
    let update =
        ["--set=update.warm_start=true", "--set=update.iterations=0", "--set=embedding.tolerance=1e-3", "--json"];
    let output = run(path, &[&["--workers=1", "--set=embedding.rank=8"], &update[..]].concat());
    let met: Vec<Value> = stages(&output).as_array().unwrap().iter().map(|s| s["is_tolerance_met"].clone()).collect();
    assert_eq!(met.last(), Some(&false.into()), "{met:?}");
    assert!(
        shortfalls(&output).iter().any(|line| line.contains("update: ") && line.contains("raise update.iterations"))
    );
    let output = run(path, &[&hurried[..], &[tight, "--json", "--matrix=S"]].concat());
    assert_eq!((stages(&output)[0]["is_tolerance_met"].clone(), shortfalls(&output).len()), (false.into(), 1));
    std::fs::write(path.join("updates.txt"), "2024-03-01 + n1 n2\n2024-03-02 + n1 n3\n").unwrap();
    let follow = ["follow", "--updates=updates.txt", "--batch=1", tight];
    let output = run(path, &[&follow[..], &hurried].concat());
    let batches = text(&output.stdout).lines().filter(|line| line.contains("(above the tolerance of 0.0001)")).count();
    assert_eq!((batches, shortfalls(&output).len()), (3, 1), "{}", text(&output.stdout));
}

/// `metrics.json` contains the number of columns of the vectors and the requested rank.
#[test]
fn fewer_triplets_than_requested_are_reported_with_the_reason() {
    let folder = folder();
    let star: String = (1..60).map(|node| format!("0 {node}\n")).collect();
    std::fs::write(folder.path().join("star.txt"), star).unwrap();
    let fixed = ["--config=links", "--set=data.path=star.txt", "--set=data.valid=0", "--set=data.test=0", "--out=out"];
    for method in ["krylov", "subspace", "gram", "auto"] {
        let method = format!("--set=embedding.method={method}");
        let output =
            run(folder.path(), &[&fixed[..], &[&method, "--set=embedding.rank=9", "--json", "--matrix=A"]].concat());
        assert_done(&output);
        let metrics: Value = serde_json::from_slice(&output.stdout).unwrap();
        let stage = &metrics["stages"][0];
        assert_eq!((&stage["rank"], &stage["rank_asked"]), (&2.into(), &9.into()), "{method}");
        let left = std::fs::read(folder.path().join("out/left.npy")).unwrap();
        assert!(String::from_utf8_lossy(&left[..128]).contains("(60, 2"), "{method}");
        let line = "warning: embedding: found 2 of 9 singular triplets: the remaining singular values are below";
        assert!(text(&output.stderr).contains(line), "{method}: {}", text(&output.stderr));
    }
}

#[test]
fn help_and_version_go_to_stdout() {
    let folder = folder();
    let help = run(folder.path(), &["--help"]);
    assert_done(&help);
    for word in ["--config", "--workers", "embedding.window", "Shipped configs: `demo`", "Exit codes"] {
        assert!(text(&help.stdout).contains(word), "{word}");
    }
    assert!(!text(&help.stdout).contains("--transport"), "for tests alone");
    let version = run(folder.path(), &["--version"]);
    assert_done(&version);
    assert_eq!(text(&version.stdout), format!("isvd-dist {}\n", env!("CARGO_PKG_VERSION")));
}

/// A ring of 60 nodes with chords: 180 distinct edges, each listed in both directions, the first
/// one twice as well.
fn both_ways() -> String {
    let edges = (0..60).flat_map(|node| [1, 7, 25].map(|step| (node, (node + step) % 60)));
    let text: String = edges.map(|(from, to)| format!("{from} {to}\n{to} {from}\n")).collect();
    format!("0 1\n{text}")
}

/// Catches lines that are counted instead of edges: an edge that is listed in both directions is
/// one edge.
#[test]
fn edges_listed_both_ways_count_once_and_held_out_ones_apart() {
    let folder = folder();
    std::fs::write(folder.path().join("edges.txt"), both_ways()).unwrap();
    let own = ["--config=links", "--set=data.path=edges.txt", "--out=results"];
    let with = |more: &[&str]| {
        let output = small(folder.path(), &[&own[..], more].concat());
        assert_done(&output);
        text(&output.stdout).to_owned()
    };
    let table = with(&["--set=data.valid=0", "--set=data.test=0"]);
    assert!(table.contains("edges           180\n"), "{table}");
    let metrics: Value = serde_json::from_str(&with(&["--set=data.test=0.2", "--json"])).unwrap();
    let [all, training, held_out] =
        ["edges", "training_edges", "held_out_edges"].map(|key| metrics[key].as_u64().unwrap());
    assert_eq!((all, training + held_out), (180, 180), "{metrics}");
    assert!((20..80).contains(&held_out), "{held_out}");
    let table = with(&["--set=data.test=0.2"]);
    let expected = format!("edges           180 ({training} training, {held_out} held out)\n");
    assert!(table.contains(&expected), "{table}");
    let page = std::fs::read_to_string(folder.path().join("results/report.html")).unwrap();
    assert!(page.contains(&format!("180 ({training} training, {held_out} held out)")));
    let convert = ["convert", "--config=links", "--set=data.path=edges.txt", "--out=store", "--set=data.test=0.2"];
    let output = run(folder.path(), &convert);
    assert_done(&output);
    let expected = format!("180 edges ({training} training, {held_out} held out))\n");
    assert!(text(&output.stdout).contains(&expected), "{}", text(&output.stdout));
    let explain = ["explain", "--config=links", "--set=data.path=edges.txt", "--set=data.test=0.2"];
    let explain = [&explain[..], &["--set=embedding.rank=4"]].concat();
    let output = run(folder.path(), &explain);
    assert_done(&output);
    let expected = format!("edges           180 ({training} training, {held_out} held out)\n");
    assert!(text(&output.stdout).contains(&expected), "{}", text(&output.stdout));
    let output = run(folder.path(), &[&explain[..], &["--json"]].concat());
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let counts = ["edges", "training_edges", "held_out_edges"].map(|key| plan[key].as_u64().unwrap());
    assert_eq!(counts, [180, training, held_out]);
    let stored: Value =
        serde_json::from_slice(&small(folder.path(), &["--set=dataset=./store", "--json"]).stdout).unwrap();
    assert_eq!((&stored["edges"], &stored["held_out_edges"]), (&all.into(), &held_out.into()));
}

/// Input that is not a list of edges is refused with its position and a remedy. Inferences about a
/// list are reported.
#[test]
fn invalid_lists_are_refused_and_inferences_are_reported() {
    let folder = folder();
    let read = |content: &str, more: &[&str]| {
        std::fs::write(folder.path().join("edges.csv"), content).unwrap();
        let own = ["--config=links", "--set=data.path=edges.csv", "--set=data.valid=0", "--set=data.test=0"];
        small(folder.path(), &[&own[..], &["--set=embedding.rank=2", "--out=results"], more].concat())
    };
    for (content, words) in [
        ("{\"source\": 51, \"target\": 52}\n{\"source\": 52, \"target\": 53}\n", ["line 1", "JSON", "jq"]),
        ("ann,bob\n\"ann\",eve\n", ["line 2", "in quotes", "without quotes"]),
        ("1,2,1082040961\n2,3,1082155839\n", ["line 1", "a time", "weights = \"ignore\""]),
        ("1,2,0.5\n2,3,-0.5\n", ["line 2", "-0.5", "a weight of 0 or more"]),
    ] {
        assert_refused(&read(content, &[]), 3, &[&["edges.csv"], &words[..]].concat());
    }
    let signed = ["--config=links", "--set=data.path=edges.csv", "--set=data.valid=0", "--set=data.test=0"];
    std::fs::write(folder.path().join("edges.csv"), "1,2,0.5\n2,3,-0.5\n3,4,1\n").unwrap();
    let matrix = ["--matrix=A", "--set=embedding.rank=2", "--out=signed"];
    assert_done(&run(folder.path(), &[&signed[..], &matrix].concat()));
    let convert = ["convert", "--set=matrix=A", "--out=store"];
    assert_done(&run(folder.path(), &[&convert[..1], &signed, &convert[1..]].concat()));
    let walks = ["--set=dataset=./store", "--set=embedding.rank=2"];
    assert_refused(&run(folder.path(), &walks), 3, &["negative weight", "matrix = \"A\""]);

    let named = read("from,to,weight\n1,2,0.5\n2,3,1\n3,1,2\n", &[]);
    assert_done(&named);
    let words = "edges.csv: line 1 names the columns (data.header); the third column is the weight (data.weights)";
    assert!(text(&named.stderr).contains(words), "{}", text(&named.stderr));
    let quiet = read("from,to,weight\n1,2,0.5\n2,3,1\n3,1,2\n", &["--quiet"]);
    assert_eq!(text(&quiet.stderr), "");
}
