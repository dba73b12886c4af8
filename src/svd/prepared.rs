//! What a decomposition multiplies with, settled before the workers start.

use std::sync::Arc;

use super::certificate::Certificate;
use super::gram::{GramPlan, Spectrum};
use super::keep::Keep;
use super::options::{Method, Options, SvdError};
use super::run::Progress;
use super::subspace::Tall;
use crate::engine::{Cluster, Session, with_formed};
use crate::matrix::{Matrix, Shape};
use crate::plan::forming::{Forming, bytes_to_form, what_to_form};
use crate::plan::{Program, Side};

/// Residuals up to this, relative to their own σ, are fit to be used unasked.
const TRUSTED_RESIDUAL: f64 = 1e-3;

/// A matrix made ready to be decomposed: its programs, and the way to go.
pub struct Prepared {
    pub(super) shape: Shape,
    pub(super) options: Options,
    /// Columns to iterate with.
    pub(super) block: usize,
    programs: Vec<Arc<Program>>,
    gram: Option<GramPlan>,
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
        let mut programs =
            [Side::Plain, Side::Transposed].map(|side| Arc::new(Program::compile(matrix, side))).to_vec();
        let gram = match options.method {
            Method::Subspace | Method::Krylov => None,
            Method::Gram | Method::Auto => GramPlan::new(matrix, &mut programs, cluster.forming_limit()),
        };
        let gram = match options.method {
            Method::Gram if gram.is_none() => return Err(SvdError::NoGram { shape }),
            Method::Auto => gram.filter(|gram| gram.is_cheaper(shape, &options, block, &programs)),
            _ => gram,
        };
        if gram.is_none() {
            programs.truncate(2);
        }
        let prepared = Self { shape, options, block, programs, gram };
        cluster.memory.map_or(Ok(()), |limit| prepared.fit_into(limit))?;
        Ok(prepared)
    }

    /// The same, with those parts of the matrix written down that are cheaper to multiply by then.
    pub fn with_parts_formed(matrix: &Matrix, options: &Options, cluster: Cluster) -> Result<Self, SvdError> {
        let prepared = Self::new(matrix, options, cluster)?;
        let forming = prepared.forming(matrix, false, cluster);
        match forming.parts.is_empty() {
            true => Ok(prepared),
            false => Self::new(&with_formed(matrix, &forming.parts, cluster)?, options, cluster),
        }
    }

    /// The parts of its matrix to write down first: all of it where its entries are needed anyway and fit, else what pays.
    /// The Gram matrix is summed up from what it forms itself.
    pub fn forming(&self, matrix: &Matrix, needs_entries: bool, cluster: Cluster) -> Forming {
        let (limit, bytes) = (cluster.forming_limit(), bytes_to_form(matrix));
        match needs_entries && bytes <= limit {
            true => Forming { parts: vec![matrix.clone()], bytes, ..Forming::default() },
            false if self.is_gram() => Forming::default(),
            false => what_to_form(matrix, self.work(), limit),
        }
    }

    /// What is to be iterated and how, in a line: other programs round differently.
    pub(super) fn label(&self) -> String {
        let programs: String = self.programs[..2].iter().map(ToString::to_string).collect();
        let checksum = crc32fast::hash(programs.as_bytes());
        format!("iterate {} {} with programs {checksum:08x}", self.shape, self.options.label())
    }

    /// The programs that the workers must have, in this order and before any others.
    pub fn programs(&self) -> Vec<Arc<Program>> {
        self.programs.clone()
    }

    /// Whether the Gram matrix of the short side is to be tried.
    pub fn is_gram(&self) -> bool {
        self.gram.is_some()
    }

    /// Whether the transpose is decomposed in place of the matrix: one that is wider than high. Of a square one either side
    /// would do to start from; the left one took Hits@20 of ogbl-ddi further, by 0.001 over four seeds.
    pub(super) fn is_turned(&self) -> bool {
        let Shape { rows, columns } = self.shape;
        rows < columns || (rows == columns && self.options.start.is_some())
    }

    /// The programs as those of a matrix that is at least as high as wide.
    pub(super) fn tall(&self) -> Tall {
        let (plain, transposed) = if self.is_turned() { (1, 0) } else { (0, 1) };
        Tall { columns: self.shape.smaller_side(), plain, transposed }
    }

    /// The eigenvectors of the Gram matrix of the short side, if that is the way to go; where the choice is ours, only if
    /// their certificate allows it.
    pub(super) fn trusted_spectrum(
        &self,
        session: &mut Session<'_>,
        progress: &Progress,
    ) -> Result<Option<Spectrum>, SvdError> {
        let Some(gram) = &self.gram else { return Ok(None) };
        let spectrum = gram.spectrum(session, self.options.rank, self.options.keep)?;
        if session.worker() == 0 {
            progress(1, 1, Some(spectrum.certificate.worst()));
        }
        Ok(Some(spectrum).filter(|spectrum| self.trusts(&spectrum.certificate)))
    }

    /// Whether what the Gram matrix gave is good enough: always, where it was asked for by name.
    pub(super) fn trusts(&self, certificate: &Certificate) -> bool {
        let limit = self.options.tolerance.unwrap_or(TRUSTED_RESIDUAL);
        self.options.method == Method::Gram || certificate.worst() <= limit
    }
}
