//! What a decomposition multiplies with, settled before the workers start.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use super::certificate::Certificate;
use super::gram::{GramPlan, Spectrum};
use super::keep::Keep;
use super::krylov::Bases;
use super::options::{Method, Options, SvdError};
use super::run::Progress;
use super::scale::check_length;
use super::subspace::Tall;
use crate::engine::{Cluster, Session, with_formed};
use crate::matrix::{Matrix, Shape};
use crate::plan::forming::{Forming, bytes_to_form, what_to_form};
use crate::plan::{Program, Side};

/// Residuals up to this, relative to their own σ, are fit to be used unasked.
pub const TRUSTED_RESIDUAL: f64 = 1e-3;
/// The part of a tolerance that is left when rounding has taken its share.
const UNROUNDED: f64 = 0.999;
/// What another matrix seldom adds more to a residual than, as a multiple of what it is off, and as a part of the tolerance.
const ADDED: (f64, f64) = (2.0, 1.0 / 12.0);

/// A matrix made ready to be decomposed: its programs, and the way to go.
pub struct Prepared {
    pub(super) shape: Shape,
    pub(super) options: Options,
    /// Columns to iterate with.
    pub(super) block: usize,
    programs: Vec<Arc<Program>>,
    gram: Option<GramPlan>,
    /// The first of the two programs of a matrix to grow bases with, if there is one, and how far off it is.
    near: Option<(usize, f64)>,
    /// That of one to find directions with, from vectors to start from.
    rough: Option<usize>,
    /// Which bases block Krylov iteration grows.
    bases: Bases,
    /// The matrix is the one to decompose times two to this power; `None` if its scale is not checked.
    pub(super) exponent: Option<i32>,
}

/// A matrix N that is nearly another one, M, and less work to multiply by.
#[derive(Debug, Clone)]
pub struct Near {
    /// N.
    pub matrix: Matrix,
    /// ‖(M − N)v‖ beside ‖Mv‖, about. A start from nothing measures its residuals on both sides all the same; one from vectors takes
    /// this for what Mv is off, and measures the other side.
    pub off: f64,
}

/// Matrices that help to decompose another one, M, and are less work to multiply by.
#[derive(Debug, Clone, Default)]
pub struct Beside {
    /// One that is nearly M, to grow bases with.
    pub near: Option<Near>,
    /// One that is somewhat like M, to find directions with where there are vectors to start from.
    pub rough: Option<Matrix>,
}

impl Beside {
    /// The same matrices times a number.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        let near = self.near.as_ref().map(|Near { matrix, off }| Near { matrix: matrix * factor, off: *off });
        Self { near, rough: self.rough.as_ref().map(|rough| rough * factor) }
    }

    /// Those that help to decompose a matrix of this shape: the near one, and the rough one.
    fn serving(&self, shape: Shape, options: &Options) -> (Option<&Near>, Option<&Matrix>) {
        let Options { method, keep, tolerance, ref start, .. } = *options;
        let serves = |matrix: &Matrix| matrix.shape() == shape && method == Method::Krylov && keep == Keep::All;
        let is_of_use = start.is_some() || Bases::for_options(options) == Bases::Right;
        let is_near = |near: &&Near| is_of_use && tolerance.is_some_and(|tolerance| near.off < tolerance);
        let near = self.near.as_ref().filter(is_near).filter(|near| serves(&near.matrix));
        (near, self.rough.as_ref().filter(|rough| start.is_some() && serves(rough)))
    }
}

/// The programs that multiply by a matrix and by its transpose.
fn compiled(matrix: &Matrix) -> [Arc<Program>; 2] {
    [Side::Plain, Side::Transposed].map(|side| Arc::new(Program::compile(matrix, side)))
}

/// What to multiply with in place of M.
#[derive(Debug, Clone, Copy)]
pub(super) struct Instead {
    pub(super) programs: Tall,
    /// What part of the work of a column of M one of it is.
    pub(super) work: f64,
    /// Whether it is another matrix, and not M itself.
    pub(super) is_other: bool,
}

impl Instead {
    /// M itself.
    pub(super) fn of(matrix: Tall) -> Self {
        Self { programs: matrix, work: 1.0, is_other: false }
    }
}

/// See [`Prepared::is_turned`].
fn is_turned(shape: Shape, options: &Options) -> bool {
    let Shape { rows, columns } = shape;
    rows < columns || (rows == columns && options.start.is_some())
}

