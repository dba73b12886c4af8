//! Checkpoints of a synthetic stage.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::engine::{Cluster, EngineError, Sharded, Transport, run};
use crate::kernel::random::stream;
use crate::matrix::Dense;

const STEPS: usize = 5;
const COLS: usize = 11;

/// A panel that is multiplied in every step, and a number.
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

    fn panels(&self) -> Vec<Sharded> {
        vec![self.panel.clone().into()]
    }

    fn from_parts(number: f64, panels: Vec<Sharded>, cluster: Cluster) -> Result<Option<Self>, EngineError> {
        let Some(panel) = panels.into_iter().next() else { return Ok(None) };
        Ok(Some(Self { panel: panel.gathered(cluster)?, number }))
    }
}

type Progress = dyn Fn(usize) + Send + Sync;

/// Asks the stage to end in every step.
fn asking(interrupt: &Interrupt) -> Arc<Progress> {
    let interrupt = interrupt.clone();
    Arc::new(move |_| assert!(interrupt.ask(), "the stage checks for it"))
}

/// Runs the stage, and reports every step at its beginning.
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

fn writer(
    folder: &Path,
    resume: bool,
    interrupt: &Interrupt,
    notices: &Arc<Mutex<Vec<Notice>>>,
) -> Arc<CheckpointWriter> {
    kept(folder, Every::Time(Duration::from_secs(1000)), resume, interrupt, notices)
}

fn kept(
    folder: &Path,
    every: Every,
    resume: bool,
    interrupt: &Interrupt,
    notices: &Arc<Mutex<Vec<Notice>>>,
) -> Arc<CheckpointWriter> {
    let policy = CheckpointPolicy { every: Some(every), resume };
    let notices = notices.clone();
    CheckpointWriter::new(Some(folder), Identity::new(), policy, interrupt.clone(), move |notice| {
        notices.lock().unwrap().push(notice)
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

/// Five iterations, with a possible checkpoint before each.
#[test]
fn a_checkpoint_is_written_after_a_number_of_iterations() {
    for (iterations, expected) in [(1, [1, 2, 3, 4]), (2, [0, 1, 1, 2]), (3, [0, 0, 1, 1]), (5, [0; 4])] {
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
fn a_checkpoint_of_another_problem_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let (notices, interrupt) = (Arc::default(), Interrupt::default());
    let first = writer(folder.path(), false, &interrupt, &notices);
    work(first.watch(asking(&interrupt)), Cluster::threads(2)).unwrap_err();
    let second = writer(folder.path(), true, &Interrupt::default(), &notices);
    let monitor: Monitor<Progress> = second.watch(Arc::new(|_| ()));
    let resumed = run(Cluster::threads(2), Vec::new(), move |session| {
        CheckpointLog::new(&monitor, "something else").resume::<(usize, f64)>(session)
    });
    assert!(resumed.unwrap_or_else(|error: EngineError| panic!("{error}")).is_none());
    assert!(notices.lock().unwrap().contains(&Notice::OtherWork { work: 0 }));
}
