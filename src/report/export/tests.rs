use std::fs;
use std::io;

use super::*;
use crate::matrix::Dense;

const ALL: [Format; 6] = [Format::Npy, Format::Npz, Format::Csv, Format::Tsv, Format::Parquet, Format::Word2vec];

fn vectors(left: usize, right: usize, rank: usize) -> Vectors {
    let dense = |rows: usize, sign: f32| {
        Dense::new(rows, rank, (0..rows * rank).map(|n| sign * n as f32 / 4.0).collect()).unwrap()
    };
    Vectors { left: dense(left, 1.0), right: dense(right, -1.0) }
}

fn written(ids: &Ids, side: Side, format: Format) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.txt");
    let vectors = vectors(ids.len(), ids.len(), 2);
    Export { vectors: &vectors, side, ids }.write(format, &path).unwrap();
    fs::read_to_string(path).unwrap()
}

#[test]
fn tables_quote_what_needs_quotes() {
    let ids = Ids::names(["New York", "a,b", "say \"hi\"", "tab\there"]);
    assert_eq!(
        written(&ids, Side::Left, Format::Csv),
        "id,left_0,left_1\nNew York,0.0,0.25\n\"a,b\",0.5,0.75\n\"say \"\"hi\"\"\",1.0,1.25\ntab\there,1.5,1.75\n"
    );
    assert_eq!(
        written(&ids, Side::Right, Format::Tsv).lines().skip(2).collect::<Vec<_>>(),
        ["a,b\t-0.5\t-0.75", "\"say \"\"hi\"\"\"\t-1.0\t-1.25", "\"tab\there\"\t-1.5\t-1.75"]
    );
    assert!(written(&ids, Side::Both, Format::Csv).starts_with("id,left_0,left_1,right_0,right_1\n"));
}

#[test]
fn words_have_no_blanks_and_stay_different() {
    let ids = Ids::names(["New York", "a\u{a0}b\r", "ü"]);
    assert_eq!(written(&ids, Side::Left, Format::Word2vec), "3 2\nNew_York 0.0 0.25\na_b_ 0.5 0.75\nü 1.0 1.25\n");
    let (vectors, ids) = (vectors(2, 2, 2), Ids::names(["a b", "a_b"]));
    let folder = tempfile::tempdir().unwrap();
    let export = Export { vectors: &vectors, side: Side::Left, ids: &ids };
    let error = export.write(Format::Word2vec, &folder.path().join("words")).unwrap_err();
    assert!(matches!(&error, ExportError::SameWord { word, .. } if word == "a_b"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was written");
}

#[test]
fn nothing_at_all_can_be_exported() {
    for format in ALL {
        for (rows, rank) in [(0, 0), (0, 3), (2, 0)] {
            let (vectors, ids) = (vectors(rows, rows, rank), Ids::counted(5, rows));
            let folder = tempfile::tempdir().unwrap();
            let files =
                Export { vectors: &vectors, side: Side::Both, ids: &ids }.write(format, &folder.path().join("v.x"));
            assert!(files.unwrap().iter().all(|file| file.is_file()), "{format:?}");
        }
    }
}

#[test]
fn sides_of_different_rows_go_into_arrays_of_their_own() {
    let (vectors, ids) = (vectors(3, 4, 2), Ids::counted(0, 3));
    let folder = tempfile::tempdir().unwrap();
    for format in ALL {
        let export = |side| Export { vectors: &vectors, side, ids: &ids }.write(format, &folder.path().join("v"));
        assert!(export(Side::Left).is_ok());
        assert!(matches!(export(Side::Right), Err(ExportError::NoIds { rows: 4, ids: 3 })));
        assert_eq!(export(Side::Both).is_ok(), format == Format::Npz);
    }
}

#[test]
fn only_files_are_replaced() {
    let (vectors, ids) = (vectors(1, 1, 1), Ids::counted(0, 1));
    let folder = tempfile::tempdir().unwrap();
    let export = Export { vectors: &vectors, side: Side::Left, ids: &ids };
    let error = export.write(Format::Csv, folder.path()).unwrap_err();
    assert!(error.to_string().contains("is no file"), "{error}");
    let path = folder.path().join("deep/er/v.csv");
    for _ in 0..2 {
        export.write(Format::Csv, &path).unwrap();
    }
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file stays");
    #[cfg(unix)]
    {
        let link = folder.path().join("link.csv");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        fs::write(&path, "").unwrap();
        export.write(Format::Csv, &link).unwrap();
        assert!(link.is_symlink() && !fs::read(&path).unwrap().is_empty(), "a link is followed");
    }
}

/// Catches arrays whose every element is as wide as the longest id: one id of 50,000 characters
/// among 3,000 made 600 MB.
#[test]
fn one_long_id_does_not_widen_all_others() {
    let long = "x".repeat(50_000);
    let ids = Ids::names((0..3_000).map(|n| if n == 7 { long.clone() } else { format!("n{n}") }));
    let vectors = vectors(3_000, 3_000, 1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npz");
    Export { vectors: &vectors, side: Side::Left, ids: &ids }.write(Format::Npz, &path).unwrap();
    let size = fs::metadata(&path).unwrap().len();
    assert!(size < 200_000, "{size} bytes");
    let mut archive = zip::ZipArchive::new(fs::File::open(&path).unwrap()).unwrap();
    let mut member = |name: &str| {
        let mut bytes = Vec::new();
        io::copy(&mut archive.by_name(name).unwrap(), &mut bytes).unwrap();
        io::Cursor::new(bytes)
    };
    let text: Vec<u8> = npyz::NpyFile::new(member("ids_utf8.npy")).unwrap().into_vec().unwrap();
    let offsets: Vec<i64> = npyz::NpyFile::new(member("ids_offsets.npy")).unwrap().into_vec().unwrap();
    let found = offsets.windows(2).map(|ends| &text[ends[0] as usize..ends[1] as usize]);
    assert!(found.eq(ids.iter().map(|id| id.as_bytes().to_vec())));

    // Ids of ordinary lengths are an array of text, as ever.
    let (ids, vectors) = (Ids::names(["ann", "a rather long name of one node", "ü"]), self::vectors(3, 3, 1));
    Export { vectors: &vectors, side: Side::Left, ids: &ids }.write(Format::Npz, &path).unwrap();
    let archive = zip::ZipArchive::new(fs::File::open(&path).unwrap()).unwrap();
    let members: Vec<_> = archive.file_names().map(Result::unwrap).collect();
    assert_eq!(members, ["left.npy", "ids.npy"]);
}
