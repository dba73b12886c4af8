//! The bases on the disk, to go on from.

use serde::{Deserialize, Serialize};

use super::super::certificate::Look;
use super::super::prepared::Prepared;
use super::Refining;
use super::along::{Along, AlongNumbers};
use super::blocks::Blocks;
use super::known::{Known, KnownNumbers};
use super::table::Table;
use crate::engine::Shard;
use crate::engine::checkpoint::State;

/// All of a [`Refining`] that is no panel. The panels are the blocks of U, those of V, the images that are known, the random
/// directions and their images.
#[derive(Serialize, Deserialize)]
pub(super) struct Numbers {
    left: Vec<String>,
    right: Vec<String>,
    images: Vec<String>,
    known: KnownNumbers,
    along: AlongNumbers,
    table: Table,
    beyond: usize,
    rounds: usize,
    best: (f64, usize),
    is_near: bool,
    products: usize,
    columns: f64,
    looks: Vec<Look>,
}

impl<'a> Refining<'a> {
    pub(super) fn state(&self) -> State<'_, Numbers> {
        let Self { left, right, known, along, .. } = self;
        State {
            numbers: Numbers {
                left: left.names(),
                right: right.names(),
                images: known.images.names(),
                known: known.numbers.clone(),
                along: along.numbers(),
                table: self.table.clone(),
                beyond: self.beyond,
                rounds: self.rounds,
                best: self.best,
                is_near: self.near.is_other,
                products: self.products,
                columns: self.columns,
                looks: self.looks.clone(),
            },
            panels: left.panels().chain(right.panels()).chain(known.images.panels()).chain(along.panels()).collect(),
        }
    }

    /// Takes a state up again; `None` if its panels are not those that it should have.
    pub(super) fn resumed(prepared: &'a Prepared, numbers: Numbers, mut panels: Vec<Shard>) -> Option<Self> {
        let Numbers { table, beyond, rounds, best, is_near, products, columns, looks, .. } = numbers;
        let (left, right) = (Blocks::with(numbers.left, &mut panels)?, Blocks::with(numbers.right, &mut panels)?);
        let known = Known { images: Blocks::with(numbers.images, &mut panels)?, numbers: numbers.known };
        let along = Along::with(numbers.along, panels)?;
        let fits = (table.rows(), table.columns()) == (right.columns(), left.columns())
            && (along.of_left.len(), along.of_right.len())
                == (left.columns() * along.count(), right.columns() * along.count());
        let mut resumed = Self {
            matrix: prepared.tall(),
            near: prepared.near(),
            off: prepared.off(),
            rough: prepared.rough(),
            options: &prepared.options,
            left,
            right,
            table,
            along,
            known,
            beyond,
            rounds,
            best,
            products,
            columns,
            looks,
        };
        if !is_near {
            resumed.give_up_near();
        }
        let is_whole = fits && resumed.known.is_whole(resumed.left.columns());
        is_whole.then_some(resumed)
    }
}
