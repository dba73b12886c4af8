//! Small factorisations that one worker computes and all workers use.

use super::options::SvdError;
use crate::engine::Session;
use crate::kernel::factor::FactorError;

/// What `compute` gives, at most `most` numbers: one worker computes, and the others receive its bits.
/// Another kind of machine may round differently, and eight workers on one core would take eight times
/// as long. An error is found again by every worker.
pub(super) fn compute_once(
    session: &mut Session<'_>,
    most: usize,
    mut compute: impl FnMut() -> Result<Vec<f64>, FactorError>,
) -> Result<Vec<f64>, SvdError> {
    // The first number says how many follow, counted from one.
    let mut numbers = session.sum_over(1, 1 + most, |_, numbers| {
        if let Ok(found) = compute() {
            numbers[0] = found.len() as f64 + 1.0;
            numbers[1..=found.len()].copy_from_slice(&found);
        }
    })?;
    if numbers[0] == 0.0 {
        return Ok(compute()?);
    }
    numbers.truncate(numbers[0] as usize);
    numbers.remove(0);
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Cluster, run};

    /// Catches numbers that are cut off, and an error that only one worker sees.
    #[test]
    fn all_workers_have_the_numbers_or_the_error_of_one() {
        let failure = FactorError::NoConvergence { rows: 2, cols: 2 };
        for workers in [1, 2, 3] {
            let checked: Result<(), SvdError> = run(Cluster::threads(workers), Vec::new(), move |session| {
                assert_eq!(compute_once(session, 4, || Ok(vec![0.0, -2.5]))?, [0.0, -2.5]);
                assert!(compute_once(session, 4, || Ok(Vec::new()))?.is_empty());
                let failed = compute_once(session, 4, || Err(failure));
                assert_eq!(failed, Err(SvdError::Factor(failure)));
                Ok(())
            });
            checked.unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
