//! Bad input: every message says which file, where, what was found, what was expected, and the way
//! out.

use super::*;

#[track_caller]
fn refused_with(name: &str, bytes: impl AsRef<[u8]>, options: &EdgeOptions, words: &[&str]) {
    let written = write(name, bytes);
    let error = read_edges(&written.path, options).unwrap_err();
    assert_words(&error, &written.path, words);
}

#[track_caller]
fn refused(name: &str, bytes: impl AsRef<[u8]>, words: &[&str]) {
    refused_with(name, bytes, &EdgeOptions::default(), words);
}

#[test]
fn text_that_is_no_edge_list() {
    refused("e.txt", "1 2\n3 4\n5\n", &["line 3", "one column in `5`", "two ids", "complete the line"]);
    refused("e.txt", "1 2\n3 4\n5 ", &["line 3", "one column"]);
    refused("e.txt", "1\n2\n3\n", &["line 1", "one column"]);
    refused("e.txt", "1 2\n3 x4\n5 6\n", &["line 2", "`x4` in `3 x4`", "a number", "ids = \"names\""]);
    refused("e.txt", "# c\n1 2\n\n3 -4\n", &["line 4", "negative id `-4`", "0 or more"]);
    refused("e.txt", "1 2\n18446744073709551616 4\n5 6\n", &["line 2", "64 bits", "18446744073709551615"]);
    for line in ["1,,2", ",1,2", "1,"] {
        refused("e.txt", format!("{line}\n3,4\n5,6\n"), &["line 1"]);
    }
    refused("e.txt", "1,,2\n3,4\n5,6\n", &["line 1", "empty field", "one separator"]);
    for id in ["+1", "1e3", "0x1"] {
        refused("e.txt", format!("1 2\n{id} 4\n5 6\n"), &["line 2", id]);
    }
    refused("e.txt", "1 2 3 4\n", &["line 1", "4 columns", "weights = \"ignore\""]);
    refused("e.txt", "1 2\n3 4 0.5\n", &["line 2", "3 columns", "two columns"]);
    refused("e.txt", "1 2 1\n3 4\n", &["line 2", "2 columns", "a weight as in the lines before"]);
    for weight in ["nan", "inf", "-inf", "1e99", "heavy"] {
        refused("e.txt", format!("1 2 0.5\n3 4 {weight}\n"), &["line 2", weight, "a finite number"]);
    }
}

#[test]
fn names_that_are_no_text() {
    let names = EdgeOptions { ids: IdKind::Names, ..EdgeOptions::default() };
    refused_with("e.txt", b"a b\nc \xff\n", &names, &["line 2", "not UTF-8", "iconv"]);
}

#[test]
fn rows_beyond_the_stated_number() {
    let rows = EdgeOptions { ids: IdKind::Rows, nodes: Some(4), ..EdgeOptions::default() };
    refused_with("e.txt", "0 3\n1 4\n", &rows, &["line 2", "the id 4", "below 4"]);
    let rows = EdgeOptions { ids: IdKind::Rows, ..EdgeOptions::default() };
    refused_with("e.txt", "0 9999999999\n", &rows, &["10000000000 rows", "at most 4294967295"]);
}

#[test]
fn files_that_hold_nothing() {
    for (name, bytes) in
        [("e.txt", &b""[..]), ("e.csv", b"# nothing\n\n"), ("e.npy", b""), ("e.npz", b""), ("e.mtx", b"")]
    {
        refused(name, bytes, &["is empty"]);
    }
    refused("e.txt.gz", gzip(b""), &["is empty"]);
}

#[test]
fn text_in_another_encoding() {
    let wide: Vec<u8> = "1 2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    refused("e.txt", [&[0xff, 0xfe], &wide[..]].concat(), &["byte 0", "UTF-16", "iconv"]);
    refused("e.txt", wide, &["byte 1", "a zero byte", "UTF-8"]);
}

