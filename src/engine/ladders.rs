//! Copies of small matrices, with the rows of a worker by their number of entries.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use crate::graph::Sparse;
use crate::kernel::Simd;
use crate::kernel::spmm::Ladder;

/// The ladders of a worker, made when they are first asked for.
#[derive(Default)]
pub(super) struct Ladders {
    known: Vec<Known>,
}

struct Known {
    matrix: Arc<Sparse>,
    tiles: Range<usize>,
    ladder: Option<Rc<Ladder>>,
}

impl Ladders {
    /// The ladder by which these tiles are multiplied with a panel of so many columns, if there is one.
    pub(super) fn find(&mut self, matrix: &Arc<Sparse>, tiles: &Range<usize>, cols: usize) -> Option<Rc<Ladder>> {
        let is_it = |known: &Known| Arc::ptr_eq(&known.matrix, matrix) && known.tiles == *tiles;
        let place = self.known.iter().position(is_it).unwrap_or_else(|| {
            let is_single = matrix.strips() == 1 && !matrix.is_outline();
            let ladder = is_single.then(|| Ladder::new(tiles.clone().map(|tile| matrix.cell(tile, 0)))).flatten();
            self.known.push(Known { matrix: matrix.clone(), tiles: tiles.clone(), ladder: ladder.map(Rc::new) });
            self.known.len() - 1
        });
        self.known[place].ladder.clone().filter(|ladder| ladder.takes(Simd::best(), cols))
    }
}
