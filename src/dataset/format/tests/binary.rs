//! numpy, scipy, Matrix Market, torch.

use super::*;

/// Catches an array whose rows are not its pairs, and that is read without a word.
#[test]
fn an_array_of_two_rows_is_read_by_columns_and_that_is_said() {
    let values: Vec<u8> = [0, 1, 2, 1, 2, 0i32].iter().flat_map(|id| id.to_le_bytes()).collect();
    for (fortran, shape, remarks) in [
        (false, "(2, 3)", vec![Remark::PairsInColumns { pairs: 3 }]),
        (true, "(2, 3)", vec![Remark::PairsInColumns { pairs: 3 }]),
        (false, "(3, 2)", vec![]),
    ] {
        let read = read("p.npy", npy(1, "<i4", fortran, shape, &values), &EdgeOptions::default()).unwrap();
        assert_eq!(read.remarks, remarks, "{shape}");
    }
    let said = Remark::PairsInColumns { pairs: 3 }.to_string();
    assert_eq!(said, "the array of shape (2, 3) has an edge in each column (transpose it if its rows are edges)");
}

#[test]
fn pairs_of_every_type_and_order() {
    let across: Vec<u8> = [7, 9, 20, 9, 20, 7].into_iter().flat_map(u64::to_be_bytes).collect();
    let files = [
        npy(1, "<i4", false, "(3, 2)", &bytes_of::<i32>(&[7, 9, 9, 20, 20, 7])),
        npy(2, "<i8", false, "(3, 2)", &bytes_of::<i64>(&[7, 9, 9, 20, 20, 7])),
        npy(3, "<u4", true, "(3, 2)", &bytes_of::<i32>(&[7, 9, 20, 9, 20, 7])),
        npy(1, "<i4", true, "(2, 3)", &bytes_of::<i32>(&[7, 9, 9, 20, 20, 7])),
        npy(1, ">u8", false, "(2, 3)", &across),
        npy(1, "|u1", false, "(3L, 2L)", &[7, 9, 9, 20, 20, 7]),
    ];
    for bytes in files {
        let read = read("p.npy", &bytes, &EdgeOptions::default()).unwrap();
        assert_eq!((&read.edges.edges[..], read.format), (&[(0, 1), (1, 2), (2, 0)][..], Format::NumpyPairs));
        assert_eq!(read.ids.iter().collect::<Vec<_>>(), ["7", "9", "20"]);
    }
}

#[test]
fn wrong_arrays_are_refused() {
    let cases: [(Vec<u8>, &[&str]); 7] = [
        (b"\x93NUMPZ\x01\x00".to_vec(), &["byte 0", "NUMPY", "numpy.save"]),
        (b"\x93NUM".to_vec(), &["byte 0", "NUMPY"]),
        (npy(1, "<i4", false, "(3, 2)", &[0; 20]), &["the end after 20 bytes", "24 as its header says", "cut off"]),
        (npy(1, "<i4", false, "(9000000000000000000, 2)", &[]), &["byte 10", "header"]),
        (npy(1, "<i4", false, "(2000000000, 2)", &[0; 8]), &["the end after 8 bytes", "16000000000"]),
        (npy(1, "<i4", false, "(1, 2)", &bytes_of::<i32>(&[1, -5])), &["negative id -5", "0 or more"]),
        (npy(1, "<f4", false, "(1, 2)", &[0; 8]), &["Float", "whole numbers"]),
    ];
    for (bytes, words) in cases {
        let written = write("p.npy", bytes);
        assert_words(&read_edges(&written.path, &EdgeOptions::default()).unwrap_err(), &written.path, words);
    }
    let shape = write("p.npy", npy(1, "<i4", false, "(2, 3, 1)", &[0; 24]));
    assert_words(&read_edges(&shape.path, &EdgeOptions::default()).unwrap_err(), &shape.path, &["[2, 3, 1]", "[n, 2]"]);
}