#[test]
fn a_truncated_gzip() {
    let text: String = (0..2000).map(|n| format!("{n} {}\n", n * 7919 % 1000)).collect();
    let packed = gzip(text.as_bytes());
    refused("e.txt.gz", &packed[..packed.len() / 2], &["breaks off", "bytes of text", "fetch the file again"]);
    refused("e.txt.gz", &packed[..packed.len() - 3], &["breaks off"]);
    let mut damaged = packed.clone();
    let last = damaged.len() - 6;
    damaged[last] ^= 1;
    refused("e.txt.gz", damaged, &["damaged"]);
}

#[test]
fn the_first_wrong_line_is_named_whatever_the_threads() {
    let mut text: String = (0..500).map(|n| format!("{n} {}\n", n + 1)).collect();
    text.push_str("7 x\n");
    text.push_str(&"8 9\n".repeat(300));
    text.push_str("9 y\n");
    for threads in 1..5 {
        let options = EdgeOptions { threads: Some(threads), ..EdgeOptions::default() };
        refused_with("e.txt", &text, &options, &["line 501", "`7 x`"]);
    }
}

#[test]
fn a_folder_or_nothing_instead_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["e.txt", "e.npy", "e.npz", "e.mtx"] {
        let path = folder.path().join(name);
        let missing = read_edges(&path, &EdgeOptions::default()).unwrap_err();
        assert!(matches!(&missing, FormatError::Io { .. }), "{missing}");
        assert!(missing.to_string().contains("check the path"), "{missing}");
        fs::create_dir(&path).unwrap();
        let error = read_edges(&path, &EdgeOptions::default()).unwrap_err();
        assert_words(&error, &path, &["is a folder", "a file"]);
    }
}

#[test]
fn matrix_market_files() {
    let head = "%%MatrixMarket matrix coordinate real general\n% c\n3 3 2\n";
    refused("e.mtx", format!("{head}1 2 0.5\n"), &["line 5", "the end after 1 entries", "2 as the size line says"]);
    refused("e.mtx", format!("{head}1 0 0.5\n"), &["line 4", "the index `0`", "from 1 to 3", "count rows"]);
    refused("e.mtx", format!("{head}1 4 0.5\n"), &["line 4", "the index `4`"]);
    refused("e.mtx", format!("{head}1 2\n"), &["line 4", "2 columns"]);
    refused("e.mtx", format!("{head}1 2 nan\n"), &["line 4", "`nan`", "finite"]);
    refused("e.mtx", format!("{head}1 2 1\n1 3 1\n2 3 1\n"), &["line 6", "one entry more"]);
    refused("e.mtx", "1 2\n", &["line 1", "MatrixMarket"]);
    refused("e.txt", "%%MatrixMarket matrix array real general\n", &["line 1", "coordinate"]);
    refused("e.mtx", "%%MatrixMarket matrix coordinate complex general\n", &["real, integer or pattern"]);
    refused("e.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 4 1\n", &["3 × 4", "as many rows"]);
}

#[test]
fn pairs_of_unknown_nodes() {
    let graph = read("e.txt", "10 20\n20 30\n", &EdgeOptions::default()).unwrap();
    let pairs = |file: &Written, unknown| read_pairs(&file.path, &graph.ids, &EdgeOptions::default(), unknown);
    let known = write("test.txt", "30 10\n");
    assert_eq!(pairs(&known, UnknownIds::Refuse).unwrap().pairs, [(2, 0)]);
    let unknown = write("test.txt", "# pairs\n10 20\n20 40\n40 50\n30 30\n");
    let error = pairs(&unknown, UnknownIds::Refuse).unwrap_err();
    assert_words(&error, &unknown.path, &["line 3", "`40`", "a node of the graph"]);
    let read = pairs(&unknown, UnknownIds::Skip).unwrap();
    assert_eq!((read.pairs, read.skipped), (vec![(0, 1), (2, 2)], 2));
    let matrix = write("test.mtx", "%%MatrixMarket matrix coordinate pattern general\n20 20 2\n10 20\n1 2\n");
    assert_eq!(pairs(&matrix, UnknownIds::Skip).unwrap(), ReadPairs { pairs: vec![(0, 1)], skipped: 1 });
    assert_words(&pairs(&matrix, UnknownIds::Refuse).unwrap_err(), &matrix.path, &["pair 1 (from 0)", "`1`"]);
    let empty = write("test.txt", "# nothing\n");
    assert_words(&pairs(&empty, UnknownIds::Skip).unwrap_err(), &empty.path, &["is empty"]);
}

