//! Processes send only the required rows: the results have the same bits, and the traffic is that
//! of the plan.

use std::fs;
use std::path::Path;

use isvd_kernel::random::{bits, stream};
use serde_json::Value;

use crate::support::{assert_done, folder, run, text};

const SHORT: [&str; 4] =
    ["--quiet", "--set=embedding.rank=8", "--set=embedding.iterations=2", "--set=embedding.window=3"];
/// A config for the graph in `edges.txt` without held-out edges.
const OWN: [&str; 5] = [
    "--config=links",
    "--set=data.path=edges.txt",
    "--set=data.valid=0.0",
    "--set=data.test=0.0",
    "--set=data.ids=rows",
];

/// Writes a graph of 6000 nodes, with or without weights, in which other processes need few rows.
fn write_edges(folder: &Path, edges: u64, weighted: bool) {
    let line = |edge: u64| {
        let [a, b] = [0, 1].map(|axis| bits(5, stream::SYNTHETIC, edge, axis) % 6000);
        let weight = if weighted { format!(" {}", 1 + edge % 9) } else { String::new() };
        format!("{a} {b}{weight}\n")
    };
    // An edge of the last node, so that there are 6000 nodes.
    let last = if weighted { "5999 0 1\n" } else { "5999 0\n" };
    fs::write(folder.join("edges.txt"), (0..edges).map(line).chain([last.to_owned()]).collect::<String>()).unwrap();
}

/// The results of a run on a number of processes and workers.
fn found(folder: &Path, processes: usize, workers: usize, arguments: &[&str]) -> Vec<Vec<u8>> {
    let (n, out) = (processes.to_string(), format!("{processes}x{workers}"));
    let (workers, out_option) = (format!("--workers={workers}"), format!("--out={out}"));
    let launch = if processes > 1 { vec!["launch", "-n", &n] } else { Vec::new() };
    assert_done(&run(folder, &[&launch[..], &[&workers, &out_option], &SHORT, arguments].concat()));
    let files = ["left.npy", "right.npy", "singular_values.npy"];
    files.map(|name| fs::read(folder.join(&out).join(name)).unwrap()).to_vec()
}

#[test]
fn the_bits_do_not_depend_on_which_rows_are_sent() {
    let kinds: [(bool, &[&str]); 3] =
        [(false, &[]), (true, &["--set=data.directed=true"]), (true, &["--transport=bytes"])];
    for (weighted, more) in kinds {
        let folder = folder();
        write_edges(folder.path(), 5000, weighted);
        let arguments = [&OWN[..], more].concat();
        let expected = found(folder.path(), 1, 1, &arguments);
        for (processes, workers) in [(2, 1), (2, 2), (3, 1)] {
            let found = found(folder.path(), processes, workers, &arguments);
            assert!(found == expected, "{processes} × {workers} with {more:?}");
        }
    }
}

/// Bytes of panels that all processes sent for products, from their traces.
fn bytes_of_products(folder: &Path, processes: usize) -> u64 {
    let events = (0..processes).flat_map(|process| {
        let name = if process == 0 { "steps.json".to_owned() } else { format!("steps.{process}.json") };
        serde_json::from_str::<Vec<Value>>(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
    });
    let is_of_product = |event: &Value| {
        let name = event["name"].as_str().unwrap();
        event["cat"] == "sent" && name.contains("gather ") && !name.ends_with(" panel")
    };
    events.filter(is_of_product).map(|event| event["args"]["bytes"].as_u64().unwrap()).sum()
}

/// The planned traffic of all products of a run, and the traffic if every process received all
/// rows.
fn planned(folder: &Path, processes: usize, arguments: &[&str]) -> (u64, u64) {
    let processes_option = format!("--processes={processes}");
    let output = run(folder, &[&["explain", "--json", "--workers=1", &processes_option], arguments].concat());
    assert_done(&output);
    let plan: Value = serde_json::from_str(text(&output.stdout)).unwrap();
    let stage = &plan["stages"][0];
    let whole = plan["nodes"].as_u64().unwrap() * stage["block"].as_u64().unwrap().next_multiple_of(8) * 4;
    let (mut needed, mut all) = (0, 0);
    for (side, turns) in stage["sides"].as_array().unwrap().iter().zip(stage["turns"].as_array().unwrap()) {
        for step in side["steps"].as_array().unwrap() {
            if step["step"].as_str().unwrap().starts_with("spmm") {
                let bytes = step["network_bytes"].as_u64().unwrap();
                needed += turns.as_u64().unwrap() * bytes;
                all += turns.as_u64().unwrap() * u64::from(bytes > 0) * (processes as u64 - 1) * whole;
            }
        }
    }
    (needed, all)
}

/// The plan has the least number of products, and the traffic of each.
#[test]
fn products_send_what_was_planned_and_not_every_row() {
    let folder = folder();
    write_edges(folder.path(), 6000, false);
    let rmat = ["--config=demo", "--set=dataset=rmat-14"];
    for (graph, most) in [(&rmat[..], 0.9), (&OWN[..], 0.9)] {
        for processes in [2, 3] {
            let (n, folder) = (processes.to_string(), folder.path());
            let arguments = [graph, &SHORT[1..]].concat();
            // Checkpoints multiply one more column, to identify the matrix.
            let launch =
                ["launch", "-n", &n, "--workers=1", "--out=out", "--quiet", "--checkpoint=off", "--trace=steps.json"];
            assert_done(&run(folder, &[&launch[..], &arguments].concat()));
            let (sent, (needed, all)) = (bytes_of_products(folder, processes), planned(folder, processes, &arguments));
            assert!(sent as f64 <= 1.05 * needed as f64, "{sent} sent, {needed} planned");
            assert!((sent as f64) < most * all as f64, "{sent} sent, {all} if all rows went to everybody");
        }
    }
}
