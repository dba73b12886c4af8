//! The link-prediction figures of the paper whose data is available, each by one command.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::Value;

use crate::support::answer::{Answer, assert_same, run};
use crate::support::{self, assert_done, assert_refused, data, folder, text};

fn experiment(data: &Path, workers: usize, arguments: &[&str]) -> Answer {
    let data = format!("--data={}", data.display());
    run(workers, "pointers", &[&[data.as_str()], arguments].concat())
}

fn figure(answer: &Answer, stage: usize, split: &str, metric: &str) -> f64 {
    answer.metrics["stages"][stage][split][metric].as_f64().unwrap()
}

#[test]
fn roc_auc_at_rank_32_and_at_the_best_rank() {
    let Some(data) = data() else { return };
    for (config, least) in [
        ("ppi", 0.890),
        ("facebook", 0.990),
        ("hepth", 0.903),
        ("ppi-best-rank", 0.890),
        ("facebook-best-rank", 0.992),
        ("hepth-best-rank", 0.899),
    ] {
        let answer = experiment(&data, 2, &["--config", config]);
        let auc = figure(&answer, 0, "test", "auc");
        assert!(auc >= least, "{config}: {auc}, not {least}");
    }
}

#[test]
fn ppi_has_the_same_bits_on_any_number_of_workers() {
    let Some(data) = data() else { return };
    let one = experiment(&data, 1, &["--config=ppi"]);
    for workers in [2, 3] {
        assert_same(&one, &experiment(&data, workers, &["--config=ppi"]), &format!("{workers} workers"));
    }
}

/// All three stages, with the same bits on any number of workers: embedding, fine-tuning and
/// update.
#[test]
fn ddi_reaches_the_paper_in_every_stage() {
    let Some(data) = data() else { return };
    let one = experiment(&data, 1, &["--config=ddi"]);
    let names: Vec<&str> =
        one.metrics["stages"].as_array().unwrap().iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names, ["embedding", "finetune", "update"]);
    // The means of five seeds in the README, minus three standard deviations.
    for (stage, least) in [0.6773, 0.7806, 0.8368].into_iter().enumerate() {
        let hits = figure(&one, stage, "test", "hits@20");
        assert!(hits >= least, "stage {stage}: {hits}, not {least}");
        assert!(figure(&one, stage, "valid", "hits@20") > 0.5, "valid is reported for every stage");
    }
    let mean = one.metrics["stages"][1]["kernel"]["mean"].as_f64().unwrap();
    assert!((1.10..=1.20).contains(&mean), "μ = {mean}");
    for workers in [2, 3] {
        assert_same(&one, &experiment(&data, workers, &["--config=ddi"]), &format!("{workers} workers"));
    }
    // Reported figures are those of a run that met its tolerance.
    for stage in [0, 2] {
        assert_eq!(one.metrics["stages"][stage]["is_tolerance_met"], true, "{}", one.metrics["stages"][stage]);
    }
}

/// An embedding of ddi alone, to see how much the random start matters.
#[test]
fn ddi_hardly_depends_on_the_seed() {
    let Some(data) = data() else { return };
    let own = folder();
    let config = own.path().join("seeds.toml");
    let shipped = include_str!("../../configs/ddi.toml");
    let embedding = shipped.split("# The kernel over").next().unwrap();
    fs::write(&config, format!("{embedding}\n[evaluate]\nmetrics = [\"hits@20\"]\n")).unwrap();
    let config = format!("--config={}", config.display());
    let hits: Vec<f64> = (1..=5)
        .map(|seed| figure(&experiment(&data, 2, &[&config, &format!("--seed={seed}")]), 0, "test", "hits@20"))
        .collect();
    let mean = hits.iter().sum::<f64>() / 5.0;
    let deviation = (hits.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / 4.0).sqrt();
    assert!(deviation <= 0.005, "{deviation}: {hits:?}");
}

#[test]
fn a_missing_dataset_is_reported_with_the_command_to_fetch_it() {
    let own = folder();
    let output = support::run(own.path(), &["--config=astroph", "--data=."]);
    assert_refused(&output, 3, &["astroph", "asymproj/ca-AstroPh", "isvd-dist datasets fetch astroph"]);
}

/// Two rings with names for ids, a few links between them.
fn named_edges() -> String {
    let mut lines = String::from("# from to\n");
    for ring in ["left", "right"] {
        for node in 0..60 {
            for step in [1, 2, 3, 5] {
                lines += &format!("{ring}-{node}\t{ring}-{}\n", (node + step) % 60);
            }
        }
    }
    lines + "left-0\tright-0\nleft-0\tleft-0\n"
}

