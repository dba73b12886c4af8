//! From vectors of a matrix that is nearly this one.
//!
//! Two orthonormal bases, V and U, are kept together with all their images, M·V and Mᵀ·U. So the triplets between them, and
//! both residuals of each, Mv − σu and Mᵀu − σv, are known without a further product. V begins with the vectors to start
//! from, and U with what M makes of them. A round then adds to V those directions of the residuals Mᵀu − σv that count,
//! usually far fewer than there are triplets, and to U what M makes of them. What a round leaves out shows in the residuals
//! of the next. While a few residuals are far larger than the others, those of triplets that the other matrix had not,
//! rounds are narrow: they follow these alone, one step after another.
//!
//! Mostly a wide round is not even needed: with all of the residuals' directions in V the triplets are far better than those that
//! they were taken from. What M makes of so many directions is not worth its products then, if the residuals
//! can be measured along a few random ones instead ([`sketch`]).

mod measure;
mod sides;
mod sketch;
mod spread;
mod table;

use super::certificate::Look;
use super::krylov::grow;
use super::options::{Options, SvdError};
use super::prepared::Prepared;
use super::run::Progress;
use super::subspace::{Projection, Tall};
use crate::engine::checkpoint::{Journal, State};
use crate::engine::{Session, Shard};
use crate::kernel::random;
use crate::kernel::small::small_product;
use crate::matrix::Dense;
use measure::Measured;
use serde::{Deserialize, Serialize};
use sides::{Side, SideNames, fresh};
use spread::Spread;
use table::{Table, Triplets};

/// Columns of a basis that is kept: so many for each triplet, and so many more. With their images both bases are as large as
/// those of [`krylov`](super::krylov).
const KEPT: (usize, usize) = (2, 56);
/// The part of the tolerance that directions which are left out may make up, if the round is to be the last one.
const LEFT_OUT: f64 = 0.5;
/// Directions of a narrow round at least: one more than a single new triplet needs.
const NARROW: usize = 2;

/// What is left of residuals, about, when all their directions are in the basis.
const GAIN: f64 = 0.4;

/// Rounds from the vectors to start from until the triplets are good enough; from nothing, if there are none.
pub(super) fn refine(
    session: &mut Session<'_>,
    prepared: &Prepared,
    start: Option<&Dense>,
    progress: &Progress,
    journal: &mut Journal,
) -> Result<Projection, SvdError> {
    let resumed = journal.resume(session)?.and_then(|(numbers, panels)| Refining::resumed(prepared, numbers, panels));
    let begun = match (resumed, start) {
        (Some(resumed), _) => Some(resumed),
        (None, None) => None,
        (None, Some(vectors)) => Refining::begin(session, prepared, vectors)?,
    };
    match begun {
        Some(refining) => refining.run(session, progress, journal),
        None => grow(session, prepared, None, progress, journal),
    }
}

/// Two bases on their way.
struct Refining<'a> {
    matrix: Tall,
    options: &'a Options,
    /// V, and M·V.
    right: Side,
    /// U, and Mᵀ·U.
    left: Side,
    /// Vᵀ·Mᵀ·U
    table: Table,
    /// Triplets beyond the rank that are looked at: those that columns beyond it began with.
    beyond: usize,
    rounds: usize,
    operator_columns: usize,
    /// What was found on the way.
    looks: Vec<Look>,
}

/// All of it that is no panel.
#[derive(Serialize, Deserialize)]
struct Numbers {
    right: SideNames,
    left: SideNames,
    table: Table,
    beyond: usize,
    rounds: usize,
    operator_columns: usize,
    looks: Vec<Look>,
}

impl<'a> Refining<'a> {
    /// Both bases after the first products; `None` if the vectors say nothing of the matrix.
    fn begin(session: &mut Session<'_>, prepared: &'a Prepared, vectors: &Dense) -> Result<Option<Self>, SvdError> {
        let (matrix, options) = (prepared.tall(), &prepared.options);
        let columns = vectors.columns().max(options.rank).min(matrix.columns);
        let given = session.panel_from(vectors, columns, options.seed, random::stream::START_BLOCK)?;
        let first = fresh(session, &[], given, options)?;
        let images = session.multiply(matrix.plain, &first)?;
        let onto = fresh(session, &[], images.clone(), options)?;
        if onto.cols() < options.rank {
            return Ok(None);
        }
        let mut table = Table::of_columns(onto.cols());
        let products = session.gram_against(std::slice::from_ref(&onto), &images)?;
        table.push_rows(&products, images.cols());
        let operator_columns = first.cols() + onto.cols();
        let (mut right, mut left) = (Side::default(), Side::default());
        right.push("right-0", first, images, &products[table.entries()..]);
        let images = session.multiply(matrix.transposed, &onto)?;
        let products = session.gram(&images)?;
        left.push("left-0", onto, images, &products);
        let beyond = vectors.columns().saturating_sub(options.rank);
        Ok(Some(Self { matrix, options, right, left, table, beyond, rounds: 0, operator_columns, looks: Vec::new() }))
    }

