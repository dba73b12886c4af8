//! Products of wide panels, a few columns at a time.
//!
//! What a product holds beside its panels, and what comes from other processes, is as wide as what is multiplied. Where a panel of all
//! vectors is large that would be the most memory of a run, although blocks on the way are narrow.

use super::options::SvdError;
use crate::engine::{Session, Shard};
use crate::plan::count::panel_bytes;

/// Bytes of a panel that is large. A smaller one is multiplied at once, in less time.
const LARGE: u64 = 1 << 30;
/// Columns at a time of a panel that is.
const COLUMNS: usize = 16;

/// How many columns of a panel are multiplied at a time.
pub(super) fn columns_at_a_time(rows: usize, columns: usize) -> usize {
    if panel_bytes(rows, columns) < LARGE { columns } else { columns.min(COLUMNS) }
}

/// Multiplies a panel by the matrix of a program, a few columns at a time where it is large.
pub(super) fn multiply_wide(session: &mut Session<'_>, program: usize, panel: &Shard) -> Result<Shard, SvdError> {
    let (rows, columns) = (panel.total_rows(), panel.cols());
    let at_a_time = columns_at_a_time(rows, columns).min(session.columns_at_a_time(rows, columns));
    multiply_in_parts(session, program, panel, at_a_time)
}

fn multiply_in_parts(
    session: &mut Session<'_>,
    program: usize,
    panel: &Shard,
    at_a_time: usize,
) -> Result<Shard, SvdError> {
    let columns = panel.cols();
    if at_a_time >= columns {
        return Ok(session.multiply(program, panel)?);
    }
    let mut images = Vec::with_capacity(columns.div_ceil(at_a_time));
    for first in (0..columns).step_by(at_a_time) {
        let part = session.columns(panel, first..columns.min(first + at_a_time))?;
        images.push(session.multiply(program, &part)?);
    }
    Ok(session.hstack(&images.iter().collect::<Vec<_>>())?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::{Cluster, run};
    use crate::kernel::random::stream;
    use crate::matrix::Matrix;
    use crate::plan::{Program, Side};

    #[test]
    fn parts_have_the_bits_of_the_whole() {
        const ROWS: usize = 300;
        let ring = (0..ROWS as u32).flat_map(|row| [(row, (row + 1) % ROWS as u32), (row, (row * 7) % ROWS as u32)]);
        let ring = crate::graph::Sparse::from_triplets(ROWS, ROWS, ring.collect(), None).unwrap();
        let ring = Matrix::sparse("A", Arc::new(ring));
        let matrix = &ring * &ring - Matrix::ones(ROWS, ROWS) * 0.5;
        for workers in [1, 2, 3] {
            let program = Arc::new(Program::compile(&matrix, Side::Plain));
            let checked = run(Cluster::threads(workers), vec![program], |session| {
                let panel = session.random_normal(ROWS, 37, 1, stream::SYNTHETIC)?;
                let whole = session.multiply(0, &panel)?;
                for at_a_time in [1, 8, 16, 36, 37, 100] {
                    let parts = multiply_in_parts(session, 0, &panel, at_a_time)?;
                    assert_eq!(parts.panel().data(), whole.panel().data(), "{at_a_time}");
                }
                Ok(())
            });
            checked.unwrap_or_else(|error: SvdError| panic!("{error}"));
        }
        assert_eq!(
            [(1 << 20, 32), (1 << 23, 32), (1 << 23, 8)].map(|(rows, columns)| columns_at_a_time(rows, columns)),
            [32, 16, 8]
        );
    }
}
