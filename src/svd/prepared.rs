//! What a decomposition multiplies with, settled before the workers start.

use std::sync::Arc;
use std::time::Instant;

use super::certificate::{Certificate, worst_residual};
use super::factorization::Kind;
use super::gram::{GramPlan, Spectrum};
use super::keep::Keep;
use super::operator::{ColumnCount, Operator, Surrogate, compiled, is_transposed};
use super::options::{Method, Options, SvdError};
use super::planned::{Planned, show_plan};
use super::run::Progress;
use super::scale::check_length;
use super::triplets::Triplets;
use super::tuning::{NORMAL_TOLERANCE, SURROGATE_ALLOWANCE, UNROUNDED};
use crate::engine::{Cluster, Session, with_formed};
use crate::matrix::{Matrix, Shape};
use crate::plan::Program;
use crate::plan::forming::{Forming, bytes_to_form, what_to_form};

/// Residuals up to this, relative to their own σ, are fit to be used unasked.
pub const TRUSTED_RESIDUAL: f64 = 1e-3;

/// A matrix made ready to be decomposed: its programs, and the method.
#[derive(Clone)]
pub struct Prepared {
    pub(super) shape: Shape,
    pub(super) options: Options,
    /// Columns to iterate with.
    pub(super) block: usize,
    /// Those of M and Mᵀ, those that form it for its Gram matrix, and those of the surrogate.
    programs: Vec<Arc<Program>>,
    gram: Option<Arc<GramPlan>>,
    /// The position of the first program of the surrogate, and its error.
    surrogate: Option<(usize, f64)>,
    pub(super) kind: Kind,
    /// The bytes that a process may hold, and whether the basis may be made smaller for that.
    limit: Option<(u64, bool)>,
    /// Whether it was.
    pub(super) is_reduced: bool,
    /// The matrix is the one to decompose times two to this power; `None` if its scale is not checked.
    pub(super) exponent: Option<i32>,
}

/// Which factorisation a Krylov method uses: block Lanczos on MᵀM where the tolerance allows
/// squared singular values in f32.
fn kind_of(options: &Options) -> Kind {
    let is_coarse = options.tolerance.is_some_and(|tolerance| tolerance >= NORMAL_TOLERANCE);
    let is_krylov = options.method != Method::Subspace;
    if is_coarse && is_krylov && options.keep == Keep::All { Kind::Normal } else { Kind::GolubKahan }
}

impl Prepared {
    /// Checks the options against the matrix and the memory there is, and chooses the method if that is
    /// left open.
    pub fn new(matrix: &Matrix, options: &Options, cluster: Cluster) -> Result<Self, SvdError> {
        let shape = matrix.shape();
        let mut options = options.clone();
        if options.keep != Keep::All {
            // A rule chooses among all triplets there are, which may be fewer than the most to keep.
            options.rank = options.rank.min(shape.smaller_side());
        }
        let block = options.block_columns(shape)?;
        let kind = kind_of(&options);
        let mut programs = compiled(matrix).to_vec();
        let gram = match options.method {
            Method::Subspace | Method::Krylov => None,
            Method::Gram | Method::Auto => {
                GramPlan::new(matrix, is_transposed(shape), &mut programs, cluster.forming_limit())
            }
        };
        let gram = match options.method {
            Method::Gram if gram.is_none() => return Err(SvdError::NoGram { shape }),
            Method::Auto => gram.filter(|gram| gram.is_cheaper(shape, &options, block, &programs)),
            _ => gram,
        };
        let gram = gram.map(Arc::new);
        if gram.is_none() {
            programs.truncate(2);
        }
        // Processes that have more or less memory than others have to do the same.
        let limit = cluster.memory.map(|limit| (limit, cluster.mesh.is_none()));
        let (surrogate, is_reduced, exponent) = (None, false, None);
        Self { shape, options, block, programs, gram, surrogate, kind, limit, is_reduced, exponent }.fitted()
    }

    /// The same within the memory there is.
    fn fitted(self) -> Result<Self, SvdError> {
        match self.limit {
            Some((limit, may_reduce)) => self.within(limit, may_reduce),
            None => Ok(self),
        }
    }

