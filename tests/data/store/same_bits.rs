//! A run on a store writes the same files as a run on the original dataset, bit for bit.

use std::fs;
use std::path::Path;

use super::world::{assert_same_from_store, assert_store_is_as_good, convert, files, results};
use crate::support::answer::assert_same_results;
use crate::support::{assert_done, data, folder, run, write_config};

/// The smallest settings of every stage of link prediction.
const LINKS: &[&str] = &[
    "--set=embedding.rank=8",
    "--set=embedding.iterations=2",
    "--set=finetune.epochs=1",
    "--set=update.warm_start=true",
];

#[test]
fn every_stage_of_link_prediction() {
    let folder = folder();
    assert_store_is_as_good(folder.path(), &["--config=demo"], &[&["--config=demo"], LINKS].concat());
    // The treatment of duplicates, self-loops and the order of rows in the conversion does not
    // matter either.
    let otherwise = ["--set=data.duplicates=once", "--set=data.self_loops=drop", "--set=data.order=given"];
    assert_same_from_store(folder.path(), &[&["--config=demo"], LINKS, &otherwise].concat());
    assert_same_from_store(
        folder.path(),
        &["--config=demo", "--set=embedding.rank=best", "--set=embedding.ranks=[4,8]"],
    );
}

#[test]
fn a_matrix_of_ones_own_and_its_explanation() {
    let folder = folder();
    let statement = ["--config=demo", "--matrix=walk(T, 2) - 0.02 * (J - A)", "--set=embedding.rank=8"];
    assert_store_is_as_good(folder.path(), &["--config=demo"], &statement);
    assert_done(&run(folder.path(), &["explain", "--config=demo", "--set=dataset=./store"]));
}

/// Hubs have adjacent rows, also in the store.
#[test]
fn nodes_that_have_other_rows() {
    let folder = folder();
    let graph = ["--config=demo", "--set=dataset=rmat-16x4"];
    let small = ["--set=embedding.rank=4", "--set=embedding.iterations=1", "--set=embedding.window=2"];
    let by_degree = [&graph[..], &small, &["--set=finetune.epochs=1"]].concat();
    assert_store_is_as_good(folder.path(), &graph, &by_degree);
    assert!(files(&folder.path().join("store")).contains(&"rows.u32".to_owned()));
    let given = [&graph[..], &small, &["--set=data.order=given"]].concat();
    assert_same_from_store(folder.path(), &given);
    convert(folder.path(), &[&graph[..], &["--set=data.order=given"]].concat());
    assert!(!files(&folder.path().join("store")).contains(&"rows.u32".to_owned()));
    assert_same_from_store(folder.path(), &by_degree);
    assert_same_from_store(folder.path(), &given);
}

/// A user's graph: names, weights, duplicates, self-loops, and a node that becomes isolated when
/// edges are held out.
fn write_edges(path: &Path) {
    let mut text = String::new();
    for node in 0..300 {
        for step in [1, 7, 31] {
            text += &format!("node-{node},node-{},{}\n", (node * step + step) % 300, 1 + (node * step) % 5);
        }
    }
    fs::write(path, text + "ä,ä,2.5\nä,node-3,0.1\nä,node-3,0.2\n").unwrap();
}

#[test]
fn graphs_of_ones_own() {
    for directed in ["true", "false"] {
        let folder = folder();
        let (mine, stored) = (folder.path().join("mine"), folder.path().join("stored"));
        for folder in [&mine, &stored] {
            fs::create_dir(folder).unwrap();
        }
        write_edges(&mine.join("edges.csv"));
        let rest = "[embedding]\nrank = 8\niterations = 2\n[finetune]\nepochs = 1\n[update]\nedges = \"valid\"\n";
        let data = format!("[data]\npath = \"edges.csv\"\ndirected = {directed}\nweights = \"third\"\n");
        write_config(&mine, &format!("{data}{rest}"));
        write_config(&stored, &format!("dataset = \"../mine/store\"\n{rest}"));
        convert(&mine, &["--config=mine.toml"]);
        let original = results(&mine, 1, &["--config=mine.toml"]);
        assert!(String::from_utf8_lossy(&original["ids.txt"]).contains("node-299\n"), "ids are the user's own");
        for workers in [1, 2, 3] {
            let results = results(&stored, workers, &["--config=mine.toml"]);
            assert_same_results(&original, &results, &format!("directed = {directed}, {workers} workers"));
        }
    }
}

#[test]
fn nodes_to_classify() {
    let folder = folder();
    let (mine, stored) = (folder.path().join("mine"), folder.path().join("stored"));
    for folder in [&mine, &stored] {
        fs::create_dir(folder).unwrap();
    }
    let edges: String = (0..200).map(|node| format!("{node} {}\n{node} {node}\n", (node * 7 + 1) % 200)).collect();
    let features: String = (0..200).map(|node| format!("{} {}\n", node % 2, (node * 3) % 11)).collect();
    let labels: String = (0..200).map(|node| if node % 2 == 0 { "even\n" } else { "odd\n" }).collect();
    for (name, content) in [("edges.txt", edges), ("features.txt", features), ("labels.txt", labels)] {
        fs::write(mine.join(name), content).unwrap();
    }
    let rest = "[features]\nembedding = true\n[embedding]\nrank = 4\niterations = 2\n[classifier]\nlayers = 2\n";
    let data = "[data]\npath = \"edges.txt\"\nfeatures = \"features.txt\"\nlabels = \"labels.txt\"\n";
    for (loops, name) in [("", "dropped"), ("self_loops = \"keep\"\n", "kept")] {
        write_config(&mine, &format!("{data}{loops}{rest}"));
        let loops = if loops.is_empty() { String::new() } else { format!("[data]\n{loops}") };
        write_config(&stored, &format!("dataset = \"../mine/store\"\n{loops}{rest}"));
        convert(&mine, &["--config=mine.toml"]);
        let original = results(&mine, 1, &["--config=mine.toml"]);
        for workers in [1, 2, 3] {
            let results = results(&stored, workers, &["--config=mine.toml"]);
            assert_same_results(&original, &results, &format!("{name} self-loops, {workers} workers"));
        }
    }
    // A model finds its store from every working directory.
    assert_done(&run(&stored, &["--config=mine.toml", "--out=model"]));
    assert_done(&run(folder.path(), &["predict", "--model=stored/model"]));
}

#[test]
fn real_data() {
    let Some(data) = data() else { return };
    let data = format!("--data={}", data.display());
    for (config, part) in [("ppi", "asymproj/ppi"), ("cora", "planetoid")] {
        let Some(_) = crate::support::data_part(part) else { continue };
        let config = format!("--config={config}");
        let by = [&config[..], &data, "--set=embedding.rank=8", "--set=embedding.iterations=2"];
        assert_store_is_as_good(folder().path(), &by, &by);
    }
}
