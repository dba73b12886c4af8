//! Krylov factorisations of an operator M: growing orthonormal bases, and the relations that hold
//! between them.
//!
//! - [`Normal`], block Lanczos on MᵀM: `MᵀM·V = V·T + F·C` (eq. 2 of [`crate::svd`]).
//! - [`GolubKahan`], block Golub–Kahan bidiagonalisation: `MᵀU = V·T` and `M·V = U·Tᵀ + F·C` (eq. 1).
//!
//! F is the residual block: orthonormal, orthogonal to the basis that it extends, and not yet
//! multiplied. C couples it to the last columns of V; it is zero for all others.

mod golub_kahan;
mod normal;
mod rayleigh;

use serde::{Deserialize, Serialize};

pub(super) use golub_kahan::GolubKahan;
pub(super) use normal::Normal;
pub(super) use rayleigh::{RayleighQuotient, Ritz};

use super::basis::{BasisNumbers, Block, BlockNumbers, OrthonormalBasis};
use super::operator::Operator;
use super::options::SvdError;
use super::orthogonalize::{Against, BlockQr, OrthogonalityTarget, block_qr};
use crate::engine::{Session, Shard};

/// Which factorisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Block Lanczos on MᵀM: one basis, half of the memory and of the orthogonalisation, and the rounding
    /// errors of squared singular values.
    Normal,
    /// Block Golub–Kahan bidiagonalisation: two bases.
    GolubKahan,
}

/// A Krylov factorisation that can be started, expanded and shrunk.
pub(super) trait Factorization {
    /// What both kinds have.
    fn parts(&self) -> &Parts;

    /// The same, to change.
    fn parts_mut(&mut self) -> &mut Parts;

