//! What a decomposition multiplies with, settled before the workers start.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use super::factorization::Kind;
use super::gram::{GramPlan, Spectrum};
use super::keep::Keep;
use super::operator::{Operator, Surrogate, compiled, is_transposed};
use super::options::{Method, Options, SvdError};
use super::planned::{Planned, show_plan};
use super::run::Progress;
use super::scale::check_length;
use super::tuning::{NORMAL_TOLERANCE, SURROGATE_ALLOWANCE, UNROUNDED};
use crate::engine::{Cluster, Session, with_formed};
use crate::matrix::{Matrix, Shape};
use crate::plan::Program;
use crate::plan::forming::{Forming, bytes_to_form, what_to_form};

/// Residuals up to this, relative to their own σ, are fit to be used unasked.
pub const TRUSTED_RESIDUAL: f64 = 1e-3;

/// A matrix made ready to be decomposed: its programs, and the method.
pub struct Prepared {
    pub(super) shape: Shape,
    pub(super) options: Options,
    /// Columns to iterate with.
    pub(super) block: usize,
    /// Those of M and Mᵀ, those that form it for its Gram matrix, and those of the surrogate.
    programs: Vec<Arc<Program>>,
    gram: Option<GramPlan>,
    /// The position of the first program of the surrogate, and its error.
    surrogate: Option<(usize, f64)>,
    kind: Kind,
    /// The bytes that a process may hold, and whether the basis may be made smaller for that.
    limit: Option<(u64, bool)>,
    /// Whether it was.
    pub(super) is_reduced: bool,
    /// The matrix is the one to decompose times two to this power; `None` if its scale is not checked.
    pub(super) exponent: Option<i32>,
}

/// Why an iteration is not the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// Measured residuals are larger than the tolerance, which the estimated ones met.
    Residuals,
    /// Rounding errors of MᵀM hide the wanted triplets.
    Rounding,
}

/// Which factorisation a Krylov method uses: block Lanczos on MᵀM where the tolerance allows squared
/// singular values in f32.
fn kind_of(options: &Options) -> Kind {
    let is_coarse = options.tolerance.is_some_and(|tolerance| tolerance >= NORMAL_TOLERANCE);
    let is_krylov = options.method != Method::Subspace;
    if is_coarse && is_krylov && options.keep == Keep::All { Kind::Normal } else { Kind::GolubKahan }
}

impl Prepared {
    /// Checks the options against the matrix and the memory there is, and chooses the method if that is left open.
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

    /// The same, with those parts of the matrix formed that are cheaper to multiply by then; where there are none, with
    /// the surrogate, where that serves.
    pub fn with_parts_formed(
        matrix: &Matrix,
        surrogate: Option<&Surrogate>,
        options: &Options,
        cluster: Cluster,
    ) -> Result<Self, SvdError> {
        let start = Instant::now();
        let surrogate = surrogate.filter(|surrogate| serves(surrogate, matrix.shape(), options));
        thread::scope(|scope| {
            // Both matrices are planned at a time: that is a good part of what a small graph takes.
            let compile = || surrogate.map(|surrogate| compiled(&surrogate.matrix));
            let ahead = (cluster.workers > 1 && surrogate.is_some()).then(|| scope.spawn(compile));
            let prepared = Self::new(matrix, options, cluster)?;
            let forming = prepared.forming(matrix, false, cluster);
            let ahead = ahead.map(|planned| planned.join().unwrap_or_else(|panic| resume_unwind(panic)));
            let (formed, mut took) = (&forming.parts[..], start.elapsed());
            let surrogate = surrogate.filter(|_| formed.is_empty());
            let prepared = match formed.is_empty() {
                false => Self::new(&with_formed(matrix, formed, cluster)?, options, cluster)?,
                true => {
                    let programs = ahead.unwrap_or_else(compile);
                    took = start.elapsed();
                    prepared.with_programs(programs, surrogate.map_or(0.0, |surrogate| surrogate.error))
                }
            };
            let surrogate = surrogate.map(|surrogate| &surrogate.matrix);
            show_plan(&Planned { matrix, formed, surrogate, prepared: &prepared, took });
            Ok(prepared)
        })
    }

    /// The same with a surrogate to grow bases with, where it serves: it has to be closer to the matrix than
    /// the tolerance. Residuals are measured with the matrix itself.
    pub fn with_surrogate(self, surrogate: Option<&Surrogate>) -> Self {
        let surrogate = surrogate.filter(|surrogate| serves(surrogate, self.shape, &self.options));
        let programs = surrogate.map(|surrogate| compiled(&surrogate.matrix));
        self.with_programs(programs, surrogate.map_or(0.0, |surrogate| surrogate.error))
    }

