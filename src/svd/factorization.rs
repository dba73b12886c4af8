//! Krylov factorisations of an operator M: orthonormal bases that grow, and the relations between
//! them.
//!
//! - [`Kind::Normal`], block Lanczos on MᵀM: `MᵀM·V = V·T + F·C` (eq. 2 of [`crate::svd`]).
//! - [`Kind::GolubKahan`], block Golub–Kahan bidiagonalisation: `MᵀU = V·T` and `M·V = U·Tᵀ + F·C`
//!   (eq. 1).
//!
//! The residual block F is orthonormal, orthogonal to the basis that it extends, and not yet
//! multiplied. C couples it to the columns of V.

use faer::{Mat, concat};
use serde::{Deserialize, Serialize};

use super::basis::{Block, OrthonormalBasis};
use super::operator::Operator;
use super::options::SvdError;
use super::orthogonalize::{Against, BlockQr, block_qr};
use super::rayleigh::{RayleighQuotient, Ritz};
use super::small::{column_squares, combine, stored};
use super::tuning::{
    BIDIAGONAL_LOSS, BIDIAGONAL_LOSS_LIMITS, FIRST_BLOCKS, NORMAL_LOSS, NORMAL_LOSS_LIMITS, STRETCHED_LOSS,
};
use crate::engine::{Session, Shard};

/// Which factorisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Block Lanczos on MᵀM: one basis, half of the memory and of the orthogonalisation, and the
    /// rounding errors of squared singular values.
    Normal,
    /// Block Golub–Kahan bidiagonalisation: two bases.
    GolubKahan,
}

/// A Krylov factorisation that can be started, expanded and shrunk. Its methods take the operator
/// M.
#[derive(Serialize, Deserialize)]
pub(super) struct Factorization {
    kind: Kind,
    tolerance: Option<f64>,
    /// Columns of a block.
    width: usize,
    /// Columns that the bases stay orthogonal to; T has no part of them.
    #[serde(skip)]
    locked: Vec<Shard>,
    /// U; empty where it is not kept.
    pub(super) left: OrthonormalBasis,
    /// V.
    pub(super) right: OrthonormalBasis,
    /// T.
    pub(super) quotient: RayleighQuotient,
    /// F.
    residual: Block,
    /// The next step multiplies this many columns of F, the first ones; the others are deferred.
    active: usize,
    /// C: one row for each column of F, one column for each of V.
    #[serde(with = "stored")]
    pub(super) coupling: Mat<f64>,
    /// Whether the bases were rotated into Ritz vectors.
    pub(super) is_restarted: bool,
    /// Blocks that were given a name.
    named: usize,
}

impl Factorization {
    pub(super) fn new(kind: Kind, tolerance: Option<f64>, width: usize) -> Self {
        Self {
            kind,
            tolerance,
            width,
            locked: Vec::new(),
            left: OrthonormalBasis::default(),
            right: OrthonormalBasis::default(),
            quotient: RayleighQuotient::new(kind),
            residual: Block::default(),
            active: 0,
            coupling: Mat::new(),
            is_restarted: false,
            named: 0,
        }
    }

    /// The same for the operator restricted to what is orthogonal to some columns.
    pub(super) fn orthogonal_to(self, locked: Vec<Shard>) -> Self {
        Self { locked, ..self }
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Columns of F that the next step multiplies.
    pub(super) fn next(&self) -> usize {
        self.active
    }

    /// Columns of F.
    pub(super) fn residual_columns(&self) -> usize {
        self.residual.panel.cols()
    }

    /// Whether V spans the short side and nothing is left to multiply.
    pub(super) fn is_whole(&self, operator: &Operator) -> bool {
        self.right.columns() >= operator.columns && self.active == 0
    }

    /// The panels, in a fixed order, with the names that checkpoints know them by.
    pub(super) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        self.left.blocks.iter_mut().chain(&mut self.right.blocks).chain([&mut self.residual])
    }

