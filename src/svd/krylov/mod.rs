//! Block Krylov iteration: every block is kept.
//!
//! Where subspace iteration throws its last block away, this keeps all of them, so that the answer is the best in the whole
//! space that was seen: block Golub–Kahan–Lanczos with reorthogonalisation. Two orthonormal bases grow block by
//! block. U starts with M times a random block. A step multiplies the newest block of U by Mᵀ, and what V lacks of the
//! images becomes the next block of V; that is multiplied by M, and what U lacks becomes the next block of U. The
//! coefficients make up T with `MᵀU = V·T`, whose SVD gives the triplets. `Mᵀu = σv` holds by construction; `Mv − σu` lies in
//! the next block of U, so its length is known without a product, too.
//!
//! Where residuals need not be tiny, U is not kept: a step multiplies the newest block of V by MᵀM, and T with `MᵀM·V = V·T` has
//! the squares of the singular values. That is half of the memory, and half of the sums and subtractions; the left vectors are made of the right
//! ones in the end, with M itself. As MᵀM is symmetric, what it makes of a block has nothing of any other but the last two, save for rounding:
//! it is made orthogonal to these and to the first few, and to all the others only where rounding may have grown too much
//! (partial reorthogonalisation). MᵀM squares what rounding does, too, so the residuals are measured in the end, and where they are
//! not what they should be, both bases are grown after all.
//!
//! A basis that has become too large is reduced to its best vectors, of which T is diagonal, and goes on from the same next
//! block (thick restart). Where a block brings nothing new, a random one is taken: a block finds at most as many copies
//! of a repeated singular value as it has columns.

mod basis;
mod care;
mod check;
mod missing;
mod overlap;
mod project;
mod size;
mod split;
mod state;

use std::ops::Range;

use super::certificate::{Certificate, Look};
use super::completeness::CompletenessCheck;
use super::keep::{Keep, Probe};
use super::options::{Options, SvdError};
use super::prepared::Prepared;
use super::run::Progress;
use super::scale::check_range;
use super::subspace::{Projection, Tall};
use crate::engine::checkpoint::CheckpointLog;
use crate::engine::{Session, Shard};
use crate::kernel::random;
use crate::matrix::Dense;
use basis::Basis;
pub(super) use care::Bases;
use care::Care;
use check::Checks;
use missing::Outcome;
use project::{Projected, Rotations};
pub(super) use size::{Demand, demand};
use size::{Sizes, depth};
pub(super) use split::{Split, split_all};

/// Grows the bases until the triplets are good enough, and leaves what rotates them into singular vectors.
pub(super) fn grow(
    session: &mut Session<'_>,
    prepared: &Prepared,
    start: Option<&Dense>,
    progress: &Progress,
    journal: &mut CheckpointLog,
) -> Result<Projection, SvdError> {
    let near = prepared.near();
    let options = &Options { tolerance: prepared.tolerance_to_grow(), ..prepared.options.clone() };
    let sizes = Sizes::new(options, near.programs.columns, prepared.block);
    let mut growth = Growth {
        prepared,
        matrix: near.programs,
        options,
        sizes,
        limit: sizes.columns,
        care: Care::for_tolerance(options.tolerance, prepared.bases()),
        bases: prepared.bases(),
        left: Basis::default(),
        right: Basis::default(),
        projected: Projected::new(prepared.bases()),
        operator_columns: 0,
        drawn: 0,
        steps: 0,
        probe: None,
        total: None,
        checks: Checks::default(),
        looks: Vec::new(),
        surrogate_error: prepared.off(),
        searches: 0,
        completeness: None,
    };
    let next = match journal.resume(session)? {
        Some((numbers, panels)) => growth.resume(numbers, panels),
        None => None,
    };
    let next = match next {
        Some(next) => next,
        None => growth.begin(session, start)?,
    };
    let rotations = growth.run(session, next, progress, journal)?;
    // What they come to in columns of M.
    let worth = |columns: usize| (columns as f64 * near.work).ceil() as usize;
    growth.looks.iter_mut().for_each(|look| look.operator_columns = worth(look.operator_columns));
    Ok(Projection {
        left: growth.left.into_blocks(),
        left_rotation: rotations.left,
        right: growth.right.into_blocks(),
        right_rotation: rotations.right,
        singular_values: rotations.singular_values,
        total: growth.total,
        iterations: growth.steps,
        operator_columns: worth(growth.operator_columns),
        residual_squares: None,
        looks: growth.looks,
        completeness: growth.completeness,
    })
}

