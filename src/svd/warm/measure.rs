//! How far triplets are from solving their equations.
//!
//! On the way that follows from small matrices: `‖Mᵀu − σv‖² = ‖Mᵀu‖² − σ²`, since σv is what V has of Mᵀu, and ‖Mᵀu‖ from the
//! products of the images with each other. A difference of squares is known to some 1e-6 of them. So triplets that look good
//! enough are measured from the residuals themselves before they are handed out, and all are where the tolerance is small.

use super::super::options::SvdError;
use super::Refining;
use super::sides::Side;
use super::table::Triplets;
use crate::engine::{Session, Shard};

/// The smallest tolerance with which residuals are taken for differences of squares on the way: those are known to 1e-6 or so.
const COARSE: f64 = 0.01;

/// The triplets between the bases, and how far they are from solving their equations.
pub(super) struct Measured {
    pub(super) triplets: Triplets,
    /// The products of all (Mᵀu − σv)/σ with each other; zero for triplets that are not wanted.
    pub(super) gram: Vec<f64>,
    /// The squares of both relative residuals together, of each.
    pub(super) squares: Vec<f64>,
}

impl Measured {
    /// The worst residual.
    pub(super) fn worst(&self) -> f64 {
        let larger = |worst: f64, square: &f64| if *square <= worst { worst } else { *square };
        self.squares.iter().fold(0.0, larger).sqrt()
    }
}

impl Refining<'_> {
    /// The triplets, and both residuals of those that are wanted. All of it is made of images that are there already: where
    /// the tolerance allows it, of their products with each other alone.
    pub(super) fn measure(&self, session: &mut Session<'_>) -> Result<Measured, SvdError> {
        let triplets = self.table.decompose(self.options.rank + self.beyond)?;
        match self.options.tolerance {
            Some(tolerance) if tolerance >= COARSE => {
                // V takes its part, σv, off Mᵀu, and U off Mv.
                let (others, gram) = (
                    self.beyond_basis(&self.right, &triplets.right, &triplets),
                    self.beyond_basis(&self.left, &triplets.left, &triplets),
                );
                let others: Vec<f64> = others.iter().step_by(triplets.values.len() + 1).copied().collect();
                Ok(self.measured(triplets, &others, gram))
            }
            _ => self.measure_exactly(session, triplets),
        }
    }

    /// The products with each other of what images have beyond the other basis, relative to σ.
    fn beyond_basis(&self, side: &Side, rotation: &[f64], Triplets { values, .. }: &Triplets) -> Vec<f64> {
        let count = values.len();
        let mut products = side.products(rotation, count);
        for (place, entry) in products.iter_mut().enumerate() {
            let (row, column) = (place / count, place % count);
            let within = if row == column { 1.0 } else { 0.0 };
            *entry = *entry / (values[row] * values[column]) - within;
        }
        products
    }

    /// The same of triplets from the residuals themselves.
    pub(super) fn measure_exactly(&self, session: &mut Session<'_>, triplets: Triplets) -> Result<Measured, SvdError> {
        let count = triplets.values.len();
        let of_left =
            residuals(session, (&self.right, &triplets.right), (&self.left, &triplets.left), &triplets.values)?;
        let others = session.distance_squares(&of_left, &of_left, &vec![0.0; count])?;
        drop(of_left);
        let residuals =
            residuals(session, (&self.left, &triplets.left), (&self.right, &triplets.right), &triplets.values)?;
        let gram = session.gram(&residuals)?;
        Ok(self.measured(triplets, &others, gram))
    }

    /// Both residuals together, given the squares of those of U and the products of those of V.
    fn measured(&self, triplets: Triplets, others: &[f64], mut gram: Vec<f64>) -> Measured {
        let count = triplets.values.len();
        // A difference of squares may be rounding below zero.
        let square = |&square: &f64| if square < 0.0 { 0.0 } else { square };
        let own = gram.iter().step_by(count + 1).map(square);
        let mut squares: Vec<f64> = own.zip(others.iter().map(square)).map(|(own, other)| own + other).collect();
        for place in self.options.rank..count {
            if !self.may_belong(&triplets.values, place, squares[place]) {
                squares[place] = 0.0;
                gram[place * count..(place + 1) * count].fill(0.0);
                gram.iter_mut().skip(place).step_by(count).for_each(|entry| *entry = 0.0);
            }
        }
        Measured { triplets, gram, squares }
    }

    /// Whether a triplet beyond the wanted ones may turn out to be larger than the last of them: its singular value is at
    /// least what was found, and more the further it is from solving its equation.
    fn may_belong(&self, values: &[f64], place: usize, square: f64) -> bool {
        values[place] * (1.0 + square.sqrt() / 2.0) > values[self.options.rank - 1]
    }
}

/// What the images of one side's vectors have that is not σ times the vectors of the other, relative to σ: one column a triplet.
fn residuals(
    session: &mut Session<'_>,
    (side, rotation): (&Side, &[f64]),
    (other, of_other): (&Side, &[f64]),
    values: &[f64],
) -> Result<Shard, SvdError> {
    let count = values.len();
    let scaled = rotation.chunks_exact(count.max(1)).flat_map(|row| row.iter().zip(values).map(|(a, value)| a / value));
    let small: Vec<f32> = scaled.map(|entry| entry as f32).chain(of_other.iter().map(|&entry| -entry as f32)).collect();
    let panels: Vec<&Shard> = side.images().iter().chain(other.vectors()).collect();
    Ok(session.blocks_times_small(&panels, &small, count)?)
}