#[test]
fn a_graph_of_ones_own_from_the_template() {
    let own = folder();
    fs::write(own.path().join("edges.txt"), named_edges()).unwrap();
    fs::write(own.path().join("mine.toml"), include_str!("../../configs/links.toml")).unwrap();
    let settings = ["--config=mine.toml", "--json", "--out=results", "--set=embedding.rank=16"];
    let output = support::run(own.path(), &settings);
    assert_done(&output);
    let metrics: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(metrics["nodes"], 120);
    let auc = metrics["stages"][0]["test"]["auc"].as_f64().unwrap();
    assert!(auc > 0.9, "{auc}");
    let ids = fs::read_to_string(own.path().join("results/ids.txt")).unwrap();
    assert_eq!(ids.lines().count(), 120);
    assert!(ids.lines().any(|id| id == "right-59"));
}

#[test]
fn all_stages_run_on_a_graph_of_ones_own_too() {
    let own = folder();
    fs::write(own.path().join("edges.txt"), named_edges()).unwrap();
    let settings = [
        "--config=links",
        "--json",
        "--set=embedding.rank=best",
        "--set=embedding.ranks=[4, 8]",
        "--set=finetune.batch=50",
        "--set=update.warm_start=true",
    ];
    let output = support::run(own.path(), &settings);
    assert_done(&output);
    let metrics: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(metrics["stages"].as_array().unwrap().len(), 3);
    assert!(metrics["stages"][0]["ranks_tried"]["4"].is_number());
}

/// Catches a reported rank that is not that of the saved vectors, if each seed chooses its own
/// rank.
#[test]
fn the_rank_of_several_seeds_is_the_number_of_columns_of_the_files() {
    let own = folder();
    fs::write(own.path().join("edges.txt"), named_edges()).unwrap();
    for seed in ["1", "2", "3", "4"] {
        let settings = [
            "--config=links",
            "--json",
            "--out=results",
            "--set=embedding.rank=best",
            "--set=embedding.ranks=[2, 4, 8, 16, 32]",
            "--set=seeds=3",
            "--seed",
            seed,
        ];
        let output = support::run(own.path(), &settings);
        assert_done(&output);
        let metrics: Value = serde_json::from_slice(&output.stdout).unwrap();
        let left = fs::read(own.path().join("results/left.npy")).unwrap();
        let shape = npyz::NpyFile::new(std::io::Cursor::new(left)).unwrap().shape().to_vec();
        assert_eq!(metrics["stages"][0]["rank"], shape[1], "seed {seed}");
    }
}

#[test]
fn bad_files_are_refused_with_their_place_and_leave_nothing_behind() {
    let own = folder();
    let write = |content: &[u8]| fs::write(own.path().join("edges.txt"), content).unwrap();
    let refused = |words: &[&str]| {
        let output = support::run(own.path(), &["--config=links", "--out=results"]);
        assert_refused(&output, 3, words);
        let left = own.path().join("results/metrics.json");
        assert!(!left.exists(), "no partial output");
    };
    refused(&["edges.txt"]);
    write(b"");
    refused(&["edges.txt"]);
    write(b"1 2\n3 x4\n5 6\n7 8\n");
    refused(&["edges.txt, line 2", "x4"]);
    write(b"1 2\n3\n");
    refused(&["edges.txt, line 2"]);
    write(b"1 2 1.0\n3 4 NaN\n");
    refused(&["edges.txt, line 2", "NaN"]);
    write(b"1 2\n-3 4\n5 6\n");
    refused(&["edges.txt, line 2", "-3"]);
    write(b"0 1\n1 2\n0 2\n");
    let output = support::run(own.path(), &["--config=links", "--out=results", "--set=embedding.rank=9"]);
    assert_refused(&output, 2, &["rank 9", "at most 3"]);
}

