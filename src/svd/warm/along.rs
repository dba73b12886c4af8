//! All that is known along random directions.

use super::super::options::SvdError;
use crate::engine::{Session, Shard};
use crate::kernel::small::small_product;
use serde::{Deserialize, Serialize};

/// Random directions Ω, what Mᵀ makes of them, and the products of both bases with either.
pub(super) struct Along {
    pub(super) omega: Shard,
    /// MᵀΩ
    pub(super) images: Shard,
    /// UᵀΩ, a row for each column of U.
    pub(super) of_left: Vec<f64>,
    /// Vᵀ·MᵀΩ, a row for each column of V.
    pub(super) of_right: Vec<f64>,
}

/// All of it that is no panel.
#[derive(Serialize, Deserialize)]
pub(super) struct AlongNumbers {
    of_left: Vec<f64>,
    of_right: Vec<f64>,
}

impl Along {
    pub(super) fn new(omega: Shard, images: Shard) -> Self {
        Self { omega, images, of_left: Vec::new(), of_right: Vec::new() }
    }

    /// From the last two panels.
    pub(super) fn with(numbers: AlongNumbers, panels: Vec<Shard>) -> Option<Self> {
        let [omega, images] = <[Shard; 2]>::try_from(panels).ok()?;
        let AlongNumbers { of_left, of_right } = numbers;
        Some(Self { of_left, of_right, ..Self::new(omega, images) })
    }

    pub(super) fn numbers(&self) -> AlongNumbers {
        AlongNumbers { of_left: self.of_left.clone(), of_right: self.of_right.clone() }
    }

    pub(super) fn panels(&self) -> [(String, &Shard); 2] {
        [("omega".to_owned(), &self.omega), ("omega-image".to_owned(), &self.images)]
    }

    /// When both bases are made anew.
    pub(super) fn clear(&mut self) {
        self.of_left.clear();
        self.of_right.clear();
    }

    /// How many directions there are.
    pub(super) fn count(&self) -> usize {
        self.omega.cols()
    }

    /// Adds columns of U and of V.
    pub(super) fn push(&mut self, session: &mut Session<'_>, left: &Shard, right: &Shard) -> Result<(), SvdError> {
        self.of_left.extend(session.cross_gram(left, &self.omega)?);
        self.of_right.extend(session.cross_gram(right, &self.images)?);
        Ok(())
    }

    /// When both bases become so many combinations of their columns.
    pub(super) fn restart(&mut self, left: &[f64], right: &[f64], columns: usize) {
        let (count, turned) = (self.count(), |rotation: &[f64]| -> Vec<f64> {
            (0..columns).flat_map(|place| rotation.iter().skip(place).step_by(columns)).copied().collect()
        });
        let of = |rotation: &[f64], products: &[f64]| {
            small_product(&turned(rotation), products, columns, rotation.len() / columns.max(1), count)
        };
        (self.of_left, self.of_right) = (of(left, &self.of_left), of(right, &self.of_right));
    }
}
