//! Changes of bytes that are likely to break parsers.

use isvd_kernel::random::{bits, stream};

/// A stream of random numbers with a seed.
pub struct Numbers {
    seed: u64,
    drawn: u64,
}

/// Sizes that overflow, or nearly overflow.
const EXTREMES: [u64; 14] = [
    0,
    1,
    2,
    7,
    0x7f,
    0xff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    1 << 60,
    i64::MAX as u64,
    u64::MAX - 7,
    u64::MAX,
];
/// Characters of text formats.
const SIGNS: &[u8] = b"{}[]\",:-+.eE\\0129tfn \n\0\xff";

impl Numbers {
    pub fn of(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    pub fn word(&mut self) -> u64 {
        self.drawn += 1;
        bits(self.seed, stream::SYNTHETIC, self.drawn, 0)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound as u64) as usize
    }

    fn extreme(&mut self) -> u64 {
        EXTREMES[self.below(EXTREMES.len())]
    }

    /// Changes bytes in one to four ways.
    pub fn change(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            self.change_once(bytes);
        }
    }

    fn change_once(&mut self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            bytes.extend((0..self.below(100)).map(|place| place as u8));
            return;
        }
        let place = self.below(bytes.len());
        let end = place + 1 + self.below((bytes.len() - place).min(64));
        match self.below(10) {
            0 => bytes[place] ^= 1 << self.below(8),
            1 => bytes[place] = self.word() as u8,
            2 => bytes[place] = SIGNS[self.below(SIGNS.len())],
            3 => bytes.truncate(place),
            4 => drop(bytes.drain(place..end)),
            5 => {
                let again = bytes[place..end].to_vec();
                let times = 1 + self.below(8);
                (0..times).for_each(|_| drop(bytes.splice(place..place, again.iter().copied())));
            }
            6 => bytes.extend((0..end - place).map(|place| place as u8)),
            7 => self.change_digits(bytes, place),
            width @ (8 | 9) => {
                // Overwrites a number of two to eight bytes.
                let width = if width == 8 { 8 } else { 1 << (1 + self.below(2)) };
                let start = place / width * width;
                let number = self.extreme().to_le_bytes();
                bytes[start..].iter_mut().zip(&number[..width]).for_each(|(byte, new)| *byte = *new);
            }
            _ => unreachable!("below ten"),
        }
    }

    /// Replaces the next number that is written in digits.
    fn change_digits(&mut self, bytes: &mut Vec<u8>, place: usize) {
        let Some(start) = bytes[place..].iter().position(u8::is_ascii_digit) else { return };
        let start = place + start;
        let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        bytes.splice(start..start + digits, self.extreme().to_string().into_bytes());
    }
}