const QUOTES: [&str; 4] = ["in quotes", "ids without quotes", "write the file again", "tabs"];

#[test]
fn other_formats_are_no_names() {
    let json = ["JSON", "lines of two ids", "jq"];
    for text in [
        "{\"source\": 51, \"target\": 52}\n{\"source\": 52, \"target\": 53}\n",
        "{ \"source\": \"ann\", \"target\": \"bob\" }\n",
        "[\"ann\", \"bob\"]\n",
        "[1, 2]\n[2, 3]\n",
        "{\n  \"edges\": [\n    {\"source\": 51}\n",
        "[\n  [1, 2],\n",
    ] {
        refused("e.json", text, &[&["line 1"], &json[..]].concat());
    }
    refused("e.csv", "\"ann\",\"bob\"\nann,eve\n", &[&["line 1", "`\"ann\"`"], &QUOTES[..]].concat());
    refused("e.csv", "ann,bob\nbob,\"Smith, J.\"\n", &[&["line 2"], &QUOTES[..]].concat());
    refused("e.csv", "source,target\n\"1\",\"2\"\n", &[&["line 2"], &QUOTES[..]].concat());
    for pair in ["'ann','bob'", "`ann`\tbob", "ann “bob”", "ann;‘bob’"] {
        refused("e.csv", format!("a b\n{pair}\n"), &QUOTES);
    }
    let markup = ["XML or HTML", "lines of two ids", "networkx.read_graphml"];
    for text in ["<?xml version=\"1.0\"?>\n", "<graphml>\n<graph>\n", "<!DOCTYPE html>\n", "<html><body>\n"] {
        refused("e.xml", text, &[&["line 1"], &markup[..]].concat());
    }
    let numbers = EdgeOptions { ids: IdKind::Numbers, ..EdgeOptions::default() };
    refused_with("e.csv", "1,2\n2,\"3\"\n", &numbers, &[&["line 2"], &QUOTES[..]].concat());
    refused_with("e.csv", "{\"a\": 1, \"b\": 2}\n", &numbers, &[&["line 1"], &json[..]].concat());
    // What is no JSON and no quoted field is a name.
    let read = read("e.txt", "{a} [b]\n(2)-a,(3)-b\n'c {a}\n5\" pipe\n<x> 7'\n", &EdgeOptions::default()).unwrap();
    assert_eq!(read.ids.iter().collect::<Vec<_>>(), ["{a}", "[b]", "(2)-a", "(3)-b", "'c", "5\"", "pipe", "<x>", "7'"]);
}

#[test]
fn what_python_prints_is_no_edge_list() {
    let python = ["line 1", "Python", "lines of two ids", "print(source, target"];
    for text in [
        "{'source': 51, 'target': 52}\n{'source': 52, 'target': 53}\n",
        "(1, 2)\n(2, 3)\n",
        "(1, 2),\n(2, 3),\n",
        "('ann', 'bob')\n('bob', 'eve')\n",
        "(1, 2, {'weight': 3})\n",
        "((0, 1), (0, 2))\n",
        "[(1, 2), (2, 3)]\n",
        "{1: [2, 3], 2: [3]}\n",
    ] {
        refused("e.txt", text, &python);
        for weights in [Weights::Ignore, Weights::Third] {
            refused_with("e.txt", text, &EdgeOptions { weights, ..EdgeOptions::default() }, &python);
        }
    }
}

#[test]
fn graphs_of_graphviz_are_no_dicts_of_python() {
    for text in ["digraph g {\n  a -> b;\n}\n", "graph {\n  a -- b\n}\n", "strict graph g { a -- b }\na b\n"] {
        refused("g.dot", text, &["line 1", "a graph of Graphviz", "lines of two ids", "nx_pydot"]);
    }
    // Nodes may have these names.
    let read = read("e.txt", "graph theory\ngraph drawing\n", &EdgeOptions::default()).unwrap();
    assert_eq!(read.ids.iter().collect::<Vec<_>>(), ["graph", "theory", "drawing"]);
}

