//! Measures the steps of programs.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::{Cluster, EngineError, run};
use crate::kernel::random::stream;
use crate::plan::Program;

/// How long a product took.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured {
    /// Seconds of every step, on the worker that took longest.
    pub steps: Vec<f64>,
    /// Seconds from the input to the answer.
    pub total: f64,
}

/// Multiplies a random panel of `columns` columns by the matrix of each program, and measures its
/// steps: the minimum of `rounds` products after a first one, since other load on the machine only
/// adds time.
pub fn analyze(
    programs: &[Arc<Program>],
    columns: usize,
    rounds: usize,
    cluster: Cluster,
) -> Result<Vec<Measured>, EngineError> {
    let slowest = programs.iter().map(|program| vec![vec![0f64; program.steps().len()]; rounds]).collect();
    let slowest: Arc<Mutex<Vec<Vec<Vec<f64>>>>> = Arc::new(Mutex::new(slowest));
    let (shared, numbered) = (slowest.clone(), programs.to_vec());
    let totals: Vec<Vec<f64>> = run(cluster, programs.to_vec(), move |session| {
        let mut totals = Vec::new();
        for (number, program) in numbered.iter().enumerate() {
            let panel = session.random_normal(program.input_rows(), columns, 1, stream::START_BLOCK)?;
            session.multiply_by_rows(number, panel.clone())?;
            let mut seconds = Vec::new();
            for round in 0..rounds {
                let start = Instant::now();
                let answer = session.multiply_by_rows(number, panel.clone())?;
                drop(answer);
                seconds.push(start.elapsed().as_secs_f64());
                let steps = session.step_seconds(number);
                let mut slowest = shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                let slowest = &mut slowest[number][round];
                slowest.iter_mut().zip(steps).for_each(|(slowest, own)| *slowest = slowest.max(own));
            }
            totals.push(seconds);
        }
        // A barrier: all workers have noted their times before the first returns.
        session.sum_over(1, 1, |_, _| ())?;
        Ok::<_, EngineError>(totals)
    })?;
    let slowest = std::mem::take(&mut *slowest.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    let measured = slowest.into_iter().zip(totals).map(|(rounds, totals)| {
        let steps = rounds.first().map_or(0, Vec::len);
        let of_step = |step: usize| least(rounds.iter().map(|seconds| seconds[step]));
        Measured { steps: (0..steps).map(of_step).collect(), total: least(totals.into_iter()) }
    });
    Ok(measured.collect())
}

fn least(seconds: impl Iterator<Item = f64>) -> f64 {
    seconds.reduce(f64::min).unwrap_or(0.0)
}
