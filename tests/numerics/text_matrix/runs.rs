//! The program with a user-defined matrix.

use std::fs;

use serde_json::Value;

use crate::support::answer::{assert_same, run as answer};
use crate::support::{assert_done, assert_refused, folder, names, run, small, text, write_config};

const PLAIN: &str = "--matrix=walk(T, 10) - 0.02 * (J - A)";

/// A tolerance for which there is no surrogate, as for a matrix stated as text.
const EXACT: &str = "--set=embedding.tolerance=0.005";

#[test]
fn the_demo_has_the_same_bits_as_text() {
    let builtin = answer(1, "pointers", &[EXACT]);
    assert_same(&builtin, &answer(1, "pointers", &[EXACT, PLAIN]), "plain");
    assert_same(&builtin, &answer(2, "bytes", &[EXACT, PLAIN]), "plain, two workers");
    let set = "--set=matrix=walk(T, 10) - 0.02 * (J - A)";
    assert_same(&builtin, &answer(2, "pointers", &[EXACT, set]), "--set");
    let settings = [EXACT, "--set=embedding.normalize=symmetric", "--set=embedding.degree_weighted=true"];
    let builtin = answer(2, "pointers", &settings);
    let matrix = "--matrix=walk(S, 10) @ diag(sqrt(degree)) - 0.02 * (J - A)";
    assert_same(&builtin, &answer(2, "pointers", &[EXACT, matrix]), "symmetric");
}

#[test]
fn a_config_states_a_matrix() {
    let folder = folder();
    write_config(
        folder.path(),
        "dataset = \"demo\"\nmatrix = \"\"\"\nwalk(T, 3)\n  - 0.02 * (J - A)\n\"\"\"\n[finetune]\nepochs = 1\n",
    );
    let output = small(folder.path(), &["--config=mine.toml", "--json"]);
    assert_done(&output);
    let metrics: Value = serde_json::from_slice(&output.stdout).unwrap();
    let stages = metrics["stages"].as_array().unwrap();
    assert_eq!((&stages[0]["name"], &stages[1]["name"]), (&"embedding".into(), &"finetune".into()));
    assert!(stages[1]["test"]["auc"].as_f64().unwrap() > 0.5);
}

#[test]
fn features_labels_and_splits_of_a_dataset() {
    let folder = folder();
    for text in
        ["[X, Ahat@X, Ahat@(Ahat@X), Z@Y]", "rows(center(X), train).T", "[X; dropout(X, 0.5); dropout(X, 0.5, 1)]"]
    {
        assert_done(&small(folder.path(), &[&format!("--matrix={text}")]));
    }
}

/// Features of nodes can be used in a matrix.
#[test]
fn features_of_a_graph_of_ones_own() {
    let folder = folder();
    let write = |name: &str, content: String| fs::write(folder.path().join(name), content).unwrap();
    // A ring, whose features are 3 in one column of half of its nodes and 2 in the other column of
    // the others.
    write("edges.txt", (0..8).map(|node| format!("{node} {}\n", (node + 1) % 8)).collect());
    write("features.csv", (0..8).map(|node| if node < 4 { "3,0\n" } else { "0,2\n" }).collect());
    let content = "matrix = \"X\"\n[data]\npath = \"edges.txt\"\nfeatures = \"features.csv\"\n[embedding]\nrank = 2\n";
    write_config(folder.path(), content);
    let values = |arguments: &[&str]| -> Vec<f32> {
        let fixed = ["--config=mine.toml", "--out=out", "--set=embedding.iterations=10"];
        assert_done(&run(folder.path(), &[&fixed, arguments].concat()));
        let bytes = fs::read(folder.path().join("out/singular_values.npy")).unwrap();
        bytes[bytes.len() - 8..].chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    };
    let near = |found: Vec<f32>, expected: [f32; 2]| {
        let is_near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-4 * expected);
        assert!(is_near, "{found:?} and {expected:?}");
    };
    near(values(&[]), [6.0, 4.0]);
    near(values(&["--matrix=2 * X", "--workers=3"]), [12.0, 8.0]);
    // The columns of A·X are (6, 6, 6, 3, …) and similar: the entries of its Gram matrix are (4·6²
    // + …) and the products of both columns.
    let [with, between] = [[3.0f64, 6.0, 6.0, 3.0, 3.0, 0.0, 0.0, 3.0], [2.0, 0.0, 0.0, 2.0, 2.0, 4.0, 4.0, 2.0]];
    let dot = |a: &[f64; 8], b: &[f64; 8]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (p, q, r) = (dot(&with, &with), dot(&between, &between), dot(&with, &between));
    let root = ((p - q).powi(2) + 4.0 * r * r).sqrt();
    near(values(&["--matrix=A @ X"]), [(p + q + root) / 2.0, (p + q - root) / 2.0].map(|square| square.sqrt() as f32));
    let explained = run(folder.path(), &["explain", "--config=mine.toml"]);
    assert_done(&explained);
    assert!(
        text(&explained.stdout).contains("8 × 2") || text(&explained.stdout).contains("8×2"),
        "{}",
        text(&explained.stdout)
    );
    // Without a matrix, features are for classification.
    write_config(folder.path(), "[data]\npath = \"edges.txt\"\nfeatures = \"features.csv\"\n");
    assert_refused(&run(folder.path(), &["--config=mine.toml"]), 3, &["labels"]);
}