/// Catches degrees that overflow and produce rows of zeros, in both normalisations.
#[test]
fn degrees_that_overflow_are_refused_with_the_node() {
    let own = folder();
    let star = |weight: &str| (0..59).map(|leaf| format!("hub\tleaf-{leaf}\t{weight}\n")).collect::<String>();
    fs::write(own.path().join("edges.txt"), star("1e37")).unwrap();
    let run = |settings: &[&str]| {
        let shared = ["--config=links", "--set=embedding.rank=2", "--out=results"];
        support::run(own.path(), &[&shared[..], settings].concat())
    };
    let words = ["edges of node hub add up to ", "e38, and", "multiply all weights by a smaller number"];
    for matrix in ["T", "S", "Ahat", "Z", "diag(degree)*A"] {
        assert_refused(&run(&["--matrix", matrix]), 2, &words);
    }
    for normalize in ["row", "symmetric"] {
        for weighted in ["true", "false"] {
            let normalize = format!("--set=embedding.normalize={normalize}");
            let weighted = format!("--set=embedding.degree_weighted={weighted}");
            let settings = [&normalize[..], &weighted];
            assert_refused(&run(&settings), 3, &words);
        }
    }
    fs::write(own.path().join("edges.txt"), star("1e36")).unwrap();
    assert_done(&run(&["--matrix=S"]));
}

#[test]
fn a_config_names_a_dataset_or_a_file_and_not_both() {
    let own = folder();
    let output = support::run(own.path(), &["--config=links", "--set=dataset=demo"]);
    assert_refused(&output, 2, &["`dataset` and `data.path` are both set"]);
    let output = support::run(own.path(), &["--config=demo", "--set=dataset=pip"]);
    assert_refused(&output, 2, &["ppi"]);
    assert_eq!(text(&output.stdout), "");
}

/// A numpy file of pairs.
fn npy(pairs: &[(i64, i64)]) -> Vec<u8> {
    let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({}, 2), }}", pairs.len());
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(pairs.iter().flat_map(|&(from, to)| [from, to]).flat_map(i64::to_le_bytes));
    bytes
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn refused_dataset(data: &Path, config: &str, words: &[&str]) {
    let (config, folder) = (format!("--config={config}"), format!("--data={}", data.display()));
    let output = support::run(data, &[&config, &folder, "--out=results"]);
    assert_refused(&output, 3, words);
    assert!(!data.join("results/metrics.json").exists(), "no partial output");
}

#[test]
fn a_test_pair_that_is_not_in_the_graph_is_refused() {
    let own = folder();
    let ppi = own.path().join("asymproj/ppi");
    fs::create_dir_all(&ppi).unwrap();
    fs::write(ppi.join("train.txt.npy"), npy(&[(0, 1), (1, 2), (2, 3)])).unwrap();
    fs::write(ppi.join("test.txt.npy"), npy(&[(0, 2), (1, 9)])).unwrap();
    fs::write(ppi.join("test.neg.txt.npy"), npy(&[(0, 3)])).unwrap();
    refused_dataset(own.path(), "ppi", &["test.txt.npy", "9"]);
    fs::write(ppi.join("test.txt.npy"), &npy(&[(0, 2), (1, 3)])[..140]).unwrap();
    refused_dataset(own.path(), "ppi", &["test.txt.npy"]);
}

#[test]
fn a_torch_file_that_asks_for_a_class_is_refused_and_nothing_is_run() {
    let own = folder();
    let ddi = own.path().join("ogbl_ddi");
    fs::create_dir_all(ddi.join("raw")).unwrap();
    fs::create_dir_all(ddi.join("split/target")).unwrap();
    for (name, content) in [("edge", "0,1\n1,2\n"), ("num-node-list", "3\n"), ("num-edge-list", "2\n")] {
        fs::write(ddi.join(format!("raw/{name}.csv.gz")), gzip(content.as_bytes())).unwrap();
    }
    let hostile = b"cos\nsystem\n(S'touch hacked'\ntR.";
    for part in ["valid", "test"] {
        fs::write(ddi.join(format!("split/target/{part}.pt")), hostile).unwrap();
    }
    refused_dataset(own.path(), "ddi", &[".pt", "os.system"]);
    assert!(!own.path().join("hacked").exists());
}

#[test]
fn a_gzip_that_breaks_off_is_refused() {
    let own = folder();
    let whole = gzip(named_edges().as_bytes());
    fs::write(own.path().join("edges.txt.gz"), &whole[..whole.len() / 2]).unwrap();
    let path = "--set=data.path=edges.txt.gz";
    let output = support::run(own.path(), &["--config=links", path, "--out=results"]);
    assert_refused(&output, 3, &["edges.txt.gz", "breaks off"]);
    assert!(!own.path().join("results/metrics.json").exists());
    fs::write(own.path().join("edges.txt.gz"), &whole).unwrap();
    assert_done(&support::run(own.path(), &["--config=links", path, "--set=embedding.rank=8", "--quiet"]));
}
