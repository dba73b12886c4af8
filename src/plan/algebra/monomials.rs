//! Products of diagonals, as monomials.
//!
//! Diagonals commute, so a product of them is a sorted list of factors, and two products are equal
//! if their lists are. The entries are multiplied only when a step needs them. Diagonals with the
//! same entries are the same factor. Two factors cancel if their entries multiply to one in every
//! row: the root of the degree and its inverse do, unless an isolated node has a zero in both.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::plan::program::Diagonal;

/// A product of diagonals; the empty one is the identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Monomial(u32);

impl Monomial {
    pub(super) const EMPTY: Monomial = Monomial(0);
}

/// Tolerance for the product of an entry and its inverse, which both may be rounded.
const ROUNDING: f32 = 4.0 * f32::EPSILON;

pub(super) struct Monomials {
    factors: Vec<Diagonal>,
    /// Factors by a hash of their entries.
    by_content: HashMap<u64, Vec<usize>>,
    is_inverse: HashMap<(usize, usize), bool>,
    monomials: Vec<Vec<usize>>,
    by_factors: HashMap<Vec<usize>, Monomial>,
    products: HashMap<(Monomial, Monomial), Monomial>,
    /// The monomials whose entries were multiplied.
    diagonals: HashMap<Monomial, Diagonal>,
}

impl Monomials {
    pub(super) fn new() -> Self {
        Self {
            factors: Vec::new(),
            by_content: HashMap::new(),
            is_inverse: HashMap::new(),
            monomials: vec![Vec::new()],
            by_factors: HashMap::from([(Vec::new(), Monomial::EMPTY)]),
            products: HashMap::new(),
            diagonals: HashMap::new(),
        }
    }

    /// The monomial of a single diagonal.
    pub(super) fn of_factor(&mut self, diagonal: &Diagonal) -> Monomial {
        if diagonal.values.iter().all(|&value| value == 1.0) {
            return Monomial::EMPTY;
        }
        let bits = |diagonal: &Diagonal| diagonal.values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
        let own = bits(diagonal);
        let alike = self.by_content.entry(xxh3_64(bytemuck::cast_slice(&own))).or_default();
        let is_same = |other: &Diagonal| other.values.length() == diagonal.values.length() && bits(other) == own;
        let known = alike.iter().copied().find(|&factor| is_same(&self.factors[factor]));
        let factor = known.unwrap_or_else(|| {
            alike.push(self.factors.len());
            self.factors.push(diagonal.clone());
            self.factors.len() - 1
        });
        self.monomial(vec![factor])
    }

    /// The product of two monomials, with inverse factors cancelled.
    pub(super) fn times(&mut self, one: Monomial, other: Monomial) -> Monomial {
        if one == Monomial::EMPTY || other == Monomial::EMPTY {
            return one.max(other);
        }
        let key = (one.min(other), one.max(other));
        if let Some(&product) = self.products.get(&key) {
            return product;
        }
        let mut factors = self.monomials[key.0.0 as usize].clone();
        for factor in self.monomials[key.1.0 as usize].clone() {
            match (0..factors.len()).find(|&place| self.cancel(factors[place], factor)) {
                Some(place) => drop(factors.remove(place)),
                None => factors.push(factor),
            }
        }
        factors.sort_unstable();
        let product = self.monomial(factors);
        self.products.insert(key, product);
        product
    }

    /// `monomial / divisor`, if every factor of the divisor is one of the monomial.
    pub(super) fn divided(&mut self, monomial: Monomial, divisor: Monomial) -> Option<Monomial> {
        let mut factors = self.monomials[monomial.0 as usize].clone();
        for factor in &self.monomials[divisor.0 as usize] {
            factors.remove(factors.iter().position(|own| own == factor)?);
        }
        Some(self.monomial(factors))
    }

    /// The diagonal matrix of a monomial; `None` for the identity.
    pub(super) fn diagonal(&mut self, monomial: Monomial) -> Option<Diagonal> {
        let (&first, rest) = self.monomials[monomial.0 as usize].split_first()?;
        let multiply = || rest.iter().fold(self.factors[first].clone(), |product, &f| product.times(&self.factors[f]));
        Some(self.diagonals.entry(monomial).or_insert_with(multiply).clone())
    }

    fn monomial(&mut self, factors: Vec<usize>) -> Monomial {
        let next = Monomial(self.monomials.len() as u32);
        let monomial = *self.by_factors.entry(factors.clone()).or_insert(next);
        if monomial == next {
            self.monomials.push(factors);
        }
        monomial
    }

    fn cancel(&mut self, one: usize, other: usize) -> bool {
        let key = (one.min(other), one.max(other));
        let [one, other] = [one, other].map(|factor| &self.factors[factor].values);
        let is_one = |(a, b): (&f32, &f32)| (a * b - 1.0).abs() <= ROUNDING;
        let multiply_to_one = || one.length() == other.length() && one.iter().zip(other.iter()).all(is_one);
        *self.is_inverse.entry(key).or_insert_with(multiply_to_one)
    }
}
