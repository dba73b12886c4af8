use super::*;
use crate::dataset::{EdgeList, Ids, NodeSplit, SparseFeatures};

/// Six nodes of two classes, one of them without a label, and a split of four.
fn sound() -> Dataset {
    Dataset {
        name: "mine".into(),
        graph: EdgeList { nodes: 6, edges: vec![(0, 1)], ..EdgeList::default() }.into(),
        features: Some(vec![1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0]),
        feature_count: 2,
        labels: Some(vec![0, 1, 0, 1, UNLABELLED, 0]),
        classes: vec!["cat".into(), "dog".into()],
        node_split: Some(NodeSplit { train: vec![0, 1], valid: vec![2], test: vec![3] }),
        ids: Ids::names(["a", "b", "c", "d", "e", "f"]),
        ..Dataset::default()
    }
}

/// The same with sparse features.
fn sparse() -> Dataset {
    let features = SparseFeatures {
        rows: 6,
        feature_count: 2,
        starts: vec![0, 1, 2, 3, 4, 5, 5],
        columns: vec![0, 1, 0, 1, 0],
        values: vec![1.0, 1.0, 1.0, 1.0, 2.0],
    };
    Dataset { features: None, sparse_features: Some(features), ..sound() }
}

#[track_caller]
fn refused(mut dataset: Dataset, change: impl FnOnce(&mut Dataset), expected: NodeDataError, words: &[&str]) {
    change(&mut dataset);
    let error = check_nodes(&dataset).unwrap_err();
    let message = error.to_string();
    assert_eq!(error, expected, "{message}");
    for word in words {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
}

fn split(dataset: &mut Dataset) -> &mut NodeSplit {
    dataset.node_split.as_mut().unwrap()
}

#[test]
fn what_is_sound_passes() {
    check_nodes(&sound()).unwrap();
    check_nodes(&sparse()).unwrap();
}

#[test]
fn what_is_missing_is_named() {
    let dataset = || "mine".to_owned();
    let features = NodeDataError::NoFeatures { dataset: dataset() };
    refused(sound(), |d| d.features = None, features.clone(), &["`mine`", "no features", "raw/node-feat.csv.gz"]);
    refused(sound(), |d| d.feature_count = 0, features, &[]);
    let labels = NodeDataError::NoLabels { dataset: dataset() };
    refused(sound(), |d| d.labels = None, labels, &["`mine`", "no labels", "raw/node-label.csv.gz"]);
    let none = NodeDataError::NoSplit { dataset: dataset() };
    refused(sound(), |d| d.node_split = None, none, &["`mine`", "which nodes to learn from", "fractions"]);
}

#[test]
fn rows_are_counted() {
    let six = |d: &mut Dataset| d.features.as_mut().unwrap().truncate(10);
    refused(sound(), six, NodeDataError::FeatureRows { rows: 5, nodes: 6 }, &["5 rows", "expected 6"]);
    let problem = "their number is no multiple of that of the columns";
    let odd = |d: &mut Dataset| d.features.as_mut().unwrap().truncate(11);
    refused(sound(), odd, NodeDataError::FeatureLayout { problem }, &["stored wrongly", problem]);
    let fewer = |d: &mut Dataset| d.labels.as_mut().unwrap().truncate(4);
    refused(sound(), fewer, NodeDataError::LabelRows { rows: 4, nodes: 6 }, &["4 labels", "expected 6"]);
    let five = |d: &mut Dataset| d.sparse_features.as_mut().unwrap().rows = 5;
    refused(sparse(), five, NodeDataError::FeatureRows { rows: 5, nodes: 6 }, &[]);
}

#[test]
fn features_that_are_no_numbers_have_a_place() {
    for value in [f32::INFINITY, f32::NEG_INFINITY] {
        let change = |d: &mut Dataset| d.features.as_mut().unwrap()[7] = value;
        let expected = NodeDataError::FeatureNotFinite { row: 3, column: 1, value };
        refused(sound(), change, expected, &["row 3, column 1", "inf", "finite"]);
        let change = |d: &mut Dataset| d.sparse_features.as_mut().unwrap().values[3] = value;
        refused(sparse(), change, NodeDataError::FeatureNotFinite { row: 3, column: 1, value }, &[]);
    }
    // NaN is not equal to itself, so only the message can be compared.
    let mut dataset = sparse();
    dataset.sparse_features.as_mut().unwrap().values[4] = f32::NAN;
    let message = check_nodes(&dataset).unwrap_err().to_string();
    assert!(message.contains("NaN as the feature in row 4, column 0"), "{message}");
}

#[test]
fn features_that_say_nothing() {
    refused(sound(), |d| d.features = Some(vec![0.0; 12]), NodeDataError::FeaturesZero, &["0"]);
    refused(sound(), |d| d.features = Some([1.0, 2.0].repeat(6)), NodeDataError::FeaturesConstant, &["the same"]);
    let zero = |d: &mut Dataset| d.sparse_features.as_mut().unwrap().values.fill(0.0);
    refused(sparse(), zero, NodeDataError::FeaturesZero, &[]);
    // The same rows, stored in other ways: turned round, in pieces, with a zero.
    let alike = |d: &mut Dataset| {
        let features = d.sparse_features.as_mut().unwrap();
        features.starts = vec![0, 2, 4, 7, 9, 11, 13];
        features.columns = vec![0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 1];
        features.values = vec![3.0, 1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0];
    };
    refused(sparse(), alike, NodeDataError::FeaturesConstant, &[]);
    let mut other = sparse();
    alike(&mut other);
    other.sparse_features.as_mut().unwrap().values[12] = 2.0;
    check_nodes(&other).unwrap();
}

#[test]
fn sparse_features_must_hold_together() {
    let change = |d: &mut Dataset| d.sparse_features.as_mut().unwrap().columns[2] = 2;
    let expected = NodeDataError::FeatureColumn { row: 2, column: 2, columns: 2 };
    refused(sparse(), change, expected, &["row 2, column 2", "below 2"]);
    type Change = fn(&mut SparseFeatures);
    let layouts: [(Change, &'static str); 5] = [
        (|f| f.feature_count = 3, "two numbers of columns are stated"),
        (|f| f.starts.truncate(6), "not every row has a start"),
        (|f| f.columns.truncate(4), "not every value has a column"),
        (|f| f.starts[6] = 4, "rows do not hold all values"),
        (|f| f.starts[2] = 9, "rows are out of order"),
    ];
    for (change, problem) in layouts {
        let change = |d: &mut Dataset| change(d.sparse_features.as_mut().unwrap());
        refused(sparse(), change, NodeDataError::FeatureLayout { problem }, &[problem]);
    }
}

#[test]
fn labels_are_classes() {
    let change = |d: &mut Dataset| d.labels.as_mut().unwrap()[5] = 2;
    let expected = NodeDataError::LabelBeyondClasses { row: 5, label: 2, classes: 2 };
    refused(sound(), change, expected, &["the label 2 in row 5", "below 2"]);
    refused(
        sound(),
        |d| d.classes.push("eel".into()),
        NodeDataError::MoreClassesThanRows { classes: 3, rows: 2 },
        &["3 classes and 2 training nodes"],
    );
}

#[test]
fn a_split_is_of_the_graph_and_disjoint() {
    use SplitPart::*;
    let node = || "`b` (row 1)".to_owned();
    let expected = NodeDataError::SplitRow { part: Valid, row: 6, nodes: 6 };
    refused(sound(), |d| split(d).valid.push(6), expected, &["row 6", "validation", "below 6"]);
    let expected = NodeDataError::SplitTwice { part: Train, node: node() };
    refused(sound(), |d| split(d).train.push(1), expected, &["`b` (row 1) twice", "training"]);
    let expected = NodeDataError::SplitOverlap { first: Train, second: Test, node: node() };
    refused(sound(), |d| split(d).test.push(1), expected, &["`b` (row 1)", "training and the test"]);
    let counted = |d: &mut Dataset| {
        d.ids = Ids::counted(0, 6);
        split(d).train.push(1);
    };
    refused(sound(), counted, NodeDataError::SplitTwice { part: Train, node: "in row 1".into() }, &["in row 1 twice"]);
}

#[test]
fn nodes_of_a_split_have_labels() {
    for part in [SplitPart::Train, SplitPart::Valid, SplitPart::Test] {
        let add = |d: &mut Dataset| match part {
            SplitPart::Train => split(d).train.push(4),
            SplitPart::Valid => split(d).valid.push(4),
            SplitPart::Test => split(d).test.push(4),
        };
        let expected = NodeDataError::SplitUnlabelled { part, node: "`e` (row 4)".into() };
        refused(sound(), add, expected, &["`e` (row 4)", &part.to_string(), "no label"]);
    }
}

#[test]
fn there_is_something_to_learn_of_every_class() {
    refused(sound(), |d| split(d).train.clear(), NodeDataError::NoTrainingNodes, &["no training nodes"]);
    let expected = NodeDataError::ClassWithoutTraining { class: "dog".into() };
    refused(sound(), |d| split(d).train = vec![0, 5], expected, &["`dog`", "training"]);
    // A class that only nodes outside the split have is nobody's business.
    let mut outside = sound();
    *split(&mut outside) = NodeSplit { train: vec![0, 5], valid: vec![2], test: vec![] };
    check_nodes(&outside).unwrap();
}