    pub(super) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.left.blocks.iter().chain(&self.right.blocks).chain([&self.residual])
    }

    /// The basis that F extends.
    pub(super) fn extended(&self) -> &OrthonormalBasis {
        match self.kind {
            Kind::Normal => &self.right,
            Kind::GolubKahan => &self.left,
        }
    }

    /// The operator A whose AᵀA maps the basis that F extends into itself and F.
    pub(super) fn inner_operator(&self, operator: &Operator) -> Operator {
        match self.kind {
            Kind::Normal => operator.clone(),
            Kind::GolubKahan => operator.clone().transposed(),
        }
    }

    /// The accepted orthogonality loss of the next block. The first blocks hold the dominant vectors:
    /// what a later block has in common with those is multiplied by their singular values.
    fn accepted_loss(&self) -> f64 {
        let (part, [least, most]) = match self.kind {
            Kind::Normal => (NORMAL_LOSS, NORMAL_LOSS_LIMITS),
            Kind::GolubKahan => (BIDIAGONAL_LOSS, BIDIAGONAL_LOSS_LIMITS),
        };
        let is_first = self.quotient.order() < FIRST_BLOCKS * self.width;
        let stretch = if is_first { f64::INFINITY } else { self.quotient.stretch(self.width) };
        (part.min(STRETCHED_LOSS / stretch) * self.tolerance.unwrap_or(0.0)).clamp(least, most)
    }

    /// Columns that F can have beyond those it has. Rounding adds directions outside of the range of M:
    /// U may have more columns than V.
    fn free_columns(&self, operator: &Operator) -> usize {
        let Operator { rows, columns, .. } = *operator;
        let most = match self.kind {
            Kind::Normal => columns,
            Kind::GolubKahan => (2 * columns + self.width).min(rows),
        };
        let locked = self.locked.iter().map(Shard::cols).sum::<usize>();
        most.saturating_sub(locked + self.extended().columns() + self.residual_columns())
    }

    fn against(&self, basis: &OrthonormalBasis) -> Against {
        self.locked.iter().fold(Against::basis(basis), |against, panel| against.and(panel, 0.0))
    }

    /// Adds a block to F, made orthogonal to F and to the basis that it extends. Returns the length of
    /// the longest column of the block.
    pub(super) fn append(
        &mut self,
        session: &mut Session<'_>,
        operator: &Operator,
        block: Shard,
    ) -> Result<f64, SvdError> {
        let (most, accepted) = (self.free_columns(operator), self.accepted_loss());
        let mut against = self.against(self.extended());
        if self.residual_columns() > 0 {
            against = against.and(&self.residual.panel, self.residual.loss);
        }
        let BlockQr { q, loss, longest, .. } = block_qr(session, &against, block, most, accepted)?;
        let loss = self.residual.loss.max(loss);
        let panel = if self.residual_columns() > 0 { session.hstack(&[&self.residual.panel, &q])? } else { q };
        let coupling = Mat::zeros(panel.cols(), self.right.columns());
        let known = std::mem::replace(&mut self.coupling, coupling);
        self.coupling.subrows_mut(0, known.nrows()).copy_from(&known);
        self.active = panel.cols();
        self.residual = self.block("residual", panel, loss);
        if self.extended().columns() == 0 && self.active == 0 {
            // M is zero: bases without columns have the right height.
            let other = session.random_normal(operator.columns, 0, 0, 0)?;
            if self.kind == Kind::GolubKahan {
                self.left.push(self.residual.clone());
            }
            let right = self.block("right", other, 0.0);
            self.right.push(right);
        }
        Ok(longest)
    }

    fn block(&mut self, what: &str, panel: Shard, loss: f64) -> Block {
        self.named += 1;
        Block { panel, name: format!("{what}-{}", self.named), loss }
    }

    /// Multiplies the active columns of F, which join a basis, and leaves a new F. Returns the length
    /// of the longest image under M of a column of unit length, or its geometric mean with σ₁.
    pub(super) fn expand(&mut self, session: &mut Session<'_>, operator: &Operator) -> Result<f64, SvdError> {
        match self.kind {
            Kind::Normal => self.expand_right(session, operator),
            Kind::GolubKahan => self.expand_both(session, operator),
        }
    }

    /// With F = [F₁ F₂], of which F₁ is active, and the images MᵀM·F₁ = V·P₁ + F₁·P₂ + F₂·P₃ + Q·R, V
    /// becomes [V F₁], F becomes [Q F₂], and C becomes [0 R; C₂ P₃] with the rows C₂ of F₂.
    fn expand_right(&mut self, session: &mut Session<'_>, operator: &Operator) -> Result<f64, SvdError> {
        let accepted = self.accepted_loss();
        let Block { panel, loss, .. } = self.residual.clone();
        let (width, all) = (self.active, panel.cols());
        let (block, deferred) = match width == all {
            true => (self.residual.clone(), None),
            false => {
                let active = session.columns(&panel, 0..width)?;
                (self.block("right", active, loss), Some(session.columns(&panel, width..all)?))
            }
        };
        let images = operator.normal(session, &block.panel)?;
        let most = self.free_columns(operator);
        self.right.push(block);
        let columns = self.right.columns();
        let mut against = Against::basis(&self.right);
        against = deferred.iter().fold(against, |against, panel| against.and(panel, loss));
        against = self.locked.iter().fold(against, |against, panel| against.and(panel, 0.0));
        let BlockQr { q, projections, r, loss: new_loss, longest } =
            block_qr(session, &against, images, most, accepted)?;
        self.quotient.push(projections.subrows(0, columns));
        let zeros = Mat::<f64>::zeros(q.cols(), columns - width);
        let kept = self.coupling.subrows(width, all - width);
        self.coupling = concat![[zeros, r], [kept, projections.subrows(columns, all - width)]];
        // Where nothing is new, what was deferred is next.
        self.active = if q.cols() > 0 { q.cols() } else { all - width };
        let (panel, loss) = match deferred {
            None => (q, new_loss),
            Some(deferred) => (session.hstack(&[&q, &deferred])?, new_loss.max(loss)),
        };
        self.residual = self.block("residual", panel, loss);
        Ok(longest.sqrt())
    }

    /// F joins U, what V lacks of MᵀF joins V, and what U lacks of its image is the next F.
    fn expand_both(&mut self, session: &mut Session<'_>, operator: &Operator) -> Result<f64, SvdError> {
        let accepted = self.accepted_loss();
        let images = operator.adjoint(session, &self.residual.panel)?;
        let most = operator.columns - self.right.columns();
        let BlockQr { q, projections, r, loss, longest } =
            block_qr(session, &Against::basis(&self.right), images, most, accepted)?;
        self.quotient.push(concat![[projections], [r]].as_ref());
        self.left.push(std::mem::take(&mut self.residual));
        let zeros = self.right.columns();
        let right = self.block("right", q.clone(), loss);
        self.right.push(right);
        let images = operator.apply(session, &q)?;
        let (most, accepted) = (self.free_columns(operator), self.accepted_loss());
        let BlockQr { q, r, loss, .. } = block_qr(session, &Against::basis(&self.left), images, most, accepted)?;
        self.coupling = concat![[Mat::<f64>::zeros(q.cols(), zeros), r]];
        self.active = q.cols();
        self.residual = self.block("left", q, loss);
        Ok(longest)
    }

    /// Rotates F by an orthogonal matrix; the next step multiplies the first `active` columns.
    pub(super) fn select(
        &mut self,
        session: &mut Session<'_>,
        rotation: &Mat<f64>,
        active: usize,
    ) -> Result<(), SvdError> {
        let panel = combine(session, &[&self.residual.panel], rotation.as_ref())?;
        self.coupling = rotation.transpose() * &self.coupling;
        self.residual = self.block("residual", panel, self.residual.loss);
        self.active = active;
        self.quotient.no_longer_banded();
        Ok(())
    }

    /// The first `count` Ritz triplets, or all.
    pub(super) fn ritz(&self, session: &mut Session<'_>, count: Option<usize>) -> Result<Ritz, SvdError> {
        session.on_leader(|| Ok(self.quotient.ritz(count)?))
    }

    /// ‖F·C·y‖ of the first `count` Ritz triplets relative to their values: ‖Mv − σu‖/σ, or
    /// ‖MᵀMv − σ²v‖/σ² of [`Kind::Normal`], which is ‖Mᵀu − σv‖/σ with u = Mv/σ (eq. 4).
    pub(super) fn residual_norms(&self, ritz: &Ritz, count: usize) -> Vec<f64> {
        let squares = column_squares((&self.coupling * ritz.right.subcols(0, count)).as_ref());
        let power = if self.kind == Kind::Normal { 2 } else { 1 };
        squares.iter().zip(&ritz.values).map(|(square, value)| square.sqrt() / value.powi(power)).collect()
    }

    /// Rotates the bases into the first `count` Ritz vectors (thick restart: Baglama & Reichel 2005;
    /// Hernández, Román & Tomás 2008). F stays, and C is rotated with V.
    pub(super) fn shrink(&mut self, session: &mut Session<'_>, ritz: &Ritz, count: usize) {
        let (left, right) = (ritz.left.get(.., ..count.min(ritz.left.ncols())), ritz.right.subcols(0, count));
        self.named += 1;
        self.coupling = &self.coupling * right;
        if self.kind == Kind::GolubKahan {
            self.left.rotate(session, left, &format!("left-{}", self.named));
        }
        self.right.rotate(session, right, &format!("right-{}", self.named));
        self.quotient.restart(&ritz.values[..count]);
        self.is_restarted = true;
    }
}
