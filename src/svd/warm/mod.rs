//! From vectors of a matrix that is nearly this one.
//!
//! Two orthonormal bases, V and U, are kept together with all their images, M·V and Mᵀ·U. So the triplets between them, and
//! both residuals of each, Mv − σu and Mᵀu − σv, are known without a further product. V begins with the vectors to start
//! from, and U with what M makes of them. A round then adds to V those directions of the residuals Mᵀu − σv that count,
//! usually far fewer than there are triplets, and to U what M makes of them. What a round leaves out shows in the residuals
//! of the next.
//!
//! Mostly that is not even needed: with all of the residuals' directions in V the triplets are far better than those that
//! they were taken from. What M makes of so many directions is not worth its products then, if the residuals
//! can be measured along a few random ones instead ([`sketch`]).

mod sides;
mod sketch;
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
use crate::kernel::small::symmetric_eigen;
use crate::matrix::Dense;
use serde::{Deserialize, Serialize};
use sides::{Side, SideNames, fresh};
use table::{Table, Triplets};

/// Columns of a basis that is kept: so many for each triplet, and so many more. With their images both bases are as large as
/// those of [`krylov`](super::krylov).
const KEPT: (usize, usize) = (2, 56);
/// A direction of the residuals with less of their square than this, of all of it, is rounding.
const NOTHING: f64 = 1e-10;
/// The part of the tolerance that directions which are left out may make up.
const LEFT_OUT: f64 = 0.5;

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

/// The triplets between the bases, and how far they are from solving their equations.
struct Measured {
    triplets: Triplets,
    /// (Mᵀu − σv)/σ of the wanted ones, one column each.
    residuals: Shard,
    /// The products of those columns with each other; zero for triplets that are not wanted.
    gram: Vec<f64>,
    /// The squares of both relative residuals together, of each.
    squares: Vec<f64>,
}

impl Measured {
    /// The worst residual.
    fn worst(&self) -> f64 {
        let larger = |worst: f64, square: &f64| if *square <= worst { worst } else { *square };
        self.squares.iter().fold(0.0, larger).sqrt()
    }
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
        table.push_rows(&session.gram_against(std::slice::from_ref(&onto), &images)?, images.cols());
        let operator_columns = first.cols() + onto.cols();
        let (mut right, mut left) = (Side::default(), Side::default());
        right.push("right-0", first, images);
        let images = session.multiply(matrix.transposed, &onto)?;
        left.push("left-0", onto, images);
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
            let directions = self.directions(session, &measured)?;
            self.rounds += 1;
            if directions.cols() > sketch::COLUMNS && self.is_promising(&measured) {
                let at_once = self.at_once(session)?;
                if self.is_last(at_once.worst) {
                    self.tell(session, progress, at_once.worst);
                    return Ok(Projection { looks: self.looks, ..at_once.projection });
                }
            }
            let measured = match directions.cols() {
                0 => measured,
                _ => {
                    let images = self.widen(session, directions)?;
                    let after = self.measure(session)?;
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

    /// The triplets, and both residuals of those that are wanted. All of it is made of images that are there already.
    fn measure(&self, session: &mut Session<'_>) -> Result<Measured, SvdError> {
        let triplets = self.table.decompose(self.options.rank + self.beyond)?;
        let count = triplets.values.len();
        let inverse: Vec<f64> = triplets.values.iter().map(|value| value.recip()).collect();
        let residual = |session: &mut Session<'_>, side: &Side, rotation: &[f64], other: &Side, of_other: &[f64]| {
            let scaled =
                rotation.chunks_exact(count.max(1)).flat_map(|row| row.iter().zip(&inverse).map(|(a, b)| a * b));
            let small: Vec<f32> =
                scaled.map(|entry| entry as f32).chain(of_other.iter().map(|&entry| -entry as f32)).collect();
            let panels: Vec<&Shard> = side.images().iter().chain(other.vectors()).collect();
            session.blocks_times_small(&panels, &small, count)
        };
        let of_left = residual(session, &self.right, &triplets.right, &self.left, &triplets.left)?;
        let residuals = residual(session, &self.left, &triplets.left, &self.right, &triplets.right)?;
        let (others, mut gram) = (session.gram(&of_left)?, session.gram(&residuals)?);
        let diagonal = |gram: &[f64]| gram.iter().step_by(count + 1).copied().collect::<Vec<_>>();
        let mut squares: Vec<f64> = diagonal(&gram).iter().zip(diagonal(&others)).map(|(a, b)| a + b).collect();
        for place in self.options.rank..count {
            if !self.may_belong(&triplets.values, place, squares[place]) {
                squares[place] = 0.0;
                gram[place * count..(place + 1) * count].fill(0.0);
                gram.iter_mut().skip(place).step_by(count).for_each(|entry| *entry = 0.0);
            }
        }
        Ok(Measured { triplets, residuals, gram, squares })
    }

    /// Whether a triplet beyond the wanted ones may turn out to be larger than the last of them: its singular value is at
    /// least what was found, and more the further it is from solving its equation.
    fn may_belong(&self, values: &[f64], place: usize, square: f64) -> bool {
        values[place] * (1.0 + square.sqrt() / 2.0) > values[self.options.rank - 1]
    }

    /// The directions of the residuals that count, orthonormal and to V.
    fn directions(&self, session: &mut Session<'_>, measured: &Measured) -> Result<Shard, SvdError> {
        let order = measured.triplets.values.len();
        let eigen = symmetric_eigen(&measured.gram, order)?;
        let least = NOTHING * eigen.values.first().copied().unwrap_or(0.0);
        let real = eigen.values.iter().take_while(|&&value| value > least && value > 0.0).count();
        let enough = self.options.tolerance.map_or(0.0, |tolerance| (LEFT_OUT * tolerance).powi(2));
        let mut left: Vec<f64> = measured.gram.iter().step_by(order + 1).copied().collect();
        let mut count = 0;
        while count < real && left.iter().any(|&square| square > enough) {
            for (square, row) in left.iter_mut().zip(eigen.vectors.chunks_exact(order)) {
                *square -= eigen.values[count] * row[count] * row[count];
            }
            count += 1;
        }
        let count = count.min(self.matrix.columns - self.right.columns());
        let scaled = eigen
            .vectors
            .chunks_exact(order.max(1))
            .flat_map(|row| row[..count].iter().zip(&eigen.values).map(|(entry, value)| (entry / value.sqrt()) as f32));
        let block = session.blocks_times_small(&[&measured.residuals], &scaled.collect::<Vec<_>>(), count)?;
        fresh(session, self.right.vectors(), block, self.options)
    }

    /// Adds columns to V; returns their images.
    fn widen(&mut self, session: &mut Session<'_>, block: Shard) -> Result<Shard, SvdError> {
        let images = session.multiply(self.matrix.plain, &block)?;
        self.operator_columns += block.cols();
        self.table.push_rows(&session.gram_against(self.left.vectors(), &images)?, block.cols());
        self.right.push(&format!("right-{}", self.rounds), block, images.clone());
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
        self.table.push_columns(&session.gram_against(self.right.vectors(), &images)?, block.cols());
        self.left.push(&format!("left-{}", self.rounds), block, images);
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

    /// Whether the triplets are good enough, or as good as they may become.
    fn is_last(&self, worst: f64) -> bool {
        let is_good = match self.options.tolerance {
            Some(tolerance) => worst <= tolerance,
            None => self.right.columns() >= 2 * self.options.rank,
        };
        is_good || self.rounds > self.options.iterations || self.right.columns() >= self.matrix.columns
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
