//! Questions for neighbours, answered together.
//!
//! Comparing a node with all others reads all vectors; comparing many nodes at once reads them
//! once. So a question that comes while others are answered waits, and is answered with all that
//! came meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::model::neighbours::{Neighbour, Neighbours};

#[derive(Debug)]
pub(super) struct Batch {
    neighbours: Neighbours,
    threads: usize,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<Asked>,
    is_worked_on: bool,
}

#[derive(Debug)]
struct Asked {
    row: u32,
    top: usize,
    answer: oneshot::Sender<Vec<Neighbour>>,
}

impl Batch {
    pub fn new(neighbours: Neighbours, threads: usize) -> Arc<Self> {
        Arc::new(Self { neighbours, threads, queue: Mutex::default() })
    }

    /// The nearest of a row; `None` if they could not be computed.
    pub async fn of(self: &Arc<Self>, row: u32, top: usize) -> Option<Vec<Neighbour>> {
        let (answer, found) = oneshot::channel();
        let is_first = {
            let mut queue = self.queue();
            queue.waiting.push(Asked { row, top, answer });
            !std::mem::replace(&mut queue.is_worked_on, true)
        };
        if is_first {
            let batch = self.clone();
            tokio::task::spawn_blocking(move || batch.work());
        }
        found.await.ok()
    }

    /// Answers until no question waits.
    fn work(&self) {
        let _turn = Turn(self);
        loop {
            let asked = {
                let mut queue = self.queue();
                // Some clients have gone meanwhile.
                let asked: Vec<Asked> = queue.waiting.drain(..).filter(|asked| !asked.answer.is_closed()).collect();
                if asked.is_empty() {
                    queue.is_worked_on = false;
                    return;
                }
                asked
            };
            let rows: Vec<u32> = asked.iter().map(|asked| asked.row).collect();
            let top = asked.iter().map(|asked| asked.top).max().unwrap_or(0);
            let found = self.neighbours.of(&rows, top, self.threads);
            for (Asked { top, answer, .. }, mut found) in asked.into_iter().zip(found) {
                found.truncate(top);
                let _ = answer.send(found);
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// If the work panics, waiting questions fail, and the next one starts the work again.
struct Turn<'a>(&'a Batch);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut queue = self.0.queue();
            queue.waiting.clear();
            queue.is_worked_on = false;
        }
    }
}
