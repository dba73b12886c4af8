//! From vectors of a matrix that is nearly this one.
//!
//! An orthonormal basis U begins with what M, or a matrix that is somewhat like M and much less work, makes of the vectors to
//! start from. It is multiplied once by Nᵀ, where N is M, or so near it that this counts for little: V is an orthonormal basis of the
//! images, `NᵀU = V·T`, and the SVD of T gives triplets with `Nᵀu = σv`. So Mᵀu − σv is about as long as N is off. What is left is
//! Mv − σu. Some random directions Ω are multiplied by Mᵀ itself, and how long Mv − σu is shows along these ([`look`]), again
//! and again without a further product.
//!
//! Mostly all but a few triplets are good enough then: those that the vectors before had nothing of take longer. A round follows these
//! alone: what the matrix that is less work makes of their v, or M, goes into U, and what Nᵀ makes of that into V. Of a triplet
//! that is good enough by what was measured, but not with the margin that is due to chance, Mv is found in full. Where rounds no longer help,
//! because N is farther off on the side that is measured, they go on with M in its place.

mod along;
mod blocks;
mod known;
mod look;
mod misled;
mod spread;
mod state;
mod table;

use super::certificate;
use super::krylov::{Split, grow, split_all};
use super::options::{Options, SvdError};
use super::orthonormal::{Care, orthonormalize};
use super::prepared::{Instead, Prepared};
use super::run::Progress;
use super::scale::check_range;
use super::subspace::{Projection, Tall};
use crate::engine::checkpoint::CheckpointLog;
use crate::engine::{Session, Shard};
use crate::kernel::small::subtract_gram;
use crate::kernel::{random, stride};
use crate::matrix::Dense;
use along::Along;
use blocks::Blocks;
use known::Known;
use look::Look;
use spread::Spread;
use table::{Table, Triplets, picked};

/// Columns of a basis that is kept: so many for each triplet, and so many more.
const KEPT: (usize, usize) = (2, 56);
/// Random directions. Where they are multiplied together with vectors there are as many more as that takes no longer for.
const DIRECTIONS: usize = 12;
/// The part of the tolerance that directions which are left out may make up.
const LEFT_OUT: f64 = 0.5;

/// Rounds from the vectors to start from until the triplets are good enough; from nothing, if there are none.
pub(super) fn refine(
    session: &mut Session<'_>,
    prepared: &Prepared,
    start: Option<&Dense>,
    progress: &Progress,
    journal: &mut CheckpointLog,
) -> Result<Projection, SvdError> {
    let resumed = journal.resume(session)?.and_then(|(numbers, panels)| Refining::resumed(prepared, numbers, panels));
    let begun = match resumed {
        Some(resumed) => Some(resumed),
        None => Refining::begin(session, prepared, start)?,
    };
    match begun {
        Some(refining) => refining.run(session, progress, journal),
        None => grow(session, prepared.with_more_care().as_ref().unwrap_or(prepared), None, progress, journal),
    }
}

/// Two bases on their way.
struct Refining<'a> {
    matrix: Tall,
    /// N, which is M or near it.
    near: Instead,
    /// How far off it is.
    off: f64,
    /// What to find directions with.
    rough: Instead,
    options: &'a Options,
    /// U.
    left: Blocks,
    /// V, whose columns hold all of NᵀU.
    right: Blocks,
    table: Table,
    along: Along,
    known: Known,
    /// Triplets beyond the rank that are looked at: those that columns beyond it began with.
    beyond: usize,
    rounds: usize,
    /// The residual of the worst triplet, but for margins, when that last was much smaller than before, or asked about, and the round.
    best: (f64, usize),
    /// Products so far, for names.
    products: usize,
    /// Columns of M that were multiplied by, or what is worth as much.
    columns: f64,
    /// What was found on the way.
    looks: Vec<certificate::Look>,
}

impl<'a> Refining<'a> {
    /// Both bases after the first products; `None` if the vectors say nothing of the matrix.
    fn begin(
        session: &mut Session<'_>,
        prepared: &'a Prepared,
        start: Option<&Dense>,
    ) -> Result<Option<Self>, SvdError> {
        let (matrix, options, how) = (prepared.tall(), &prepared.options, prepared.options.orthonormalize);
        let (near, rough) = (prepared.near(), prepared.rough());
        let Some(start) = start else { return Ok(None) };
        let given = start.columns().max(options.rank).min(matrix.columns);
        let given = session.panel_from(start, given, options.seed, random::stream::START_BLOCK)?;
        let given = orthonormalize(session, given, how, Care::Enough)?.panel;
        let images = session.multiply(rough.programs.plain, &given)?;
        check_range(session, prepared, &images)?;
        let basis = orthonormalize(session, images, how, Care::Full)?.panel;
        let width = basis.cols();
        if width < options.rank {
            return Ok(None);
        }
        let directions = if near.is_other { DIRECTIONS } else { stride(width + DIRECTIONS) - width };
        let omega = session.random_normal(basis.total_rows(), directions, options.seed, random::stream::PROBE)?;
        let columns = rough.work * given.cols() as f64 + near.work * width as f64 + directions as f64;
        drop(given);
        let [images, of_omega] = if near.is_other {
            [(near.programs, &basis), (matrix, &omega)].map(|(with, panel)| session.multiply(with.transposed, panel))
        } else {
            // One product of all columns takes less time than two.
            let both = session.hstack(&[&basis, &omega])?;
            let images = session.multiply(matrix.transposed, &both)?;
            drop(both);
            [0..width, width..width + directions].map(|columns| session.columns(&images, columns))
        };
        let (images, along) = (images?, Along::new(omega, of_omega?));
        let mut refining = Self {
            matrix,
            near,
            off: prepared.off(),
            rough,
            options,
            left: Blocks::default(),
            right: Blocks::default(),
            table: Table::default(),
            along,
            known: Known::default(),
            beyond: start.columns().saturating_sub(options.rank),
            rounds: 0,
            best: (f64::INFINITY, 0),
            products: 0,
            columns,
            looks: Vec::new(),
        };
        refining.push(session, basis, images)?;
        Ok(Some(refining))
    }