fn matrix(format: &str, arrays: &[(&str, Vec<u8>)], method: zip::CompressionMethod) -> Vec<u8> {
    let mut entries = vec![
        ("format.npy", npy(1, "|S3", false, "()", format.as_bytes())),
        ("shape.npy", npy(1, "<i8", false, "(2,)", &bytes_of::<i64>(&[3, 3]))),
        ("data.npy", npy(1, "<f4", false, "(2,)", &[2.0f32, 0.5].map(f32::to_le_bytes).concat())),
    ];
    entries.extend(arrays.iter().map(|(name, bytes)| (*name, bytes.clone())));
    zip(&entries, method)
}

#[test]
fn sparse_matrices_of_every_layout() {
    let array = |numbers: &[i32]| npy(1, "<i4", false, &format!("({},)", numbers.len()), &bytes_of::<i32>(numbers));
    let compressed =
        |indices: &[i32], starts: &[i32]| vec![("indices.npy", array(indices)), ("indptr.npy", array(starts))];
    for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
        let files = [
            matrix("csr", &compressed(&[1, 0], &[0, 1, 1, 2]), method),
            matrix("csc", &compressed(&[2, 0], &[0, 1, 2, 2]), method),
            matrix("coo", &[("row.npy", array(&[0, 2])), ("col.npy", array(&[1, 0]))], method),
        ];
        for (bytes, turned) in files.iter().zip([false, true, false]) {
            let read = read("m.npz", bytes, &EdgeOptions::default()).unwrap();
            let edges = if turned { vec![(2, 0), (0, 1)] } else { vec![(0, 1), (2, 0)] };
            assert_eq!((read.edges.edges, read.edges.weights), (edges, Some(vec![2.0, 0.5])));
            assert!(read.edges.directed && read.edges.nodes == 3 && read.format == Format::ScipySparse);
        }
    }
    let wrong: [(Vec<i32>, Vec<i32>, &str); 4] = [
        (vec![1, 3], vec![0, 1, 1, 2], "below 3"),
        (vec![1, 0], vec![0, 2, 1, 2], "out of order"),
        (vec![1, 0], vec![0, 1, 2], "3 starts"),
        (vec![1], vec![0, 1, 1, 2], "1 indices"),
    ];
    for (indices, starts, word) in wrong {
        let written = write("m.npz", matrix("csr", &compressed(&indices, &starts), zip::CompressionMethod::Stored));
        let error = read_edges(&written.path, &EdgeOptions::default()).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn archives_that_are_wrong() {
    let bytes = zip(&[("../evil.npy", vec![])], zip::CompressionMethod::Stored);
    let written = write("m.npz", bytes);
    let error = read_edges(&written.path, &EdgeOptions::default()).unwrap_err();
    assert_words(&error, &written.path, &["`../evil.npy`", "inside the archive", "do not trust"]);
    let written = write("m.npz", zip(&[("x.npy", vec![])], zip::CompressionMethod::Stored));
    let error = read_edges(&written.path, &EdgeOptions::default()).unwrap_err();
    assert_words(&error, &written.path, &["no array `format`", "save_npz"]);
    let written = write("m.npz", b"PK\x03\x04 and then nothing");
    let error = read_edges(&written.path, &EdgeOptions::default()).unwrap_err();
    assert_words(&error, &written.path, &["a zip archive", "fetch or save it again"]);
}

#[test]
fn matrix_market_of_every_kind() {
    let signed = EdgeOptions { signed: true, ..EdgeOptions::default() };
    let read = |content: &str| read("m.mtx", content, &signed).unwrap();
    let general = read("%%MatrixMarket matrix coordinate real general\n% c\n\n3 3 2\n1 2 0.5\n3 1 -2e0\n");
    assert_eq!((&general.edges.edges[..], general.edges.directed), (&[(0, 1), (2, 0)][..], true));
    assert_eq!(general.edges.weights, Some(vec![0.5, -2.0]));
    assert_eq!(general.ids.iter().collect::<Vec<_>>(), ["1", "2", "3"]);
    let symmetric = read("%%matrixmarket MATRIX Coordinate pattern symmetric\r\n3 3 2\r\n2 1\r\n3 3\r\n");
    assert_eq!((&symmetric.edges.edges[..], symmetric.edges.weights), (&[(1, 0), (2, 2)][..], None));
    assert!(!symmetric.edges.directed);
    let skew = read("%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 3\n");
    assert_eq!((&skew.edges.edges[..], skew.edges.weights), (&[(1, 0), (0, 1)][..], Some(vec![3.0, -3.0])));
    assert!(skew.edges.directed);
}

/// A tensor of a zip archive: a dict with `edge`, rows `shape` and `strides` in elements.
pub(super) fn torch_zip(shape: [u8; 2], strides: [u8; 2], entry: &str) -> Vec<u8> {
    let mut pickle =
        b"\x80\x02}X\x04\x00\x00\x00edgectorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storage".to_vec();
    pickle.extend_from_slice(b"ctorch\nLongStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x06tQK\x00");
    pickle.extend([b'K', shape[0], b'K', shape[1], 0x86, b'K', strides[0], b'K', strides[1], 0x86]);
    pickle.extend_from_slice(b"\x89ccollections\nOrderedDict\n)RtRs.");
    let data = bytes_of::<i64>(&[0, 1, 1, 2, 2, 0]);
    zip(
        &[("archive/data.pkl", pickle), (entry, data), ("archive/version", b"3\n".to_vec())],
        zip::CompressionMethod::Stored,
    )
}

#[test]
fn tensors_in_an_archive() {
    let edge = |bytes: Vec<u8>| {
        let written = write("valid.pt", bytes);
        let pickle = read_torch(&written.path)?;
        let array = pickle.value().get("edge").unwrap().as_array().unwrap();
        Ok::<_, FormatError>((array.shape.clone(), array.pairs()?.pairs.iter().collect::<Vec<_>>()))
    };
    let pairs = vec![(0, 1), (1, 2), (2, 0)];
    assert_eq!(edge(torch_zip([3, 2], [2, 1], "archive/data/0")).unwrap(), (vec![3, 2], pairs.clone()));
    assert_eq!(edge(torch_zip([2, 3], [1, 2], "archive/data/0")).unwrap(), (vec![2, 3], pairs.clone()));
    assert_eq!(edge(torch_zip([2, 2], [4, 1], "archive/data/0")).unwrap(), (vec![2, 2], vec![(0, 1), (2, 0)]));
    for (bytes, word) in [
        (torch_zip([200, 200], [0, 0], "archive/data/0"), "does not hold it"),
        (torch_zip([3, 2], [3, 1], "archive/data/0"), "does not hold it"),
        (torch_zip([3, 2], [2, 1], "archive/data/1"), "no entry `archive/data/0`"),
        (torch_zip([3, 2], [2, 1], "archive/../../0"), "inside the archive"),
    ] {
        let error = edge(bytes).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("valid.pt"), "{error}");
    }
}

