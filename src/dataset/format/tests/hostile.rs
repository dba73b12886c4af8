//! Files that change, that are damaged, and that take more memory than they should.

use zip::CompressionMethod;

use super::binary::torch_zip;
use super::*;
use crate::dataset::{Budget, EdgeFile, Holdout, Ids, LoadError, Reservation, Source};

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    super::npy(1, descr, false, shape, data)
}

/// The matrix of a ring, as scipy stores it.
fn scipy(nodes: i64, method: CompressionMethod) -> Vec<u8> {
    let next: Vec<i64> = (0..nodes).map(|node| (node + 1) % nodes).collect();
    let starts: Vec<i64> = (0..=nodes).collect();
    let ones: Vec<u8> = (0..nodes).flat_map(|node| (1.0 + node as f64 / 8.0).to_le_bytes()).collect();
    let list = |count: i64| format!("({count},)");
    let entries = [
        ("indices.npy", npy("<i8", &list(nodes), &bytes_of::<i64>(&next))),
        ("indptr.npy", npy("<i8", &list(nodes + 1), &bytes_of::<i64>(&starts))),
        ("format.npy", npy("|S3", "()", b"csr")),
        ("shape.npy", npy("<i8", "(2,)", &bytes_of::<i64>(&[nodes, nodes]))),
        ("data.npy", npy("<f8", &list(nodes), &ones)),
    ];
    zip(&entries, method)
}

/// All that a file says, or the error.
fn edges_of(name: &str, bytes: &[u8]) -> Result<ReadEdges, FormatError> {
    read(name, bytes, &EdgeOptions::default())
}

/// The bits to flip: some, spread over the whole file.
fn flipped(bytes: &[u8], flips: usize) -> impl Iterator<Item = (usize, Vec<u8>)> {
    let bits = 8 * bytes.len();
    (0..flips).map(move |n| {
        let bit = (n * 7919 + n * n * 31) % bits;
        let mut damaged = bytes.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        (bit, damaged)
    })
}

/// Without a look at the checksums of its entries, one in ten of these archives gave other edges.
#[test]
fn a_flipped_bit_in_a_packed_file_is_found_or_does_not_matter() {
    let text: String = (0..300).map(|n| format!("{n} {} {}.5\n", n * 7919 % 200, n % 9)).collect();
    let pairs = npy("<i8", "(100, 2)", &bytes_of::<i64>(&(0..200).map(|n| n * 31 % 57).collect::<Vec<_>>()));
    for (name, bytes) in [
        ("stored.npz", scipy(40, CompressionMethod::Stored)),
        ("packed.npz", scipy(40, CompressionMethod::Deflated)),
        ("e.txt.gz", gzip(text.as_bytes())),
        ("e.gz", gzip(&pairs)),
    ] {
        let whole = edges_of(name, &bytes).unwrap();
        let mut refused = 0;
        for (bit, damaged) in flipped(&bytes, 400) {
            match edges_of(name, &damaged) {
                Ok(read) => assert_eq!(read, whole, "{name}: bit {bit} changes the answer"),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 200, "{name}: only {refused} of 400 were found");
    }
}

/// Of a torch archive the tensors are covered as well.
#[test]
fn a_flipped_bit_in_a_torch_archive_is_found_or_does_not_matter() {
    let edge = |bytes: &[u8]| -> Result<Vec<(u64, u64)>, FormatError> {
        let pickle = read_torch(&write("valid.pt", bytes).path)?;
        let array = pickle.value().get("edge").and_then(Value::as_array);
        array.map_or(Ok(vec![]), |array| Ok(array.pairs()?.pairs.iter().collect()))
    };
    let bytes = torch_zip([3, 2], [2, 1], "archive/data/0");
    let whole = edge(&bytes).unwrap();
    assert_eq!(whole.len(), 3);
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        if let Ok(read) = edge(&damaged) {
            assert_eq!(read, whole, "bit {bit} changes the answer");
        }
    }
}

