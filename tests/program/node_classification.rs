//! The node-classification figures of the paper whose data is available, each by one command; saved
//! classifiers; and errors of invalid data.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use npyz::WriterBuilder;
use serde_json::Value;

use crate::support::{self, assert_done, assert_refused, data, data_part, folder, text};

/// Runs in a folder, with all results in `out`. Returns the figures.
fn run(folder: &Path, arguments: &[&str]) -> Value {
    let output = support::run(folder, &[arguments, &["--out=out", "--json"]].concat());
    assert_done(&output);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn stage<'a>(metrics: &'a Value, name: &str) -> &'a Value {
    let stages = metrics["stages"].as_array().unwrap();
    stages.iter().find(|stage| stage["name"] == name).unwrap_or_else(|| panic!("no stage {name}"))
}

fn accuracy(metrics: &Value, name: &str, split: &str) -> f64 {
    stage(metrics, name)[split]["accuracy"].as_f64().unwrap()
}

#[test]
fn cora_and_pubmed_reach_the_paper_over_five_seeds() {
    let Some(data) = data() else { return };
    let data = format!("--data={}", data.display());
    for (config, plain, dropout) in [("cora-dropout", 0.815, 0.818), ("pubmed-dropout", 0.782, 0.776)] {
        let own = folder();
        let metrics = run(own.path(), &[&data, "--config", config, "--set=seeds=5"]);
        let found = (accuracy(&metrics, "classifier", "test"), accuracy(&metrics, "dropout", "test"));
        assert!(found.0 >= plain && found.1 >= dropout, "{config}: {found:?}");
        assert_eq!(metrics["seeds"], 5);
        let spread = stage(&metrics, "dropout")["test_spread"]["accuracy"].as_f64().unwrap();
        assert!(spread > 0.0 && spread < 0.02, "{spread}");
    }
}

/// Catches arithmetic that squares the condition number. M is 140×160 with σ_k/σ₁ = 2e-5, and
/// products are rounded to f32, by 6e-8·σ₁ or 3e-3·σ_k. All methods predict the same class for all
/// nodes except a few with nearly equal probabilities.
#[test]
fn an_ill_conditioned_classifier_is_the_same_by_all_methods() {
    let Some(data) = data() else { return };
    let data = format!("--data={}", data.display());
    let classes = ["auto", "gram", "krylov", "subspace"].map(|method| {
        let own = folder();
        let config = "dataset = \"cora\"\n[features]\ncomponents = 10\n[classifier]\nlayers = 15\n";
        support::write_config(own.path(), config);
        let method = format!("--set=classifier.method={method}");
        let metrics = run(own.path(), &[&data, "--config=mine.toml", &method]);
        let residual = stage(&metrics, "classifier")["normal_residual"].as_f64().unwrap();
        assert!(residual > 0.0 && residual < 3e-3, "{method}: {residual}");
        let predictions = fs::read_to_string(own.path().join("out/predictions.csv")).unwrap();
        let class = |line: &str| line.split(',').nth(1).unwrap().to_owned();
        predictions.lines().skip(1).map(class).collect::<Vec<_>>()
    });
    for other in &classes[1..] {
        let differing = classes[0].iter().zip(other).filter(|(one, other)| one != other).count();
        assert!(classes[0].len() == 2708 && differing <= 5, "{differing} nodes are of other classes");
    }
}

/// All result files have the same bits.
#[track_caller]
fn assert_same_files(one: &Path, other: &Path) {
    for name in ["predictions.csv", "probabilities.npy", "model.json", "ids.txt", "directions.npy"] {
        let read = |folder: &Path| fs::read(folder.join("out").join(name)).unwrap();
        assert!(read(one) == read(other), "{name} differs");
    }
}

