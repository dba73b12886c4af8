//! Results with very few nodes.

use serde_json::json;

use super::world::Results;
use crate::support::{assert_done, assert_refused};

#[test]
fn no_nodes_at_all() {
    let results = Results::made_up(3, &[]);
    let server = results.serve(&[]);
    assert_eq!(server.found("/api/health")["nodes"], 0);
    assert_eq!(server.found("/api/map")["nodes"], json!([]));
    assert_eq!(server.found("/api/search?prefix=")["nodes"], json!([]));
    server.assert_refused(&server.get("/api/neighbors?node=a"), 404, &["no node `a`", "there are no nodes"]);
    assert_refused(&results.run(&["neighbors", "--model=out", "--node=a"]), 2, &["there are no nodes"]);
}

#[test]
fn a_single_node() {
    let results = Results::made_up(3, &["alone"]);
    let server = results.serve(&[]);
    assert_eq!(server.found("/api/neighbors?node=alone")["neighbors"], json!([]));
    assert_eq!(server.found("/api/neighbors?node=alone&by=score")["neighbors"], json!([]));
    assert_eq!(server.found("/api/map")["nodes"], json!(["alone"]));
    assert_done(&results.run(&["neighbors", "--model=out", "--node=alone"]));
}

#[test]
fn vectors_without_entries() {
    let results = Results::made_up(0, &["a", "b", "c"]);
    let server = results.serve(&[]);
    let expected = json!([{ "node": "a", "score": 0.0 }, { "node": "c", "score": 0.0 }]);
    for by in ["cosine", "score"] {
        assert_eq!(server.found(&format!("/api/neighbors?node=b&by={by}"))["neighbors"], expected);
    }
    assert_eq!(server.found("/api/score?source=a&target=b")["score"], 0.0);
    assert_eq!(server.found("/api/embedding?node=a"), json!({ "node": "a", "left": [], "right": [] }));
    assert_eq!(server.found("/api/map")["nodes"], json!(["a", "b", "c"]));
    for format in ["npy", "npz", "csv", "tsv", "parquet", "word2vec"] {
        let format = format!("--format={format}");
        assert_done(&results.run(&["export", "--model=out", &format, "--out=v"]));
    }
}
