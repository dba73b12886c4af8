//! Unusual input to the program: pipes, damaged files, and files that claim more than they contain.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{assert_done, assert_refused, folder, run, small, text};

const RANK: [&str; 3] = ["--workers=1", "--set=embedding.rank=4", "--quiet"];

fn edges(count: u64) -> String {
    (0..count).map(|n| format!("{} {}\n", 1000 + n * 7 % 97, 1000 + n * 31 % 89)).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    bomb(bytes, b"", 0)
}

/// A header followed by many repetitions of a piece, compressed.
fn bomb(head: &[u8], piece: &[u8], count: usize) -> Vec<u8> {
    const AT_ONCE: usize = 100_000;
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    encoder.write_all(head).unwrap();
    let pieces = piece.repeat(AT_ONCE);
    (0..count / AT_ONCE).for_each(|_| encoder.write_all(&pieces).unwrap());
    encoder.finish().unwrap()
}

/// The vectors are the same for a file, stdin and a named pipe, plain and compressed.
#[test]
#[cfg(unix)]
fn edges_from_a_pipe_are_those_of_the_file() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let content = edges(600).into_bytes();
    fs::write(path("e.txt"), &content).unwrap();
    let arguments = |source: &str, out: &str| {
        let given = ["--config=links".into(), format!("--set=data.path={source}"), format!("--out={out}")];
        RANK.iter().map(|&word| word.to_owned()).chain(given).collect::<Vec<String>>()
    };
    let of = |source: &str, out: &str, stdin: Option<Vec<u8>>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isvd-dist"));
        command.current_dir(folder.path()).args(arguments(source, out)).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        thread::spawn(move || pipe.write_all(&stdin.unwrap_or_default()));
        assert!(child.wait().unwrap().success(), "{source}");
        fs::read(path(out).join("left.npy")).unwrap()
    };
    let expected = of("e.txt", "file", None);
    assert!(of("/dev/stdin", "stdin", Some(content.clone())) == expected);
    assert!(of("/dev/stdin", "packed", Some(gzip(&content))) == expected);
    assert!(Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    let (pipe, sent) = (path("pipe"), content.clone());
    thread::spawn(move || fs::write(pipe, sent));
    assert!(of("pipe", "fifo", None) == expected);

    let score = |edges: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isvd-dist"));
        command.current_dir(folder.path()).args(["score", "--model=file", "--edges", edges]);
        command.stdin(fs::File::open(path("e.txt")).unwrap()).output().unwrap().stdout
    };
    let whole = score("e.txt");
    assert_eq!(text(&whole).lines().count(), 601);
    let (pipe, sent) = (path("pipe"), content);
    thread::spawn(move || fs::write(pipe, sent));
    assert!(score("pipe") == whole && score("/dev/stdin") == whole);
}

#[test]
#[cfg(unix)]
fn a_config_that_never_ends_is_refused() {
    let folder = folder();
    let refused = run(folder.path(), &["--config=/dev/zero"]);
    assert_refused(&refused, 2, &["cannot read the config /dev/zero", "more than 1048576 bytes"]);
}

/// A flipped bit in a compressed edge list gives an error or the same vectors.
#[test]
fn a_flipped_bit_gives_an_error_or_the_same_vectors() {
    let folder = folder();
    let file = folder.path().join("e.txt.gz");
    let whole = gzip(edges(300).as_bytes());
    let vectors = || {
        let output = small(folder.path(), &["--config=links", "--set=data.path=e.txt.gz", "--out=out", "--no-report"]);
        assert!(!text(&output.stderr).contains("panicked"));
        output.status.success().then(|| fs::read(folder.path().join("out/left.npy")).unwrap())
    };
    fs::write(&file, &whole).unwrap();
    let expected = vectors().unwrap();
    for n in 0..20 {
        let (mut damaged, bit) = (whole.clone(), n * 7919 % (8 * whole.len()));
        damaged[bit / 8] ^= 1 << (bit % 8);
        fs::write(&file, damaged).unwrap();
        assert!(vectors().is_none_or(|vectors| vectors == expected), "bit {bit}");
    }
}

/// The peak memory of a process, while it runs.
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| 1024 * kilobytes)
}

/// Small files that claim to be large, or decompress to large ones, end soon and within the memory
/// limit.
#[test]
fn hostile_files_take_no_more_memory_than_allowed() {
    const LIMIT: u64 = 300_000_000;
    let folder = folder();
    let matrix = |rows: u64| format!("%%MatrixMarket matrix coordinate pattern general\n{rows} {rows} 1\n1 2\n");
    let packed = |line: &str, count| bomb(b"", line.as_bytes(), count);
    let array = |shape: &str| {
        let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes()].concat()
    };
    let entries = matrix(9).replace(" 1\n1", " 99999999\n1");
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("rows.mtx", matrix(30_000_000).into(), &[]),
        ("more.mtx", matrix(4_000_000_000).into(), &[]),
        ("words.gz", bomb(b"%%MatrixMarket matrix", b" a", 40_000_000), &[]),
        ("bomb.txt.gz", packed("1 2\n", 40_000_000), &[]),
        ("weights.txt.gz", packed("1 2 3\n", 30_000_000), &[]),
        ("far.txt.gz", packed("1 99999999999\n", 20_000_000), &[]),
        ("names.txt.gz", packed("a b\n", 40_000_000), &[]),
        ("matrix.gz", bomb(entries.as_bytes(), b"1 2\n", 60_000_000), &[]),
        ("line.txt.gz", packed("1", 70_000_000), &[]),
        ("id.txt", b"0 1\n1 4000000000\n".to_vec(), &["--set=data.ids=rows"]),
        ("claims.npy", array("(99999999999, 2)"), &[]),
        ("bomb", bomb(&array("(30000000, 2)"), &[0; 16], 30_000_000), &[]),
    ];
    for (name, bytes, arguments) in cases {
        fs::write(folder.path().join(name), bytes).unwrap();
        let path = format!("--set=data.path={name}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_isvd-dist"));
        command.current_dir(folder.path()).args(RANK).args(["--config=links", &path, "--memory=300MB"]).args(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let (start, mut most) = (Instant::now(), 0);
        let status = loop {
            most = most.max(peak(child.id()).unwrap_or(0));
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "{name} does not end");
            thread::sleep(Duration::from_millis(2));
        };
        assert!(matches!(status.code(), Some(0..=3)), "{name}: {status}");
        assert!(most <= LIMIT / 10 * 13 + 64_000_000, "{name} takes {most} bytes");
        fs::remove_file(Path::new(folder.path()).join(name)).unwrap();
    }
    let refused = |path: &str| small(folder.path(), &["--config=links", path, "--memory=300MB"]);
    fs::write(folder.path().join("rows.mtx"), matrix(30_000_000)).unwrap();
    assert_refused(&refused("--set=data.path=rows.mtx"), 2, &["30000000 nodes", "300 MB may be used", "--memory"]);
    fs::write(folder.path().join("e.txt"), edges(300)).unwrap();
    assert_done(&refused("--set=data.path=e.txt"));
}