#[test]
fn cora_has_the_same_bits_on_any_number_of_workers() {
    let Some(data) = data() else { return };
    let data = format!("--data={}", data.display());
    let one = folder();
    run(one.path(), &[&data, "--config=cora-dropout", "--workers=1"]);
    for (workers, transport) in [(2, "pointers"), (3, "pointers"), (2, "bytes")] {
        let other = folder();
        let (workers, transport) = (format!("--workers={workers}"), format!("--transport={transport}"));
        run(other.path(), &[&data, "--config=cora-dropout", &workers, &transport]);
        assert_same_files(one.path(), other.path());
    }
}

/// The demo with label re-use and a network.
const DEMO: &str = r#"
dataset = "demo"
[features]
components = 16
[classifier]
layers = 2
label_reuse = true
targets = [5, -5]
label_dropout = true
dropout_copies = 1
[network]
epochs = [2]
learning_rates = [1e-3]
batch = 100
fanouts = [4, 3]
"#;

#[test]
fn two_epochs_of_fine_tuning_have_the_same_bits_on_any_number_of_workers() {
    let one = folder();
    support::write_config(one.path(), DEMO);
    let metrics = run(one.path(), &["--config=mine.toml", "--workers=1"]);
    for (workers, transport) in [(2, "pointers"), (3, "pointers"), (3, "bytes")] {
        let other = folder();
        support::write_config(other.path(), DEMO);
        let (workers, transport) = (format!("--workers={workers}"), format!("--transport={transport}"));
        run(other.path(), &["--config=mine.toml", &workers, &transport]);
        assert_same_files(one.path(), other.path());
    }
    let names: Vec<&str> =
        metrics["stages"].as_array().unwrap().iter().filter_map(|stage| stage["name"].as_str()).collect();
    assert_eq!(names, ["features", "classifier", "dropout-labels", "dropout", "finetune"]);
    let network = &stage(&metrics, "finetune")["network"];
    assert_eq!(network["epochs"].as_array().unwrap().len(), 2);
    for name in ["classifier", "dropout-labels", "dropout", "finetune"] {
        for split in ["valid", "test"] {
            let found = accuracy(&metrics, name, split);
            assert!(found > 0.8, "{name} {split}: {found}");
        }
    }
    // The best epoch was kept, or the initial weights if they were better than all epochs.
    let found: Vec<f64> =
        network["epochs"].as_array().unwrap().iter().map(|epoch| epoch["valid_accuracy"].as_f64().unwrap()).collect();
    if let Some(kept) = (network["kept_epoch"].as_u64().unwrap() as usize).checked_sub(1) {
        assert!(found.iter().all(|other| *other <= found[kept]), "{kept} of {found:?}");
    }
}

/// ogbn-arxiv with generated features in user files: class means and noise, about as informative as
/// the real features.
fn arxiv_files(own: &Path) -> Option<()> {
    let arxiv = data_part("ogbn_arxiv")?;
    let labels = flate2::read::GzDecoder::new(fs::File::open(arxiv.join("raw/node-label.csv.gz")).unwrap());
    let labels = std::io::read_to_string(labels).unwrap();
    let labels: Vec<u32> = labels.lines().map(|line| line.parse().unwrap()).collect();
    use isvd_kernel::random::{normal, stream::SYNTHETIC};
    let feature = |entry: usize| {
        let (node, feature) = (entry / 128, (entry % 128) as u32);
        0.21 * normal(1, SYNTHETIC, u64::from(labels[node]), feature) + normal(2, SYNTHETIC, node as u64, feature)
    };
    write_npy(&own.join("x.npy"), &[labels.len(), 128], (0..labels.len() * 128).map(feature));
    let file = |part: &str| arxiv.join(part).display().to_string();
    let shipped = include_str!("../../configs/arxiv.toml").replace("dataset = \"ogbn-arxiv\"\n", "");
    let data = format!(
        "[data]\npath = {:?}\nfeatures = \"x.npy\"\nlabels = {:?}\ntrain = {:?}\nvalid = {:?}\ntest = {:?}\n",
        file("raw/edge.csv.gz"),
        file("raw/node-label.csv.gz"),
        file("split/time/train.csv.gz"),
        file("split/time/valid.csv.gz"),
        file("split/time/test.csv.gz"),
    );
    support::write_config(own, &format!("{shipped}\n{data}"));
    Some(())
}

