//! Measures the seconds of each step of programs.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{Cluster, EngineError, run};
use crate::kernel::random::stream;
use crate::plan::Program;

/// The time of a product.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Seconds of every step, on the worker that took longest.
    pub steps: Vec<f64>,
    /// Seconds from the input to the output.
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
    let numbered = programs.to_vec();
    let all = run(cluster, programs.to_vec(), move |session| {
        let mut measured = Vec::new();
        for (number, program) in numbered.iter().enumerate() {
            let panel = session.random_normal(program.input_rows(), columns, 1, stream::START_BLOCK)?;
            session.multiply_by_rows(number, panel.clone())?;
            for _ in 0..rounds {
                let start = Instant::now();
                drop(session.multiply_by_rows(number, panel.clone())?);
                measured.push(Measured { total: start.elapsed().as_secs_f64(), steps: session.step_seconds(number) });
            }
        }
        session.gather_values(&measured)
    })?;
    let fastest = |number: usize| {
        let mut fastest: Option<Measured> = None;
        for round in number * rounds..(number + 1) * rounds {
            let mut slowest = all[0][round].clone();
            all.iter().for_each(|own| merge(&mut slowest.steps, &own[round].steps, f64::max));
            fastest = Some(match fastest {
                None => slowest,
                Some(mut fastest) => {
                    merge(&mut fastest.steps, &slowest.steps, f64::min);
                    Measured { total: fastest.total.min(slowest.total), ..fastest }
                }
            });
        }
        fastest.unwrap_or_default()
    };
    Ok((0..programs.len()).map(fastest).collect())
}

fn merge(seconds: &mut [f64], others: &[f64], choose: fn(f64, f64) -> f64) {
    seconds.iter_mut().zip(others).for_each(|(one, &other)| *one = choose(*one, other));
}
