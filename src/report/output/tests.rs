use npyz::NpyFile;

use super::*;
use crate::report::metrics;

fn embedding() -> Embedding {
    Embedding {
        nodes: 3,
        rank: 2,
        left: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        right: vec![-1.0, -2.0, -3.0, -4.0, -5.0, -6.0],
        singular_values: vec![9.0, 4.0],
        relative_residuals: vec![0.1, 0.2],
        looks: Vec::new(),
        completeness: None,
        operator_columns: 10,
        iterations: 1,
        energy: None,
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_run_leaves_five_files_and_nothing_else() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("a/b");
    let folder = Folder::prepare(&path).unwrap();
    assert!(names(&path).is_empty());
    let (metrics, embedding) = (metrics::example(), embedding());
    let ids = Ids::names(["x", "ÿ", "z"]);
    // The second time over the files of the first.
    for _ in 0..2 {
        folder
            .write(Results { metrics: &metrics, ids: Some(&ids), files: ResultFile::of_embedding(&embedding) })
            .unwrap();
        assert_eq!(names(&path), [IDS, LEFT, METRICS, RIGHT, SINGULAR_VALUES]);
    }
    assert_eq!(fs::read_to_string(path.join(IDS)).unwrap(), "x\nÿ\nz\n");
    assert_eq!(fs::read_to_string(path.join(METRICS)).unwrap(), metrics.to_json().unwrap());

    let left = NpyFile::new(io::BufReader::new(File::open(path.join(LEFT)).unwrap())).unwrap();
    assert_eq!((left.shape(), left.order()), (&[3, 2][..], npyz::Order::C));
    assert_eq!(left.into_vec::<f32>().unwrap(), embedding.left);
    let values = NpyFile::new(io::BufReader::new(File::open(path.join(SINGULAR_VALUES)).unwrap())).unwrap();
    assert_eq!(values.shape(), [2]);
    assert_eq!(values.into_vec::<f32>().unwrap(), embedding.singular_values);
}

#[test]
fn a_run_clears_away_what_an_earlier_one_left() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::prepare(temporary.path()).unwrap();
    let (metrics, embedding, ids) = (metrics::example(), embedding(), Ids::default());
    folder.write(Results { metrics: &metrics, ids: Some(&ids), files: ResultFile::of_embedding(&embedding) }).unwrap();
    fs::write(temporary.path().join("notes.txt"), "mine").unwrap();
    folder.write(Results { metrics: &metrics, ids: Some(&ids), files: vec![] }).unwrap();
    assert_eq!(names(temporary.path()), [IDS, METRICS, "notes.txt"]);
}

#[test]
fn a_file_that_fails_leaves_no_trace() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::prepare(temporary.path()).unwrap();
    fs::write(temporary.path().join(LEFT), "earlier").unwrap();
    let full = |file: &mut BufWriter<&File>| {
        file.write_all(b"half of it")?;
        Err(io::ErrorKind::StorageFull.into())
    };
    let error = folder.stage(LEFT, full).err().unwrap();
    assert!(matches!(&error, OutputError::File { path, .. } if path.ends_with(LEFT)), "{error}");
    assert_eq!(names(temporary.path()), [LEFT]);
    assert_eq!(fs::read_to_string(temporary.path().join(LEFT)).unwrap(), "earlier");
}

#[test]
fn a_folder_in_the_way_is_noticed_before_anything_is_computed() {
    let temporary = tempfile::tempdir().unwrap();
    fs::create_dir(temporary.path().join(IDS)).unwrap();
    let error = Folder::prepare(temporary.path()).unwrap_err();
    assert!(matches!(&error, OutputError::Occupied { path } if path.ends_with(IDS)), "{error}");
}

#[test]
#[cfg(unix)]
fn others_may_read_the_results() {
    use std::os::unix::fs::PermissionsExt;
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::prepare(temporary.path()).unwrap();
    let (metrics, embedding) = (metrics::example(), embedding());
    let files = ResultFile::of_embedding(&embedding);
    folder.write(Results { metrics: &metrics, ids: Some(&Ids::default()), files }).unwrap();
    fs::write(temporary.path().join("ordinary"), "").unwrap();
    let mode = |name| fs::metadata(temporary.path().join(name)).unwrap().permissions().mode();
    assert_eq!(mode(METRICS), mode("ordinary"));
}

/// Catches files that a killed run leaves for ever.
#[test]
fn what_a_killed_run_was_writing_is_removed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let names = [".isvd-aB3dE9.tmp", ".isvd-notes", "mine.tmp"];
    names.iter().for_each(|name| fs::write(folder.path().join(name), "half").unwrap());
    Folder::prepare(folder.path()).unwrap();
    assert_eq!(names.map(|name| folder.path().join(name).exists()), [false, true, true]);
}