fn write_npy(path: &Path, shape: &[usize], values: impl Iterator<Item = f32>) {
    let file = std::io::BufWriter::new(fs::File::create(path).unwrap());
    let shape: Vec<u64> = shape.iter().map(|&side| side as u64).collect();
    let mut array = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(file).begin_nd().unwrap();
    array.extend(values).unwrap();
    array.finish().unwrap();
}

/// All four stages on 169,343 papers, with one epoch of training instead of fifteen.
#[test]
fn arxiv_with_made_up_features_reaches_its_figures() {
    let own = folder();
    let Some(()) = arxiv_files(own.path()) else { return };
    let brief = ["--set=network.epochs=[1]", "--set=network.learning_rates=[1e-3]"];
    let metrics = run(own.path(), &[&["--config=mine.toml"], &brief[..]].concat());
    assert_eq!((&metrics["nodes"], &metrics["edges"]), (&169_343.into(), &1_157_799.into()));
    for (name, least) in [("classifier", 0.765), ("dropout-labels", 0.765), ("dropout", 0.780), ("finetune", 0.82)] {
        let found = accuracy(&metrics, name, "test");
        assert!(found >= least, "{name}: {found}, not {least}");
    }
    assert!(stage(&metrics, "finetune").get("valid").is_none(), "trained on it, so it measures nothing");
    assert!(metrics["peak_memory_bytes"].as_u64().unwrap() < 2_000_000_000, "{}", metrics["peak_memory_bytes"]);
}

fn predict(folder: &Path, arguments: &[&str]) -> Output {
    support::run(folder, &[&["predict", "--model=out"], arguments].concat())
}

#[test]
fn a_saved_classifier_predicts_the_same() {
    for config in [DEMO.to_owned(), DEMO.split("[network]").next().unwrap().to_owned()] {
        let own = folder();
        support::write_config(own.path(), &config);
        run(own.path(), &["--config=mine.toml", "--workers=2"]);
        let output = predict(own.path(), &["--workers=3"]);
        assert_done(&output);
        assert!(text(&output.stdout).contains("5,000"), "{}", text(&output.stdout));
        for name in ["predictions.csv", "probabilities.npy", "ids.txt"] {
            let read = |folder: &str| fs::read(own.path().join(folder).join(name)).unwrap();
            assert!(read("out") == read("out/predictions"), "{name} differs");
        }
    }
}

/// Two groups of nodes, which features and edges separate.
struct Own {
    folder: tempfile::TempDir,
}

const NODES: usize = 80;

impl Own {
    fn new() -> Self {
        let own = Self { folder: folder() };
        own.write("edges.txt", &edges(7));
        own.write("labels.txt", &(0..NODES).map(|node| format!("{}\n", class(node))).collect::<String>());
        own.features("x.npy", NODES, 6);
        let template = include_str!("../../configs/nodes.toml");
        let small = template.replace("components = 100", "components = 4").replace("[7, 8]", "[1, 1]");
        support::write_config(own.path(), &small);
        own
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.file(name), content).unwrap();
    }

    fn features(&self, name: &str, rows: usize, columns: usize) {
        let value = |entry: usize| {
            let (row, column) = (entry / columns, entry % columns);
            (row % 2) as f32 * (column == 0) as u8 as f32 + ((row * 7 + column * 13) % 10) as f32 * 0.05
        };
        write_npy(&self.file(name), &[rows, columns], (0..rows * columns).map(value));
    }

    fn run(&self, arguments: &[&str]) -> Output {
        support::run(self.path(), &[&["--config=mine.toml", "--out=out", "--workers=2"], arguments].concat())
    }

    #[track_caller]
    fn assert_refused(&self, words: &[&str]) {
        assert_refused(&self.run(&[]), 3, words);
        assert!(!self.file("out/metrics.json").exists());
    }
}