/// Catches a line of column names that is called a broken edge, where ids are names and nothing
/// else tells.
#[test]
fn a_header_before_names_and_weights_is_told() {
    let text = "source,target,weight\nann,bob,0.5\nbob,eve,2\n";
    refused("e.csv", text, &["line 1", "`weight`", "header = true", "weights = \"ignore\""]);
    let stated = EdgeOptions { header: Some(true), ..EdgeOptions::default() };
    assert_eq!(read("e.csv", text, &stated).unwrap().edges.weights, Some(vec![0.5, 2.0]));
    // A later line is broken, and no line names the columns.
    let error = read("e.csv", "ann,bob,0.5\nbob,eve,x\n", &EdgeOptions::default()).unwrap_err().to_string();
    assert!(error.contains("line 2") && !error.contains("header"), "{error}");
}

/// Catches times that are weights because they are in a matrix.
#[test]
fn a_matrix_of_times_has_no_weights() {
    let words = ["3 of 3 values", "times", "weights = \"ignore\"", "weights = \"third\""];
    let entries = "3 3 3\n2 1 1082040961\n3 2 1082155839\n3 1 1082414391\n";
    for kind in ["general", "symmetric"] {
        let text = format!("%%MatrixMarket matrix coordinate integer {kind}\n{entries}");
        refused("m.mtx", &text, &words);
        let weights =
            |weights| read("m.mtx", &text, &EdgeOptions { weights, ..EdgeOptions::default() }).unwrap().edges.weights;
        assert_eq!((weights(Weights::Ignore), weights(Weights::Third).map(|found| found.len())), (None, Some(3)));
    }
}

/// Catches a comma in a dict that is taken for the separator of names.
#[test]
fn the_dicts_of_networkx_are_refused_or_ignored() {
    let words = ["line 1", "a dict of Python", "write_weighted_edgelist", "weights = \"ignore\""];
    for (text, ids) in [
        ("1 2 {'weight': 3}\n2 3 {'weight': 4}\n", ["1", "2", "3"]),
        ("1 2 {}\n2 3 {}\n", ["1", "2", "3"]),
        ("a b {'weight': 3, 'year': 4}\nb c {'weight': 3, 'year': 4}\n", ["a", "b", "c"]),
        ("a,b,{'weight': 3}\nb,c,{'weight': 3}\n", ["a", "b", "c"]),
        ("a\tb\t{'weight': 3, 'year': 4}\nb\tc\t{'weight': 3, 'year': 4}\n", ["a", "b", "c"]),
    ] {
        refused("e.edgelist", text, &words);
        refused_with("e.edgelist", text, &EdgeOptions { weights: Weights::Third, ..EdgeOptions::default() }, &words);
        let ignore = EdgeOptions { weights: Weights::Ignore, ..EdgeOptions::default() };
        let read = read("e.edgelist", text, &ignore).unwrap();
        assert_eq!(read.ids.iter().collect::<Vec<_>>(), ids);
        assert_eq!(read.edges.weights, None);
    }
}

/// `"tea"` and `tea` are not two classes.
#[test]
fn labels_in_quotes_are_refused() {
    for (text, line) in [("tea\n\"tea\"\n", "line 2"), ("\"1\"\n\"2\"\n", "line 1")] {
        let written = write("labels.txt", text);
        let error = read_labels(&written.path).unwrap_err();
        assert_words(&error, &written.path, &[line, "in quotes", "without quotes", "write the file again"]);
    }
}

