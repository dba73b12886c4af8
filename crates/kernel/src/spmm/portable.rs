//! The product in plain code.

use super::{Job, Start, specialise};
use crate::LANES;

/// Runs a job for a block of `groups` lane groups.
pub(super) fn run(job: &Job, groups: usize, y: &mut [f32]) {
    let (values, right) = (job.cell.values().is_some(), job.factors.right.is_some());
    specialise!(groups, values, right, rows(job, y))
}

fn rows<const GROUPS: usize, const VALUES: bool, const RIGHT: bool>(job: &Job, y: &mut [f32]) {
    let cell = job.cell;
    let overwrite = !matches!(job.start, Start::Accumulate);
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
            let factor = if VALUES { cell.values().map_or(1.0, |v| v[entry]) } else { 1.0 }
                * if RIGHT { job.factors.right.map_or(1.0, |d| d[column]) } else { 1.0 };
            for (s, p) in sum.iter_mut().zip(picked.chunks_exact(LANES)) {
                for lane in 0..LANES {
                    s[lane] += if VALUES || RIGHT { factor * p[lane] } else { p[lane] };
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
        Start::Add { beta, diagonal, panel } => {
            let factor = beta * diagonal.map_or(1.0, |d| d[row]);
            let added = &panel.data()[at..at + GROUPS * LANES];
            out.iter_mut().zip(added).for_each(|(o, a)| *o = factor * a);
        }
    }
    if let Some(sum) = sum {
        out.iter_mut().zip(sum.as_flattened()).for_each(|(o, s)| *o += scale * s);
    }
}