fn class(node: usize) -> &'static str {
    if node.is_multiple_of(2) { "cats" } else { "dogs" }
}

fn edges(step: usize) -> String {
    (0..NODES).flat_map(|node| [2, 2 * step].map(|far| format!("{node} {}\n", (node + far) % NODES))).collect()
}

#[test]
fn nodes_of_ones_own_from_the_template_and_a_new_graph() {
    let own = Own::new();
    assert_done(&own.run(&[]));
    let metrics: Value = serde_json::from_slice(&fs::read(own.file("out/metrics.json")).unwrap()).unwrap();
    assert_eq!(accuracy(&metrics, "finetune", "test"), 1.0);
    let predictions = fs::read_to_string(own.file("out/predictions.csv")).unwrap();
    assert_eq!(predictions.lines().next(), Some("id,class,probability"));
    for (node, line) in predictions.lines().skip(1).enumerate() {
        assert!(line.starts_with(&format!("{node},{},", class(node))), "{line}");
    }
    // Other edges and other nodes, with and without labels of some of them.
    own.write("new-edges.txt", &edges(3));
    own.features("new.npy", NODES, 6);
    own.write(
        "some.txt",
        &(0..NODES).map(|node| if node < 9 { class(node) } else { "" }.to_owned() + "\n").collect::<String>(),
    );
    for labels in [&[][..], &["--labels=some.txt"]] {
        let new = [&["--graph=new-edges.txt", "--features=new.npy", "--out=new"], labels].concat();
        assert_done(&predict(own.path(), &new));
        let predictions = fs::read_to_string(own.file("new/predictions.csv")).unwrap();
        let right = predictions.lines().skip(1).enumerate().filter(|(node, line)| line.contains(class(*node))).count();
        assert!(right > NODES * 9 / 10, "{right}");
    }
}

#[test]
fn a_model_on_unsuitable_data() {
    let own = Own::new();
    assert_done(&own.run(&[]));
    own.features("wide.npy", NODES, 7);
    let wide = predict(own.path(), &["--graph=edges.txt", "--features=wide.npy"]);
    assert_refused(&wide, 3, &["7 features", "made for 6"]);
    own.write("fish.txt", &"fish\n".repeat(NODES));
    let fish = predict(own.path(), &["--graph=edges.txt", "--features=x.npy", "--labels=fish.txt"]);
    assert_refused(&fish, 3, &["fish", "`cats`, `dogs`"]);
    assert_refused(&support::run(own.path(), &["predict", "--model=."]), 3, &["model.json", "--out"]);
    let weights = fs::read(own.file("out/network.npy")).unwrap();
    fs::write(own.file("out/network.npy"), &weights[..weights.len() / 2]).unwrap();
    assert_refused(&predict(own.path(), &[]), 3, &["network.npy"]);
    let recipe = fs::read_to_string(own.file("out/model.json")).unwrap();
    fs::write(own.file("out/model.json"), recipe.replace("\"passes\": 2", "\"passes\": 1000000000000")).unwrap();
    assert_refused(&predict(own.path(), &[]), 3, &["model.json", "1000000000000 passes"]);
    fs::write(own.file("out/model.json"), recipe.replace("\"layers\": 2", "\"layers\": 9223372036854775807")).unwrap();
    assert_refused(&predict(own.path(), &[]), 3, &["model.json", "layers"]);
    fs::write(own.file("out/model.json"), "{").unwrap();
    assert_refused(&predict(own.path(), &[]), 3, &["model.json", "run the experiment again"]);
}

/// Non-finite features must not become probabilities.
#[test]
fn a_model_with_nonfinite_numbers() {
    let own = Own::new();
    let linear = ["--set=network.epochs=[1]", "--set=network.learning_rates=[1e-3]"];
    assert_done(&own.run(&linear));
    let mut bytes = fs::read(own.file("out/network.npy")).unwrap();
    let last = bytes.len() - 8;
    bytes[last..].copy_from_slice(&f64::NAN.to_le_bytes());
    fs::write(own.file("out/network.npy"), bytes).unwrap();
    assert_refused(&predict(own.path(), &[]), 3, &["network.npy", "finite"]);
}