#[test]
fn a_column_of_times_is_no_weight() {
    let words = ["line 2", "`1082040961`", "a time", "weights = \"ignore\"", "weights = \"third\""];
    let text = "# from to time\n1 2 1082040961\n2 3 1082155839\n3 1 1082414391\n";
    refused("e.txt", text, &words);
    refused("e.csv", "from,to,time\n1,2,1700000000000\n2,3,1700000000001\n", &["line 2", "`1700000000000`"]);
    let with = |weights| read("e.txt", text, &EdgeOptions { weights, ..EdgeOptions::default() }).unwrap().edges.weights;
    assert_eq!((with(Weights::Ignore), with(Weights::Third).map(|all| all.len())), (None, Some(3)));
    // With fractions as well, and where some are not known.
    for last in ["1082414391.5", "1.08e9", "0", "0.5"] {
        refused("e.txt", text.replace("1082414391", last), &words);
    }
    refused("e.txt", "1 2 1082040961.25\n2 3 1082040961.0\n", &["line 1", "`1082040961.25`", "a time"]);
    refused("e.txt", "1 2 0\n2 3 1.08e9\n3 4 1.09e9\n", &["line 2", "`1.08e9`", "a time"]);
    // What is mostly smaller, or larger than any time, is a weight.
    for (from, to) in [("1082155839", "99999990"), ("1082040961", "1e30")] {
        let text = text.replace("1082414391", "0.5").replace(from, to);
        let read = read("e.txt", text, &EdgeOptions::default()).unwrap();
        assert_eq!(read.edges.weights.map(|all| all.len()), Some(3), "{to}");
    }
    let mut far: String = (0..1500).map(|n| format!("{n} {} 1082040961\n", n + 1)).collect();
    refused("e.txt", &far, &["line 1", "a time"]);
    far.push_str("7 9 1\n");
    refused("e.txt", &far, &["line 1", "a time"]);
    far.push_str(&"7 9 1\n".repeat(1500));
    assert!(read("e.txt", &far, &EdgeOptions::default()).is_ok());
    // Some lists begin with all that have no time.
    let late = "7 9 0\n".repeat(1200) + &"7 9 1082040961\n".repeat(1300);
    refused("e.txt", late, &["1300 of 2500", "times", "weights = \"ignore\""]);
}

#[test]
fn negative_weights_are_for_matrices_of_ones_own() {
    let words = ["0 or more", "drop such edges", "matrix = \"A\""];
    let general = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n3 1 -2\n";
    let skew = "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 3\n";
    for (name, text, place) in [
        ("e.txt", "1 2 0.5\n2 3 -0.25\n", "line 2: found the weight -0.25"),
        ("e.csv", "a,b,1\nb,c,-1\n", "line 2: found the weight -1"),
        ("e.mtx", general, "line 4: found the value -2"),
        ("e.mtx", skew, "line 1: found `%%matrix"),
    ] {
        let place = place.replace("%%matrix", "%%Matrix");
        refused(name, text, &[&[place.as_str()], &words[..]].concat());
        let signed = EdgeOptions { signed: true, ..EdgeOptions::default() };
        let weights = read(name, text, &signed).unwrap().edges.weights.unwrap();
        assert!(weights.iter().any(|&weight| weight < 0.0));
    }
}

/// Catches a guess that nobody is told of, and a remark on what was stated.
#[test]
fn guesses_are_named() {
    let said = |name: &str, text: &str, options: &EdgeOptions| {
        read(name, text, options).unwrap().remarks.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let auto = EdgeOptions::default();
    assert_eq!(said("e.txt", "1 2\n2 3\n", &auto), [""; 0]);
    assert_eq!(
        said("e.csv", "from,to,weight\n1,2,3\n2,3,4\n", &auto),
        ["line 1 names the columns (data.header)", "the third column is the weight (data.weights)"]
    );
    assert_eq!(
        said("e.csv", "ann,bob\nbob,eve\n", &auto),
        ["ids are names separated by commas (data.ids), the first line is an edge (data.header)"]
    );
    let stated = EdgeOptions { header: Some(true), ids: IdKind::Names, weights: Weights::Third, ..auto };
    assert_eq!(said("e.csv", "from,to,weight\na,b,3\nb,c,4\n", &stated), [""; 0]);
    let symmetric = "%%MatrixMarket matrix coordinate pattern general\n3 3 4\n1 2\n2 1\n2 3\n3 2\n";
    assert_eq!(said("e.mtx", symmetric, &auto), ["the matrix is symmetric: edges have no direction (data.directed)"]);
    let oriented = symmetric.replace("3 2\n", "1 3\n");
    let remark = "the matrix is not symmetric: edges have a direction (data.directed)";
    assert_eq!(said("e.mtx", &oriented, &auto), [remark]);
    for directed in [true, false] {
        for matrix in [symmetric, &oriented] {
            assert_eq!(said("e.mtx", matrix, &EdgeOptions { directed: Some(directed), ..auto }), [""; 0]);
        }
    }
}