#[test]
fn torch_files_that_ask_for_more() {
    let mut old = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.".to_vec();
    old.extend_from_slice(b"\x80\x02csubprocess\nPopen\n)R.");
    let written = write("valid.pt", old);
    let error = read_torch(&written.path).unwrap_err();
    assert_words(&error, &written.path, &["`subprocess.Popen`", "byte 27", "nothing in a pickle is ever run"]);
}

/// The older form: magic number, version, system, the value, the keys of the storages, and each
/// with its length.
#[test]
fn tensors_in_the_older_form() {
    let mut old = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.".to_vec();
    old.extend_from_slice(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nIntStorage\n");
    old.extend_from_slice(b"X\x02\x00\x00\x0077X\x03\x00\x00\x00cpuK\x05NtQK\x01K\x04\x85K\x01\x85\x89}tR.");
    old.extend_from_slice(b"\x80\x02]X\x02\x00\x00\x0077a.");
    old.extend(5u64.to_le_bytes());
    old.extend(bytes_of::<i32>(&[9, 3, 1, 4, 1]));
    let written = write("train.pt", &old);
    let pickle = read_torch(&written.path).unwrap();
    assert_eq!(pickle.value().as_array().unwrap().integers().unwrap(), [3, 1, 4, 1]);
    let cut = write("train.pt", &old[..old.len() - 1]);
    assert_words(&read_torch(&cut.path).unwrap_err(), &cut.path, &["the end of the file", "20 bytes"]);
}