/// Labels that changed on disk after training must not be interpreted as classes of the model.
#[test]
fn a_model_whose_labels_have_changed() {
    let own = Own::new();
    assert_done(&own.run(&[]));
    let labels = fs::read_to_string(own.file("labels.txt")).unwrap();
    own.write("labels.txt", &labels.replacen("cats", "aardvark", 1));
    assert_refused(&predict(own.path(), &[]), 3, &["aardvark", "`cats`, `dogs`"]);
    own.write("labels.txt", &labels.replace("cats", "zebras"));
    assert_refused(&predict(own.path(), &[]), 3, &["zebras"]);
}

#[test]
fn a_model_is_applied_from_any_folder_and_the_order_of_lines_does_not_matter() {
    let own = Own::new();
    let rows: Vec<String> = (0..40).map(|row| format!("{row}\n")).collect();
    own.write("train.txt", &rows.concat());
    own.write("test.txt", "50\n60\n");
    let files = ["--set=data.train=train.txt", "--set=data.valid=test.txt", "--set=data.test=test.txt"];
    let files = [files[0], "--set=data.valid=valid.txt", files[2]];
    own.write("valid.txt", "70\n71\n");
    assert_done(&own.run(&files));
    let first = fs::read(own.file("out/predictions.csv")).unwrap();
    own.write("train.txt", &rows.iter().rev().cloned().collect::<String>());
    assert_done(&own.run(&files));
    assert!(fs::read(own.file("out/predictions.csv")).unwrap() == first, "lines in another order");
    let elsewhere = folder();
    let model = format!("--model={}", own.file("out").display());
    assert_done(&support::run(elsewhere.path(), &["predict", &model, "--out=here"]));
    assert!(fs::read(elsewhere.path().join("here/predictions.csv")).unwrap() == first);
}

#[test]
fn a_minimal_config_classifies() {
    let own = Own::new();
    support::write_config(own.path(), "[data]\npath = \"edges.txt\"\nfeatures = \"x.npy\"\nlabels = \"labels.txt\"\n");
    assert_done(&own.run(&[]));
    let metrics: Value = serde_json::from_slice(&fs::read(own.file("out/metrics.json")).unwrap()).unwrap();
    assert_eq!(accuracy(&metrics, "classifier", "test"), 1.0);
    support::write_config(own.path(), "dataset = \"demo\"\n[classifier]\n");
    assert_done(&own.run(&[]));
    assert!(own.file("out/model.json").exists());
}

/// A classifier that does not fit into memory is refused before the memory is allocated.
#[test]
fn networks_that_are_too_large() {
    let own = Own::new();
    let deep = ["--set=classifier.layers=14", "--set=network.fanouts=[20,20,20,20,20,20,20,20,20,20,20,20,20,20]"];
    own.write("edges.txt", &(0..NODES).flat_map(|i| (0..i).map(move |j| format!("{i} {j}\n"))).collect::<String>());
    assert_refused(&own.run(&deep), 2, &["network.fanouts", "GB"]);
}

#[test]
fn a_model_with_vectors_of_its_graph_stays_there() {
    let own = Own::new();
    assert_done(&own.run(&["--set=features.embedding=true", "--set=embedding.rank=4"]));
    assert_done(&predict(own.path(), &[]));
    let output = predict(own.path(), &["--graph=edges.txt", "--features=x.npy"]);
    assert_refused(&output, 3, &["features.embedding = false"]);
}

