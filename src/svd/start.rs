//! Start blocks, and the directions that a start block of approximate vectors is expanded by.

use faer::Mat;

use super::certificate::rounding_level;
use super::driver::Driver;
use super::factorization::Kind;
use super::options::SvdError;
use super::rayleigh::Ritz;
use super::small::eigen;
use super::tuning::DEFERRED_RESIDUAL;
use crate::engine::{Session, Shard};
use crate::kernel::random::stream;

impl Driver<'_> {
    /// Starts the factorisation with the given vectors, filled up with random columns, or with a random
    /// block.
    pub(super) fn start(&mut self, session: &mut Session<'_>) -> Result<(), SvdError> {
        let start = self.options.start.clone();
        let block = match &start {
            None => self.random_block(session)?,
            Some(start) => {
                let columns = start.columns().max(self.options.rank).min(self.operator.columns);
                let given = session.panel_from(start, columns, self.options.seed, stream::START_BLOCK)?;
                match self.kind() {
                    Kind::Normal => given,
                    Kind::GolubKahan => self.operator.apply(session, &given)?,
                }
            }
        };
        let length = self.state.factorization.append(session, &self.operator, block)?;
        if start.is_none() { self.check_scale(length) } else { Ok(()) }
    }

    /// Images of random columns, which have no part in the null space, on the side of F. Every call
    /// draws others.
    pub(super) fn random_block(&mut self, session: &mut Session<'_>) -> Result<Shard, SvdError> {
        let operator = self.state.factorization.inner_operator(&self.operator);
        let seed = self.options.seed.wrapping_add(u64::from(self.state.draws) << 32);
        self.state.draws += 1;
        let random = session.random_normal(operator.rows, self.sizes.width, seed, stream::START_BLOCK)?;
        operator.adjoint(session, &random)
    }

    /// From a given start most triplets converge at once. F is then rotated so that its first columns
    /// hold the residuals of the others, and only these are multiplied (block Davidson without a
    /// preconditioner): as few as leave no more than [`DEFERRED_RESIDUAL`] of the tolerance of any
    /// residual.
    pub(super) fn select(&mut self, session: &mut Session<'_>, ritz: &Ritz) -> Result<(), SvdError> {
        let (factorization, rank) = (&self.state.factorization, self.options.rank);
        let Some(tolerance) = self.options.tolerance.filter(|_| factorization.kind() == Kind::Normal) else {
            return Ok(());
        };
        let (count, order) = (ritz.values.len(), factorization.residual_columns());
        let norms = factorization.residual_norms(ritz, count);
        // A triplet beyond the rank counts as long as its value may turn out to be one of the largest.
        let last = ritz.values.get(rank - 1).copied().unwrap_or(0.0);
        let is_wanted = |place: usize| place < rank || ritz.values[place] * (1.0 + norms[place]).sqrt() > last;
        let level = rounding_level(ritz.values.first().copied().unwrap_or(0.0));
        let is_expanded = |place: &usize| norms[*place] > tolerance && ritz.values[*place] > level && is_wanted(*place);
        let expanded: Vec<usize> = (0..count).filter(is_expanded).collect();
        if expanded.is_empty() || order == 0 {
            return Ok(());
        }
        let products = &factorization.coupling * &ritz.right;
        let residuals = Mat::from_fn(order, expanded.len(), |row, column| {
            products[(row, expanded[column])] / ritz.values[expanded[column]].powi(2)
        });
        let (rotation, active) = session.on_leader(|| {
            let directions = eigen((&residuals * residuals.transpose()).as_ref())?.vectors;
            // Squared components of the residuals along the directions that are deferred, from the last one on.
            let components = directions.transpose() * &residuals;
            let mut left = vec![0.0; expanded.len()];
            let mut active = order;
            while active > 1 {
                left.iter_mut().enumerate().for_each(|(column, sum)| *sum += components[(active - 1, column)].powi(2));
                if left.iter().any(|square| *square > (DEFERRED_RESIDUAL * tolerance).powi(2)) {
                    break;
                }
                active -= 1;
            }
            Ok::<_, SvdError>((super::small::to_rows(directions.as_ref()), active))
        })?;
        let rotation = super::small::from_rows(&rotation, order, order);
        self.state.factorization.select(session, &rotation, active)
    }
}
