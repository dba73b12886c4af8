//! Powers of two that keep the squares of singular values within the range of 32-bit numbers.
//!
//! The iterations multiply by MᵀM in f32, whose entries overflow for σ₁ beyond about 1e19 and
//! underflow below 1e-19. The first product of a run shows how long M makes a random vector; where
//! that is out of range the run starts again with 2^e·M, whose triplets are those of M but for the
//! factor 2^e of the singular values. Scaling by a power of two is exact.

use super::options::SvdError;
use super::prepared::Prepared;
use crate::engine::EngineError;

/// M is scaled if it makes random vectors longer than 2 to this power, or shorter than one over it.
const SAFE_EXPONENT: i32 = 32;
/// What to scale by where a product overflowed or vanished, so that its length is not known.
const BLIND_EXPONENT: i32 = 100;
/// Scaling beyond this cannot help: the product of a 32-bit weight and a coefficient is zero.
const LARGEST_EXPONENT: i32 = 400;

/// Scales to try before a matrix is given up.
pub(super) const MOST_SCALES: usize = 8;

/// Fails with [`SvdError::OutOfRange`] where the first product of a run asks for another scale,
/// given the length of the longest vector that M made.
pub(super) fn check_length(prepared: &Prepared, length: f64) -> Result<(), SvdError> {
    let Some(scaled_by) = prepared.exponent else { return Ok(()) };
    let exponent = match length {
        0.0 if scaled_by >= LARGEST_EXPONENT => return Ok(()),
        0.0 => BLIND_EXPONENT,
        length => -exponent_of(length),
    };
    match exponent.abs() <= SAFE_EXPONENT {
        true => Ok(()),
        false => Err(SvdError::OutOfRange { exponent: scaled_by + exponent }),
    }
}

/// The scale to try again with, if an error says that a smaller one may help.
pub(super) fn another_exponent(error: &SvdError, scaled_by: i32) -> Option<i32> {
    let is_overflow = matches!(error, SvdError::Engine(EngineError::NotFinite { .. }));
    (is_overflow && scaled_by > -LARGEST_EXPONENT).then_some(scaled_by - BLIND_EXPONENT)
}

/// The power of two, exactly.
pub(super) fn power_of_two(exponent: i32) -> f64 {
    libm::ldexp(1.0, exponent)
}

/// The exponent of the power of two that is at most a positive number.
fn exponent_of(number: f64) -> i32 {
    libm::frexp(number).1 - 1
}
