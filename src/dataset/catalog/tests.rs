use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::*;

#[test]
fn the_entries_are_consistent() {
    let names: HashSet<_> = ENTRIES.iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), 9);
    for entry in ENTRIES {
        assert!(entry.source.starts_with("http") && entry.source.ends_with('/'), "{}", entry.name);
        let paths: HashSet<_> = entry.files.iter().map(|file| file.path).collect();
        assert_eq!(paths.len(), entry.files.len(), "{}", entry.name);
        for file in entry.files {
            assert_eq!(file.size.is_some(), file.sha256.is_some(), "{}", file.path);
            let digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
            assert!(file.sha256.is_none_or(|sum| sum.len() == 64 && sum.chars().all(digit)), "{}", file.path);
        }
        let counts = entry.counts;
        let splits = counts.train.zip(counts.test).map(|(train, test)| train + counts.valid.unwrap_or(0) + test);
        match entry.task {
            Task::LinkPrediction => assert!(splits.is_none_or(|splits| splits == counts.edges), "{}", entry.name),
            Task::NodeClassification => assert!(splits.is_some_and(|splits| splits <= counts.nodes), "{}", entry.name),
        }
    }
}

#[test]
fn no_two_downloads_share_a_path_on_a_mirror() {
    let downloads: Vec<String> = ENTRIES.iter().flat_map(|entry| entry.downloads()).map(|(path, _)| path).collect();
    assert_eq!(downloads.iter().collect::<HashSet<_>>().len(), downloads.len());
    for path in ["ppi/train.txt.npy", "ca-AstroPh/test.neg.txt.npy", "ind.citeseer.test.index", "ddi.zip", "arxiv.zip"]
    {
        assert!(downloads.iter().any(|download| download == path), "{path}");
    }
}

#[test]
fn unknown_names() {
    for (name, expected) in [
        ("pip", Some("ppi")),
        ("PPI", Some("ppi")),
        ("ddi", Some("ogbl-ddi")),
        ("ogbl_ddi", Some("ogbl-ddi")),
        ("arxiv", Some("ogbn-arxiv")),
        ("ca-HepTh", Some("hepth")),
        ("cite-seer", Some("citeseer")),
        ("karate", None),
        ("", None),
    ] {
        let CatalogError::Unknown { nearest, .. } = find(name).unwrap_err() else { panic!("{name}") };
        assert_eq!(nearest, expected, "{name}");
    }
    let message = find("karate").unwrap_err().to_string();
    assert!(message.contains("known are `ppi`, `facebook`"), "{message}");
}

#[test]
fn the_first_folder_that_holds_all_needed_files_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let roots = ["one", "two", "three"].map(|name| folder.path().join(name));
    let entry = find("ppi").unwrap();
    let put = |root: &Path, files: &[File]| {
        fs::create_dir_all(root.join(entry.folder)).unwrap();
        files.iter().for_each(|file| fs::write(root.join(entry.folder).join(file.path), "").unwrap());
    };
    put(&roots[1], &entry.files[..1]);
    let message = locate_among(entry, &roots).unwrap_err().to_string();
    for words in [
        "the files of `ppi` are not here".to_owned(),
        format!("there is no folder {}", roots[0].join("asymproj/ppi").display()),
        format!("{} lacks test.txt.npy, test.neg.txt.npy", roots[1].join("asymproj/ppi").display()),
        "fetch the dataset".to_owned(),
    ] {
        assert!(message.contains(&words), "`{words}` is not in: {message}");
    }
    put(&roots[2], entry.files);
    assert_eq!(locate_among(entry, &roots).unwrap(), roots[2].join("asymproj/ppi"));
    put(&roots[0], entry.files);
    assert_eq!(locate_among(entry, &roots).unwrap(), roots[0].join("asymproj/ppi"));
}

#[test]
fn the_named_folder_is_searched_first() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(search_folders(Some(folder.path()))[0], folder.path());
    assert!(search_folders(None).contains(&"data".into()));
    assert_eq!(target_folder(Some(folder.path())), folder.path());
}

#[test]
fn files_are_compared_with_what_is_on_record() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let known = File::known("file", 3, sum);
    assert_eq!(known.check(&path).unwrap(), Status::Missing);
    assert_eq!(known.check(&path.join("below")).unwrap(), Status::Missing);
    fs::write(&path, "abc").unwrap();
    assert_eq!(known.check(&path).unwrap(), Status::Verified { found_size: 3 });
    assert_eq!(File::unknown("file").check(&path).unwrap(), Status::Unverified { found_size: 3 });
    assert_eq!(known.check(&path.join("below")).unwrap(), Status::Missing);
    fs::write(&path, "abd").unwrap();
    assert!(
        matches!(known.check(&path).unwrap(), Status::WrongSum { found_size: 3, found_sha256 } if found_sha256 != sum)
    );
    fs::write(&path, "abcd").unwrap();
    assert_eq!(known.check(&path).unwrap(), Status::WrongSize { found_size: 4 });
}
