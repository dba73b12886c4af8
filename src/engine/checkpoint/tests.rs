//! A synthetic stage, interrupted at every step and resumed by other workers.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::engine::{Cluster, EngineError, Transport, run};
use crate::kernel::random::stream;
use crate::matrix::Dense;

const STEPS: usize = 5;
const COLS: usize = 11;

/// A panel that is multiplied repeatedly, and a number with many digits.
#[derive(Debug, PartialEq)]
struct Found {
    panel: Dense,
    number: f64,
}

impl StoredResult for Found {
    type Numbers = f64;

    fn numbers(&self) -> f64 {
        self.number
    }

    fn panels(&self) -> Vec<&Dense> {
        vec![&self.panel]
    }

    fn from_parts(number: f64, panels: Vec<Dense>) -> Option<Self> {
        Some(Self { panel: panels.into_iter().next()?, number })
    }
}

type Progress = dyn Fn(usize) + Send + Sync;

/// Asks the work to end in every step.
fn asking(interrupt: &Interrupt) -> Arc<Progress> {
    let interrupt = interrupt.clone();
    Arc::new(move |_| assert!(interrupt.ask(), "the work will look"))
}

/// Does the work; tells of every step that is begun.
fn work(monitor: Monitor<Progress>, cluster: Cluster) -> Result<Found, EngineError> {
    monitor.once("made up", cluster, || {
        let monitor = monitor.clone();
        run(cluster, Vec::new(), move |session| {
            let mut log = CheckpointLog::new(&monitor, "made up");
            let first = session.random_normal(700, COLS, 1, stream::SYNTHETIC)?;
            let (mut step, mut number) = (0, 0.1f64);
            let mut panels = vec![first];
            if let Some(((steps, before), kept)) = log.resume(session)? {
                (step, number, panels) = (steps, before, kept);
            }
            while step < STEPS {
                let named = panels.iter().enumerate().map(|(place, panel)| (format!("panel-{place}"), panel));
                log.keep(session, || State { numbers: (step, number), panels: named.collect() })?;
                if session.worker() == 0 {
                    monitor.progress()(step);
                }
                let rotation: Vec<f32> = (0..COLS * COLS).map(|place| (place as f32).sin()).collect();
                let next = session.times_small(&panels[step], &rotation, COLS)?;
                panels.push(next);
                (step, number) = (step + 1, (number * 1e300).sin());
            }
            Ok(Found { panel: session.collect(&panels[STEPS])?.unwrap_or_default(), number })
        })
    })
}

fn writer(folder: &Path, resume: bool, interrupt: &Interrupt, said: &Arc<Mutex<Vec<Notice>>>) -> Arc<CheckpointWriter> {
    kept(folder, Every::Time(Duration::from_secs(1000)), resume, interrupt, said)
}

fn kept(
    folder: &Path,
    every: Every,
    resume: bool,
    interrupt: &Interrupt,
    said: &Arc<Mutex<Vec<Notice>>>,
) -> Arc<CheckpointWriter> {
    let rhythm = CheckpointPolicy { every: Some(every), resume };
    let said = said.clone();
    CheckpointWriter::new(Some(folder), Identity::new(), rhythm, interrupt.clone(), move |notice| {
        said.lock().unwrap().push(notice)
    })
    .unwrap()
}

fn clusters() -> impl Iterator<Item = Cluster> + Clone {
    let transports = |workers| [Transport::Pointers, Transport::Bytes].map(|transport| (workers, transport));
    [1, 2, 3]
        .into_iter()
        .flat_map(transports)
        .map(|(workers, transport)| Cluster { transport, ..Cluster::threads(workers) })
}

#[test]
fn work_that_is_interrupted_at_every_step_finds_the_same() {
    let expected = work(Monitor::new(Arc::new(|_| ())), Cluster::threads(1)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let said = Arc::default();
    let mut clusters = clusters().cycle();
    for attempt in 0..STEPS - 1 {
        let interrupt = Interrupt::default();
        let writer = writer(folder.path(), true, &interrupt, &said);
        let asked = interrupt.clone();
        // Asked to end in its first step, the stage ends before the second.
        let progress: Arc<Progress> = Arc::new(move |step| {
            assert_eq!(step, attempt);
            assert!(asked.ask(), "the work will look");
        });
        let error = work(writer.watch(progress), clusters.next().unwrap()).unwrap_err();
        assert_eq!(error, EngineError::Interrupted);
        assert!(interrupt.is_met());
    }
    assert!(said.lock().unwrap().iter().skip(1).all(|notice| matches!(notice, Notice::Resumed { .. })));
    // In its last step it completes, and its result is stored.
    let interrupt = Interrupt::default();
    let last = writer(folder.path(), true, &interrupt, &said);
    let error = work(last.watch(asking(&interrupt)), clusters.next().unwrap()).unwrap_err();
    assert_eq!(error, EngineError::Interrupted);
    for cluster in clusters.take(6) {
        let writer = writer(folder.path(), true, &Interrupt::default(), &said);
        let unasked = |_| panic!("what was found is read");
        assert_eq!(work(writer.watch(Arc::new(unasked)), cluster).unwrap(), expected, "{cluster:?}");
    }
    last.finish();
    assert!(!is_there(folder.path()) && !folder.path().exists(), "nothing is left");
}

/// Five iterations; a checkpoint is possible before each.
#[test]
fn checkpoints_come_after_so_many_iterations() {
    for (iterations, expected) in [(1, [1, 2, 3, 4]), (2, [0, 1, 1, 2]), (3, [0, 0, 1, 1]), (5, [0; 4])] {
        // The final count must not depend on the workers.
        for cluster in clusters() {
            let folder = tempfile::tempdir().unwrap();
            let every = Every::Iterations(iterations.try_into().unwrap());
            let seen: Arc<Mutex<Vec<u64>>> = Arc::default();
            let (path, log) = (folder.path().to_owned(), seen.clone());
            let progress: Arc<Progress> = Arc::new(move |_| log.lock().unwrap().push(newest(&path)));
            let writer = kept(folder.path(), every, false, &Interrupt::default(), &Arc::default());
            work(writer.watch(progress), cluster).unwrap();
            assert_eq!(seen.lock().unwrap()[1..], expected, "every {iterations}, {cluster:?}");
        }
    }
}

/// The number of the newest checkpoint; 0 if there is none.
fn newest(folder: &Path) -> u64 {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    names.filter_map(|path| path.file_stem()?.to_str()?.parse().ok()).max().unwrap_or(0)
}

#[test]
fn what_was_kept_of_other_work_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (said, interrupt) = (Arc::default(), Interrupt::default());
    let first = writer(folder.path(), false, &interrupt, &said);
    work(first.watch(asking(&interrupt)), Cluster::threads(2)).unwrap_err();
    let second = writer(folder.path(), true, &Interrupt::default(), &said);
    let monitor: Monitor<Progress> = second.watch(Arc::new(|_| ()));
    let resumed = run(Cluster::threads(2), Vec::new(), move |session| {
        CheckpointLog::new(&monitor, "something else").resume::<(usize, f64)>(session)
    });
    assert!(resumed.unwrap_or_else(|error: EngineError| panic!("{error}")).is_none());
    assert!(said.lock().unwrap().contains(&Notice::OtherWork { work: 0 }));
}
