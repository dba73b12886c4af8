//! Division by a number that stays the same.

/// Divides 32-bit numbers by one that is chosen once, several times faster than a division: the high half of a product with
/// its reciprocal, which is exact for 32 bits when the reciprocal has 64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divisor {
    number: u32,
    /// ⌈2⁶⁴ ⁄ number⌉; for one it does not fit.
    reciprocal: u64,
}

impl Divisor {
    /// A divisor of one or more.
    pub fn new(number: usize) -> Self {
        let number = u32::try_from(number).unwrap_or(u32::MAX).max(1);
        Self { number, reciprocal: (u64::MAX / u64::from(number)).wrapping_add(1) }
    }

    /// Quotient and remainder.
    #[inline(always)]
    pub fn divide(self, dividend: u32) -> (usize, u32) {
        if self.number == 1 {
            return (dividend as usize, 0);
        }
        let quotient = ((u128::from(self.reciprocal) * u128::from(dividend)) >> 64) as u32;
        (quotient as usize, dividend - quotient * self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_a_division(number in 1u32.., dividend: u32, shift in 0u32..32) {
            for number in [number, (number >> shift).max(1)] {
                let divisor = Divisor::new(number as usize);
                for dividend in [dividend, u32::MAX, 0, number - 1, number, dividend / number * number] {
                    prop_assert_eq!(divisor.divide(dividend), ((dividend / number) as usize, dividend % number));
                }
            }
        }
    }
}
