//! What to do where a matrix that is near M leads no further.

use super::super::options::SvdError;
use super::super::prepared::Instead;
use super::Refining;
use super::look::Look;
use super::table::Triplets;
use crate::engine::Session;
use crate::kernel::small::small_product;

/// Rounds in a row after which, if none brought the worst residual down to this part of what it was, it is asked why.
const IN_VAIN: (usize, f64) = (6, 0.95);

impl Refining<'_> {
    /// Whether some rounds have not helped, which were made with a matrix that is only near M.
    pub(super) fn is_in_vain(&mut self, look: &Look) -> bool {
        let likely = look.residuals.iter().map(|residual| residual.likely).fold(0.0, f64::max);
        let is_better = likely <= IN_VAIN.1 * self.best.0;
        let is_over = !is_better && self.rounds >= self.best.1 + IN_VAIN.0;
        if is_better || is_over {
            self.best = (likely, self.rounds);
        }
        self.near.is_other && is_over
    }

    /// Whether most of the residual of one of some triplets is what N is off, which no round with N makes smaller.
    pub(super) fn is_misled(
        &mut self,
        session: &mut Session<'_>,
        look: &Look,
        places: &[usize],
    ) -> Result<bool, SvdError> {
        let images = session.multiply(self.near.programs.transposed, &self.along.omega)?;
        self.columns += self.near.work * self.along.count() as f64;
        let of_right = self.right.products(session, &images)?;
        let off: Vec<f64> = self.along.of_right.iter().zip(&of_right).map(|(own, near)| own - near).collect();
        let count = self.along.count();
        let is_most = |&place: &usize| {
            let along = small_product(&look.triplets.right_of(place), &off, 1, self.right.columns(), count);
            let square = along.iter().map(|sum| sum * sum).sum::<f64>() / count.max(1) as f64;
            2.0 * square > (look.residuals[place].likely * look.triplets.values[place]).powi(2)
        };
        Ok(places.iter().any(is_most))
    }

    /// Reduces U to the triplets found, and goes on from there with M in place of what is near it.
    pub(super) fn restart_with_matrix(
        &mut self,
        session: &mut Session<'_>,
        triplets: &Triplets,
    ) -> Result<(), SvdError> {
        let count = triplets.values.len();
        let best = self.left.picked(session, &triplets.left, count)?;
        let images = session.multiply(self.matrix.transposed, &best)?;
        self.columns += count as f64;
        self.give_up_near();
        (self.left, self.right, self.table, self.known) = Default::default();
        self.along.clear();
        self.push(session, best, images)
    }

    /// Has M in place of what is near it from now on.
    pub(super) fn give_up_near(&mut self) {
        let itself = Instead::of(self.matrix);
        if self.rough.programs.plain == self.near.programs.plain {
            self.rough = itself;
        }
        (self.near, self.off) = (itself, 0.0);
    }
}