/// Where no block is far.
const NONE: Range<usize> = 0..0;

/// Bases on their way.
struct Growth<'a> {
    prepared: &'a Prepared,
    matrix: Tall,
    options: &'a Options,
    sizes: Sizes,
    /// The most columns to multiply by.
    limit: usize,
    care: Care,
    bases: Bases,
    /// U, without the newest block; empty if it is not kept.
    left: Basis,
    /// V, whose columns hold all the images of U.
    right: Basis,
    projected: Projected,
    operator_columns: usize,
    /// Random blocks drawn so far.
    drawn: u32,
    steps: usize,
    /// What tells ‖M‖, and that squared, where a rule needs it.
    probe: Option<Probe>,
    total: Option<f64>,
    checks: Checks,
    looks: Vec<Look>,
    /// ‖(M − N)v‖ / ‖Mv‖, about, where N stands for M.
    surrogate_error: f64,
    /// Searches for missing triplets made so far.
    searches: usize,
    /// The search that found nothing missing.
    completeness: Option<CompletenessCheck>,
}

/// The newest block of U, not yet multiplied by Mᵀ; of V where that is the only basis.
struct Next {
    block: Shard,
    /// How far from orthonormal it is, about.
    error: f64,
    /// The step that made it.
    step: usize,
}

/// What a step has added.
struct Grown {
    /// The next block.
    beyond: Shard,
    /// How far from orthonormal it is, about.
    error: f64,
    /// The newest columns of V in terms of it.
    coupling: Vec<f64>,
    /// How many these are.
    width: usize,
    /// No more columns can or should follow.
    is_last: bool,
}