    fn with_programs(mut self, programs: Option<[Arc<Program>; 2]>, error: f64) -> Self {
        if let Some(programs) = programs {
            self.surrogate = Some((self.programs.len(), error));
            self.programs.extend(programs);
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

    /// Which factorisation a Krylov method uses.
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// What to try after a failure: the same without the surrogate, and then both bases from a random
    /// start. `None` where there is nothing else, or it does not fit into the memory. Programs stay where
    /// they are.
    pub(super) fn fallback(&self, failure: Failure) -> Option<Self> {
        let mut options = self.options.clone();
        let kind = match (failure, self.surrogate, self.kind) {
            (Failure::Residuals, Some(_), kind) => kind,
            (_, _, Kind::Normal) => {
                options.start = None;
                Kind::GolubKahan
            }
            (_, _, Kind::GolubKahan) => return None,
        };
        if self.is_reduced {
            options.basis = None;
        }
        let Self { shape, block, limit, exponent, .. } = *self;
        let (programs, gram, surrogate, is_reduced) = (self.programs.clone(), None, None, false);
        let fallback = Self { shape, options, block, programs, gram, surrogate, kind, limit, is_reduced, exponent };
        fallback.fitted().ok()
    }

    /// The parts of its matrix to form first: all of it where its entries are needed anyway and fit, else
    /// what pays. The Gram matrix is summed up from what it forms itself.
    pub fn forming(&self, matrix: &Matrix, needs_entries: bool, cluster: Cluster) -> Forming {
        let limit = cluster.forming_limit();
        match needs_entries.then(|| bytes_to_form(matrix)).filter(|bytes| *bytes <= limit) {
            Some(bytes) => Forming { parts: vec![matrix.clone()], bytes, ..Forming::default() },
            None if self.is_gram() => Forming::default(),
            None => what_to_form(matrix, [&self.programs[0], &self.programs[1]], self.work(), limit),
        }
    }

    /// What a checkpoint belongs to, in a line: the shape, the options, and the programs, since other
    /// programs round differently.
    pub(super) fn label(&self) -> String {
        let programs: String = self.programs.iter().map(ToString::to_string).collect();
        let checksum = crc32fast::hash(programs.as_bytes());
        format!("iterate {} {} with programs {checksum:08x}", self.shape, self.options.label())
    }

    /// The programs that bases are grown with: those of the matrix and its transpose, or of the surrogate.
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

    /// The program that forms `Mᵀ`, where the Gram matrix to be tried is that of the rows of M.
    pub(super) fn formed_of_wide(&self) -> Option<usize> {
        self.gram.as_ref()?.formed_transpose()
    }

    /// The matrix to decompose, or its transpose where that is higher than wide.
    pub(super) fn operator(&self) -> Operator {
        Operator::new(self.shape, 0, 1.0)
    }

    /// The matrix as it was stated.
    pub(super) fn stated_operator(&self) -> Operator {
        if self.is_transposed() { self.operator().transposed() } else { self.operator() }
    }

    /// What bases are grown with, and its error.
    pub(super) fn growing_operator(&self) -> (Operator, f64) {
        let Some((first, error)) = self.surrogate else { return (self.operator(), 0.0) };
        let products = |program: usize| self.programs[program].sparse_products().max(1) as f64;
        (Operator::new(self.shape, first, (products(first) / products(0)).min(1.0)), error)
    }

    /// The tolerance that estimated residuals have to meet. Part of that which was asked for is left for the
    /// error of a surrogate and for rounding, which show only when residuals are measured (eq. 6).
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

    /// Whether a residual of what the Gram matrix gave is good enough: always, where it was asked for by
    /// name.
    pub(super) fn trusts(&self, residual: f64) -> bool {
        self.options.method == Method::Gram || residual <= self.options.tolerance.unwrap_or(TRUSTED_RESIDUAL)
    }
}

/// Whether a surrogate is of use for a matrix of this shape.
fn serves(surrogate: &Surrogate, shape: Shape, options: &Options) -> bool {
    let is_close = options.tolerance.is_some_and(|tolerance| surrogate.error < tolerance);
    let is_grown = options.method == Method::Krylov && kind_of(options) == Kind::Normal;
    surrogate.matrix.shape() == shape && is_grown && is_close
}
