//! A miniature of Citeseer, pickled by hand: `test.index` leaves out ids in the middle, which are
//! nodes all the same.

use super::*;
use crate::dataset::{NodeDataError, SplitPart, UNLABELLED, check_nodes};

fn text(text: &str) -> Vec<u8> {
    [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
    [b"(", &items.concat()[..], b"t"].concat()
}

fn int(number: usize) -> Vec<u8> {
    vec![b'K', number as u8]
}

/// As numpy pickles arrays from version 2 on.
fn array(element: &str, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
    let data = [b"B", &(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
    let element = [b"cnumpy\ndtype\n", &tuple(&[text(element)])[..], b"R"].concat();
    let shape = tuple(&shape.iter().copied().map(int).collect::<Vec<_>>());
    [b"cnumpy._core.numeric\n_frombuffer\n", &tuple(&[data, element, shape, text("C")])[..], b"R"].concat()
}

fn indices(numbers: &[u32]) -> Vec<u8> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    array("<i4", &[numbers.len()], &bytes)
}

/// One entry a row: a one in this column of three.
fn matrix(columns: &[u32]) -> Vec<u8> {
    let starts: Vec<u32> = (0..=columns.len() as u32).collect();
    let data: Vec<u8> = columns.iter().flat_map(|_| 1f32.to_le_bytes()).collect();
    let state = [
        (text("_shape"), tuple(&[int(columns.len()), int(3)])),
        (text("indices"), indices(columns)),
        (text("indptr"), indices(&starts)),
        (text("data"), array("<f4", &[columns.len()], &data)),
    ];
    let state: Vec<u8> = state.into_iter().flat_map(|(key, value)| [key, value].concat()).collect();
    [b"\x80\x02cscipy.sparse._csr\ncsr_matrix\n)\x81}(", &state[..], b"ub."].concat()
}

/// One row a node with a one in the column of its class.
fn one_hot(classes: &[usize], count: usize) -> Vec<u8> {
    let row = |&class: &usize| (0..count).flat_map(move |other| i32::from(other == class).to_le_bytes());
    let bytes: Vec<u8> = classes.iter().flat_map(row).collect();
    [b"\x80\x02", &array("<i4", &[classes.len(), count], &bytes)[..], b"."].concat()
}

fn citeseer(test_classes: usize) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |part: &str, bytes: Vec<u8>| fs::write(folder.path().join(format!("ind.tiny.{part}")), bytes).unwrap();
    write("allx", matrix(&[0, 1, 2, 0]));
    write("tx", matrix(&[2, 1, 0]));
    write("y", one_hot(&[0, 1], 3));
    write("ally", one_hot(&[0, 1, 0, 1], 3));
    write("ty", one_hot(&[1, 0, 0], test_classes));
    // {0: [8], 4: [0, 0], 8: [0]}
    write("graph", b"\x80\x02}(K\x00]K\x08aK\x04](K\x00K\x00eK\x08]K\x00au.".to_vec());
    write("test.index", b"8\n4\n6\n".to_vec());
    folder
}

#[test]
fn ids_that_are_left_out_are_nodes_without_anything() {
    let read = read_planetoid(citeseer(3).path(), "tiny").unwrap();
    assert_eq!((read.graph.nodes(), &read.graph.list().unwrap().edges[..]), (9, &[(0, 4), (0, 8)][..]));
    let none = UNLABELLED;
    assert_eq!(read.labels.as_deref(), Some(&[0, 1, 0, 1, 0, none, 0, none, 1][..]));
    // The third class is known to the files, though no node has it.
    assert_eq!(read.classes, ["0", "1", "2"]);
    let features = read.sparse_features.as_ref().unwrap();
    assert_eq!(features.starts, [0, 1, 2, 3, 4, 5, 5, 6, 6, 7]);
    assert_eq!(features.columns, [0, 1, 2, 0, 1, 0, 2]);
    let split = read.node_split.as_ref().unwrap();
    assert_eq!((&split.train[..], &split.valid[..], &split.test[..]), (&[0, 1][..], &[2, 3][..], &[4, 6, 8][..]));
    assert_eq!(check_nodes(&read), Err(NodeDataError::MoreClassesThanRows { classes: 3, rows: 2 }));

    let mut two = read;
    two.classes.pop();
    check_nodes(&two).unwrap();
    // Whoever asks for a node that was left out is told.
    two.node_split.as_mut().unwrap().test.push(5);
    let unlabelled = NodeDataError::SplitUnlabelled { part: SplitPart::Test, node: "in row 5".into() };
    assert_eq!(check_nodes(&two), Err(unlabelled));
}

#[test]
fn test_nodes_have_the_classes_of_all_others() {
    let error = read_planetoid(citeseer(2).path(), "tiny").unwrap_err();
    assert_words(&error, Path::new("ind.tiny.ty"), &["2 classes", "3 as in", "ind.tiny.ally"]);
}

#[test]
fn a_wrong_test_index_and_a_missing_part_are_named() {
    let folder = citeseer(3);
    fs::write(folder.path().join("ind.tiny.test.index"), "8\n2\n6\n").unwrap();
    let error = read_planetoid(folder.path(), "tiny").unwrap_err();
    assert_words(&error, Path::new("ind.tiny.test.index"), &["line 2", "the id 2", "from 4"]);
    fs::remove_file(folder.path().join("ind.tiny.ty")).unwrap();
    fs::write(folder.path().join("ind.tiny.test.index"), "8\n4\n6\n").unwrap();
    let error = read_planetoid(folder.path(), "tiny").unwrap_err();
    assert_words(&error, Path::new("ind.tiny.ty"), &["is missing", "the part `ty`"]);
}
