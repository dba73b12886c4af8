//! Row-wise maps from panels to panels.

use std::ops::Range;

use super::{EngineError, Session, Shard};
use crate::kernel::panel::{Panel, PanelMut};

impl Session<'_> {
    /// A panel of `cols` columns computed tile by tile from others, without communication. `f` gets
    /// the row numbers of a tile, these rows of each input, and the rows to fill, with their
    /// padding.
    ///
    /// # Panics
    /// If there is no input, or the inputs differ in their total rows.
    pub fn map_tiles(
        &mut self,
        inputs: &[&Shard],
        cols: usize,
        mut f: impl FnMut(Range<usize>, &[Panel<'_>], PanelMut<'_>),
    ) -> Result<Shard, EngineError> {
        let total_rows = inputs.first().expect("a map has an input").total_rows();
        assert!(inputs.iter().all(|input| input.total_rows() == total_rows), "all inputs must have the same rows");
        let mut panels = Vec::with_capacity(inputs.len());
        self.context().shard_by_tiles(total_rows, cols, |rows, out| {
            panels.clear();
            panels.extend(inputs.iter().map(|input| input.panel_of(rows.clone())));
            f(rows, &panels, out);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Cluster, run};
    use crate::kernel::random::{normal, stream};

    #[test]
    fn every_row_is_mapped_once_with_the_same_rows_of_all_inputs() {
        for workers in [1, 2, 3] {
            let collected = run(Cluster::threads(workers), Vec::new(), |session| {
                let x = session.random_normal(301, 5, 1, stream::SYNTHETIC)?;
                let y = session.random_normal(301, 2, 2, stream::SYNTHETIC)?;
                let sums = session.map_tiles(&[&x, &y], 3, |rows, inputs, mut out| {
                    out.data_mut().fill(0.0);
                    for (place, row) in rows.enumerate() {
                        let (x, y) = (inputs[0].row(place), inputs[1].row(place));
                        out.row_mut(place).copy_from_slice(&[x[4], y[1], row as f32]);
                    }
                })?;
                session.collect(&sums)
            });
            let collected = collected.unwrap_or_else(|error: EngineError| panic!("{error}")).unwrap();
            for row in 0..301 {
                let at = |seed, col| normal(seed, stream::SYNTHETIC, row as u64, col);
                assert_eq!(collected.row(row), [at(1, 4), at(2, 1), row as f32]);
            }
        }
    }
}