#[test]
fn invalid_labels() {
    let own = Own::new();
    own.write("labels.txt", &"cats\n".repeat(NODES + 1));
    own.assert_refused(&["labels.txt", "81", "80"]);
    own.write("labels.txt", "");
    own.assert_refused(&["labels.txt"]);
    // A class that cannot be learnt: its only node is a test node.
    own.write(
        "labels.txt",
        &(0..NODES).map(|node| format!("{}\n", if node == 79 { "bird" } else { class(node) })).collect::<String>(),
    );
    own.write("train.txt", "0\n1\n2\n3\n4\n5\n");
    own.write("test.txt", "77\n78\n79\n");
    let files = ["--set=data.train=train.txt", "--set=data.valid=test.txt", "--set=data.test=test.txt"];
    let twice = own.run(&files);
    assert_refused(&twice, 3, &["77"]);
    own.write("valid.txt", "70\n");
    let files = ["--set=data.train=train.txt", "--set=data.valid=valid.txt", "--set=data.test=test.txt"];
    assert_refused(&own.run(&files), 3, &["bird", "train"]);
    own.write("test.txt", "80\n");
    assert_refused(&own.run(&files), 3, &["80", "test.txt"]);
    // More classes than training nodes.
    own.write("labels.txt", &(0..NODES).map(|node| format!("class {node}\n")).collect::<String>());
    own.write("test.txt", "6\n");
    assert_refused(&own.run(&files), 3, &["class"]);
}

#[test]
fn invalid_features() {
    let own = Own::new();
    own.features("x.npy", NODES - 1, 6);
    own.assert_refused(&["79", "80"]);
    write_npy(&own.file("x.npy"), &[NODES, 6], (0..NODES * 6).map(|entry| if entry == 13 { f32::NAN } else { 1.0 }));
    own.assert_refused(&["NaN", "row 2", "column 1"]);
    write_npy(&own.file("x.npy"), &[NODES, 6], (0..NODES * 6).map(|_| 0.0));
    own.assert_refused(&["every feature of every node is 0"]);
    write_npy(&own.file("x.npy"), &[NODES, 6], (0..NODES * 6).map(|entry| (entry % 6) as f32));
    own.assert_refused(&["same"]);
    own.write("x.npy", "no array");
    own.assert_refused(&["x.npy"]);
    fs::remove_file(own.file("x.npy")).unwrap();
    own.assert_refused(&["x.npy"]);
}

#[test]
fn configs_that_do_not_go_together() {
    let own = Own::new();
    assert_refused(&own.run(&["--set=network.fanouts=[4]"]), 2, &["classifier.layers", "network.fanouts"]);
    assert_refused(&own.run(&["--set=network.epochs=[4]"]), 2, &["network.epochs", "network.learning_rates"]);
    assert_refused(&own.run(&["--set=finetune.epochs=1"]), 2, &["finetune", "links"]);
    assert_refused(&own.run(&["--set=data.train=rows.txt"]), 2, &["data.train", "data.valid"]);
    assert_refused(&own.run(&["--set=data.train=0.9"]), 2, &["data.train", "add up to at most 1"]);
    assert_refused(&own.run(&["--set=embedding.window=3"]), 2, &["features.embedding", "embedding"]);
    assert_refused(&own.run(&["--set=data.directed=true"]), 2, &["data.directed", "both ways"]);
    assert_refused(&own.run(&["--set=classifier.label_reuse=false"]), 2, &["classifier.label_reuse"]);
    assert_refused(&own.run(&["--set=evaluate.metrics=[\"auc\"]"]), 2, &["evaluate.metrics", "accuracy"]);
    assert_refused(&own.run(&["--set=classifier.targets=[1e39, 0]"]), 2, &["classifier.targets"]);
    let demo = support::run(own.path(), &["--set=data.labels=labels.txt", "--config=demo"]);
    assert_refused(&demo, 2, &["dataset", "data.labels"]);
    assert_refused(&own.run(&["--set=classifier.targets=[1, 2]"]), 2, &["classifier.targets", "the first larger"]);
    let output = support::run(own.path(), &["--set=features.components=3", "--config=links"]);
    assert_ne!(output.status.code(), Some(0), "links have no features");
}