#[test]
fn a_matrix_of_another_shape_is_decomposed_and_not_scored() {
    let folder = folder();
    let shape = |name: &str| {
        let bytes = fs::read(folder.path().join("out/demo").join(name)).unwrap();
        let header = String::from_utf8_lossy(&bytes[..128]).into_owned();
        header.split_once("'shape': ").unwrap().1.split_once(')').unwrap().0.trim_end_matches(", ").to_owned()
    };
    let wide = "--matrix=rows(A, [0, 1, 2, 3, 4, 5, 6])";
    let output = small(folder.path(), &[wide]);
    assert_done(&output);
    assert!(!text(&output.stdout).contains("auc"), "{}", text(&output.stdout));
    assert_eq!(
        names(&folder.path().join("out/demo")),
        ["left.npy", "metrics.json", "report.html", "report.json", "right.npy", "singular_values.npy"]
    );
    assert_eq!((shape("left.npy").as_str(), shape("right.npy").as_str()), ("(7, 4", "(5000, 4"));
    let output = small(folder.path(), &["--matrix=[A @ J(n, 2), cols(A, [0, 1, 2, 3])]", "--json"]);
    assert_done(&output);
    let metrics: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(metrics["stages"][0].get("test").is_none() && metrics["stages"][0]["rank"] == 4);
    assert!(folder.path().join("out/demo/ids.txt").is_file(), "rows are nodes");
    assert_eq!((shape("left.npy").as_str(), shape("right.npy").as_str()), ("(5000, 4", "(6, 4"));
    let output = small(folder.path(), &[wide, "--set=finetune.epochs=1"]);
    assert_refused(&output, 2, &["--matrix: ", "7×5000", "leave [finetune] out", "5000×5000"]);
    let output = run(folder.path(), &[wide]);
    assert_refused(&output, 2, &["--matrix: cannot decompose this matrix of 7×5000", "because: ", "rank 32"]);
}

/// Catches results of nothing but zeros for a matrix that is not zero.
#[test]
fn singular_values_that_vanish_as_32_bit_numbers_are_refused() {
    let folder = folder();
    let refused = small(folder.path(), &["--matrix=(1e-25 * A)^2", "--quiet"]);
    assert_refused(&refused, 1, &["the largest singular value is", "e-4", "multiply the matrix by a larger number"]);
}

#[test]
fn a_wrong_text_ends_with_2_and_shows_the_place() {
    let folder = folder();
    let output = run(folder.path(), &["--matrix", "walk(T, 5) - 0.02 * (J - A"]);
    let message = "\
error: --matrix: this `(` is never closed
  |
  | walk(T, 5) - 0.02 * (J - A
  |                     ^
  = help: add `)`
";
    assert_refused(&output, 2, &[message]);
    assert!(names(folder.path()).is_empty(), "nothing is loaded or made for a text that cannot be read");
    let output = run(folder.path(), &["--matrix", "-wlk(T, 5)"]);
    assert_refused(
        &output,
        2,
        &["--matrix: there is no function `wlk`", "  | -wlk(T, 5)\n  |  ^^^\n", "did you mean `walk`?"],
    );
    let ring: String = (0..60).map(|i| format!("{i} {}\n", (i + 1) % 60)).collect();
    fs::write(folder.path().join("edges.txt"), ring).unwrap();
    let output = run(folder.path(), &["--config=links", "--set=data.path=edges.txt", "--matrix", "A @ X"]);
    assert_refused(&output, 2, &["--matrix: `X` cannot be used here: the nodes carry no features", "\n  |     ^\n"]);
    assert_refused(&run(folder.path(), &["--matrix", "[1, 2]"]), 2, &["a number stands where a matrix is needed"]);
    assert_refused(&run(folder.path(), &["--matrix", ""]), 2, &["the text is empty"]);
    write_config(folder.path(), "dataset = \"demo\"\nseed = 1\nmatrix = \"A * T\"\n");
    let output = run(folder.path(), &["--config=mine.toml"]);
    assert_refused(&output, 2, &["mine.toml:3: `*` stands between two matrices", "  | A * T\n  |   ^\n", "use `@`"]);
    write_config(folder.path(), "dataset = \"demo\"\nmatrix = 3\n");
    assert_refused(&run(folder.path(), &["--config=mine.toml"]), 2, &["mine.toml:2: `matrix` is 3: expected a text"]);
}

#[test]
fn settings_that_a_matrix_leaves_without_a_meaning_are_refused() {
    let folder = folder();
    for key in
        ["window=3", "negative=1", "normalize=row", "degree_weighted=true", "self_loops=true", "walk_weights=[1]"]
    {
        let set = format!("--set=embedding.{key}");
        let name = format!("`embedding.{}`", key.split('=').next().unwrap());
        assert_refused(&run(folder.path(), &[PLAIN, &set]), 2, &["`matrix` and ", &name, "are both set"]);
    }
    write_config(folder.path(), "dataset = \"demo\"\nmatrix = \"T\"\n[embedding]\nwindow = 3\n");
    let both = ["mine.toml: `matrix` and `embedding.window` are both set"];
    assert_refused(&run(folder.path(), &["--config=mine.toml"]), 2, &both);
    for (set, words) in [
        ("--set=update.warm_start=true", ["`matrix` and `update` do not go together", "more edges"]),
        ("--set=embedding.rank=best", ["`matrix` and `embedding.rank` do not go together", "give a number"]),
    ] {
        assert_refused(&run(folder.path(), &[PLAIN, set]), 2, &words);
    }
    write_config(folder.path(), "dataset = \"demo\"\nmatrix = \"T\"\n[classifier]\n");
    let words = ["`matrix` and `classifier` do not go together", "of its own"];
    assert_refused(&run(folder.path(), &["--config=mine.toml"]), 2, &words);
    assert!(names(folder.path()) == ["mine.toml"]);
}