/// A name that no checksum covers: the weights of the edges would just not be there.
#[test]
fn an_entry_that_has_two_names_is_refused() {
    let mut bytes = scipy(5, CompressionMethod::Stored);
    let at = bytes.windows(10).rposition(|window| window == b"indptr.npy").unwrap();
    bytes[at] ^= 1;
    let error = edges_of("e.npz", &bytes).unwrap_err();
    assert!(error.to_string().contains("another name where the data of `hndptr.npy` is"), "{error}");
}

/// `.npy`, pickles and the older form of torch have no checksum, so no reader can tell a flipped
/// bit in their data. They are read as what the bytes say, or refused; they never panic, and never
/// take much memory.
#[test]
fn a_flipped_bit_in_a_plain_file_is_read_as_it_is_or_refused() {
    let pairs = npy("<i8", "(100, 2)", &bytes_of::<i64>(&(0..200).map(|n| n * 31 % 57).collect::<Vec<_>>()));
    let header = pairs.len() - 1600;
    let whole = edges_of("e.npy", &pairs).unwrap();
    let pickle = b"\x80\x02}q\x00(K\x00]q\x01(K\x01K\x02eK\x01]q\x02K\x00aK\x02]q\x03K\x00au.".to_vec();
    for (_, damaged) in flipped(&pickle, 8 * pickle.len()) {
        let written = write("ind.tiny.graph", damaged);
        let _ = Budget::new(1 << 20).within(|| read_pickle(&written.path));
        let _ = Budget::new(1 << 20).within(|| read_torch(&written.path));
    }
    for (bit, damaged) in flipped(&pairs, 400) {
        match Budget::new(1 << 20).within(|| edges_of("e.npy", &damaged)) {
            // Pairs of another size are other pairs; a flip in the data changes one id.
            Ok(read) if bit / 8 >= header => {
                assert_ne!((read.edges, read.ids), (whole.edges.clone(), whole.ids.clone()))
            }
            Ok(_) | Err(_) => {}
        }
    }
}

#[cfg(unix)]
fn fifo(bytes: Vec<u8>) -> Written {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let writer = path.clone();
    // Opening waits for whoever reads; a reader that opens twice would wait for another writer.
    std::thread::spawn(move || fs::write(writer, bytes));
    Written { _folder: folder, path }
}

/// A pipe gives its bytes once: looking at the first ones must not lose them.
#[test]
#[cfg(unix)]
fn every_format_is_read_from_a_pipe_as_from_a_file() {
    let text: String = (0..3000).map(|n| format!("{} {}\n", 100_000 + n, 100_000 + n * 7 % 500)).collect();
    let matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n";
    let pairs = npy("<i8", "(40, 2)", &bytes_of::<i64>(&(0..80).collect::<Vec<_>>()));
    let across = npy("<i8", "(2, 40)", &bytes_of::<i64>(&(0..80).collect::<Vec<_>>()));
    for bytes in [
        text.clone().into_bytes(),
        b"1 2\n".to_vec(),
        gzip(text.as_bytes()),
        matrix.into(),
        gzip(matrix.as_bytes()),
        pairs.clone(),
        gzip(&pairs),
        across,
        scipy(30, CompressionMethod::Deflated),
    ] {
        let file = edges_of("edges", &bytes).unwrap();
        let piped = read_edges(&fifo(bytes.clone()).path, &EdgeOptions::default()).unwrap();
        assert_eq!(piped, file);
        let known = fifo(bytes);
        let read = read_pairs(&known.path, &file.ids, &EdgeOptions::default(), UnknownIds::Refuse).unwrap();
        assert_eq!(read.pairs, file.edges.edges);
    }
    for bytes in [b"0.5,1\n2,3\n".to_vec(), gzip(b"0.5 1\n2 3\n"), npy("<f8", "(1, 2)", &[0; 16])] {
        assert_eq!(read_features(&fifo(bytes.clone()).path).unwrap(), read_features(&write("f", bytes).path).unwrap());
    }
    assert_eq!(read_labels(&fifo(b"tea\n?\n".to_vec()).path).unwrap().labels.len(), 2);
    assert_eq!(read_nodes(&fifo(b"1\n0\n".to_vec()).path, &Ids::counted(0, 2)).unwrap(), [1, 0]);
}

