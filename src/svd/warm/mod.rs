//! From vectors of a matrix that is nearly this one.
//!
//! An orthonormal basis U begins with what M, or a matrix that is nearly M and much less work, makes of the vectors to start
//! from. It is multiplied by Mᵀ once, together with some random directions Ω, and V is an orthonormal basis of the images:
//! `MᵀU = V·T`. The SVD of T gives triplets with `Mᵀu = σv`, and how long Mv − σu is shows along Ω ([`look`]), again and again
//! without a further product.
//!
//! Mostly all but a few triplets are good enough then: those that the other matrix had not take longer. A round follows these
//! alone: what M makes of their v, or the matrix that is less work, goes into U, and what Mᵀ makes of that into V. Of a triplet
//! that is good enough by what was measured, but not with the margin that is due to chance, Mv is found in full.

mod along;
mod blocks;
mod known;
mod look;
mod spread;
mod state;
mod table;

use super::certificate;
use super::krylov::{Split, grow, split_all};
use super::options::{Options, SvdError};
use super::orthonormal::{Care, orthonormalize};
use super::prepared::{Prepared, Rough};
use super::run::Progress;
use super::subspace::{Projection, Tall};
use crate::engine::checkpoint::Journal;
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
/// Random directions at least. There are as many more as a product takes no longer for.
const DIRECTIONS: usize = 12;
/// The part of the tolerance that directions which are left out may make up.
const LEFT_OUT: f64 = 0.5;

/// Rounds from the vectors to start from until the triplets are good enough; from nothing, if there are none.
pub(super) fn refine(
    session: &mut Session<'_>,
    prepared: &Prepared,
    _: Option<&Dense>,
    progress: &Progress,
    journal: &mut Journal,
) -> Result<Projection, SvdError> {
    let resumed = journal.resume(session)?.and_then(|(numbers, panels)| Refining::resumed(prepared, numbers, panels));
    let begun = match resumed {
        Some(resumed) => Some(resumed),
        None => Refining::begin(session, prepared)?,
    };
    match begun {
        Some(refining) => refining.run(session, progress, journal),
        None => grow(session, prepared.with_more_care().as_ref().unwrap_or(prepared), None, progress, journal),
    }
}

/// The first columns of U, from the vectors to start from on both sides, and what they took.
fn first_basis(
    session: &mut Session<'_>,
    prepared: &Prepared,
    low: &Dense,
    high: &Dense,
) -> Result<(Shard, f64), SvdError> {
    let (matrix, options, how) = (prepared.tall(), &prepared.options, prepared.options.orthonormalize);
    let mut panel = |vectors: &Dense| {
        let columns = vectors.columns().max(options.rank).min(matrix.columns);
        session.panel_from(vectors, columns, options.seed, random::stream::START_BLOCK)
    };
    let is_far = |rough: &Rough| options.tolerance.is_none_or(|tolerance| rough.off > tolerance);
    let (given, program, mut columns, work) = match prepared.rough() {
        // One product with what is far off says too little.
        Some(rough) if is_far(&rough) => {
            let given = panel(high)?;
            let images = session.multiply(rough.programs.transposed, &given)?;
            (images, rough.programs.plain, rough.work * given.cols() as f64, rough.work)
        }
        Some(near) => (panel(low)?, near.programs.plain, 0.0, near.work),
        None => (panel(low)?, matrix.plain, 0.0, 1.0),
    };
    let given = orthonormalize(session, given, how, Care::Enough)?.panel;
    let images = session.multiply(program, &given)?;
    columns += work * given.cols() as f64;
    Ok((orthonormalize(session, images, how, Care::Full)?.panel, columns))
}