    /// Takes a block of the short side as the first, or as the next one where F is empty. Returns the
    /// length of the longest column of the block, or of its image where it is multiplied here.
    fn initialize(&mut self, session: &mut Session<'_>, block: Shard) -> Result<f64, SvdError>;

    /// Multiplies F, which joins a basis, and leaves a new F. Where `selection` is given, it rotates
    /// the columns of F, and only the first of them are multiplied; the others stay in F. Returns the
    /// length of the longest image under M of a column of unit length, or its geometric mean with σ₁.
    fn expand(&mut self, session: &mut Session<'_>, selection: Option<&Selection>) -> Result<f64, SvdError>;

    /// A block of the side that F belongs to, made of random columns of the other side.
    fn image_of(&mut self, session: &mut Session<'_>, random: &Shard) -> Result<Shard, SvdError>;

    /// The basis that F extends, and the operator A for which AᵀA maps the Ritz vectors in it onto
    /// multiples of themselves.
    fn extended(&self) -> (&OrthonormalBasis, Operator);

    /// Adds columns to F, made orthogonal to everything else.
    fn append(&mut self, session: &mut Session<'_>, block: Shard) -> Result<(), SvdError>;

    /// Ritz triplets: the first `count`, or all.
    fn ritz(&mut self, session: &mut Session<'_>, count: Option<usize>) -> Result<Ritz, SvdError> {
        let parts = self.parts_mut();
        let rows = parts.right.columns();
        parts.quotient.ritz(session, rows, count)
    }

    /// Rotates the bases into the first `count` Ritz vectors (thick restart: Baglama & Reichel 2005;
    /// Hernández, Román & Tomás 2008). F stays, and C is rotated with V.
    fn shrink(&mut self, session: &mut Session<'_>, ritz: &Ritz, count: usize) {
        let parts = self.parts_mut();
        parts.coupling = parts.coupling.rotated(ritz, count);
        if parts.quotient.kind() == Kind::GolubKahan {
            let name = parts.name("left");
            parts.left.rotate(session, &ritz.left(count), count, &name);
        }
        let name = parts.name("right");
        parts.right.rotate(session, &ritz.right(count), count, &name);
        parts.quotient.restart(&ritz.values[..count]);
    }
}

/// A rotation of the columns of F, and how many of the first are multiplied.
#[derive(Debug, Clone)]
pub(super) struct Selection {
    /// An orthogonal matrix, row after row.
    pub(super) rotation: Vec<f64>,
    pub(super) count: usize,
}

/// C: one row for each column of F, one column for each of the last columns of V.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Coupling {
    entries: Vec<f64>,
    columns: usize,
}

impl Coupling {
    fn new(entries: Vec<f64>, columns: usize) -> Self {
        Self { entries, columns }
    }

    fn rows(&self) -> usize {
        self.entries.len().checked_div(self.columns).unwrap_or(0)
    }

    /// `C·Y` of the first `count` right Ritz vectors.
    pub(super) fn times(&self, ritz: &Ritz, count: usize) -> Vec<f64> {
        let of = ritz.values.len();
        let last = &ritz.right[ritz.right.len() - self.columns * of..];
        let mut product = vec![0.0; self.rows() * count];
        for (row, sums) in self.entries.chunks_exact(self.columns.max(1)).zip(product.chunks_exact_mut(count.max(1))) {
            for (factor, entries) in row.iter().zip(last.chunks_exact(of)) {
                sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += factor * entry);
            }
        }
        product
    }

    fn rotated(&self, ritz: &Ritz, count: usize) -> Self {
        Self::new(self.times(ritz, count), count)
    }

    /// Rows of zeros for columns that were added to F.
    fn with_rows(mut self, rows: usize) -> Self {
        self.entries.resize(self.entries.len() + rows * self.columns, 0.0);
        self
    }
}

/// What both kinds of factorisation have.
pub(super) struct Parts {
    /// U; empty where it is not kept.
    pub(super) left: OrthonormalBasis,
    /// V.
    pub(super) right: OrthonormalBasis,
    /// T.
    pub(super) quotient: RayleighQuotient,
    /// The columns of F that are multiplied next.
    pub(super) residual: Block,
    /// Columns of F that a selection left; their rows of C follow those of `residual`.
    pub(super) deferred: Option<Block>,
    /// C.
    pub(super) coupling: Coupling,
    /// Columns multiplied by M or its transpose.
    pub(super) operator_columns: usize,
    /// Blocks that were given a name.
    named: usize,
}

impl Parts {
    fn new(session: &mut Session<'_>, kind: Kind, rows: usize) -> Result<Self, SvdError> {
        // F has a height before it has columns.
        let panel = session.random_normal(rows, 0, 0, 0)?;
        Ok(Self {
            left: OrthonormalBasis::default(),
            right: OrthonormalBasis::default(),
            quotient: RayleighQuotient::new(kind),
            residual: Block { panel, name: "residual-0".to_owned(), loss: 0.0 },
            deferred: None,
            coupling: Coupling::default(),
            operator_columns: 0,
            named: 0,
        })
    }

    /// Adds at most `most` columns to F, made orthogonal to it and to the basis that it extends.
    fn append(
        &mut self,
        session: &mut Session<'_>,
        block: Shard,
        most: usize,
        target: OrthogonalityTarget,
    ) -> Result<(), SvdError> {
        let basis = if self.quotient.kind() == Kind::Normal { &self.right } else { &self.left };
        let against = Against::panels(basis.panels(), target.loss).and(&self.residual.panel, target.loss);
        let BlockQr { q, loss, .. } = block_qr(session, &against, block, most, target)?;
        let panel = session.hstack(&[&self.residual.panel, &q])?;
        self.coupling = std::mem::take(&mut self.coupling).with_rows(q.cols());
        self.residual = Block { panel, name: self.name("residual"), loss: self.residual.loss.max(loss) };
        Ok(())
    }

    /// A name that no other block has.
    fn name(&mut self, kind: &str) -> String {
        self.named += 1;
        format!("{kind}-{}", self.named)
    }

    /// ‖F·C·y‖ of the first `count` right Ritz vectors relative to their values: ‖Mv − σu‖/σ, or
    /// ‖MᵀMv − σ²v‖/σ² of [`Kind::Normal`], which is ‖Mᵀu − σv‖/σ with u = Mv/σ (eq. 4).
    pub(super) fn residual_norms(&self, ritz: &Ritz, count: usize) -> Vec<f64> {
        let mut squares = vec![0.0; count];
        for row in self.coupling.times(ritz, count).chunks_exact(count.max(1)) {
            squares.iter_mut().zip(row).for_each(|(square, entry)| *square += entry * entry);
        }
        let relative = |(square, value): (&f64, &f64)| match self.quotient.kind() {
            Kind::GolubKahan => square.sqrt() / value,
            Kind::Normal => square.sqrt() / (value * value),
        };
        squares.iter().zip(&ritz.values).map(relative).collect()
    }

    /// All of it that is no panel.
    pub(super) fn numbers(&self) -> PartsNumbers {
        PartsNumbers {
            left: self.left.numbers(),
            right: self.right.numbers(),
            quotient: self.quotient.clone(),
            residual: BlockNumbers::of(&self.residual),
            deferred: self.deferred.as_ref().map(BlockNumbers::of),
            coupling: self.coupling.clone(),
            operator_columns: self.operator_columns,
            named: self.named,
        }
    }

    /// The panels, in the order that [`PartsNumbers::with`] takes them.
    pub(super) fn panels(&self) -> impl Iterator<Item = (String, &Shard)> {
        let blocks = [Some(&self.residual), self.deferred.as_ref()].into_iter().flatten();
        let bases = self.left.named_panels().chain(self.right.named_panels());
        bases.chain(blocks.map(|block| (block.name.clone(), &block.panel)))
    }
}

/// All of [`Parts`] that is no panel.
#[derive(Serialize, Deserialize)]
pub(super) struct PartsNumbers {
    left: BasisNumbers,
    right: BasisNumbers,
    quotient: RayleighQuotient,
    residual: BlockNumbers,
    deferred: Option<BlockNumbers>,
    coupling: Coupling,
    operator_columns: usize,
    named: usize,
}

impl PartsNumbers {
    /// The parts with the next panels; `None` if those are not the ones that belong to them.
    pub(super) fn with(self, kind: Kind, panels: &mut impl Iterator<Item = Shard>) -> Option<Parts> {
        let (left, right) = (self.left.with(panels)?, self.right.with(panels)?);
        let residual = self.residual.with(panels)?;
        let deferred = match self.deferred {
            None => None,
            Some(deferred) => Some(deferred.with(panels)?),
        };
        let (quotient, coupling) = (self.quotient, self.coupling);
        let fits = match kind {
            Kind::Normal => quotient.order() == right.columns(),
            Kind::GolubKahan => quotient.order() == left.columns(),
        };
        let (operator_columns, named) = (self.operator_columns, self.named);
        (fits && quotient.kind() == kind).then_some(Parts {
            left,
            right,
            quotient,
            residual,
            deferred,
            coupling,
            operator_columns,
            named,
        })
    }
}
