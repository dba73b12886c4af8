//! A fast parser of edge lists of numbers.

use super::dialect::{Columns, Dialect};
use super::fields;
use crate::dataset::budget::{Budget, OverBudget, Reservation, bytes_of};
use crate::dataset::format::error::Fault;
use crate::dataset::format::rows::Pairs;

/// A digit, a separator, a digit and the end.
const SHORTEST_LINE: usize = 4;

/// The pairs that one thread parsed, in blocks.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    pub pairs: Pairs,
    pub weights: Vec<f32>,
    /// The number of each block, and where its pairs end.
    pub blocks: Vec<(usize, usize)>,
    /// Memory of all that.
    pub reserved: Reservation,
}

impl Numbers {
    /// Adds the pairs of a block; says how many lines it has.
    pub fn parse(&mut self, number: usize, block: &[u8], dialect: &Dialect, budget: &Budget) -> Result<u64, Fault> {
        let header = dialect.header.filter(|_| number == 0);
        let quick = dialect.columns == Columns::Pair;
        let narrow = dialect.nodes.map_or(1 << 32, |nodes| (nodes as u64).min(1 << 32));
        let most = block.len() / SHORTEST_LINE + 1;
        self.take(most, if dialect.weighted() { most } else { 0 }, budget)?;
        self.pairs.reserve(most);
        let (mut at, mut line) = (0, 0);
        while at < block.len() {
            if quick && let Some(pairs) = self.pairs.narrow() {
                // Nearly all lines take this path.
                while let Some((from, to, next)) = pair(&block[at..])
                    && from.max(to) < narrow
                {
                    pairs.push((from as u32, to as u32));
                    at += next;
                    line += 1;
                }
            }
            if at < block.len() {
                let end = at + memchr::memchr(b'\n', &block[at..]).unwrap_or(block.len() - at);
                if header != Some(line) {
                    self.add_line(&block[at..end], dialect, budget).map_err(|fault| fault.at(line))?;
                }
                at = end + 1;
                line += 1;
            }
        }
        self.blocks.push((number, self.pairs.len()));
        self.take(0, 0, budget)?;
        Ok(line)
    }

    /// Reserves the memory of everything so far and of more pairs and weights.
    fn take(&mut self, pairs: usize, weights: usize, budget: &Budget) -> Result<(), OverBudget> {
        // Both the old and the new list exist while it grows.
        let copy = if self.pairs.has_capacity(pairs) { 0 } else { self.pairs.bytes(0) };
        let blocks = bytes_of::<(usize, usize)>(self.blocks.len());
        let weights = bytes_of::<f32>(self.weights.len() + weights);
        budget.resize(&mut self.reserved, self.pairs.bytes(pairs) + copy + weights + blocks)
    }

    fn add_line(&mut self, line: &[u8], dialect: &Dialect, budget: &Budget) -> Result<(), Fault> {
        let Some(line) = fields::data(line) else { return Ok(()) };
        let (from, to, weight) = dialect.split(line)?;
        let (from, to) = (dialect.number(from, line)?, dialect.number(to, line)?);
        self.pairs.push_within(from, to, budget, &mut self.reserved)?;
        self.weights.extend(weight);
        Ok(())
    }
}

/// A line of two numbers with one byte between them, and where the next line starts; `None` for any
/// other line.
#[inline(always)]
fn pair(bytes: &[u8]) -> Option<(u64, u64, usize)> {
    let (from, end) = digits(bytes, 0)?;
    if !matches!(bytes.get(end), Some(b' ' | b'\t' | b',' | b';')) {
        return None;
    }
    let (to, end) = digits(bytes, end + 1)?;
    match bytes.get(end) {
        Some(b'\n') => Some((from, to, end + 1)),
        Some(b'\r') if bytes.get(end + 1) == Some(&b'\n') => Some((from, to, end + 2)),
        _ => None,
    }
}

/// One to nineteen digits, which 64 bits always hold.
#[inline(always)]
fn digits(bytes: &[u8], start: usize) -> Option<(u64, usize)> {
    if let Some(eight) = bytes.get(start..).and_then(<[u8]>::first_chunk::<8>) {
        let digits = u64::from_le_bytes(*eight) ^ ZEROS;
        // The highest bit of each byte that is no digit.
        let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
        let count = others.trailing_zeros() / 8;
        if (1..8).contains(&count) {
            return Some((eight_digits(digits << (64 - 8 * count)), start + count as usize));
        }
    }
    digits_singly(bytes, start)
}

const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// The value of eight digits, the first in the lowest byte, by merging digits to pairs, fours and
/// all eight.
#[inline(always)]
fn eight_digits(digits: u64) -> u64 {
    const EVEN: u64 = 0x0000_00ff_0000_00ff;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let left = (pairs & EVEN).wrapping_mul(100 + (1_000_000 << 32));
    let right = (pairs >> 16 & EVEN).wrapping_mul(1 + (10_000 << 32));
    left.wrapping_add(right) >> 32
}

fn digits_singly(bytes: &[u8], start: usize) -> Option<(u64, usize)> {
    let mut value = 0u64;
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (1..=19).contains(&(at - start)).then_some((value, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_are_read_as_one_by_one(number: u64, shift in 0u32..64, after in any::<u8>(), more in 0usize..12) {
            let mut text = (number >> shift).to_string().into_bytes();
            let length = text.len();
            text.push(after);
            text.resize(text.len() + more, b'7');
            prop_assert_eq!(digits(&text, 0), digits_singly(&text, 0));
            if !after.is_ascii_digit() && length < 20 {
                prop_assert_eq!(digits(&text, 0), Some((number >> shift, length)));
            }
        }
    }

    #[test]
    fn a_byte_beside_the_digits_is_none() {
        for other in (0..=255u8).filter(|byte| !byte.is_ascii_digit()) {
            assert_eq!(digits(&[b'1', other, b'2', b'3', b'4', b'5', b'6', b'7'], 0), Some((1, 1)), "{other}");
            assert_eq!(digits(&[other, b'1', b'2', b'3', b'4', b'5', b'6', b'7'], 0), None, "{other}");
        }
    }
}