    fn run(
        mut self,
        session: &mut Session<'_>,
        progress: &Progress,
        journal: &mut CheckpointLog,
    ) -> Result<Projection, SvdError> {
        loop {
            journal.keep(session, || self.state())?;
            let look = self.look()?;
            self.tell(session, progress, look.worst());
            if self.is_last(look.worst()) || !self.go_on(session, &look)? {
                return Ok(self.finish(&look));
            }
        }
    }

    /// One product or two that make the residuals smaller or better known; false if there is none.
    fn go_on(&mut self, session: &mut Session<'_>, look: &Look) -> Result<bool, SvdError> {
        let tolerance = self.options.tolerance.unwrap_or(0.0);
        let is_bad = |residual: f64| residual.is_nan() || residual > tolerance;
        let bad = look.places(|residual| is_bad(residual.likely));
        if bad.is_empty() {
            let doubtful = look.places(|residual| is_bad(residual.most));
            return self.find_images(session, look, &doubtful);
        }
        if self.is_in_vain(look) && self.is_misled(session, look, &bad)? {
            self.restart_with_matrix(session, &look.triplets)?;
            return Ok(true);
        }
        if self.left.columns() > self.kept() {
            self.restart(session, &look.triplets)?;
            return Ok(true);
        }
        // What takes long is followed with all that is not far below the tolerance.
        let wanted = match 2 * self.rounds <= self.options.iterations {
            true => bad,
            false => look.places(|residual| residual.likely > LEFT_OUT * tolerance),
        };
        let (known, others): (Vec<usize>, Vec<usize>) =
            wanted.iter().partition(|&&place| look.residuals[place].is_known);
        if self.rough.is_other && !others.is_empty() {
            let images = self.rough_images(session, look, &others)?;
            if self.follow(session, images)? {
                return Ok(true);
            }
        }
        if self.find_images(session, look, &others)? {
            return Ok(true);
        }
        let images = self.known_images(session, look, if known.is_empty() { &wanted } else { &known })?;
        if self.follow(session, images)? {
            return Ok(true);
        }
        // What N has no more to say of M may have.
        let is_other = self.near.is_other;
        if is_other {
            self.restart_with_matrix(session, &look.triplets)?;
        }
        Ok(is_other)
    }

    /// What M makes of the right vectors of some triplets, where that is not known yet; false if it is of all.
    fn find_images(&mut self, session: &mut Session<'_>, look: &Look, places: &[usize]) -> Result<bool, SvdError> {
        let fresh = self.known.fresh(places.iter().map(|&place| look.triplets.right_of(place)));
        if fresh.is_empty() {
            return Ok(false);
        }
        let width = fresh.len();
        let factors: Vec<f64> = (0..self.right.columns()).flat_map(|row| fresh.iter().map(move |of| of[row])).collect();
        let vectors = self.right.picked(session, &factors, width)?;
        let images = session.multiply(self.matrix.plain, &vectors)?;
        self.columns += width as f64;
        self.products += 1;
        let mut products = self.known.images.products(session, &images)?;
        products.extend(session.gram(&images)?);
        let of_left = self.left.products(session, &images)?;
        self.known.push(format!("known-{}", self.products), fresh, images, &products, &of_left);
        Ok(true)
    }

    /// About what M makes of the right vectors of some triplets, relative to σ.
    fn rough_images(&mut self, session: &mut Session<'_>, look: &Look, places: &[usize]) -> Result<Shard, SvdError> {
        let Instead { programs, work, .. } = self.rough;
        let Triplets { values, right, .. } = &look.triplets;
        let mut factors = picked(right, values.len(), places);
        for row in factors.chunks_exact_mut(places.len()) {
            row.iter_mut().zip(places).for_each(|(factor, &place)| *factor /= values[place]);
        }
        let vectors = self.right.picked(session, &factors, places.len())?;
        self.columns += work * places.len() as f64;
        Ok(session.multiply(programs.plain, &vectors)?)
    }