/// Whoever writes a file again while it is read gets an error, not a part of its edges.
#[test]
fn a_file_that_changes_while_it_is_read_is_refused() {
    use super::super::input::Input;
    let text = "1 2\n".repeat(500);
    let change = |written: &Written, how: &dyn Fn(&Path)| {
        let input = Input::open(&written.path).unwrap();
        how(&written.path);
        super::super::text::read_edges(input, &EdgeOptions::default()).unwrap_err()
    };
    let hows: [&dyn Fn(&Path); 4] = [
        &|path| fs::write(path, "1 2\n".repeat(300)).unwrap(),
        &|path| fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"3 4\n").unwrap(),
        &|path| {
            fs::write(path.with_extension("new"), "5 6\n".repeat(500)).unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        },
        &|path| fs::remove_file(path).unwrap(),
    ];
    for how in hows {
        let written = write("e.txt", &text);
        let error = change(&written, how);
        assert!(matches!(error, FormatError::Changed { .. }), "{error}");
        assert_words(&error, &written.path, &["changed while it was read", "read it again"]);
    }
    let written = write("e.npz", scipy(5, CompressionMethod::Stored));
    let mut archive = Npz::open(&written.path).unwrap();
    assert!(archive.array("data").unwrap().is_some());
    fs::write(&written.path, scipy(5, CompressionMethod::Deflated)).unwrap();
    assert!(archive.array("data").is_err());
}

/// A file of these bytes, read with so much memory: refused for want of memory alone.
#[track_caller]
fn too_large(name: &str, bytes: impl AsRef<[u8]>, limit: u64, read: impl FnOnce(&Path) -> Result<(), FormatError>) {
    let written = write(name, bytes);
    let budget = Budget::new(limit);
    let error = budget.within(|| read(&written.path)).expect_err(name);
    let FormatError::Memory { needed, limit: stated, .. } = error else { panic!("{name}: {error}") };
    assert!(stated == limit && needed > limit, "{name}: {error}");
    assert_words(&error, &written.path, &["of memory", "allow more memory"]);
}

