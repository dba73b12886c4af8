//! Fuzzing targets for the files of a checkpoint.

use super::file::{CheckpointFile, CheckpointFileWriter};
use super::log::Header;
use super::manifest::{Identity, Manifest, Record};
use crate::engine::fuzz::{Draw, OVERHEAD, Target};
use crate::engine::leader::{decode, encode};
use crate::graph::Tiling;

/// What bincode allocates at most for a length.
const OVERHEAD_OF_NUMBERS: usize = 4 << 20;

pub(in crate::engine) fn targets() -> [Target; 3] {
    [
        Target { name: "manifest", example: example_manifest, accepts: accepts_manifest, overhead: OVERHEAD },
        Target { name: "piece", example: example_piece, accepts: accepts_piece, overhead: OVERHEAD },
        Target { name: "numbers", example: example_numbers, accepts: accepts_numbers, overhead: OVERHEAD_OF_NUMBERS },
    ]
}

/// A file of some rows: its description and its bytes.
fn piece(draw: &mut Draw<'_>, file: &str, row_bytes: usize) -> (CheckpointFile, Vec<u8>) {
    let (rows, tile_rows) = (draw(20), 1 + draw(9));
    written(file, (rows, row_bytes), tile_rows)
}

/// The description of a file that can hold a panel.
fn panel(draw: &mut Draw<'_>, file: &str, row_bytes: usize) -> CheckpointFile {
    let rows = draw(200);
    written(file, (rows, row_bytes), Tiling::new(rows).tile_rows()).0
}

fn written(file: &str, (rows, row_bytes): (usize, usize), tile_rows: usize) -> (CheckpointFile, Vec<u8>) {
    let mut writer = CheckpointFileWriter::new(Vec::new(), file, rows, row_bytes, tile_rows);
    for row in 0..rows {
        writer.push(&vec![row as u8; row_bytes]).expect("there is memory");
    }
    writer.finish().expect("there is memory")
}

fn example_manifest(draw: &mut Draw<'_>) -> Vec<u8> {
    let mut record = |work| Record {
        work,
        label: "krylov".to_owned(),
        is_finished: draw(2) == 0,
        numbers: piece(draw, "0-numbers-7", 1).0,
        panels: (0..draw(3)).map(|number| panel(draw, &format!("0-left-{number}"), 4 * number)).collect(),
    };
    let records = vec![record(0), record(1)];
    let run = Identity::from([("seed".to_owned(), "1".to_owned()), ("„data“".to_owned(), "so".to_owned())]);
    Manifest::new(draw(100) as u64, run, records).text().into_bytes()
}

/// Changed manifests get the right checksum, since anybody could write one.
fn accepts_manifest(text: &[u8]) -> bool {
    if let Ok(manifest) = Manifest::parse(text) {
        assert_eq!(Manifest::parse(manifest.text().as_bytes()).expect("it was written"), manifest);
    }
    let Ok(changed) = serde_json::from_slice::<Manifest>(text) else { return false };
    let sealed = Manifest::new(changed.number, changed.run, changed.records);
    let Ok(manifest) = Manifest::parse(sealed.text().as_bytes()) else { return false };
    assert_eq!(manifest, sealed);
    for piece in manifest.files() {
        let _ = piece.read(text, text.len() as u64, |_| ());
    }
    for panel in manifest.records.iter().flat_map(|record| &record.panels) {
        let numbers = panel.rows as u128 * panel.columns() as u128;
        assert_eq!(numbers * size_of::<f32>() as u128, panel.rows as u128 * panel.row_bytes as u128, "whole numbers");
        let most = Tiling::new(usize::MAX).tile_rows() * panel.checksums.len();
        assert!(panel.rows <= most as u64, "as many rows as checksums answer for");
    }
    true
}

/// The description of a file as text, and then the file.
fn example_piece(draw: &mut Draw<'_>) -> Vec<u8> {
    let row_bytes = draw(20);
    let (piece, file) = piece(draw, "0-left-0", row_bytes);
    let words = [piece.rows, piece.row_bytes, piece.tile_rows, piece.checksums.len() as u64];
    [bytemuck::cast_slice(&words), bytemuck::cast_slice(&piece.checksums), &file].concat()
}

fn accepts_piece(bytes: &[u8]) -> bool {
    let Some((words, rest)) = bytes.split_first_chunk::<32>() else { return false };
    let [rows, row_bytes, tile_rows, count] = bytemuck::pod_read_unaligned::<[u64; 4]>(words);
    let end = count.checked_mul(4).and_then(|end| usize::try_from(end).ok());
    let Some((checksums, file)) = end.and_then(|end| rest.split_at_checked(end)) else { return false };
    let checksums = checksums.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
    let piece = CheckpointFile { file: "0-left-0".to_owned(), rows, row_bytes, tile_rows, checksums };
    if !piece.is_sound() {
        return false;
    }
    let mut tiles = Vec::new();
    let is_whole = piece.read(file, file.len() as u64, |tile| tiles.push(tile.to_vec())).is_ok();
    assert!(!is_whole || tiles.concat() == file, "all of it is read, once");
    assert!(tiles.iter().zip(&piece.checksums).all(|(tile, &checksum)| crc32fast::hash(tile) == checksum));
    is_whole
}

/// Numbers like those of a state.
type Numbers = (u64, f64, Vec<f64>, Option<Vec<(u32, bool)>>, String);

fn example_numbers(draw: &mut Draw<'_>) -> Vec<u8> {
    let some = (draw(2) == 0).then(|| vec![(draw(9) as u32, true); draw(9)]);
    let numbers: Numbers = (draw(99) as u64, 0.1, vec![0.7; draw(9)], some, "„so“".to_owned());
    encode(&Header { numbers: encode(&numbers), panels: vec![("left-0".to_owned(), draw(99), draw(99)); draw(3)] })
}

fn accepts_numbers(bytes: &[u8]) -> bool {
    let Some(header) = decode::<Header>(bytes) else { return false };
    assert_eq!(encode(&header), bytes);
    let Some(numbers) = decode::<Numbers>(&header.numbers) else { return false };
    assert_eq!(encode(&numbers), header.numbers);
    true
}
