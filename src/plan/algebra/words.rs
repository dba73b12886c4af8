//! Products of diagonals, by name.
//!
//! Diagonals commute, so a product of them is a sorted list of factors, and equal lists are equal products; the entries are
//! only multiplied out when a step needs them. Diagonals with the same entries are the same factor. Two factors cancel when
//! their entries multiply to one in every row: a root of the degree and its inverse do, but not where an isolated node has
//! a zero in both.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::plan::program::Diagonal;

/// A product of diagonals; the empty one is the identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Word(u32);

impl Word {
    pub(super) const EMPTY: Word = Word(0);
}

/// How far from one a product of two entries may be: an inverse is rounded, and so may have been the entry.
const ROUNDING: f32 = 4.0 * f32::EPSILON;

pub(super) struct Words {
    factors: Vec<Diagonal>,
    /// Factors by their entries.
    by_content: HashMap<u64, Vec<usize>>,
    is_inverse: HashMap<(usize, usize), bool>,
    words: Vec<Vec<usize>>,
    by_factors: HashMap<Vec<usize>, Word>,
    products: HashMap<(Word, Word), Word>,
    /// The entries of words, where they have been multiplied out.
    diagonals: HashMap<Word, Diagonal>,
}

impl Words {
    pub(super) fn new() -> Self {
        Self {
            factors: Vec::new(),
            by_content: HashMap::new(),
            is_inverse: HashMap::new(),
            words: vec![Vec::new()],
            by_factors: HashMap::from([(Vec::new(), Word::EMPTY)]),
            products: HashMap::new(),
            diagonals: HashMap::new(),
        }
    }

    /// The word of one factor.
    pub(super) fn of_factor(&mut self, diagonal: &Diagonal) -> Word {
        if diagonal.values.iter().all(|&value| value == 1.0) {
            return Word::EMPTY;
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
        self.word(vec![factor])
    }

    /// The product of two words.
    pub(super) fn times(&mut self, one: Word, other: Word) -> Word {
        if one == Word::EMPTY || other == Word::EMPTY {
            return one.max(other);
        }
        let key = (one.min(other), one.max(other));
        if let Some(&product) = self.products.get(&key) {
            return product;
        }
        let mut factors = self.words[key.0.0 as usize].clone();
        for factor in self.words[key.1.0 as usize].clone() {
            match (0..factors.len()).find(|&place| self.cancel(factors[place], factor)) {
                Some(place) => drop(factors.remove(place)),
                None => factors.push(factor),
            }
        }
        factors.sort_unstable();
        let product = self.word(factors);
        self.products.insert(key, product);
        product
    }

    /// The word that, times `divisor`, is `word`.
    pub(super) fn divided(&mut self, word: Word, divisor: Word) -> Option<Word> {
        let mut factors = self.words[word.0 as usize].clone();
        for factor in &self.words[divisor.0 as usize] {
            factors.remove(factors.iter().position(|own| own == factor)?);
        }
        Some(self.word(factors))
    }

    /// The diagonal matrix that a word stands for.
    pub(super) fn diagonal(&mut self, word: Word) -> Option<Diagonal> {
        let (&first, rest) = self.words[word.0 as usize].split_first()?;
        let multiply = || rest.iter().fold(self.factors[first].clone(), |product, &f| product.times(&self.factors[f]));
        Some(self.diagonals.entry(word).or_insert_with(multiply).clone())
    }

    fn word(&mut self, factors: Vec<usize>) -> Word {
        let next = Word(self.words.len() as u32);
        let word = *self.by_factors.entry(factors.clone()).or_insert(next);
        if word == next {
            self.words.push(factors);
        }
        word
    }

    fn cancel(&mut self, one: usize, other: usize) -> bool {
        let key = (one.min(other), one.max(other));
        let [one, other] = [one, other].map(|factor| &self.factors[factor].values);
        let is_one = |(a, b): (&f32, &f32)| (a * b - 1.0).abs() <= ROUNDING;
        let multiply_to_one = || one.length() == other.length() && one.iter().zip(other.iter()).all(is_one);
        *self.is_inverse.entry(key).or_insert_with(multiply_to_one)
    }
}
