use std::process::Command;

use proptest::prelude::*;

use super::*;

fn parse(bytes: &[u8]) -> Result<Pickle, FormatError> {
    Pickle::parse(bytes.to_vec(), Path::new("some.pkl"))
}

#[track_caller]
fn refused(bytes: &[u8], words: &[&str]) {
    let message = parse(bytes).unwrap_err().to_string();
    for word in ["some.pkl", "byte", "expected"].iter().chain(words) {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
}

#[test]
fn plain_values() {
    // {'a': [1, -2, 2.5, None, True], b'b': ('x', 300, 70000, -5000000000)}
    let bytes =
        b"\x80\x03}q\x00(X\x01\x00\x00\x00aq\x01]q\x02(K\x01J\xfe\xff\xff\xffG@\x04\x00\x00\x00\x00\x00\x00N\x88e\
        C\x01bq\x03(X\x01\x00\x00\x00xq\x04M,\x01Jp\x11\x01\x00\x8a\x05\x00\x0e\xfa\xd5\xfetq\x05u.";
    let pickle = parse(bytes).unwrap();
    let value = pickle.value();
    let list: Vec<_> = value.get("a").unwrap().items().unwrap().collect();
    assert_eq!((list[0].as_int(), list[1].as_int(), list[2].as_float()), (Some(1), Some(-2), Some(2.5)));
    assert!(list[3].is_none() && list[4].as_int() == Some(1));
    let tuple: Vec<_> = value.get("b").unwrap().items().unwrap().collect();
    assert_eq!(tuple[0].as_text(), Some("x"));
    assert_eq!([tuple[1], tuple[2], tuple[3]].map(Value::as_int), [Some(300), Some(70_000), Some(-5_000_000_000)]);
}

#[test]
fn protocols_of_text_are_refused() {
    refused(b"(dp0\nS'a'\np1\nI1\ns.", &["byte 2", "`p`", "protocol 2 to 5", ".npy"]);
    refused(b"I1\n.", &["byte 0", "`I`", "protocol 2 to 5"]);
}

#[test]
fn a_list_that_holds_itself_is_no_trap() {
    let pickle = parse(b"]q\x00h\x00a.").unwrap();
    let inner = pickle.value().items().unwrap().next().unwrap();
    assert_eq!(inner.items().unwrap().len(), 1);
}

#[test]
fn classes_are_refused_by_name() {
    refused(b"\x80\x02cos\nsystem\nq\x00X\x02\x00\x00\x00lsq\x01\x85R.", &["byte 2", "`os.system`", ".npy"]);
    refused(b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.", &["byte 18", "`builtins.eval`"]);
    refused(b"cnumpy\nload\n.", &["`numpy.load`"]);
    refused(b"cscipy.sparse.csr\ndia_matrix\n.", &["dia_matrix"]);
}

#[test]
fn damaged_pickles_are_refused() {
    refused(b"\x80\x02", &["the end of the file"]);
    refused(b"X\xff\xff\xff\x7fabc", &["byte 5", "the end of the file", "2147483647 bytes"]);
    refused(b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffx", &["the end of the file"]);
    refused(b"\x80\x09.", &["protocol 9"]);
    refused(b".", &["lacks its values"]);
    refused(b"t.", &["lacks its mark"]);
    refused(b"h\x07.", &["unknown value 7"]);
    refused(b"K\x01K\x02s.", &["lacks"]);
    refused(b"K\x01K\x02a.", &["a list"]);
    refused(b"\x8a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01.", &["64 bits"]);
    refused(b"\xff", &["instruction"]);
    refused(b"K\x01)R.", &["no class"]);
}

/// Bytes encoded again and again from one text would grow without end.
#[test]
fn a_small_file_cannot_ask_for_much_memory() {
    let mut bytes = b"\x80\x02(X\x00\x10\x00\x00".to_vec();
    bytes.extend(vec![b'x'; 4096]);
    bytes.extend_from_slice(b"q\x00X\x06\x00\x00\x00latin1q\x01c_codecs\nencode\nq\x02");
    for _ in 0..1000 {
        bytes.extend_from_slice(b"h\x02h\x00h\x01\x86R");
    }
    bytes.extend_from_slice(b"t.");
    refused(&bytes, &["beyond measure"]);
}

#[test]
fn an_array_must_have_the_bytes_of_its_shape() {
    let mut bytes =
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01".to_vec();
    bytes.extend_from_slice(
        b"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86cnumpy\ndtype\nX\x02\x00\x00\x00i8K\x00K\x01\x87R\x89C\x08",
    );
    bytes.extend_from_slice(b"12345678tb.");
    refused(&bytes, &["8 bytes", "2147483647"]);
}

/// What Python itself writes, in every protocol that is understood.
#[test]
fn pickles_that_python_writes() {
    const SCRIPT: &str = r#"
import pickle, sys, collections, os
import numpy as np, scipy.sparse as sp
folder = sys.argv[1]
g = collections.defaultdict(list); g[0] = [1, 2]; g[5] = []
m = sp.csr_matrix(np.array([[0, 1.5, 0], [2, 0, 0]], np.float32))
v = {'graph': g, 'pairs': np.arange(6, dtype=np.int64).reshape(3, 2), 'turned': np.asfortranarray(np.arange(6.0).reshape(2, 3)),
     'big': np.arange(3, dtype='>i4'), 'csr': m, 'csc': m.tocsc(), 'coo': m.tocoo(), 'scalar': np.int64(-7), 'half': np.float64(0.5),
     'ordered': collections.OrderedDict([('k', 1)]), 'set': {4}, 'bytes': b'\x00\xff', 'long': 2**62, 'text': 'h\u00e9\u4e2d\n'}
for p in range(2, 6):
    pickle.dump(v, open(os.path.join(folder, f'{p}.pkl'), 'wb'), protocol=p)
"#;
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("python3").args(["-c", SCRIPT]).arg(folder.path()).output();
    if !output.is_ok_and(|output| output.status.success()) {
        println!("python3 with numpy and scipy is not installed: skipped");
        return;
    }
    for protocol in 2..6 {
        let pickle = read_pickle(&folder.path().join(format!("{protocol}.pkl"))).unwrap();
        let get = |key: &str| pickle.value().get(key).unwrap_or_else(|| panic!("{protocol}: {key}"));
        let graph: Vec<_> = get("graph").entries().unwrap().collect();
        assert_eq!((graph[0].1.items().unwrap().len(), graph[1].0.as_int()), (2, Some(5)));
        let pairs = get("pairs").as_array().unwrap();
        assert_eq!((&pairs.shape[..], pairs.integers().unwrap()), (&[3, 2][..], vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(get("turned").as_array().unwrap().floats().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(get("big").as_array().unwrap().integers().unwrap(), [0, 1, 2]);
        for layout in ["csr", "csc", "coo"] {
            let features = get(layout).as_sparse().unwrap().unwrap().features().unwrap();
            assert_eq!((features.rows, features.feature_count), (2, 3), "{protocol}: {layout}");
            assert_eq!((&features.columns[..], &features.values[..]), (&[1, 0][..], &[1.5, 2.0][..]));
        }
        assert_eq!((get("scalar").as_int(), get("half").as_float()), (Some(-7), Some(0.5)));
        assert_eq!(get("ordered").get("k").and_then(Value::as_int), Some(1));
        assert_eq!(get("set").items().unwrap().next().and_then(Value::as_int), Some(4));
        assert_eq!(get("bytes").as_bytes(), Some(&[0, 255][..]));
        assert_eq!((get("long").as_int(), get("text").as_text()), (Some(1 << 62), Some("hé中\n")));
    }
}

/// A pickle with an array, a matrix and a dict, written by hand.
const SAMPLE: &[u8] = b"\x80\x02}(U\x01acnumpy.core.multiarray\n_reconstruct\nq\x01cnumpy\nndarray\nq\x02K\x00\x85U\x01b\x87R\
    (K\x01K\x02\x85cnumpy\ndtype\nq\x03U\x02i2K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89\
    U\x04\x01\x00\x02\x00tbq\x04U\x01mcscipy.sparse.csr\ncsr_matrix\n)\x81}(U\x06_shapeK\x01K\x03\x86U\x04datah\x04U\x07indicesh\x04\
    U\x06indptrh\x04ubU\x01dccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(K\x01](K\x02K\x03eK\x02]K\x04auu.";

#[test]
fn the_sample_is_a_pickle() {
    let pickle = parse(SAMPLE).unwrap();
    assert_eq!(pickle.value().get("a").unwrap().as_array().unwrap().integers().unwrap(), [1, 2]);
    assert!(pickle.value().get("m").unwrap().as_sparse().unwrap().is_err());
    assert_eq!(pickle.value().get("d").unwrap().entries().unwrap().count(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Whatever is in the file, the answer is a value or an error.
    #[test]
    fn damage_is_an_error_or_another_value(
        changes in prop::collection::vec((0..SAMPLE.len(), any::<u8>()), 0..6),
        length in 0..=SAMPLE.len(),
    ) {
        let mut bytes = SAMPLE.to_vec();
        changes.into_iter().for_each(|(at, byte)| bytes[at] = byte);
        bytes.truncate(length.max(SAMPLE.len() / 2 + length / 2));
        if let Ok(pickle) = parse(&bytes) {
            for node in 0..pickle.nodes.len() as u32 {
                let value = Value { pickle: &pickle, node };
                let _ = (value.kind(), value.as_float(), value.as_text());
                if let Some(array) = value.as_array() {
                    let _ = (array.integers(), array.floats(), array.pairs(), array.text());
                }
                if let Some(Ok(matrix)) = value.as_sparse() {
                    matrix.features().unwrap();
                }
            }
        }
    }
}
