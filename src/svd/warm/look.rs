//! How far triplets are from solving their equations.
//!
//! `Nᵀu = σv` holds by construction, so Mᵀu − σv is what N is off: nothing, if N is M. As far as v is a combination of vectors
//! whose images by M are known, Mv − σu is known; of the rest of v it is measured along random directions Ω, where `Ωᵀ·M` of all of V is
//! known from one product. The length of a random vector's shadow on m directions is off by a part of `1/√(2m)`: a margin is
//! added to what was measured so, and none to what is known.

use super::Refining;
use super::known::Parts;
use super::table::Triplets;

/// How many standard deviations of the normal distribution one of twenty lies below.
const ONE_OF_TWENTY: f64 = 1.645;

/// The triplets between the bases, and how far they are from solving their equations.
pub(super) struct Look {
    pub(super) triplets: Triplets,
    pub(super) residuals: Vec<Residual>,
}

/// ‖Mv − σu‖/σ of a triplet, together with ‖Mᵀu − σv‖/σ: the root of the sum of their squares. 0 of one that is not wanted.
#[derive(Clone, Copy)]
pub(super) struct Residual {
    /// As it was measured.
    pub(super) likely: f64,
    /// What it is more than in one of twenty cases.
    pub(super) most: f64,
    /// Whether most of it lies in images that are known.
    pub(super) is_known: bool,
}

impl Look {
    /// The worst residual, margins included.
    pub(super) fn worst(&self) -> f64 {
        let larger = |worst: f64, residual: &Residual| if residual.most <= worst { worst } else { residual.most };
        self.residuals.iter().fold(0.0, larger)
    }

    /// The triplets whose residuals are so, from the worst down.
    pub(super) fn places(&self, is_so: impl Fn(&Residual) -> bool) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.residuals.len()).filter(|&place| is_so(&self.residuals[place])).collect();
        places.sort_by(|&a, &b| self.residuals[b].likely.total_cmp(&self.residuals[a].likely));
        places
    }
}

/// What to multiply the length of a shadow on so many directions with: the 20-quantile of χ², by Wilson and Hilferty.
pub(super) fn margin(directions: usize) -> f64 {
    let spread = 2.0 / (9.0 * directions as f64);
    (1.0 - spread - ONE_OF_TWENTY * spread.sqrt()).max(0.1).powi(3).sqrt().recip()
}

impl Refining<'_> {
    /// The triplets, and the residuals of those that are wanted, from small matrices alone.
    pub(super) fn look(&self) -> Result<Look, super::SvdError> {
        let triplets = self.table.decompose(self.options.rank + self.beyond)?;
        let (values, count) = (&triplets.values, triplets.values.len());
        let residual = |place: usize| self.residual(triplets.right_of(place), values[place]);
        let mut residuals: Vec<Residual> = (0..count).map(residual).collect();
        for place in self.options.rank..count {
            // Whether it may turn out to be larger than the last of the wanted ones: if its residual were all of what the next
            // step adds to it.
            let likely = residuals[place].likely;
            let belongs = values[place] * (1.0 + likely * likely).sqrt() > values[self.options.rank - 1];
            residuals[place].likely = if belongs { likely } else { 0.0 };
            residuals[place].most = residuals[place].likely;
        }
        Ok(Look { triplets, residuals })
    }

    /// The residual of a right vector, given as a combination of the columns of V.
    fn residual(&self, right: Vec<f64>, value: f64) -> Residual {
        let Parts { shares, known, rest } = self.known.split(right);
        let (of_known, along_known) = self.beyond_left(&known);
        let (_, along_rest) = self.beyond_left(&rest);
        let count = along_rest.len().max(1) as f64;
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        // A difference of squares may be rounding below zero.
        let above = |square: f64| if square < 0.0 { 0.0 } else { square };
        let beside = self.known.with_left(&shares, &of_known);
        let known = above(self.known.square(&shares) - 2.0 * beside + dot(&of_known, &of_known));
        let unknown = dot(&along_rest, &along_rest) / count;
        let beyond = above(known + unknown + 2.0 * dot(&along_known, &along_rest) / count);
        let (likely, margin) = (beyond + (self.off * value).powi(2), margin(along_rest.len()));
        let most = likely + (margin * margin - 1.0) * (unknown + (known * unknown).sqrt());
        Residual { likely: likely.sqrt() / value, most: most.sqrt() / value, is_known: 2.0 * known > beyond }
    }

    /// Of a combination of columns of V: what N makes of it within U, and what M makes of it beyond that, along Ω.
    fn beyond_left(&self, factors: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let within = self.table.of_combination(factors);
        let along = self.along.of_right.chunks_exact(self.along.count().max(1)).zip(factors);
        let within_along = self.along.of_left.chunks_exact(self.along.count().max(1)).zip(&within);
        let mut sums = vec![0.0; self.along.count()];
        for (row, factor) in along {
            sums.iter_mut().zip(row).for_each(|(sum, entry)| *sum += factor * entry);
        }
        for (row, factor) in within_along {
            sums.iter_mut().zip(row).for_each(|(sum, entry)| *sum -= factor * entry);
        }
        (within, sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::random;

    /// A shadow is longer, with its margin, in nineteen of twenty cases.
    #[test]
    fn a_margin_is_enough_in_nineteen_of_twenty_cases() {
        for directions in [12, 15, 16, 19] {
            let shadow = |row: u64| {
                let entry = |column| f64::from(random::normal(1, random::stream::SYNTHETIC, row, column));
                ((0..directions as u32).map(|column| entry(column).powi(2)).sum::<f64>() / directions as f64).sqrt()
            };
            let short = (0..10_000).filter(|&row| margin(directions) * shadow(row) < 1.0).count();
            assert!((400..600).contains(&short), "{directions}: {short}");
        }
    }
}