/// Two bases on their way.
struct Refining<'a> {
    matrix: Tall,
    /// A matrix that is nearly M and less work, to find directions with.
    rough: Option<Rough>,
    options: &'a Options,
    /// U.
    left: Blocks,
    /// V, whose columns hold all of MᵀU.
    right: Blocks,
    table: Table,
    along: Along,
    known: Known,
    /// Triplets beyond the rank that are looked at: those that columns beyond it began with.
    beyond: usize,
    rounds: usize,
    /// Products so far, for names.
    products: usize,
    /// Columns of M that were multiplied by, or what is worth as much.
    columns: f64,
    /// What was found on the way.
    looks: Vec<certificate::Look>,
}

impl<'a> Refining<'a> {
    /// Both bases after the first products; `None` if the vectors say nothing of the matrix.
    fn begin(session: &mut Session<'_>, prepared: &'a Prepared) -> Result<Option<Self>, SvdError> {
        let (matrix, options, rough) = (prepared.tall(), &prepared.options, prepared.rough());
        let Some((low, high)) = prepared.start() else { return Ok(None) };
        let (basis, mut columns) = first_basis(session, prepared, low, high)?;
        let width = basis.cols();
        if width < options.rank {
            return Ok(None);
        }
        // One product of all columns takes less time than two.
        let directions = stride(width + DIRECTIONS) - width;
        let omega = session.random_normal(basis.total_rows(), directions, options.seed, random::stream::PROBE)?;
        let both = session.beside(&[&basis, &omega])?;
        let images = session.multiply(matrix.transposed, &both)?;
        columns += both.cols() as f64;
        drop(both);
        let along = Along::new(omega, session.columns(&images, width..width + directions)?);
        let images = session.columns(&images, 0..width)?;
        let mut refining = Self {
            matrix,
            rough,
            options,
            left: Blocks::default(),
            right: Blocks::default(),
            table: Table::default(),
            along,
            known: Known::default(),
            beyond: low.columns().saturating_sub(options.rank),
            rounds: 0,
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
        journal: &mut Journal,
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
        if self.rough.is_some() && !others.is_empty() {
            let images = self.rough_images(session, look, &others)?;
            if self.follow(session, images)? {
                return Ok(true);
            }
        }
        if self.find_images(session, look, &others)? {
            return Ok(true);
        }
        let images = self.known_images(session, look, if known.is_empty() { &wanted } else { &known })?;
        self.follow(session, images)
    }

    /// What M makes of the right vectors of some triplets, where that is not known yet; false if it is of all.
    fn find_images(&mut self, session: &mut Session<'_>, look: &Look, places: &[usize]) -> Result<bool, SvdError> {
        let Triplets { values, right, .. } = &look.triplets;
        let of = |&place: &usize| right.iter().skip(place).step_by(values.len()).copied().collect();
        let fresh = self.known.fresh(places.iter().map(of));
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
        self.known.push(format!("known-{}", self.products), fresh, images, &products);
        Ok(true)
    }

    /// About what M makes of the right vectors of some triplets, relative to σ.
    fn rough_images(&mut self, session: &mut Session<'_>, look: &Look, places: &[usize]) -> Result<Shard, SvdError> {
        let Some(Rough { programs, work, .. }) = self.rough else { return self.known_images(session, look, places) };
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
        let Triplets { values, right, .. } = &look.triplets;
        let shares: Vec<Vec<f64>> = places
            .iter()
            .map(|&place| self.known.split(right.iter().skip(place).step_by(values.len()).copied().collect()).shares)
            .collect();
        let rows = 0..self.known.images.columns();
        let factors: Vec<f64> =
            rows.flat_map(|row| shares.iter().zip(places).map(move |(of, &place)| of[row] / values[place])).collect();
        self.known.images.picked(session, &factors, places.len())
    }

    /// Adds to U those directions that some images have beyond it and that count; false if there are none.
    fn follow(&mut self, session: &mut Session<'_>, images: Shard) -> Result<bool, SvdError> {
        let (order, known) = (images.cols(), self.left.columns());
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
        let images = session.multiply(self.matrix.transposed, &block)?;
        self.columns += block.cols() as f64;
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
            || self.left.columns() >= self.matrix.columns
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
        }
    }
}
