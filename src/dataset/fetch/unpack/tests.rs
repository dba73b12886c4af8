use std::io::Cursor;

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::*;

const ROOT: &str = "set";

/// A zip archive of these files.
fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let entries: Vec<_> = files.iter().map(|(name, content)| (*name, content.to_vec())).collect();
    crate::dataset::format::tests::zip(&entries, CompressionMethod::Deflated)
}

/// Unpacks into an empty folder, whose files are returned with what happened.
fn unpacked(archive: &[u8], limits: &Limits) -> (Result<(), UnpackError>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (packed, into) = (folder.path().join("packed.zip"), folder.path().join("into"));
    fs::write(&packed, archive).unwrap();
    fs::create_dir(&into).unwrap();
    let result = unpack(&packed, ROOT, &into, limits);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing leaves the folder");
    let names = fs::read_dir(into).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    (result, names.collect())
}

fn refused(archive: &[u8], limits: &Limits) -> UnpackError {
    unpacked(archive, limits).0.unwrap_err()
}

#[test]
fn what_is_below_the_root_comes_out() {
    let archive =
        zip(&[("set/raw", b"1"), ("set/", b""), ("other/file", b"2"), ("settee/file", b"3"), ("loose", b"4")]);
    let (result, names) = unpacked(&archive, &Limits::default());
    result.unwrap();
    assert_eq!(names, ["raw"]);
}

#[test]
fn names_that_lead_elsewhere_are_refused_before_anything_is_written() {
    for (name, why) in [
        ("../evil", "leads out"),
        ("set/../../evil", "leads out"),
        ("set/..", "leads out"),
        ("other/../evil", "leads out"),
        ("/evil", "absolute"),
        ("set/a\\..\\..\\evil", "different systems"),
        ("C:/evil", "different systems"),
        ("set//evil", "different systems"),
        ("set/./evil", "different systems"),
    ] {
        let (result, names) = unpacked(&zip(&[("set/good", b"1"), (name, b"2")]), &Limits::default());
        let message = result.unwrap_err().to_string();
        assert!(message.contains(name) && message.contains(why), "{name}: {message}");
        assert!(names.is_empty(), "{name}: {names:?}");
    }
}

#[test]
fn symbolic_links_are_refused() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.add_symlink("set/link", "/etc", SimpleFileOptions::default()).unwrap();
    let archive = writer.finish().unwrap().into_inner();
    assert!(
        refused(&archive, &Limits::default()).to_string().contains("`set/link` in it is not safe: it is a symbolic")
    );
}

#[test]
fn a_file_cannot_be_a_folder_too() {
    let error = refused(&zip(&[("set/a", b"1"), ("set/a/b", b"2")]), &Limits::default());
    assert!(matches!(error, UnpackError::Unsafe { .. }), "{error}");
}

#[test]
fn limits_are_kept_by_what_comes_out_not_by_what_was_promised() {
    let zeros = vec![0; 4 << 20];
    let noise: Vec<u8> = (0..3_000_u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let bomb = zip(&[("set/zeros", &zeros)]);
    assert!(matches!(refused(&bomb, &Limits::default()), UnpackError::Bomb { limit: 100, .. }));

    // The same with a central directory that says it is one byte.
    let mut lying = bomb;
    let directory = lying.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    lying[directory + 24..directory + 28].copy_from_slice(&1_u32.to_le_bytes());
    assert!(unpacked(&lying, &Limits::default()).0.is_err());

    let two = zip(&[("set/one", &noise), ("set/two", &noise)]);
    let limits = Limits::default();
    let error = refused(&two, &Limits { file: 11_999, ..limits });
    assert_eq!(error.to_string(), "`set/one` in it goes beyond the 11999 bytes that are taken of one file");
    let error = refused(&two, &Limits { total: 23_999, ..limits });
    assert_eq!(error.to_string(), "`set/two` in it goes beyond the 23999 bytes that are taken of all files");
    let error = refused(&two, &Limits { files: 1, ..limits });
    assert_eq!(error.to_string(), "it holds 2 files, more than the 1 that are taken");
    unpacked(&two, &Limits { file: 12_000, total: 24_000, files: 2, ..limits }).0.unwrap();
}

#[test]
fn damage_is_noticed() {
    let noise: Vec<u8> = (0..3_000_u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let whole = zip(&[("set/noise", &noise)]);
    let mut flipped = whole.clone();
    flipped[6_000] ^= 1;
    assert!(matches!(refused(&flipped, &Limits::default()), UnpackError::Damaged { .. }));
    for archive in [&whole[..whole.len() / 2], b"", b"<html>not here</html>"] {
        assert!(matches!(refused(archive, &Limits::default()), UnpackError::NotAnArchive { .. }));
    }
}