/// Each of these takes megabytes, and far more than the file has.
#[test]
fn no_format_takes_more_memory_than_it_may() {
    const LIMIT: u64 = 100_000;
    let edges = |options: EdgeOptions| move |path: &Path| read_edges(path, &options).map(drop);
    let usual = EdgeOptions::default();
    let text: String = (0..40_000).map(|n| format!("{n} {}\n", n * 7 % 1000)).collect();
    too_large("e.txt", &text, LIMIT, edges(usual));
    too_large("e.txt.gz", gzip(text.as_bytes()), LIMIT, edges(usual));
    too_large("e.txt.gz", gzip("1 2\n".repeat(100_000).as_bytes()), LIMIT, edges(usual));
    too_large("w.txt.gz", gzip("1 2 0.5\n".repeat(10_000).as_bytes()), LIMIT, edges(usual));
    let far: String = (0..4_000u64).map(|n| format!("{} {n}\n", n << 40)).collect();
    too_large("far.txt", far, LIMIT, edges(usual));
    let names: String = (0..4_000).map(|n| format!("a{n} b{n}\n")).collect();
    too_large("names.txt", names, LIMIT, edges(usual));
    too_large("line.txt", "1".repeat(1_000_000), LIMIT, edges(usual));
    let matrix: String = (0..20_000).map(|n| format!("1 {}\n", n % 1000 + 1)).collect();
    let head = "%%MatrixMarket matrix coordinate pattern general\n1000 1000 20000\n";
    too_large("e.mtx", format!("{head}{matrix}"), LIMIT, edges(usual));
    // The entries alone fit: the comparison of those that are in no order does not.
    let mixed: String = (0..20_000).map(|n| format!("{} 1\n", n * 7 % 1000 + 1)).collect();
    let packed = gzip(format!("{head}{mixed}").as_bytes());
    too_large("e.mtx.gz", packed, 400_000, edges(usual));
    let zeros = npy("<i8", "(50000, 2)", &[0; 800_000]);
    too_large("e.npy", &zeros, LIMIT, edges(usual));
    too_large("across.npy", npy("<i8", "(2, 50000)", &[0; 800_000]), LIMIT, edges(usual));
    too_large("e.npz", scipy(20_000, CompressionMethod::Deflated), LIMIT, edges(usual));
    let pairs = |path: &Path| read_pairs(path, &Ids::counted(0, 9), &usual, UnknownIds::Refuse).map(drop);
    too_large("e.txt", "1 2\n".repeat(50_000), LIMIT, pairs);
    too_large("e.npy", &zeros, LIMIT, pairs);
    let features = |path: &Path| read_features(path).map(drop);
    too_large("f.txt.gz", gzip("1 2 3 4\n".repeat(30_000).as_bytes()), LIMIT, features);
    too_large("f.npy", npy("<f4", "(50000, 2)", &[0; 400_000]), LIMIT, features);
    // A matrix of one entry that claims to have billions of rows.
    let claims = [
        ("row.npy", npy("<i8", "(1,)", &bytes_of::<i64>(&[0]))),
        ("col.npy", npy("<i8", "(1,)", &bytes_of::<i64>(&[0]))),
        ("format.npy", npy("|S3", "()", b"coo")),
        ("shape.npy", npy("<i8", "(2,)", &bytes_of::<i64>(&[4_000_000_000, 3]))),
        ("data.npy", npy("<f4", "(1,)", &[0; 4])),
    ];
    too_large("claims.npz", zip(&claims, CompressionMethod::Deflated), 20 << 30, features);
    too_large("l.txt", "a\n".repeat(5_000), LIMIT, |path| read_labels(path).map(drop));
    too_large("l.npy", npy("<i8", "(20000,)", &[0; 160_000]), LIMIT, |path| read_labels(path).map(drop));
    too_large("n.txt", "0\n".repeat(50_000), LIMIT, |path| read_nodes(path, &Ids::counted(0, 1)).map(drop));
    // Values that take one byte each in the file: none, empty lists, the same list again.
    let pickle = |path: &Path| read_pickle(path).map(drop);
    too_large("n.pkl", [&b"\x80\x02("[..], &b"N".repeat(9_000), b"t."].concat(), LIMIT, pickle);
    too_large("l.pkl", [&b"\x80\x02("[..], &b"]".repeat(9_000), b"t."].concat(), LIMIT, pickle);
    too_large("m.pkl", [&b"\x80\x04("[..], &b"N\x94".repeat(9_000), b"t."].concat(), LIMIT, pickle);
    let torch = |path: &Path| read_torch(path).map(drop);
    let bomb = zip(&[("a/data.pkl", vec![b'N'; 2_000_000])], CompressionMethod::Deflated);
    too_large("bomb.pt", bomb, LIMIT, torch);
}

/// The end of a zip archive whose directory is said to have so many entries, in the long form.
fn long_end(entries: u64, bytes: u64, start: u64) -> Vec<u8> {
    let eight = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
    let record =
        [&b"PK\x06\x06"[..], &eight(&[44]), &[45, 0, 45, 0], &[0; 8], &eight(&[entries, entries, bytes, start])];
    let locator = [&b"PK\x06\x07"[..], &[0; 4], &eight(&[start + bytes]), &[1, 0, 0, 0]];
    let end = [&b"PK\x05\x06"[..], &[0; 4], &[0xff; 12], &[0; 2]];
    [record.concat(), locator.concat(), end.concat()].concat()
}

