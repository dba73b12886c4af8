//! Copies of small matrices, with the rows of a worker by their number of entries.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::settled::Settled;
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
    /// Its order, once somebody asked for it.
    settled: Option<Option<Rc<Settled>>>,
}

impl Ladders {
    /// The ladder by which these tiles are multiplied with a panel of so many columns, if there is one.
    pub(super) fn find(&mut self, matrix: &Arc<Sparse>, tiles: &Range<usize>, cols: usize) -> Option<Rc<Ladder>> {
        self.known(matrix, tiles).ladder.clone().filter(|ladder| ladder.takes(Simd::best(), cols))
    }

    /// The order of the ladder of these tiles, which are all of a matrix, if there is one.
    pub(super) fn settled(&mut self, matrix: &Arc<Sparse>, tiles: &Range<usize>) -> Option<Rc<Settled>> {
        let Known { matrix, ladder, settled, .. } = self.known(matrix, tiles);
        let find = || ladder.as_ref().and_then(|ladder| Settled::new(matrix, ladder)).map(Rc::new);
        settled.get_or_insert_with(find).clone()
    }

    fn known(&mut self, matrix: &Arc<Sparse>, tiles: &Range<usize>) -> &mut Known {
        let is_it = |known: &Known| Arc::ptr_eq(&known.matrix, matrix) && known.tiles == *tiles;
        let place = self.known.iter().position(is_it).unwrap_or_else(|| {
            let is_single = matrix.strips() == 1 && !matrix.is_outline();
            let ladder = is_single.then(|| Ladder::new(tiles.clone().map(|tile| matrix.cell(tile, 0)))).flatten();
            let (matrix, tiles, ladder) = (matrix.clone(), tiles.clone(), ladder.map(Rc::new));
            self.known.push(Known { matrix, tiles, ladder, settled: None });
            self.known.len() - 1
        });
        &mut self.known[place]
    }
}
