//! The server gives the answers of the commands, and invalid queries get an error with the reason.

use std::fs;

use serde_json::{Value, json};

use super::world::{Results, Server};
use crate::support::{assert_done, text};

#[test]
fn neighbours_scores_and_vectors_are_those_of_the_commands() {
    let results = Results::demo();
    let server = results.serve(&[]);
    for by in ["cosine", "score"] {
        let by_argument = format!("--by={by}");
        let output = results.run(&["neighbors", "--model=out", "--node=n17", "--top=5", "--json", &by_argument]);
        assert_done(&output);
        let expected: Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = server.found(&format!("/api/neighbors?node=n17&top=5&by={by}"));
        assert_eq!((&found["node"], &found["by"]), (&json!("n17"), &json!(by)));
        assert_eq!(found["neighbors"], expected[0]["neighbors"]);
    }
    fs::write(results.path("pairs.txt"), "n1 n2\nn4999 n0\n").unwrap();
    let output = results.run(&["score", "--model=out", "--edges=pairs.txt"]);
    assert_done(&output);
    let column = |line: &str| line.rsplit_once('\t').unwrap().1.parse::<f64>().unwrap();
    let scores: Vec<f64> = text(&output.stdout).lines().skip(1).map(column).collect();
    assert_eq!(server.found("/api/score?source=n1&target=n2")["score"], scores[0]);
    let posted = server.ask("POST", "/api/score", r#"{"pairs": [["n1", "n2"], ["n4999", "n0"]]}"#);
    assert_eq!((posted.status, posted.json()), (200, json!({ "scores": scores })));
    let output = results.run(&["export", "--model=out", "--format=csv", "--which=both", "--out=v.csv"]);
    assert_done(&output);
    let table = fs::read_to_string(results.path("v.csv")).unwrap();
    let row: Vec<f64> = table.lines().nth(43).unwrap().split(',').skip(1).map(|entry| entry.parse().unwrap()).collect();
    let vectors = server.found("/api/embedding?node=n42");
    assert_eq!(vectors, json!({ "node": "n42", "left": row[..4], "right": row[4..] }));
}

#[test]
fn nodes_are_searched_and_mapped_and_the_server_tells_about_itself() {
    let results = Results::demo();
    let server = results.serve(&[]);
    assert_eq!(server.found("/api/search?prefix=n499&top=4"), json!({ "nodes": ["n499", "n4990", "n4991", "n4992"] }));
    assert_eq!(server.found("/api/search?prefix=x"), json!({ "nodes": [] }));
    assert_eq!(server.found("/api/search?prefix=")["nodes"].as_array().unwrap().len(), 12);
    let health = server.found("/api/health");
    assert_eq!((&health["status"], &health["nodes"], &health["rank"]), (&json!("ok"), &json!(5000), &json!(4)));
    assert_eq!((&health["directed"], &health["classes"]), (&json!(false), &Value::Null));
    let map = server.found("/api/map");
    let count = |name: &str| map[name].as_array().unwrap().len();
    assert_eq!((count("nodes"), count("x"), count("y"), count("groups")), (4000, 4000, 4000, 4000));
    let inside = |name: &str| map[name].as_array().unwrap().iter().all(|place| place.as_f64().unwrap().abs() <= 1.0);
    assert!(inside("x") && inside("y"));
    let page = server.get("/");
    assert!(page.head.contains("content-type: text/html") && page.head.contains("content-security-policy"));
    assert!(page.body.contains("<title>isvd-dist</title>"));
    assert!(!page.body.contains("http://") && !page.body.contains("https://"), "the page needs nothing from elsewhere");
    server.get("/nowhere");
    let metrics = server.get("/metrics");
    assert!(metrics.head.contains("content-type: text/plain; version=0.0.4"), "{metrics:?}");
    for line in [
        "isvd_nodes 5000",
        "isvd_requests_total{path=\"/api/search\",status=\"200\"} 3",
        "isvd_requests_total{path=\"\",status=\"404\"} 1",
        "isvd_request_seconds_count{path=\"/api/map\"} 1",
        "isvd_request_seconds_bucket{path=\"/api/map\",le=\"+Inf\"} 1",
    ] {
        assert!(metrics.body.lines().any(|other| other == line), "{line} is not in:\n{}", metrics.body);
    }
}

#[test]
fn invalid_queries_are_answered_with_the_reason() {
    let results = Results::demo();
    let server = results.serve(&[]);
    let long = "x".repeat(10_000);
    for (path, status, words) in [
        ("/api/neighbors", 400, &["`node` is missing"][..]),
        ("/api/neighbors?node=n1&top=0", 400, &["`top` is `0`", "from 1 to 1000"]),
        ("/api/neighbors?node=n1&top=1001", 400, &["from 1 to 1000"]),
        ("/api/neighbors?node=n1&top=-1", 400, &["`top` is `-1`"]),
        ("/api/neighbors?node=n1&top=99999999999999999999", 400, &["from 1 to 1000"]),
        ("/api/neighbors?node=n1&by=magic", 400, &["`by` is `magic`", "`cosine` or `score`"]),
        ("/api/neighbors?node=n1&node=n2", 400, &["`node` stands there twice"]),
        ("/api/neighbors?node=n1&tpo=5", 400, &["unknown parameter `tpo`", "`top`"]),
        ("/api/neighbors?node=17", 404, &["no node `17`", "did you mean `n17`?"]),
        ("/api/neighbors?node=%ff%00", 404, &["no node"]),
        ("/api/neighbors?node=", 404, &["no node ``"]),
        ("/api/score?source=n1", 400, &["`target` is missing"]),
        ("/api/score?source=n1&target=n9999", 404, &["no node `n9999`"]),
        ("/api/embedding?node=nobody", 404, &["no node `nobody`"]),
        ("/api/classify?node=n1", 404, &["an embedding", "[classifier]"]),
        ("/api/search", 400, &["`prefix` is missing"]),
        ("/api/search?prefix=n&top=101", 400, &["from 1 to 100"]),
        ("/api/map?size=3", 400, &["unknown parameter `size`", "none"]),
        ("/api/health?a=b", 400, &["unknown parameter `a`"]),
        ("/api", 404, &["nothing here", "/api/neighbors"]),
        ("/../../etc/passwd", 404, &["nothing here"]),
    ] {
        let said = server.get(path);
        server.assert_refused(&said, status, words);
    }
    server.assert_refused(&server.get(&format!("/api/embedding?node={long}")), 404, &["no node `xxx"]);
    assert_eq!(server.get("/api/embedding?node=17").json()["nearest"], "n17");
    for body in ["", "{", "[]", "{\"pairs\": 3}", "{\"pairs\": [[\"n1\"]]}", "{\"pairs\": [], \"more\": 1}", "\u{0}"] {
        let said = server.say(format!(
            "POST /api/score HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        server.assert_refused(&said, 400, &["expected {\"pairs\""]);
    }
    let unknown = server.ask("POST", "/api/score", r#"{"pairs": [["n1", 7]]}"#);
    server.assert_refused(&unknown, 404, &["no node `7`", "`n7`"]);
    for (method, path) in
        [("POST", "/api/neighbors?node=n1"), ("DELETE", "/"), ("PUT", "/api/score"), ("BREW", "/api/map")]
    {
        let said = server.ask(method, path, "");
        server.assert_refused(&said, 405, &["GET"]);
        assert!(said.head.contains("allow: "), "{said:?}");
    }
    let head = server.ask("HEAD", "/api/health", "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(server.found("/api/health")["status"], "ok");
}

#[test]
fn only_this_machine_is_answered_unless_asked_otherwise() {
    let results = Results::made_up(2, &["a", "b"]);
    let server = results.serve(&[]);
    let from = |server: &Server, host: &str| {
        server.say(format!("GET /api/health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")).status
    };
    for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:80"] {
        assert_eq!(from(&server, host), 200, "{host}");
    }
    for host in ["example.org", "localhost.example.org", "127.0.0.1.example.org:80", "a b"] {
        assert_ne!(from(&server, host), 200, "{host}: a name that leads here");
    }
}

#[test]
fn a_classifier_tells_classes_and_no_neighbours() {
    let results = Results::classified(&[]);
    let server = results.serve(&[]);
    let found = server.found("/api/classify?node=4");
    let table = fs::read_to_string(results.path("out/predictions.csv")).unwrap();
    let line: Vec<&str> = table.lines().nth(5).unwrap().split(',').collect();
    assert_eq!((&found["node"], &found["class"]), (&json!(line[0]), &json!(line[1])));
    let probability = |value: &Value| value["probability"].as_f64().unwrap();
    assert!((probability(&found) - line[2].parse::<f64>().unwrap()).abs() < 1e-6);
    let all = found["probabilities"].as_array().unwrap();
    assert_eq!((all.len(), &all[0]["class"]), (2, &found["class"]));
    assert!((all.iter().map(probability).sum::<f64>() - 1.0).abs() < 1e-5);
    server.assert_refused(&server.get("/api/neighbors?node=4"), 404, &["a classifier and no vectors"]);
    server.assert_refused(&server.get("/api/score?source=1&target=2"), 404, &["no vectors"]);
    server.assert_refused(&server.get("/api/embedding?node=4"), 404, &["no vectors"]);
    let map = server.found("/api/map");
    assert_eq!((map["nodes"].as_array().unwrap().len(), map["classes"].as_array().unwrap().len()), (60, 2));
    assert_eq!(server.found("/api/health")["classes"], 2);
}

#[test]
fn a_classifier_with_vectors_tells_both() {
    let results = Results::classified(&["--set=features.embedding=true", "--set=embedding.rank=4"]);
    let server = results.serve(&[]);
    let neighbors = server.found("/api/neighbors?node=4&top=3");
    let classes: Vec<&str> =
        neighbors["neighbors"].as_array().unwrap().iter().map(|one| one["class"].as_str().unwrap()).collect();
    assert_eq!(classes.len(), 3);
    assert!(classes.iter().all(|class| ["cats", "<dogs>"].contains(class)), "{classes:?}");
    assert!(server.found("/api/classify?node=4")["class"].is_string());
}
