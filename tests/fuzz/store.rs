//! A store whose files were changed and whose checksums were adjusted accordingly.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use isvd_dist::dataset::catalog::sha256;
use isvd_dist::dataset::store::{MANIFEST, MANIFEST_SUM, MatrixSettings, Numbering, Store, StoreError, Writer};
use isvd_dist::dataset::{Dataset, EdgeList, Ids, LinkSplit, NodeSplit, SparseFeatures};
use isvd_dist::engine::fuzz::{Draw, Target};
use isvd_dist::graph::{Graph, Import};
use serde_json::{Value, json};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

/// The complete store is read after each change.
const OVERHEAD: usize = 1 << 20;

pub const TARGET: Target = Target { name: "store", example, accepts: takes, overhead: OVERHEAD };

/// The files of a small store, by name.
pub static FILES: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    write(&store);
    let names = fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != MANIFEST_SUM).collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), fs::read(store.join(name)).unwrap())).collect()
});

fn write(folder: &Path) {
    let nodes = 150;
    let edges: Vec<(u32, u32)> = (0..300).map(|i| (i % nodes, (i * i + 7) % nodes)).collect();
    let list = EdgeList { weights: Some(vec![0.5; edges.len()]), nodes: nodes as usize, edges, directed: true };
    let graph = Graph::from_edges(&list, Import::default()).unwrap();
    let dataset = Dataset {
        name: "small".to_owned(),
        graph: list.into(),
        valid: Some(LinkSplit { edges: vec![(0, 1)], non_edges: vec![(3, 4)] }),
        sparse_features: Some(SparseFeatures {
            rows: nodes as usize,
            feature_count: 3,
            starts: (0..=nodes as usize).collect(),
            columns: (0..nodes).map(|node| node % 3).collect(),
            values: vec![1.0; nodes as usize],
        }),
        feature_count: 3,
        labels: Some((0..nodes).map(|node| node % 2).collect()),
        classes: vec!["cat".to_owned(), "dög".to_owned()],
        node_split: Some(NodeSplit { train: vec![0, 1], valid: vec![2], test: vec![4, 3] }),
        ids: Ids::names((0..nodes).map(|node| format!("nöde {node}"))),
        ..Dataset::default()
    };
    let mut writer = Writer::create(folder).unwrap();
    writer.dataset(&dataset).unwrap();
    let making = MatrixSettings {
        import: Import::default(),
        usual_import: Import::default(),
        directed: true,
        numbering: Numbering::Given,
    };
    writer.finish_with(&graph, making, None).unwrap();
}

/// The index of a file, and its content.
fn example(draw: &mut Draw<'_>) -> Vec<u8> {
    // The manifest is changed in half of the cases.
    let manifest = FILES.iter().position(|(name, _)| name == MANIFEST).unwrap();
    let number = if draw(2) == 0 { manifest } else { draw(FILES.len()) };
    [&[number as u8], &FILES[number].1[..]].concat()
}

thread_local! {
    /// The folder of a thread. It contains the unchanged store between two changes.
    static FOLDER: TempDir = {
        let folder = tempfile::tempdir().unwrap();
        FILES.iter().for_each(|(name, content)| fs::write(folder.path().join(name), content).unwrap());
        folder
    };
}

fn takes(bytes: &[u8]) -> bool {
    let Some((&number, content)) = bytes.split_first() else { return false };
    let (name, whole) = &FILES[usize::from(number) % FILES.len()];
    FOLDER.with(|folder| {
        let folder = folder.path();
        put(&folder.join(name), content);
        let manifest = folder.join(MANIFEST);
        if name != MANIFEST {
            put(&manifest, with_checksums(name, content).as_bytes());
        }
        put(&folder.join(MANIFEST_SUM), format!("{}  {MANIFEST}\n", sha256(&manifest).unwrap()).as_bytes());
        let used = use_all(folder);
        put(&folder.join(name), whole);
        used.is_ok()
    })
}

/// Replaces a file by another. Overwriting it would synchronise it to the disk on some systems,
/// which is slow.
fn put(path: &Path, content: &[u8]) {
    let _ = fs::remove_file(path);
    fs::write(path, content).unwrap();
}

/// The manifest with the checksums of what a file holds now.
fn with_checksums(name: &str, content: &[u8]) -> String {
    let (_, manifest) = FILES.iter().find(|(name, _)| name == MANIFEST).unwrap();
    let mut manifest: Value = serde_json::from_slice(manifest).unwrap();
    let pieces = manifest["files"][name].as_array_mut().unwrap();
    let (mut rest, last) = (content, pieces.len().saturating_sub(1));
    for (number, piece) in pieces.iter_mut().enumerate() {
        let bytes = piece["bytes"].as_u64().unwrap() as usize;
        let (own, others) = rest.split_at(if number == last { rest.len() } else { bytes.min(rest.len()) });
        *piece = json!({ "bytes": own.len(), "xxh3": format!("{:016x}", xxh3_64(own)) });
        rest = others;
    }
    manifest.to_string()
}

/// Reads all pieces of the store.
fn use_all(folder: &Path) -> Result<(), StoreError> {
    let dataset = Store::open(folder)?.dataset()?;
    let list = dataset.graph.list()?;
    assert_eq!(dataset.ids.len(), list.nodes);
    assert!(list.edges.iter().all(|&(from, to)| (from.max(to) as usize) < list.nodes));
    let Some(graph) = dataset.graph.stored_graph(Import::default())? else { return Ok(()) };
    graph.ready()?;
    let mut entries = 0;
    graph.adjacency.for_each(|row, column, _| {
        assert!(row.max(column) < list.nodes);
        entries += 1;
    });
    assert_eq!(entries, graph.adjacency.nonzeros());
    Ok(())
}
