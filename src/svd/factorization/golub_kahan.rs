//! Block Golub–Kahan bidiagonalisation: `MᵀU = V·T` and `M·V = U·Tᵀ + F·C`.

use super::{Coupling, Factorization, Kind, Parts, Selection};
use crate::engine::{Session, Shard};
use crate::svd::basis::{Block, OrthonormalBasis};
use crate::svd::operator::Operator;
use crate::svd::options::SvdError;
use crate::svd::orthogonalize::{Against, BlockQr, OrthogonalityTarget, block_qr};
use crate::svd::tuning::{BIDIAGONAL_LOSS, BIDIAGONAL_LOSS_LIMITS, BIDIAGONAL_ROUNDING, FIRST_BLOCKS};

/// The factorisation with both bases.
pub(in crate::svd) struct GolubKahan {
    operator: Operator,
    tolerance: Option<f64>,
    /// Columns of a block.
    width: usize,
    parts: Parts,
}

impl GolubKahan {
    pub(in crate::svd) fn new(
        session: &mut Session<'_>,
        operator: Operator,
        tolerance: Option<f64>,
        width: usize,
    ) -> Result<Self, SvdError> {
        let parts = Parts::new(session, Kind::GolubKahan, operator.rows)?;
        Ok(Self { operator, tolerance, width, parts })
    }

    fn target(&self) -> OrthogonalityTarget {
        let target = OrthogonalityTarget::for_tolerance(
            self.tolerance,
            BIDIAGONAL_LOSS,
            BIDIAGONAL_LOSS_LIMITS,
            BIDIAGONAL_ROUNDING,
        );
        let is_first = self.parts.quotient.order() < FIRST_BLOCKS * self.width;
        let stretch = if is_first { f64::INFINITY } else { self.parts.quotient.stretch(self.width) };
        target.stretched(self.tolerance, stretch)
    }

    /// Columns that U can have beyond those it has. Rounding adds directions outside of the range of M: U
    /// may have more columns than V.
    fn free_columns(&self) -> usize {
        let Operator { rows, columns, .. } = self.operator;
        (2 * columns + self.width).min(rows).saturating_sub(self.parts.left.columns())
    }

    /// Makes what U lacks of `M·X` the residual block.
    fn set_residual(&mut self, session: &mut Session<'_>, block: &Shard) -> Result<f64, SvdError> {
        let images = self.operator.apply(session, block)?;
        self.parts.operator_columns += block.cols();
        let (against, target) = (Against::all(&self.parts.left), self.target());
        let BlockQr { q, r, loss, longest, .. } = block_qr(session, &against, images, self.free_columns(), target)?;
        let name = self.parts.name("left");
        self.parts.residual = Block { panel: q, name, loss };
        self.parts.coupling = Coupling::new(r, block.cols());
        Ok(longest)
    }
}

impl Factorization for GolubKahan {
    fn parts(&self) -> &Parts {
        &self.parts
    }

    fn parts_mut(&mut self) -> &mut Parts {
        &mut self.parts
    }

    fn initialize(&mut self, session: &mut Session<'_>, block: Shard) -> Result<f64, SvdError> {
        let longest = self.set_residual(session, &block)?;
        self.parts.coupling = Coupling::default();
        if self.parts.left.columns() == 0 && self.parts.residual.panel.cols() == 0 {
            let panel = session.columns(&block, 0..0)?;
            let name = self.parts.name("right");
            self.parts.right.push(Block { panel, name, loss: 0.0 });
            self.parts.left.push(self.parts.residual.clone());
        }
        Ok(longest)
    }

    /// Both bases need all of F: there is nothing to select.
    fn expand(&mut self, session: &mut Session<'_>, _: Option<&Selection>) -> Result<f64, SvdError> {
        let block = self.parts.residual.clone();
        let width = block.panel.cols();
        let images = self.operator.adjoint(session, &block.panel)?;
        self.parts.operator_columns += width;
        let most = self.operator.columns - self.parts.right.columns();
        let (against, target) = (Against::all(&self.parts.right), self.target());
        let BlockQr { q, projections, r, loss, longest } = block_qr(session, &against, images, most, target)?;
        let name = self.parts.name("right");
        let parts = &mut self.parts;
        parts.quotient.push(&[projections, r].concat(), width);
        parts.left.push(block);
        parts.right.push(Block { panel: q.clone(), name, loss });
        self.set_residual(session, &q)?;
        Ok(longest)
    }

    fn image_of(&mut self, session: &mut Session<'_>, random: &Shard) -> Result<Shard, SvdError> {
        self.parts.operator_columns += random.cols();
        self.operator.apply(session, random)
    }

    fn extended(&self) -> (&OrthonormalBasis, Operator) {
        (&self.parts.left, self.operator.transposed())
    }

    fn append(&mut self, session: &mut Session<'_>, block: Shard) -> Result<(), SvdError> {
        let most = self.free_columns().saturating_sub(self.parts.residual.panel.cols());
        self.parts.append(session, block, most, self.target())
    }
}
