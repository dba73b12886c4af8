//! Start blocks, and the directions that a start block of approximate vectors is expanded by.

use super::certificate::rounding_level;
use super::driver::Driver;
use super::factorization::{Factorization, Kind, Ritz, Selection};
use super::options::SvdError;
use super::tuning::DEFERRED_RESIDUAL;
use crate::engine::{Session, Shard};
use crate::kernel::random::stream;
use crate::kernel::small::{Eigen, symmetric_eigen};

impl Driver<'_> {
    /// The first block of the short side: the given vectors and random columns beside them, or random
    /// ones.
    pub(super) fn start_block(
        &mut self,
        session: &mut Session<'_>,
        factorization: &mut dyn Factorization,
    ) -> Result<Shard, SvdError> {
        match self.options.start.clone() {
            None => self.random_block(session, factorization),
            Some(start) => {
                let columns = start.columns().max(self.options.rank).min(self.operator.columns);
                Ok(session.panel_from(&start, columns, self.options.seed, stream::START_BLOCK)?)
            }
        }
    }

    /// A random block of the short side. For block Lanczos on MᵀM it is made of images of random columns,
    /// which have no part in the null space of M.
    pub(super) fn random_block(
        &mut self,
        session: &mut Session<'_>,
        factorization: &mut dyn Factorization,
    ) -> Result<Shard, SvdError> {
        let kind = factorization.parts().quotient.kind();
        let random = self.draw(session, kind)?;
        match kind {
            Kind::GolubKahan => Ok(random),
            Kind::Normal => factorization.image_of(session, &random),
        }
    }

    /// A random block, another one at every call.
    pub(super) fn draw(&mut self, session: &mut Session<'_>, kind: Kind) -> Result<Shard, SvdError> {
        let seed = self.options.seed.wrapping_add(u64::from(self.draws) << 32);
        self.draws += 1;
        let rows = if kind == Kind::GolubKahan { self.operator.columns } else { self.operator.rows };
        Ok(session.random_normal(rows, self.sizes.width, seed, stream::START_BLOCK)?)
    }

    /// From a given start most triplets converge at once. F is then rotated so that its first columns hold
    /// the residuals of the others, and only these are multiplied (block Davidson without a
    /// preconditioner): as few as leave no more than [`DEFERRED_RESIDUAL`] of the tolerance of any residual.
    pub(super) fn selection(
        &self,
        session: &mut Session<'_>,
        factorization: &dyn Factorization,
        ritz: &Ritz,
    ) -> Result<Option<Selection>, SvdError> {
        let (parts, rank) = (factorization.parts(), self.options.rank);
        let Some(tolerance) = self.options.tolerance.filter(|_| parts.quotient.kind() == Kind::Normal) else {
            return Ok(None);
        };
        let (count, order) = (ritz.values.len(), residual_columns(factorization));
        let norms = parts.residual_norms(ritz, count);
        // A triplet beyond the rank counts as long as its value may turn out to be one of the largest.
        let last = ritz.values.get(rank - 1).copied().unwrap_or(0.0);
        let is_wanted = |place: usize| place < rank || ritz.values[place] * (1.0 + norms[place]).sqrt() > last;
        let level = rounding_level(ritz.values.first().copied().unwrap_or(0.0));
        let is_expanded = |place: &usize| norms[*place] > tolerance && ritz.values[*place] > level && is_wanted(*place);
        let expanded: Vec<usize> = (0..count).filter(is_expanded).collect();
        let products = parts.coupling.times(ritz, count);
        if products.len() != order * count || expanded.is_empty() {
            return Ok(None);
        }
        // The residuals relative to their values, one column for each.
        let residuals: Vec<Vec<f64>> = products
            .chunks_exact(count)
            .map(|row| expanded.iter().map(|&place| row[place] / ritz.values[place].powi(2)).collect())
            .collect();
        let (count, rotation) = session.on_leader(|| {
            let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
            let gram = residuals.iter().flat_map(|row| residuals.iter().map(|other| product(row, other)));
            let Eigen { vectors, .. } = symmetric_eigen(&gram.collect::<Vec<_>>(), order)?;
            // Components of each residual along the directions, from the last one on.
            let mut left = vec![0.0; expanded.len()];
            let mut needed = order;
            while needed > 1 {
                let direction = needed - 1;
                for (place, square) in left.iter_mut().enumerate() {
                    let components = residuals.iter().zip(vectors.iter().skip(direction).step_by(order));
                    let component: f64 = components.map(|(row, factor)| row[place] * factor).sum();
                    *square += component * component;
                }
                if left.iter().any(|square| *square > (DEFERRED_RESIDUAL * tolerance).powi(2)) {
                    break;
                }
                needed -= 1;
            }
            Ok::<_, SvdError>((needed, vectors))
        })?;
        Ok(Some(Selection { rotation, count }))
    }
}

/// Columns of F, deferred ones included.
fn residual_columns(factorization: &dyn Factorization) -> usize {
    let parts = factorization.parts();
    parts.residual.panel.cols() + parts.deferred.as_ref().map_or(0, |block| block.panel.cols())
}