impl Prepared {
    /// Checks the options against the matrix and the memory there is, and chooses the method if that is left open.
    pub fn new(matrix: &Matrix, options: &Options, cluster: Cluster) -> Result<Self, SvdError> {
        let shape = matrix.shape();
        let mut options = options.clone();
        if options.keep != Keep::All {
            // As many as there are may be too few for the rule, and are never too many to ask for.
            options.rank = options.rank.min(shape.smaller_side());
        }
        let block = options.block_columns(shape)?;
        let bases = Bases::for_options(&options);
        let mut programs = compiled(matrix).to_vec();
        let gram = match options.method {
            Method::Subspace | Method::Krylov => None,
            Method::Gram | Method::Auto => {
                let is_turned = is_turned(shape, &options);
                GramPlan::new(matrix, is_turned, &mut programs, cluster.forming_limit())
            }
        };
        let gram = match options.method {
            Method::Gram if gram.is_none() => return Err(SvdError::NoGram { shape }),
            Method::Auto => gram.filter(|gram| gram.is_cheaper(shape, &options, block, &programs)),
            _ => gram,
        };
        if gram.is_none() {
            programs.truncate(2);
        }
        let prepared = Self { shape, options, block, programs, gram, near: None, rough: None, bases, exponent: None };
        match cluster.memory {
            // Processes that have more or less memory than others have to do the same.
            Some(limit) => prepared.within(limit, cluster.mesh.is_none()),
            None => Ok(prepared),
        }
    }

    /// The same, with those parts of the matrix written down that are cheaper to multiply by then; where there are none, with
    /// the help of others.
    pub fn with_parts_formed(
        matrix: &Matrix,
        beside: &Beside,
        options: &Options,
        cluster: Cluster,
    ) -> Result<Self, SvdError> {
        let (near, rough) = beside.serving(matrix.shape(), options);
        thread::scope(|scope| {
            // All matrices are planned at a time: that is a good part of what a small graph takes.
            let compile = || (near.map(|near| compiled(&near.matrix)), rough.map(compiled));
            let has_others = near.is_some() || rough.is_some();
            let ahead = (cluster.workers > 1 && has_others).then(|| scope.spawn(compile));
            let prepared = Self::new(matrix, options, cluster)?;
            let forming = prepared.forming(matrix, false, cluster);
            let ahead = ahead.map(|planned| planned.join().unwrap_or_else(|panic| resume_unwind(panic)));
            if !forming.parts.is_empty() {
                return Self::new(&with_formed(matrix, &forming.parts, cluster)?, options, cluster);
            }
            let (of_near, of_rough) = ahead.unwrap_or_else(compile);
            Ok(prepared.with_near(of_near, near.map_or(0.0, |near| near.off)).with_rough(of_rough))
        })
    }

    /// The same, where that serves, with a matrix that is nearly this one and less work to multiply by, to grow bases with until
    /// they meet a tolerance. Residuals are measured with the matrix itself all the same.
    pub fn grown_with(self, near: Option<&Near>) -> Self {
        let beside = Beside { near: near.cloned(), rough: None };
        let (near, _) = beside.serving(self.shape, &self.options);
        self.with_near(near.map(|near| compiled(&near.matrix)), near.map_or(0.0, |near| near.off))
    }

    fn with_near(mut self, programs: Option<[Arc<Program>; 2]>, off: f64) -> Self {
        self.near = self.with_other(programs).map(|first| (first, off));
        self
    }

    fn with_rough(mut self, programs: Option<[Arc<Program>; 2]>) -> Self {
        self.rough = self.with_other(programs);
        self
    }

    /// Takes the programs of another matrix up, and tells where they are.
    fn with_other(&mut self, programs: Option<[Arc<Program>; 2]>) -> Option<usize> {
        let first = self.programs.len();
        self.programs.extend(programs?);
        Some(first)
    }

    /// Whether bases are grown with another matrix.
    pub fn has_near(&self) -> bool {
        self.near.is_some()
    }

    /// Which bases block Krylov iteration grows.
    pub(super) fn bases(&self) -> Bases {
        self.bases
    }

    /// The same by iteration with more care, if there is any: without another matrix, or with both bases where that was not it. Programs
    /// stay where they are.
    pub(super) fn with_more_care(&self) -> Option<Self> {
        let bases = match (self.near.is_some() || self.rough.is_some(), self.bases) {
            (true, bases) => bases,
            (false, Bases::Right) => Bases::Both,
            (false, Bases::Both) => return None,
        };
        let Self { shape, block, exponent, .. } = *self;
        let (options, programs) = (self.options.clone(), self.programs.clone());
        Some(Self { shape, options, block, programs, gram: None, near: None, rough: None, bases, exponent })
    }

