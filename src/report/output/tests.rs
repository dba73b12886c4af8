use npyz::NpyFile;

use super::*;
use crate::engine::{Cluster, Sharded};
use crate::experiment::metrics;
use crate::svd::Certificate;

const LOCK: &str = ".isvd.lock";

fn embedding() -> Embedding {
    Embedding {
        nodes: 3,
        rank: 2,
        left: Sharded::whole(3, 2, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        right: Sharded::whole(3, 2, vec![-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]),
        singular_values: vec![9.0, 4.0],
        certificate: Certificate::default(),
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
    assert_eq!(names(&path), [LOCK]);
    let (metrics, embedding) = (metrics::example(), embedding());
    let ids = Ids::names(["x", "ÿ", "z"]);
    // The second time over the files of the first.
    for _ in 0..2 {
        let files = ResultFile::of_embedding(&embedding, Cluster::threads(1));
        folder.write(Results { metrics: &metrics, ids: Some(&ids), files }, &full_disk::nothing_to_free).unwrap();
        assert_eq!(names(&path), [LOCK, IDS, LEFT, METRICS, RIGHT, SINGULAR_VALUES]);
    }
    drop(folder);
    assert_eq!(names(&path), [IDS, LEFT, METRICS, RIGHT, SINGULAR_VALUES]);
    assert_eq!(fs::read_to_string(path.join(IDS)).unwrap(), "x\nÿ\nz\n");
    assert_eq!(fs::read_to_string(path.join(METRICS)).unwrap(), metrics.to_json().unwrap());

    let left = NpyFile::new(io::BufReader::new(File::open(path.join(LEFT)).unwrap())).unwrap();
    assert_eq!((left.shape(), left.order()), (&[3, 2][..], npyz::Order::C));
    assert_eq!(left.into_vec::<f32>().unwrap(), embedding.left.data());
    let values = NpyFile::new(io::BufReader::new(File::open(path.join(SINGULAR_VALUES)).unwrap())).unwrap();
    assert_eq!(values.shape(), [2]);
    assert_eq!(values.into_vec::<f32>().unwrap(), embedding.singular_values);
}

#[test]
fn a_run_clears_away_what_an_earlier_one_left() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::prepare(temporary.path()).unwrap();
    let (metrics, embedding, ids) = (metrics::example(), embedding(), Ids::default());
    let files = ResultFile::of_embedding(&embedding, Cluster::threads(1));
    folder.write(Results { metrics: &metrics, ids: Some(&ids), files }, &full_disk::nothing_to_free).unwrap();
    fs::write(temporary.path().join("notes.txt"), "mine").unwrap();
    folder.write(Results { metrics: &metrics, ids: Some(&ids), files: vec![] }, &full_disk::nothing_to_free).unwrap();
    assert_eq!(names(temporary.path()), [LOCK, IDS, METRICS, "notes.txt"]);
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
    assert_eq!(names(temporary.path()), [LOCK, LEFT]);
    let files = vec![ResultFile::new(LEFT, |_| Err(io::ErrorKind::StorageFull.into()))];
    let metrics = metrics::example();
    let error = folder.write(Results { metrics: &metrics, ids: None, files }, &full_disk::nothing_to_free).unwrap_err();
    assert!(matches!(&error, OutputError::File { path, .. } if path.ends_with(LEFT)), "{error}");
    assert_eq!(names(temporary.path()), [LOCK, LEFT]);
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
    let files = ResultFile::of_embedding(&embedding, Cluster::threads(1));
    folder
        .write(Results { metrics: &metrics, ids: Some(&Ids::default()), files }, &full_disk::nothing_to_free)
        .unwrap();
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

/// The files of a result in a folder, by name, without what is not for users.
fn contents(folder: &Path) -> Vec<(String, String)> {
    let shown = names(folder).into_iter().filter(|name| !name.starts_with('.'));
    shown.filter_map(|name| Some((fs::read_to_string(folder.join(&name)).ok()?, name))).map(|(a, b)| (b, a)).collect()
}

/// Catches moments at which neither the old nor the new result is whole. A process that is killed
/// is a panic here, after which nothing is cleaned up.
#[test]
#[cfg(unix)]
fn at_every_moment_of_a_swap_the_folder_holds_the_old_or_the_new_result() {
    assert_swaps_in_one_step(&[LEFT, RIGHT, IDS, REPORT], 20);
    // The first result of a folder.
    assert_swaps_in_one_step(&[], 12);
}

#[cfg(unix)]
fn assert_swaps_in_one_step(old: &[&'static str], least_moments: usize) {
    use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
    let new = &[LEFT, RIGHT, SINGULAR_VALUES][..];
    let metrics = metrics::example();
    let write = |folder: &Folder, names: &[&'static str], what: &'static str, step: &mut dyn FnMut()| {
        let files = names.iter().map(|name| ResultFile::new(name, move |file| file.write_all(what.as_bytes())));
        folder.write_in_steps(
            Results { metrics: &metrics, ids: None, files: files.collect() },
            &full_disk::nothing_to_free,
            step,
        )
    };
    let hook = take_hook();
    set_hook(Box::new(|_| ()));
    let mut seen = Vec::new();
    for moment in 0.. {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path();
        fs::write(path.join("notes.txt"), "mine").unwrap();
        let folder = Folder::prepare(path).unwrap();
        if !old.is_empty() {
            write(&folder, old, "old", &mut || ()).unwrap();
        }
        let before = contents(path);
        let mut count = 0;
        let die = &mut || {
            assert!(count < moment, "killed");
            count += 1;
        };
        let is_killed = catch_unwind(AssertUnwindSafe(|| write(&folder, new, "new", die))).is_err();
        let found = contents(path);
        drop(folder);
        // Another kill while the next run tidies up changes nothing, nor does the rest of it.
        for moment in 0..30 {
            let mut count = 0;
            let tidied = catch_unwind(AssertUnwindSafe(|| {
                settle(path, &all_names(), &mut || {
                    assert!(count < moment, "killed");
                    count += 1;
                })
            }));
            assert!(contents(path) == found, "killed at {moment} after a kill");
            if tidied.is_ok() {
                break;
            }
        }
        let folder = Folder::prepare(path).unwrap();
        assert!(contents(path) == found);
        let shown = names(path);
        assert_eq!(shown.iter().filter(|name| name.starts_with('.')).collect::<Vec<_>>(), [LOCK], "{shown:?}");
        assert!(shown.iter().all(|name| !path.join(name).is_symlink()), "{shown:?}");
        seen.push(found == before);
        write(&folder, new, "new", &mut || ()).unwrap();
        assert!(seen[moment] || found == contents(path), "killed at {moment}: {found:?}");
        if !is_killed {
            break;
        }
    }
    set_hook(hook);
    // First the old one, and from some moment on the new one.
    assert!(seen.is_sorted_by_key(|is_old| !is_old) && seen[0] && !seen[seen.len() - 1], "{seen:?}");
    assert!(seen.len() > least_moments, "{seen:?}");
}

/// Catches a link of the user's to where a file really is that leads nowhere while it is replaced.
#[test]
#[cfg(unix)]
fn a_name_that_a_user_made_a_link_becomes_a_file() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path();
    fs::write(path.join("elsewhere"), "old").unwrap();
    std::os::unix::fs::symlink("elsewhere", path.join(LEFT)).unwrap();
    let folder = Folder::prepare(path).unwrap();
    let files = vec![ResultFile::new(LEFT, |file| file.write_all(b"new"))];
    folder.write(Results { metrics: &metrics::example(), ids: None, files }, &full_disk::nothing_to_free).unwrap();
    assert!(!path.join(LEFT).is_symlink());
    assert_eq!(["elsewhere", LEFT].map(|name| fs::read_to_string(path.join(name)).unwrap()), ["old", "new"]);
}

#[test]
fn a_folder_has_one_run_at_a_time() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = Folder::prepare(temporary.path()).unwrap();
    let other = folder.clone();
    drop(folder);
    let error = Folder::prepare(temporary.path()).unwrap_err();
    let own = std::process::id();
    assert!(matches!(error, OutputError::InUse { process: Some(process), .. } if process == own), "{error}");
    assert!(error.to_string().contains(&format!("another run, process {own}, writes into")), "{error}");
    Folder::shared(temporary.path()).unwrap();
    drop(other);
    // What is left of the lock of a dead process is in nobody's way.
    fs::write(temporary.path().join(LOCK), "4194304\n").unwrap();
    Folder::prepare(temporary.path()).unwrap();
}

/// Catches a full disk that costs the results while there is something to remove.
#[test]
fn space_is_freed_until_there_is_none_to_free() {
    use std::cell::{Cell, RefCell};
    struct Disk<'a>(&'a Cell<usize>);
    impl Write for Disk<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.get().min(bytes.len()) {
                0 => Err(io::ErrorKind::StorageFull.into()),
                some => {
                    self.0.set(self.0.get() - some);
                    Ok(some)
                }
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (free, asked) = (Cell::new(30), RefCell::new(Vec::new()));
    let free_space = |needed: Space| {
        asked.borrow_mut().push(needed.bytes);
        free.set(50);
        asked.borrow().len() < 3
    };
    let mut writer = RetryingWriter::new(Disk(&free), Space { bytes: 150, files: 1 }, &free_space);
    writer.write_all(&[1; 120]).unwrap();
    assert_eq!(*asked.borrow(), [120, 70]);
    free.set(0);
    assert!(writer.write_all(&[1; 10]).is_err());
}