    /// The same, with those parts of the matrix formed that are cheaper to multiply by then; where
    /// there are none, with the surrogate, where that serves.
    pub fn with_parts_formed(
        matrix: &Matrix,
        surrogate: Option<&Surrogate>,
        options: &Options,
        cluster: Cluster,
    ) -> Result<Self, SvdError> {
        let start = Instant::now();
        let prepared = Self::new(matrix, options, cluster)?;
        let Forming { parts: formed, .. } = prepared.forming(matrix, false, cluster);
        let prepared = if formed.is_empty() { prepared.with_surrogate(surrogate) } else { prepared };
        let took = start.elapsed();
        let surrogate = surrogate.filter(|_| prepared.has_surrogate()).map(|surrogate| &surrogate.matrix);
        let prepared = match formed.is_empty() {
            true => prepared,
            false => Self::new(&with_formed(matrix, &formed, cluster)?, options, cluster)?,
        };
        show_plan(&Planned { matrix, formed: &formed, surrogate, prepared: &prepared, took });
        Ok(prepared)
    }

    /// The same with a surrogate to grow bases with, where it serves: it has to be closer to the matrix
    /// than the tolerance. Residuals are measured with the matrix itself.
    pub fn with_surrogate(mut self, surrogate: Option<&Surrogate>) -> Self {
        let is_grown = self.options.method == Method::Krylov && self.kind == Kind::Normal;
        let serves = |surrogate: &&Surrogate| {
            let is_close = self.options.tolerance.is_some_and(|tolerance| surrogate.error < tolerance);
            surrogate.matrix.shape() == self.shape && is_grown && is_close
        };
        if let Some(Surrogate { matrix, error }) = surrogate.filter(serves) {
            self.surrogate = Some((self.programs.len(), *error));
            self.programs.extend(compiled(matrix));
        }
        self
    }

    /// The number of triplets that are asked for.
    pub fn rank(&self) -> usize {
        self.options.rank
    }

    /// Whether bases are grown with a surrogate.
    pub fn has_surrogate(&self) -> bool {
        self.surrogate.is_some()
    }

    /// What to try where an iteration found nothing, or triplets whose measured residuals miss the
    /// tolerance that the estimated ones met: the same without the surrogate, and then both bases.
    /// `None` where there is nothing else.
    pub(super) fn fallback(&self, found: Option<&Triplets>) -> Option<Self> {
        let Some(Certificate { history, relative_residuals, .. }) = found.map(|found| &found.certificate) else {
            return self.with_both_bases();
        };
        let tolerance = self.options.tolerance?;
        let last = history.last().map(|check| check.worst_residual);
        let was_met = last.is_none_or(|worst| self.growing_tolerance().is_some_and(|tolerance| worst <= tolerance));
        let is_met = worst_residual(relative_residuals).is_none_or(|worst| worst <= tolerance);
        match (was_met && !is_met, self.surrogate) {
            (false, _) => None,
            (true, Some(_)) => self.without_surrogate(self.kind),
            (true, None) => self.with_both_bases(),
        }
    }

    /// The same with both bases from a random start, where one was grown and there is the memory for
    /// two.
    pub(super) fn with_both_bases(&self) -> Option<Self> {
        let both = (self.kind == Kind::Normal).then(|| self.without_surrogate(Kind::GolubKahan))??;
        Some(Self { options: Options { start: None, ..both.options }, ..both })
    }

    /// The same with M itself. Programs stay where they are.
    fn without_surrogate(&self, kind: Kind) -> Option<Self> {
        let basis = if self.is_reduced { None } else { self.options.basis };
        let options = Options { basis, ..self.options.clone() };
        Self { options, gram: None, surrogate: None, kind, is_reduced: false, ..self.clone() }.fitted().ok()
    }

    /// The parts of its matrix to form first: all of it where its entries are needed anyway and fit,
    /// else what pays. The Gram matrix is summed up from what it forms itself.
    pub fn forming(&self, matrix: &Matrix, needs_entries: bool, cluster: Cluster) -> Forming {
        let limit = cluster.forming_limit();
        match needs_entries.then(|| bytes_to_form(matrix)).filter(|bytes| *bytes <= limit) {
            Some(bytes) => Forming { parts: vec![matrix.clone()], bytes, ..Forming::default() },
            None if self.is_gram() => Forming::default(),
            None => what_to_form(matrix, [&self.programs[0], &self.programs[1]], self.work(), limit),
        }
    }