/// Entries of a directory take far more memory than bytes in the file, before any of them is
/// opened.
#[test]
fn the_directory_of_an_archive_is_counted_before_it_is_read() {
    let entry = |name: &str| {
        let mut header = [&b"PK\x01\x02"[..], &[0; 42], name.as_bytes()].concat();
        header[28] = name.len() as u8;
        header
    };
    let data = [&b"PK\x03\x04"[..], &[0; 26]].concat();
    let archive = |entries: usize, end: &dyn Fn(u64, u64, u64) -> Vec<u8>| {
        let directory: Vec<u8> = (0..entries).flat_map(|n| entry(&format!("{n:05}"))).collect();
        let end = end(entries as u64, directory.len() as u64, data.len() as u64);
        [&data[..], &directory, &end].concat()
    };
    let short = |entries: u64, bytes: u64, start: u64| {
        let count = (entries as u16).to_le_bytes();
        let [bytes, start] = [bytes, start].map(|number| (number as u32).to_le_bytes());
        [&b"PK\x05\x06"[..], &[0; 4], &count, &count, &bytes, &start, &[0; 2]].concat()
    };
    let usual = EdgeOptions::default();
    too_large("e.npz", archive(5_000, &short), 1_000_000, |path| read_edges(path, &usual).map(drop));
    too_large("e.npz", archive(5_000, &long_end), 1_000_000, |path| read_edges(path, &usual).map(drop));
    too_large("e.pt", archive(5_000, &short), 1_000_000, |path| read_torch(path).map(drop));
    let written = write("e.npz", archive(65_536, &long_end));
    let error = read_edges(&written.path, &usual).unwrap_err();
    assert_words(&error, &written.path, &["65536 entries", "at most 65535", "save fewer arrays"]);
    // An end record that tells of one entry, and a directory of thousands before another one.
    let lying = [archive(40_000, &long_end), short(1, 50, 0)].concat();
    let written = write("e.npz", lying);
    let error = Budget::new(1_000_000).within(|| read_edges(&written.path, &usual)).unwrap_err();
    assert_words(&error, &written.path, &["damaged"]);
}

/// What a file needs while it is read is counted, and no more: limits near to what is needed serve.
#[test]
fn what_is_read_fits_into_a_small_multiple_of_its_size() {
    let text: String = (0..40_000).map(|n| format!("{} {}\n", n % 5_000, n * 7 % 5_000)).collect();
    for (name, bytes) in [("e.txt", text.clone().into_bytes()), ("e.gz", gzip(text.as_bytes()))] {
        // Eight bytes an edge, twice while ids become rows.
        let read = Budget::new(20 * 40_000).within(|| edges_of(name, &bytes)).unwrap();
        assert_eq!(read.edges.edges.len(), 40_000, "{name}");
    }
    let budget = Budget::new(1 << 20);
    let _before = budget.reserve(1000).map(Reservation::keep);
    let left = budget.available();
    budget.within(|| edges_of("e.npz", &scipy(100, CompressionMethod::Stored))).unwrap();
    assert!((1..10_000).contains(&(left - budget.available())), "arrays that were read are given back");
}

/// Edges are held out with tables that take several times the list.
#[test]
fn holding_edges_out_is_counted() {
    let written = write("e.txt", "1 2\n3 4\n".repeat(5_000));
    let (options, holdout) = (EdgeOptions::default(), Holdout { valid: 0.0, test: 0.1 });
    let file = EdgeFile { path: written.path.clone(), options, holdout, nodes: None };
    let load = |limit| Budget::new(limit).within(|| Source::Edges(file.clone()).load(None, 1));
    let error = load(300_000).unwrap_err();
    assert!(error.is_over_budget() && matches!(error, LoadError::Format(FormatError::Memory { .. })), "{error}");
    assert!(!matches!(load(3_000_000), Err(LoadError::Format(_))));
}
