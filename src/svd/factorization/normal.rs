//! Block Lanczos on MᵀM: `MᵀM·V = V·T + F·C`.

use super::{Coupling, Factorization, Kind, Parts, Selection};
use crate::engine::{Session, Shard};
use crate::svd::basis::{Block, OrthonormalBasis};
use crate::svd::operator::Operator;
use crate::svd::options::SvdError;
use crate::svd::orthogonalize::{Against, BlockQr, OrthogonalityTarget, block_qr};
use crate::svd::tuning::{FIRST_BLOCKS, NORMAL_LOSS, NORMAL_LOSS_LIMITS, NORMAL_ROUNDING};

/// The factorisation with V alone.
pub(in crate::svd) struct Normal {
    operator: Operator,
    tolerance: Option<f64>,
    /// Columns of a block.
    width: usize,
    parts: Parts,
}

impl Normal {
    pub(in crate::svd) fn new(
        session: &mut Session<'_>,
        operator: Operator,
        tolerance: Option<f64>,
        width: usize,
    ) -> Result<Self, SvdError> {
        let parts = Parts::new(session, Kind::Normal, operator.columns)?;
        Ok(Self { operator, tolerance, width, parts })
    }

    /// The accepted orthogonality loss of V. The triplets are found again within V with M itself, so a
    /// loss of lengths does no harm.
    pub(in crate::svd) fn target(tolerance: Option<f64>) -> OrthogonalityTarget {
        OrthogonalityTarget::for_tolerance(tolerance, NORMAL_LOSS, NORMAL_LOSS_LIMITS, NORMAL_ROUNDING)
    }

    /// The target for the next block. The first blocks hold the dominant vectors: what a later block has
    /// in common with those is multiplied by their singular values.
    fn next_target(&self) -> OrthogonalityTarget {
        let is_first = self.parts.quotient.order() < FIRST_BLOCKS * self.width;
        let stretch = if is_first { f64::INFINITY } else { self.parts.quotient.stretch(self.width) };
        Self::target(self.tolerance).stretched(self.tolerance, stretch)
    }

    /// Columns that the short side leaves beyond V and F.
    fn free_columns(&self) -> usize {
        let Parts { right, residual, deferred, .. } = &self.parts;
        let deferred = deferred.as_ref().map_or(0, |block| block.panel.cols());
        self.operator.columns.saturating_sub(right.columns() + residual.panel.cols() + deferred)
    }

    /// Rotates F, and defers all but the first columns.
    fn select(&mut self, session: &mut Session<'_>, Selection { rotation, count }: &Selection) -> Result<(), SvdError> {
        let parts = &mut self.parts;
        let panels: Vec<&Shard> =
            [Some(&parts.residual), parts.deferred.as_ref()].into_iter().flatten().map(|block| &block.panel).collect();
        let order = parts.coupling.rows();
        let small: Vec<f32> = rotation.iter().map(|&entry| entry as f32).collect();
        let rotated = session.blocks_times_small(&panels, &small, order)?;
        let columns = parts.coupling.columns;
        let mut entries = vec![0.0; order * columns];
        for (row, own) in rotation.chunks_exact(order).zip(parts.coupling.entries.chunks_exact(columns)) {
            for (factor, sums) in row.iter().zip(entries.chunks_exact_mut(columns)) {
                sums.iter_mut().zip(own).for_each(|(sum, entry)| *sum += factor * entry);
            }
        }
        parts.coupling = Coupling::new(entries, columns);
        let loss = parts.deferred.iter().map(|block| block.loss).fold(parts.residual.loss, f64::max);
        parts.residual = Block { panel: session.columns(&rotated, 0..*count)?, name: parts.name("residual"), loss };
        let deferred = session.columns(&rotated, *count..order)?;
        parts.deferred = Some(Block { panel: deferred, name: parts.name("deferred"), loss });
        parts.quotient.no_longer_banded();
        Ok(())
    }
}

impl Factorization for Normal {
    fn parts(&self) -> &Parts {
        &self.parts
    }

    fn parts_mut(&mut self) -> &mut Parts {
        &mut self.parts
    }

    fn initialize(&mut self, session: &mut Session<'_>, block: Shard) -> Result<f64, SvdError> {
        let most = self.operator.columns - self.parts.right.columns();
        let against = Against::all(&self.parts.right);
        let BlockQr { q, loss, longest, .. } = block_qr(session, &against, block, most, self.next_target())?;
        let parts = &mut self.parts;
        parts.residual = Block { panel: q, name: parts.name("residual"), loss };
        (parts.deferred, parts.coupling) = (None, Coupling::default());
        if parts.right.columns() == 0 && parts.residual.panel.cols() == 0 {
            parts.right.push(parts.residual.clone());
        }
        Ok(longest)
    }

    fn expand(&mut self, session: &mut Session<'_>, selection: Option<&Selection>) -> Result<f64, SvdError> {
        if let Some(selection) = selection {
            self.select(session, selection)?;
        }
        let (block, free, target) = (self.parts.residual.clone(), self.free_columns(), self.next_target());
        let width = block.panel.cols();
        let images = self.operator.normal(session, &block.panel)?;
        self.parts.operator_columns += 2 * width;
        self.parts.right.push(block);
        let Parts { right, deferred, quotient, coupling, .. } = &mut self.parts;
        let (against, deferred_columns) = match deferred {
            None => (Against::partially(right), 0),
            Some(deferred) => (Against::all(right).and(&deferred.panel, deferred.loss), deferred.panel.cols()),
        };
        let BlockQr { q, projections, r, loss, longest } = block_qr(session, &against, images, free, target)?;
        let within = right.columns() * width;
        quotient.push(&projections[..within], width);
        // F is what was deferred and what is new; C of the multiplied columns has become a part of T.
        let new = if deferred_columns == 0 {
            Coupling::new(r, width)
        } else {
            let (before, after) = (coupling.columns, coupling.columns + width);
            let mut entries = vec![0.0; q.cols() * after];
            for (row, r) in entries.chunks_exact_mut(after).zip(r.chunks_exact(width.max(1))) {
                row[before..].copy_from_slice(r);
            }
            let kept = coupling.entries.chunks_exact(before.max(1)).skip(coupling.rows() - deferred_columns);
            let added = projections[within..].chunks_exact(width.max(1));
            let deferred = kept.zip(added).flat_map(|(kept, added)| kept.iter().chain(added)).copied();
            entries.extend(deferred.collect::<Vec<f64>>());
            Coupling::new(entries, after)
        };
        *coupling = new;
        // Where nothing is new, what was deferred is next.
        let next = if q.cols() == 0 { deferred.take() } else { None };
        let name = self.parts.name("residual");
        self.parts.residual = next.unwrap_or(Block { panel: q, name, loss });
        Ok(longest.sqrt())
    }

    fn image_of(&mut self, session: &mut Session<'_>, random: &Shard) -> Result<Shard, SvdError> {
        self.parts.operator_columns += random.cols();
        self.operator.adjoint(session, random)
    }

    fn extended(&self) -> (&OrthonormalBasis, Operator) {
        (&self.parts.right, self.operator)
    }

    fn append(&mut self, session: &mut Session<'_>, block: Shard) -> Result<(), SvdError> {
        let (target, most) = (self.next_target(), self.free_columns());
        self.parts.append(session, block, most, target)
    }
}