    /// What a checkpoint belongs to, in a line: the shape, the options, the content of the matrix, and
    /// the programs, since other programs round differently.
    pub(super) fn label(&self, content: &str) -> String {
        let programs: String = self.programs.iter().map(ToString::to_string).collect();
        let checksum = crc32fast::hash(programs.as_bytes());
        format!("iterate {} {} of {content} with programs {checksum:08x}", self.shape, self.options.label())
    }

    /// The programs that bases are grown with: those of the matrix and its transpose, or of the
    /// surrogate.
    pub fn growing(&self) -> &[Arc<Program>] {
        &self.programs[self.surrogate.map_or(0, |(first, _)| first)..][..2]
    }

    /// The programs that the workers must have, in this order and before any others.
    pub fn programs(&self) -> Vec<Arc<Program>> {
        self.programs.clone()
    }

    /// Whether the Gram matrix of the short side is to be tried.
    pub fn is_gram(&self) -> bool {
        self.gram.is_some()
    }

    /// Whether the transpose is decomposed in place of the matrix.
    pub(super) fn is_transposed(&self) -> bool {
        is_transposed(self.shape)
    }

    /// The matrix to decompose, or its transpose where that is higher than wide.
    pub(super) fn operator(&self, count: &ColumnCount) -> Operator {
        Operator::new(self.shape, 0, 1.0, count)
    }

    /// The matrix as it was stated.
    pub(super) fn stated_operator(&self, count: &ColumnCount) -> Operator {
        if self.is_transposed() { self.operator(count).transposed() } else { self.operator(count) }
    }

    /// What bases are grown with, and its error.
    pub(super) fn growing_operator(&self, count: &ColumnCount) -> (Operator, f64) {
        let Some((first, error)) = self.surrogate else { return (self.operator(count), 0.0) };
        let products = |program: usize| self.programs[program].sparse_products().max(1) as f64;
        (Operator::new(self.shape, first, (products(first) / products(0)).min(1.0), count), error)
    }

    /// The tolerance that estimated residuals have to meet. Part of that which was asked for is left
    /// for the error of a surrogate and for rounding, which show only when residuals are measured (eq.
    /// 6).
    pub(super) fn growing_tolerance(&self) -> Option<f64> {
        let error = self.surrogate.map_or(0.0, |(_, error)| error);
        self.options.tolerance.map(|tolerance| match self.kind {
            Kind::Normal => {
                let (errors, part) = SURROGATE_ALLOWANCE;
                UNROUNDED * (tolerance - (errors * error).min(part * tolerance))
            }
            Kind::GolubKahan => tolerance,
        })
    }

    /// The eigenvectors of the Gram matrix of the short side, if that is the method.
    pub(super) fn spectrum(
        &self,
        session: &mut Session<'_>,
        count: &ColumnCount,
        progress: &Progress,
    ) -> Result<Option<Spectrum>, SvdError> {
        let Some(gram) = &self.gram else { return Ok(None) };
        count.set(count.get() + self.shape.smaller_side() as f64);
        let spectrum = gram.spectrum(session, self.options.rank, self.options.keep)?;
        check_length(self, spectrum.singular_values.first().copied().unwrap_or(0.0))?;
        if session.worker() == 0 {
            progress(1, 1, Some(spectrum.certificate.worst()));
        }
        Ok(Some(spectrum))
    }

    /// Whether a measured residual of what the Gram matrix gave is good enough: always, where it was
    /// asked for by name.
    pub(super) fn trusts(&self, residual: f64) -> bool {
        self.options.method == Method::Gram || residual <= self.trusted_residual()
    }

    /// The tolerance, or what is trusted without one.
    pub(super) fn trusted_residual(&self) -> f64 {
        self.options.tolerance.unwrap_or(TRUSTED_RESIDUAL)
    }
}