    /// The same from images that are known.
    fn known_images(&self, session: &mut Session<'_>, look: &Look, places: &[usize]) -> Result<Shard, SvdError> {
        let values = &look.triplets.values;
        let shares: Vec<Vec<f64>> =
            places.iter().map(|&place| self.known.split(look.triplets.right_of(place)).shares).collect();
        let rows = 0..self.known.images.columns();
        let factors: Vec<f64> =
            rows.flat_map(|row| shares.iter().zip(places).map(move |(of, &place)| of[row] / values[place])).collect();
        self.known.images.picked(session, &factors, places.len())
    }

    /// Adds to U those directions that some images have beyond it and that count; false if there are none.
    fn follow(&mut self, session: &mut Session<'_>, images: Shard) -> Result<bool, SvdError> {
        let (order, known) = (images.cols(), self.left.columns());
        if known >= self.matrix.columns {
            return Ok(false);
        }
        let sums = session.gram_against(self.left.shards(), &images)?;
        let (within, own) = sums.split_at(known * order);
        let mut gram = own.to_vec();
        subtract_gram(&mut gram, within, order);
        let spread = Spread::of(&gram, order)?;
        let enough = self.options.tolerance.map_or(0.0, |tolerance| LEFT_OUT * tolerance);
        let count = spread.count(enough).min(self.matrix.columns - known);
        let small: Vec<f32> = spread.first(count).iter().map(|&entry| entry as f32).collect();
        let block = session.times_small(&images, &small, count)?;
        drop(images);
        let Split { fresh: block, .. } =
            split_all(session, self.left.shards(), block, self.matrix.columns - known, self.options.tolerance)?;
        if block.cols() == 0 {
            return Ok(false);
        }
        let images = session.multiply(self.near.programs.transposed, &block)?;
        self.columns += self.near.work * block.cols() as f64;
        self.rounds += 1;
        self.push(session, block, images)?;
        Ok(true)
    }

    /// Adds columns to U, and to V what it lacks of their images.
    fn push(&mut self, session: &mut Session<'_>, block: Shard, images: Shard) -> Result<(), SvdError> {
        self.products += 1;
        let (width, room) = (images.cols(), self.matrix.columns - self.right.columns());
        let Split { fresh, within, upper, .. } =
            split_all(session, self.right.shards(), images, room, self.options.tolerance)?;
        self.along.push(session, &block, &fresh)?;
        self.known.push_left(session, &block)?;
        self.right.push(format!("right-{}", self.products), fresh);
        self.left.push(format!("left-{}", self.products), block);
        self.table.push(&[within, upper].concat(), width);
        Ok(())
    }

    /// Reduces both bases to the triplets between them.
    fn restart(&mut self, session: &mut Session<'_>, triplets: &Triplets) -> Result<(), SvdError> {
        let Triplets { values, left, right } = triplets;
        let count = values.len();
        self.products += 1;
        for (basis, rotation, name) in [(&mut self.left, left, "left"), (&mut self.right, right, "right")] {
            let best = basis.picked(session, rotation, count)?;
            *basis = Blocks::default();
            basis.push(format!("{name}-{}", self.products), best);
        }
        self.along.restart(left, right, count);
        self.table = Table::diagonal(values);
        self.known = Known::default();
        Ok(())
    }

    /// Columns of a basis that is kept.
    fn kept(&self) -> usize {
        let wanted = self.options.basis.map_or(KEPT.0 * self.options.rank + KEPT.1, |basis| basis / 2);
        wanted.max(2 * self.options.rank)
    }

    /// Whether the triplets are good enough, or as good as they may become.
    fn is_last(&self, worst: f64) -> bool {
        let is_deep = self.options.tolerance.is_none() && self.left.columns() >= 2 * self.options.rank;
        self.options.tolerance.is_some_and(|tolerance| worst <= tolerance)
            || is_deep
            || self.rounds >= self.options.iterations
            || (self.left.columns() >= self.matrix.columns && !self.near.is_other)
    }

    fn operator_columns(&self) -> usize {
        self.columns.ceil() as usize
    }

    /// Notes what was found, and tells whoever watches.
    fn tell(&mut self, session: &Session<'_>, progress: &Progress, worst: f64) {
        let (iterations, operator_columns) = (self.rounds, self.operator_columns());
        self.looks.push(certificate::Look { iterations, operator_columns, worst_residual: worst });
        if session.worker() == 0 {
            progress(self.rounds, self.rounds.max(self.options.iterations), Some(worst));
        }
    }

    fn finish(self, look: &Look) -> Projection {
        let operator_columns = self.operator_columns();
        let Triplets { values, left, right } = look.triplets.first(self.options.rank);
        let squares = look.residuals.iter().zip(&values).map(|(residual, value)| (residual.most * value).powi(2));
        Projection {
            left: self.left.into_shards(),
            left_rotation: left,
            right: self.right.into_shards(),
            right_rotation: right,
            residual_squares: Some(squares.collect()),
            singular_values: values,
            total: None,
            iterations: self.rounds,
            operator_columns,
            looks: self.looks,
            completeness: None,
        }
    }
}