    /// The parts of its matrix to write down first: all of it where its entries are needed anyway and fit, else what pays.
    /// The Gram matrix is summed up from what it forms itself.
    pub fn forming(&self, matrix: &Matrix, needs_entries: bool, cluster: Cluster) -> Forming {
        let limit = cluster.forming_limit();
        match needs_entries.then(|| bytes_to_form(matrix)).filter(|bytes| *bytes <= limit) {
            Some(bytes) => Forming { parts: vec![matrix.clone()], bytes, ..Forming::default() },
            None if self.is_gram() => Forming::default(),
            None => what_to_form(matrix, [&self.programs[0], &self.programs[1]], self.work(), limit),
        }
    }

    /// What is to be iterated and how, in a line: other programs round differently.
    pub(super) fn label(&self) -> String {
        let programs: String = self.programs.iter().map(ToString::to_string).collect();
        let checksum = crc32fast::hash(programs.as_bytes());
        format!("iterate {} {} with programs {checksum:08x}", self.shape, self.options.label())
    }

    /// The programs that the iteration multiplies with, by M and by its transpose, or by what is nearly M.
    pub fn growing(&self) -> &[Arc<Program>] {
        &self.programs[self.near.map_or(0, |(first, _)| first)..][..2]
    }

    /// The programs that the workers must have, in this order and before any others.
    pub fn programs(&self) -> Vec<Arc<Program>> {
        self.programs.clone()
    }

    /// Whether the Gram matrix of the short side is to be tried.
    pub fn is_gram(&self) -> bool {
        self.gram.is_some()
    }

    /// Whether the transpose is decomposed in place of the matrix: where it is wider than high. A warm
    /// start of a square matrix needs the transpose too: the error of a surrogate is known for Mv, which
    /// is then the product that the surrogate replaces.
    pub(super) fn is_turned(&self) -> bool {
        is_turned(self.shape, &self.options)
    }

    /// The program that forms `Mᵀ`, where the Gram matrix to be tried is that of the rows of M.
    pub(super) fn formed_of_wide(&self) -> Option<usize> {
        self.gram.as_ref()?.formed_transpose()
    }

    /// The programs as those of a matrix that is at least as high as wide.
    pub(super) fn tall(&self) -> Tall {
        let (plain, transposed) = if self.is_turned() { (1, 0) } else { (0, 1) };
        let Shape { rows, columns } = self.shape;
        Tall { rows: rows.max(columns), columns: rows.min(columns), plain, transposed }
    }

    /// What to grow bases with, likewise.
    pub(super) fn near(&self) -> Instead {
        self.instead(self.near.map(|(first, _)| first))
    }

    /// How far off that is.
    pub(super) fn off(&self) -> f64 {
        self.near.map_or(0.0, |(_, off)| off)
    }

    /// What to find directions with, likewise.
    pub(super) fn rough(&self) -> Instead {
        self.rough.map_or_else(|| self.near(), |first| self.instead(Some(first)))
    }

    fn instead(&self, first: Option<usize>) -> Instead {
        let tall = self.tall();
        let Some(first) = first else { return Instead::of(tall) };
        let products = |program: usize| self.programs[program].sparse_products().max(1) as f64;
        let programs = Tall { plain: first + tall.plain, transposed: first + tall.transposed, ..tall };
        Instead { programs, work: (products(first) / products(0)).min(1.0), is_other: true }
    }

    /// The tolerance for bases to stop at. Where another matrix helps, or rounding may have had a say, it is measured afterwards whether the
    /// residuals are as small by the matrix itself, and there should seldom be a surprise.
    pub(super) fn tolerance_to_grow(&self) -> Option<f64> {
        let off = self.off();
        self.options.tolerance.map(|tolerance| match self.bases {
            Bases::Right => UNROUNDED * (tolerance - (ADDED.0 * off).min(ADDED.1 * tolerance)),
            Bases::Both => tolerance,
        })
    }

    /// The eigenvectors of the Gram matrix of the short side, if that is the way to go.
    pub(super) fn spectrum(
        &self,
        session: &mut Session<'_>,
        progress: &Progress,
    ) -> Result<Option<Spectrum>, SvdError> {
        let Some(gram) = &self.gram else { return Ok(None) };
        let spectrum = gram.spectrum(session, self.options.rank, self.options.keep)?;
        check_length(self, spectrum.singular_values.first().copied().unwrap_or(0.0))?;
        if session.worker() == 0 {
            progress(1, 1, Some(spectrum.certificate.worst()));
        }
        Ok(Some(spectrum))
    }

    /// Whether what the Gram matrix gave is good enough: always, where it was asked for by name.
    pub(super) fn trusts(&self, certificate: &Certificate) -> bool {
        self.trusts_residual(certificate.worst())
    }

    /// The same of a relative residual.
    pub(super) fn trusts_residual(&self, residual: f64) -> bool {
        let limit = self.options.tolerance.unwrap_or(TRUSTED_RESIDUAL);
        self.options.method == Method::Gram || residual <= limit
    }
}
