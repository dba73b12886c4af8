//! The product in plain code.

use super::by_tile::Job;
use super::{Start, Term};
use crate::LANES;

/// Runs a job for a block of `groups` lane groups.
pub(super) fn run(job: &Job, groups: usize, y: &mut [f32]) {
    match groups {
        1 => rows::<1>(job, y),
        2 => rows::<2>(job, y),
        3 => rows::<3>(job, y),
        4 => rows::<4>(job, y),
        5 => rows::<5>(job, y),
        6 => rows::<6>(job, y),
        7 => rows::<7>(job, y),
        8 => rows::<8>(job, y),
        _ => unreachable!("a block has one to eight lane groups"),
    }
}

fn rows<const GROUPS: usize>(job: &Job, y: &mut [f32]) {
    let cell = job.cell;
    let overwrite = job.overwrites();
    let (mut next, mut at) = (0, 0);
    for (&row, &count) in cell.rows().iter().zip(cell.counts()) {
        let row = usize::from(row);
        if overwrite {
            (next..row).for_each(|empty| finish::<GROUPS>(job, empty, None, y));
            next = row + 1;
        }
        let mut sum = [[0.0f32; LANES]; GROUPS];
        for entry in at..at + usize::from(count) {
            let column = usize::from(cell.columns()[entry]);
            let picked = &job.x[column * job.stride + job.first..][..GROUPS * LANES];
            let factor = cell.values().map_or(1.0, |v| v[entry]) * job.factors.right.map_or(1.0, |d| d[column]);
            for (s, p) in sum.iter_mut().zip(picked.chunks_exact(LANES)) {
                for lane in 0..LANES {
                    s[lane] += factor * p[lane];
                }
            }
        }
        at += usize::from(count);
        finish::<GROUPS>(job, row, Some(sum), y);
    }
    if overwrite {
        (next..cell.height()).for_each(|empty| finish::<GROUPS>(job, empty, None, y));
    }
}

/// Writes one row of the result: its start, and the scaled sum if there is one.
#[inline]
fn finish<const GROUPS: usize>(job: &Job, row: usize, sum: Option<[[f32; LANES]; GROUPS]>, y: &mut [f32]) {
    let at = row * job.stride + job.first;
    let scale = job.factors.alpha * job.factors.left.map_or(1.0, |d| d[row]);
    let out = &mut y[at..at + GROUPS * LANES];
    match job.start {
        Start::Accumulate => {}
        Start::Zero => out.fill(0.0),
        Start::Add(Term { coefficient, diagonal, panel }) => {
            let factor = coefficient * diagonal.map_or(1.0, |d| d[row]);
            let added = &panel.data()[at..at + GROUPS * LANES];
            out.iter_mut().zip(added).for_each(|(o, a)| *o = factor * a);
        }
    }
    if let Some(sum) = sum {
        out.iter_mut().zip(sum.as_flattened()).for_each(|(o, s)| *o += scale * s);
    }
}