    fn resumed(prepared: &'a Prepared, numbers: Numbers, mut panels: Vec<Shard>) -> Option<Self> {
        let Numbers { right, left, table, beyond, rounds, operator_columns, looks } = numbers;
        let (right, left) = (right.with(&mut panels)?, left.with(&mut panels)?);
        ((table.rows(), table.columns()) == (right.columns(), left.columns()) && panels.is_empty()).then(|| Self {
            matrix: prepared.tall(),
            options: &prepared.options,
            right,
            left,
            table,
            beyond,
            rounds,
            operator_columns,
            looks,
        })
    }

    fn state(&self) -> State<'_, Numbers> {
        State {
            numbers: Numbers {
                right: self.right.names(),
                left: self.left.names(),
                table: self.table.clone(),
                beyond: self.beyond,
                rounds: self.rounds,
                operator_columns: self.operator_columns,
                looks: self.looks.clone(),
            },
            panels: self.right.panels().chain(self.left.panels()).collect(),
        }
    }

    fn run(
        mut self,
        session: &mut Session<'_>,
        progress: &Progress,
        journal: &mut Journal,
    ) -> Result<Projection, SvdError> {
        loop {
            journal.keep(session, || self.state())?;
            let measured = self.measure(session)?;
            if self.is_good(measured.worst()) {
                let exact = self.measure_exactly(session, measured.triplets.clone())?;
                if self.is_good(exact.worst()) {
                    self.tell(session, progress, exact.worst());
                    return Ok(self.finish(exact));
                }
            }
            let spread = Spread::of(&measured)?;
            self.rounds += 1;
            if self.count_for_last(&spread) > sketch::COLUMNS && self.is_promising(&measured) {
                let at_once = self.at_once(session)?;
                if self.is_last(at_once.worst) {
                    self.tell(session, progress, at_once.worst);
                    return Ok(Projection { looks: self.looks, ..at_once.projection });
                }
            }
            let directions = self.directions(session, &measured, &spread)?;
            let measured = match directions.cols() {
                0 => self.measure_exactly(session, measured.triplets)?,
                _ => {
                    let images = self.widen(session, directions)?;
                    let mut after = self.measure(session)?;
                    if self.is_last(after.worst()) {
                        after = self.measure_exactly(session, after.triplets)?;
                    }
                    if !self.is_last(after.worst()) {
                        self.tell(session, progress, after.worst());
                        if self.right.columns() > self.kept() {
                            self.restart(session, &after)?;
                        } else {
                            self.heighten(session, images)?;
                        }
                        continue;
                    }
                    after
                }
            };
            self.tell(session, progress, measured.worst());
            return Ok(self.finish(measured));
        }
    }

    /// Directions that are enough for the last round, if those that are left out are all that stays of the residuals.
    fn count_for_last(&self, spread: &Spread) -> usize {
        spread.count(self.options.tolerance.map_or(0.0, |tolerance| LEFT_OUT * tolerance))
    }

    /// The directions to go on with. All that count in a round that may be the last; but while a few residuals are
    /// far larger than the others, those of triplets that are new, it takes several rounds to find these, and the others'
    /// directions would be multiplied by for nothing: then only the directions that leave no residual above the tolerance.
    fn count(&self, spread: &Spread) -> usize {
        let all = self.count_for_last(spread);
        let may_be_narrow = 2 * self.rounds <= self.options.iterations;
        let few = match self.options.tolerance {
            Some(tolerance) if may_be_narrow => spread.count(tolerance).max(NARROW),
            _ => all,
        };
        // Directions of a round that is not the last one are multiplied by both ways.
        let count = if all <= 2 * few { all } else { few };
        count.min(self.matrix.columns - self.right.columns())
    }

    /// The directions of the residuals to go on with, orthonormal and to V.
    fn directions(&self, session: &mut Session<'_>, measured: &Measured, spread: &Spread) -> Result<Shard, SvdError> {
        let count = self.count(spread);
        let Triplets { values, left, right } = &measured.triplets;
        let (of, first) = (values.len(), spread.first(count));
        let scaled: Vec<f64> = first
            .chunks_exact(count.max(1))
            .zip(values)
            .flat_map(|(row, value)| row.iter().map(move |entry| entry / value))
            .collect();
        let of_images = small_product(left, &scaled, self.left.columns(), of, count);
        let of_vectors = small_product(right, &first, self.right.columns(), of, count);
        let small: Vec<f32> =
            of_images.iter().map(|&entry| entry as f32).chain(of_vectors.iter().map(|&entry| -entry as f32)).collect();
        let panels: Vec<&Shard> = self.left.images().iter().chain(self.right.vectors()).collect();
        let block = session.blocks_times_small(&panels, &small, count)?;
        fresh(session, self.right.vectors(), block, self.options)
    }

    /// Adds columns to V; returns their images.
    fn widen(&mut self, session: &mut Session<'_>, block: Shard) -> Result<Shard, SvdError> {
        let images = session.multiply(self.matrix.plain, &block)?;
        self.operator_columns += block.cols();
        let against: Vec<Shard> = self.left.vectors().iter().chain(self.right.images()).cloned().collect();
        let products = session.gram_against(&against, &images)?;
        self.table.push_rows(&products, block.cols());
        let of_images = &products[self.left.columns() * block.cols()..];
        self.right.push(&format!("right-{}", self.rounds), block, images.clone(), of_images);
        Ok(images)
    }

    /// Adds to U what it lacks of some images.
    fn heighten(&mut self, session: &mut Session<'_>, images: Shard) -> Result<(), SvdError> {
        let block = fresh(session, self.left.vectors(), images, self.options)?;
        if block.cols() == 0 {
            return Ok(());
        }
        let images = session.multiply(self.matrix.transposed, &block)?;
        self.operator_columns += block.cols();
        let against: Vec<Shard> = self.right.vectors().iter().chain(self.left.images()).cloned().collect();
        let products = session.gram_against(&against, &images)?;
        self.table.push_columns(&products, block.cols());
        let of_images = &products[self.right.columns() * block.cols()..];
        self.left.push(&format!("left-{}", self.rounds), block, images, of_images);
        Ok(())
    }

    /// Reduces both bases to the triplets between them.
    fn restart(&mut self, session: &mut Session<'_>, measured: &Measured) -> Result<(), SvdError> {
        let Triplets { values, left, right } = &measured.triplets;
        self.right = self.right.rotated(session, &format!("right-best-{}", self.rounds), right, values.len())?;
        self.left = self.left.rotated(session, &format!("left-best-{}", self.rounds), left, values.len())?;
        self.table = Table::diagonal(values);
        Ok(())
    }

    /// Columns of a basis that is kept.
    fn kept(&self) -> usize {
        let wanted = self.options.basis.map_or(KEPT.0 * self.options.rank + KEPT.1, |basis| basis / 2);
        wanted.max(2 * self.options.rank)
    }

    /// Whether residuals up to this are what was asked for.
    fn is_good(&self, worst: f64) -> bool {
        self.options.tolerance.is_some_and(|tolerance| worst <= tolerance)
    }

    /// Whether the triplets are good enough, or as good as they may become.
    fn is_last(&self, worst: f64) -> bool {
        let is_deep = self.options.tolerance.is_none() && self.right.columns() >= 2 * self.options.rank;
        self.is_good(worst)
            || is_deep
            || self.rounds > self.options.iterations
            || self.right.columns() >= self.matrix.columns
    }

    /// Whether all of the residuals' directions together may do.
    fn is_promising(&self, measured: &Measured) -> bool {
        let is_near = self.options.tolerance.is_some_and(|tolerance| GAIN * measured.worst() <= tolerance);
        is_near || self.options.iterations == 0
    }

    /// Notes what was found, and tells whoever watches.
    fn tell(&mut self, session: &Session<'_>, progress: &Progress, worst: f64) {
        let Self { rounds: iterations, operator_columns, .. } = *self;
        self.looks.push(Look { iterations, operator_columns, worst_residual: worst });
        if session.worker() == 0 {
            progress(self.rounds, self.rounds.max(self.options.iterations), Some(worst));
        }
    }

    fn finish(self, measured: Measured) -> Projection {
        let Triplets { values, left, right } = measured.triplets;
        let squares = measured.squares.iter().zip(&values).map(|(square, value)| square * value * value).collect();
        Projection {
            left: self.left.into_vectors(),
            left_rotation: left,
            right: self.right.into_vectors(),
            right_rotation: right,
            singular_values: values,
            total: None,
            iterations: self.rounds,
            operator_columns: self.operator_columns,
            residual_squares: Some(squares),
            looks: self.looks,
        }
    }
}
