//! The programs in `examples/` succeed.

#[path = "../../examples/classify.rs"]
mod classify;
#[path = "../../examples/embed.rs"]
mod embed;
#[path = "../../examples/experiment.rs"]
mod experiment;
#[path = "../../examples/follow_a_stream.rs"]
mod follow_a_stream;
#[path = "../../examples/implicit_matrix.rs"]
mod implicit_matrix;
#[path = "../../examples/own_operator.rs"]
mod own_operator;

#[test]
fn an_implicit_matrix_by_hand() {
    implicit_matrix::main().unwrap();
}

#[test]
fn a_graph_is_embedded() {
    embed::main().unwrap();
}

#[test]
fn an_experiment_is_run() {
    experiment::main().unwrap();
}

#[test]
fn nodes_are_classified() {
    classify::main().unwrap();
}

#[test]
fn a_stream_is_followed() {
    follow_a_stream::main().unwrap();
}

#[test]
fn an_operator_of_ones_own() {
    own_operator::main().unwrap();
}

/// Every example has a test here.
#[test]
fn every_program_is_run() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(include_str!("examples.rs").contains(&format!("../../examples/{name}")), "{name}");
    }
}