impl Growth<'_> {
    /// The first block of U: what M makes of a random block, or of vectors to start from.
    fn begin(&mut self, session: &mut Session<'_>, start: Option<&Dense>) -> Result<Next, SvdError> {
        if self.bases == Bases::Right {
            let next = self.begin_anew(session)?;
            if next.block.cols() == 0 {
                self.right.push(name("right", 0), next.block.clone(), next.error);
            }
            return Ok(next);
        }
        let first = match start {
            None => self.draw(session)?,
            Some(vectors) => {
                let columns = vectors.columns().max(self.sizes.width).min(self.matrix.columns);
                session.panel_from(vectors, columns, self.options.seed, random::stream::START_BLOCK)?
            }
        };
        let Split { fresh: block, error, .. } = self.images(session, &first)?;
        if block.cols() == 0 {
            self.right.push(name("right", 0), session.multiply(self.matrix.transposed, &block)?, error);
            self.left.push(name("left", 0), block.clone(), error);
        }
        Ok(Next { block, error, step: 0 })
    }

    fn run(
        &mut self,
        session: &mut Session<'_>,
        mut next: Next,
        progress: &Progress,
        journal: &mut CheckpointLog,
    ) -> Result<Rotations, SvdError> {
        loop {
            if next.block.cols() == 0 {
                // M maps the basis into itself: the triplets in it are exact, but others may be missing.
                let rotations = self.rotations(session, None)?;
                match self.search(session, rotations, self.options.rank, 0.0, next)? {
                    Outcome::Incomplete(with_missing) if with_missing.block.cols() > 0 => next = with_missing,
                    Outcome::Incomplete(_) => return self.rotations(session, None),
                    Outcome::Complete(rotations) => return Ok(rotations),
                }
            }
            journal.keep(session, || self.state(&next))?;
            let grown = match self.bases {
                Bases::Both => self.grow_both(session, next)?,
                Bases::Right => self.grow_right(session, next)?,
            };
            let Grown { beyond, error, coupling, width, is_last } = grown;
            if is_last {
                let rotations = self.rotations(session, None)?;
                let rank = self.options.rank;
                let residual = match coupling.is_empty() {
                    true => f64::INFINITY,
                    false => worst_residual(&rotations, &coupling, width, rank),
                };
                if self.is_looked_for() {
                    self.note(residual);
                }
                self.tell(session, progress, Some(residual).filter(|residual| residual.is_finite()));
                // The work limit ends the run as it is, unless the triplets are good enough.
                let is_good = match self.options.tolerance {
                    Some(tolerance) => residual <= tolerance,
                    None => !self.is_looked_for() && self.is_deep(),
                };
                if !self.is_whole() && !is_good {
                    return Ok(rotations);
                }
                let next_block = Next { block: beyond, error, step: self.steps };
                match self.search(session, rotations, rank, residual, next_block)? {
                    Outcome::Complete(rotations) => return Ok(rotations),
                    Outcome::Incomplete(with_missing) => next = with_missing,
                }
                continue;
            }
            let known = self.projected.width();
            let is_exhausted = beyond.cols() == 0;
            let is_too_large = known + beyond.cols().max(1) > self.sizes.kept;
            let is_due = self.is_looked_for() && known >= self.least() && self.checks.is_due(self.steps);
            let glimpsed = if is_due { self.glimpse(&coupling, width) } else { None };
            if let Some(last) = glimpsed {
                self.note(last);
                self.checks.note(self.steps, last, self.options.tolerance.unwrap_or(0.0), false);
            }
            let mut worst = glimpsed;
            let is_looked_at = is_due && glimpsed.is_none();
            if is_looked_at || is_too_large {
                let some = if is_too_large { Sizes::restart(known, self.options.rank) } else { self.options.rank };
                let rotations = self.rotations(session, (self.options.keep == Keep::All).then_some(some))?;
                if is_looked_at {
                    let wanted = self.wanted(session, &rotations)?;
                    let found = worst_residual(&rotations, &coupling, width, wanted);
                    worst = Some(found);
                    self.note(found);
                    let is_deep = known >= self.enough(wanted);
                    // What the blocks never saw has no residual.
                    if self
                        .options
                        .tolerance
                        .map_or(is_deep, |tolerance| found <= tolerance && (is_deep || !is_exhausted))
                    {
                        self.tell(session, progress, worst);
                        let beyond = Next { block: beyond, error, step: self.steps };
                        match self.search(session, rotations, wanted, found, beyond)? {
                            Outcome::Complete(rotations) => return Ok(rotations),
                            Outcome::Incomplete(with_missing) => next = with_missing,
                        }
                        continue;
                    }
                    let is_cheap = Checks::is_cheap(self.matrix.columns, known, self.sizes.width);
                    self.checks.note(self.steps, found, self.options.tolerance.unwrap_or(0.0), is_cheap);
                }
                if is_too_large {
                    self.restart(session, &rotations);
                }
            }
            self.tell(session, progress, worst);
            next = match is_exhausted {
                true => self.begin_anew(session)?,
                false => Next { block: beyond, error, step: self.steps },
            };
        }
    }

    /// The residual of the last wanted triplet, where it alone tells that the triplets are not good enough: it is next to always among the
    /// worst, and found in a tenth of the time of a look.
    fn glimpse(&self, coupling: &[f64], width: usize) -> Option<f64> {
        let Options { keep, rank, tolerance, .. } = *self.options;
        let known = self.projected.width();
        let is_banded = self.bases == Bases::Right && self.right.best() == 0;
        if !is_banded || keep != Keep::All || Checks::is_cheap(self.matrix.columns, known, width) {
            return None;
        }
        let last = self.projected.banded(width).eigenpair(rank.checked_sub(1)?)?;
        let rotations = Rotations::of_last(last);
        let residual = *rotations.relative_residuals(coupling, width, 1).first()?;
        tolerance.is_some_and(|tolerance| residual > tolerance).then_some(residual)
    }

    /// Multiplies the newest block of U by Mᵀ, and what V lacks of the images by M, unless it is the last step.
    fn grow_both(&mut self, session: &mut Session<'_>, next: Next) -> Result<Grown, SvdError> {
        let Next { block, error, step } = next;
        let width = block.cols();
        let images = self.multiply(session, self.matrix.transposed, &block)?;
        let Split { fresh, within, upper, error: of_fresh } =
            self.right.split(session, images, NONE, self.matrix.columns - self.right.columns(), self.careful())?;
        self.projected.push(&[within, upper].concat(), width);
        self.left.push(name("left", step), block, error);
        self.steps += 1;
        self.right.push(name("right", self.steps), fresh.clone(), of_fresh);
        if self.is_last(fresh.cols()) {
            let beyond = session.columns(self.left.blocks().last().unwrap_or(&fresh), 0..0)?;
            return Ok(Grown { beyond, error: 0.0, coupling: Vec::new(), width: 0, is_last: true });
        }
        let Split { fresh: beyond, upper: coupling, error, .. } = self.images(session, &fresh)?;
        Ok(Grown { beyond, error, coupling, width: fresh.cols(), is_last: false })
    }

    /// Multiplies the newest block of V by MᵀM.
    fn grow_right(&mut self, session: &mut Session<'_>, next: Next) -> Result<Grown, SvdError> {
        let Next { block, error, step } = next;
        let width = block.cols();
        self.right.push(name("right", step), block.clone(), error);
        self.steps += 1;
        let images = session.multiply_in_turn(&[self.matrix.plain, self.matrix.transposed], &block)?;
        drop(block);
        self.operator_columns += 2 * width;
        let most = self.matrix.columns - self.right.columns();
        let care = self.careful();
        let Split { fresh: beyond, within, upper: coupling, error } =
            self.right.split(session, images, self.right.far(), most, care)?;
        self.projected.push(&within, width);
        Ok(Grown { beyond, error, coupling, width, is_last: self.is_last(width) })
    }

    /// How orthonormal the next block has to be. The first ones hold the dominant vectors: what a later
    /// block has in common with those is multiplied by their singular values.
    fn careful(&self) -> Care {
        let stretch = match self.projected.width() < Basis::FIRST * self.sizes.width {
            true => f64::INFINITY,
            false => self.projected.stretch(self.sizes.width),
        };
        self.care.beside(self.options.tolerance, stretch)
    }

    /// A random block, multiplied once, as far as the basis lacks it.
    fn begin_anew(&mut self, session: &mut Session<'_>) -> Result<Next, SvdError> {
        let step = self.steps;
        let random = self.draw(session)?;
        let Split { fresh: block, error, .. } = match self.bases {
            Bases::Both => self.images(session, &random)?,
            Bases::Right => {
                let images = self.multiply(session, self.matrix.transposed, &random)?;
                self.check_range(session, &images)?;
                self.right.split(session, images, NONE, self.matrix.columns - self.right.columns(), self.careful())?
            }
        };
        Ok(Next { block, error, step })
    }

    /// What rotates the bases into singular vectors: the first so many, or all.
    fn rotations(&mut self, session: &mut Session<'_>, count: Option<usize>) -> Result<Rotations, SvdError> {
        Rotations::shared(session, &mut self.projected, self.right.columns(), count)
    }

    /// Whether no more columns can or should follow: the space is complete, or deep enough, or as many columns were
    /// multiplied by as may be.
    fn is_last(&self, width: usize) -> bool {
        let is_deep = !self.is_looked_for() && self.is_deep();
        self.is_whole() || is_deep || self.operator_columns + 2 * width > self.limit
    }

    /// Whether V spans the whole space.
    fn is_whole(&self) -> bool {
        self.right.columns() >= self.matrix.columns
    }

    /// Whether the basis has the columns that are enough without a tolerance.
    fn is_deep(&self) -> bool {
        self.projected.width() >= self.enough(self.options.rank)
    }

    /// Whether the triplets on the way tell when to stop.
    fn is_looked_for(&self) -> bool {
        self.options.tolerance.is_some() || self.options.keep != Keep::All
    }

    /// Columns of a basis that are enough for so many triplets without a tolerance. Vectors to start from are worth as many
    /// blocks.
    fn enough(&self, wanted: usize) -> usize {
        match self.options.start {
            None => depth(wanted, self.sizes.width),
            Some(_) => 2 * wanted,
        }
        .min(self.sizes.kept)
    }

    /// Columns of a basis before which there is no use in looking whether they are enough.
    fn least(&self) -> usize {
        match (&self.options.start, self.options.keep) {
            (None, Keep::All) => depth(self.options.rank, self.sizes.width) * 3 / 4,
            (None, _) => 2 * self.sizes.width,
            (Some(_), _) => self.options.rank,
        }
        .min(self.sizes.kept)
    }

    /// How many triplets are wanted, as far as those found tell: the most, while a rule is not met.
    fn wanted(&mut self, session: &mut Session<'_>, rotations: &Rotations) -> Result<usize, SvdError> {
        let Options { keep, rank, seed, .. } = *self.options;
        let values = &rotations.singular_values;
        if keep.is_by_energy() {
            if self.probe.is_none() {
                let probe = Probe::new(session, self.matrix.columns, self.matrix.plain, seed)?;
                self.operator_columns += probe.columns();
                self.probe = Some(probe);
            }
            if let Some(probe) = &self.probe {
                let within: f64 = values.iter().map(|value| value * value).sum();
                self.total = Some(within + probe.beyond(session, self.left.blocks())?);
            }
        }
        let kept = keep.count(&values[..rank.min(values.len())], self.total);
        Ok(if keep == Keep::All || !kept.is_met { rank } else { kept.count })
    }

    /// What U lacks of the images of a block of the other side.
    fn images(&mut self, session: &mut Session<'_>, block: &Shard) -> Result<Split, SvdError> {
        let images = self.multiply(session, self.matrix.plain, block)?;
        self.check_range(session, &images)?;
        // Rounding adds directions outside of the range of M: U may have a block more than V.
        let most = (self.matrix.columns + self.sizes.width).min(self.matrix.rows) - self.left.columns();
        self.left.split(session, images, NONE, most, self.careful())
    }

    /// Checks the range of the first product of a run.
    fn check_range(&self, session: &mut Session<'_>, product: &Shard) -> Result<(), SvdError> {
        match self.steps == 0 && self.drawn == 1 {
            true => check_range(session, self.prepared, product),
            false => Ok(()),
        }
    }

    fn multiply(&mut self, session: &mut Session<'_>, program: usize, block: &Shard) -> Result<Shard, SvdError> {
        self.operator_columns += block.cols();
        Ok(session.multiply(program, block)?)
    }

    /// A random block, another every time.
    fn draw(&mut self, session: &mut Session<'_>) -> Result<Shard, SvdError> {
        let seed = self.options.seed.wrapping_add(u64::from(self.drawn) << 32);
        self.drawn += 1;
        let rows = if self.bases == Bases::Both { self.matrix.columns } else { self.matrix.rows };
        Ok(session.random_normal(rows, self.sizes.width, seed, random::stream::START_BLOCK)?)
    }

    /// Reduces both bases to their best vectors.
    fn restart(&mut self, session: &mut Session<'_>, rotations: &Rotations) {
        let of = rotations.singular_values.len();
        self.reduce(session, rotations, Sizes::restart(self.projected.width(), self.options.rank).min(of));
    }

    /// Reduces both bases to the singular vectors of the first `count` triplets.
    fn reduce(&mut self, session: &mut Session<'_>, rotations: &Rotations, count: usize) {
        let of = rotations.singular_values.len();
        let mut reduce = |basis: &mut Basis, rotation: &[f64], kind: &str| {
            let small = Rotations::first(rotation, of, count);
            *basis = std::mem::take(basis).rotated(session, &name(kind, self.steps), &small, count);
        };
        if self.bases == Bases::Both {
            reduce(&mut self.left, &rotations.left, "left-best");
        }
        reduce(&mut self.right, &rotations.right, "right-best");
        self.projected.restart(&rotations.singular_values[..count]);
    }

    /// Remembers what was found; too few triplets have no residual.
    fn note(&mut self, worst_residual: f64) {
        if worst_residual.is_finite() {
            let (iterations, operator_columns) = (self.steps, self.operator_columns);
            self.looks.push(Look { iterations, operator_columns, worst_residual });
        }
    }

    fn tell(&self, session: &Session<'_>, progress: &Progress, worst: Option<f64>) {
        if session.worker() == 0 {
            let of = self.enough(self.options.rank).div_ceil(self.sizes.width).max(self.steps);
            progress(self.steps, of, worst);
        }
    }
}

/// What a block is called that a step made.
fn name(kind: &str, step: usize) -> String {
    format!("{kind}-{step}")
}

/// The worst residual of the wanted triplets, relative to their own σ; infinite if there are fewer.
fn worst_residual(rotations: &Rotations, coupling: &[f64], width: usize, wanted: usize) -> f64 {
    let Some(values) = rotations.singular_values.get(..wanted) else { return f64::INFINITY };
    let relative_residuals = rotations.relative_residuals(coupling, width, wanted);
    let mut certificate = Certificate { relative_residuals, ..Certificate::default() };
    certificate.relative_residuals.truncate(certificate.count_real(values));
    certificate.worst()
}
