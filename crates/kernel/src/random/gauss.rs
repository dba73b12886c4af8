//! The Box–Muller transform, many pairs at a time.
//!
//! Logarithm, sine and cosine are short polynomials in f64 without branches, so that the compiler
//! turns the loops into SIMD code. Nothing but additions, multiplications, divisions and square
//! roots is used, each exactly rounded, so the bits are the same on every platform and for any
//! number of pairs.

use std::f64::consts::{FRAC_PI_2, LN_2, SQRT_2};

const UNIT: f64 = 1.0 / (1u64 << 32) as f64;

/// Two independent standard normal numbers for each pair of random words. At most 6.8 in magnitude.
#[inline(always)]
pub(super) fn box_muller<const N: usize>(radius: &[u32; N], angle: &[u32; N]) -> ([f32; N], [f32; N]) {
    let (mut cosines, mut sines) = ([0.0; N], [0.0; N]);
    for n in 0..N {
        // The half keeps the logarithm away from zero.
        let length = (-2.0 * logarithm((f64::from(radius[n]) + 0.5) * UNIT)).sqrt();
        let (cos, sin) = unit_vector(angle[n]);
        (cosines[n], sines[n]) = ((length * cos) as f32, (length * sin) as f32);
    }
    (cosines, sines)
}

/// The natural logarithm of a normal number, with relative error 1e-12.
#[inline(always)]
fn logarithm(x: f64) -> f64 {
    // x = 2^exponent · m with m between √½ and √2.
    let bits = x.to_bits();
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    let large = mantissa > SQRT_2;
    let m = if large { 0.5 * mantissa } else { mantissa };
    // The exponent in the low bits of a number below 2^53 avoids an integer conversion.
    let exponent = f64::from_bits(bits >> 52 | 1075 << 52) - ((1u64 << 52) as f64 + 1023.0);
    let exponent = if large { exponent + 1.0 } else { exponent };
    // log m = 2 artanh((m - 1) / (m + 1)).
    let s = (m - 1.0) / (m + 1.0);
    let q = s * s;
    let series = 1.0
        + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * (1.0 / 7.0 + q * (1.0 / 9.0 + q * (1.0 / 11.0 + q * (1.0 / 13.0))))));
    exponent * LN_2 + 2.0 * s * series
}

/// A point of the unit circle (cosine, sine): two bits choose the quadrant, thirty the place in it.
#[inline(always)]
fn unit_vector(word: u32) -> (f64, f64) {
    let place = f64::from(word & 0x3fff_ffff) * (1.0 / (1u64 << 30) as f64);
    let x = (place - 0.5) * FRAC_PI_2;
    let q = x * x;
    let sin = x
        * (1.0
            + q * (-1.0 / 6.0
                + q * (1.0 / 120.0 + q * (-1.0 / 5040.0 + q * (1.0 / 362_880.0 + q * (-1.0 / 39_916_800.0))))));
    let cos = 1.0
        + q * (-0.5
            + q * (1.0 / 24.0
                + q * (-1.0 / 720.0 + q * (1.0 / 40_320.0 + q * (-1.0 / 3_628_800.0 + q * (1.0 / 479_001_600.0))))));
    let odd = word & 0x4000_0000 != 0;
    let (a, b) = if odd { (-sin, cos) } else { (cos, sin) };
    let sign = if word & 0x8000_0000 != 0 { -1.0 } else { 1.0 };
    (sign * a, sign * b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_match_the_functions() {
        let words =
            (0..20_000u32).map(|i| i.wrapping_mul(0x9E37_79B9)).chain([0, 1, u32::MAX, 1 << 30, 1 << 31, 3 << 30]);
        for word in words {
            let x = (f64::from(word) + 0.5) * UNIT;
            let exact = x.ln();
            assert!((logarithm(x) - exact).abs() <= 1e-11 * exact.abs(), "{x}: {} {exact}", logarithm(x));
            let angle = f64::from(word >> 30) * FRAC_PI_2
                + (f64::from(word & 0x3fff_ffff) / f64::from(1 << 30) - 0.5) * FRAC_PI_2;
            let (cos, sin) = unit_vector(word);
            assert!((cos - angle.cos()).abs() < 1e-10 && (sin - angle.sin()).abs() < 1e-10, "{angle}");
        }
    }
}
