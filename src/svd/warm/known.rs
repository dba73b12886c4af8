//! Vectors of which it is known what the matrix makes of them.

use serde::{Deserialize, Serialize};

use super::SvdError;
use super::blocks::Blocks;
use crate::engine::{Session, Shard};

/// A combination of columns of which less than this is left, in square, is one of those that are known.
const NOTHING: f64 = 1e-6;

/// Orthonormal combinations W of the columns of V, and M·W.
#[derive(Default)]
pub(super) struct Known {
    pub(super) images: Blocks,
    pub(super) numbers: KnownNumbers,
}

/// All of it that is no panel.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct KnownNumbers {
    /// Of each the factors of the columns of V; what is missing at the end is zero.
    factors: Vec<Vec<f64>>,
    /// The products of the images with each other, row after row.
    gram: Vec<f64>,
    /// Of each image the products with the columns of U.
    of_left: Vec<Vec<f64>>,
}

/// A column of V times factors, in two parts.
pub(super) struct Parts {
    /// How much it has of each that is known.
    pub(super) shares: Vec<f64>,
    /// Factors of what it is made of, and of what else it has.
    pub(super) known: Vec<f64>,
    pub(super) rest: Vec<f64>,
}

impl Known {
    /// Whether all of it is there, beside so many columns of U.
    pub(super) fn is_whole(&self, left: usize) -> bool {
        let count = self.numbers.factors.len();
        let are_there = [self.images.columns(), self.numbers.of_left.len()] == [count; 2];
        let are_long = self.numbers.of_left.iter().all(|of_left| of_left.len() == left);
        are_there && are_long && self.numbers.gram.len() == count * count
    }

    /// Cuts a combination of columns of V into what is known and what is not.
    pub(super) fn split(&self, combination: Vec<f64>) -> Parts {
        let (mut known, mut rest) = (vec![0.0; combination.len()], combination);
        let share = |factors: &Vec<f64>| {
            let share = factors.iter().zip(&rest).map(|(a, b)| a * b).sum();
            known.iter_mut().zip(factors).for_each(|(sum, factor)| *sum += share * factor);
            rest.iter_mut().zip(factors).for_each(|(rest, factor)| *rest -= share * factor);
            share
        };
        let shares = self.numbers.factors.iter().map(share).collect();
        Parts { shares, known, rest }
    }

    /// The square of the length of what M makes of so much of each.
    pub(super) fn square(&self, shares: &[f64]) -> f64 {
        let rows = self.numbers.gram.chunks_exact(shares.len().max(1)).zip(shares);
        rows.map(|(row, share)| share * row.iter().zip(shares).map(|(a, b)| a * b).sum::<f64>()).sum()
    }

    /// The product of what M makes of so much of each with a combination of columns of U.
    pub(super) fn with_left(&self, shares: &[f64], combination: &[f64]) -> f64 {
        let products = self.numbers.of_left.iter().zip(shares);
        products.map(|(row, share)| share * row.iter().zip(combination).map(|(a, b)| a * b).sum::<f64>()).sum()
    }

    /// What combinations have that is not known yet, as orthonormal ones.
    pub(super) fn fresh(&self, combinations: impl Iterator<Item = Vec<f64>>) -> Vec<Vec<f64>> {
        let mut fresh: Vec<Vec<f64>> = Vec::new();
        for combination in combinations {
            let mut rest = combination;
            // Twice, for what rounding leaves.
            for _ in 0..2 {
                rest = self.split(rest).rest;
                for other in &fresh {
                    let share: f64 = other.iter().zip(&rest).map(|(a, b)| a * b).sum();
                    rest.iter_mut().zip(other).for_each(|(rest, factor)| *rest -= share * factor);
                }
            }
            let square: f64 = rest.iter().map(|factor| factor * factor).sum();
            if square > NOTHING {
                fresh.push(rest.iter().map(|factor| factor / square.sqrt()).collect());
            }
        }
        fresh
    }

    /// Adds columns to U.
    pub(super) fn push_left(&mut self, session: &mut Session<'_>, block: &Shard) -> Result<(), SvdError> {
        let products = self.images.products(session, block)?;
        let rows = products.chunks_exact(block.cols().max(1));
        self.numbers.of_left.iter_mut().zip(rows).for_each(|(of_left, row)| of_left.extend_from_slice(row));
        Ok(())
    }

    /// Adds combinations and their images; `products` are those of all images before, and then of these, with these, and
    /// `left_products` those of U with these.
    pub(super) fn push(
        &mut self,
        name: String,
        factors: Vec<Vec<f64>>,
        images: Shard,
        products: &[f64],
        left_products: &[f64],
    ) {
        let KnownNumbers { factors: all, gram, of_left } = &mut self.numbers;
        let (known, width) = (all.len(), factors.len());
        of_left.extend((0..width).map(|image| left_products.iter().skip(image).step_by(width).copied().collect()));
        let mut wider = Vec::with_capacity((known + width) * (known + width));
        for row in 0..known {
            wider.extend_from_slice(&gram[row * known..(row + 1) * known]);
            wider.extend_from_slice(&products[row * width..(row + 1) * width]);
        }
        for row in 0..width {
            wider.extend(products.iter().skip(row).step_by(width).take(known));
            wider.extend_from_slice(&products[(known + row) * width..(known + row + 1) * width]);
        }
        *gram = wider;
        all.extend(factors);
        self.images.push(name, images);
    }
}
