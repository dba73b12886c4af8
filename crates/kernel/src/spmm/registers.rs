//! A row of a block of columns, held in vector registers.

use std::arch::x86_64::*;

use crate::LANES;

/// Columns of a row in registers. Columns never mix, so the width of the registers does not show in
/// the result.
///
/// # Safety
/// The instructions that an implementation uses must be there, and pointers must be good for
/// [`Registers::COLUMNS`] numbers.
pub(super) trait Registers: Copy {
    /// How many columns there are.
    const COLUMNS: usize;

    unsafe fn zero() -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    /// `self + other`
    unsafe fn plus(self, other: Self) -> Self;
    /// `factor · self`
    unsafe fn times(self, factor: f32) -> Self;
    /// `factor · self + other`, rounded once.
    unsafe fn times_plus(self, factor: f32, other: Self) -> Self;
}

/// Lane groups in AVX2 registers.
#[derive(Clone, Copy)]
pub(super) struct Avx2<const GROUPS: usize>([__m256; GROUPS]);

// The methods are inlined into functions that have the instructions enabled.
impl<const GROUPS: usize> Registers for Avx2<GROUPS> {
    const COLUMNS: usize = GROUPS * LANES;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's promise, here and below.
        unsafe { Avx2([_mm256_setzero_ps(); GROUPS]) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as above.
        unsafe {
            let mut loaded = [_mm256_setzero_ps(); GROUPS];
            for (group, register) in loaded.iter_mut().enumerate() {
                *register = _mm256_loadu_ps(from.add(group * LANES));
            }
            Avx2(loaded)
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        for (group, register) in self.0.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { _mm256_storeu_ps(to.add(group * LANES), register) };
        }
    }

    #[inline(always)]
    unsafe fn plus(mut self, other: Self) -> Self {
        for (register, other) in self.0.iter_mut().zip(other.0) {
            // SAFETY: as above.
            *register = unsafe { _mm256_add_ps(*register, other) };
        }
        self
    }

    #[inline(always)]
    unsafe fn times(mut self, factor: f32) -> Self {
        for register in &mut self.0 {
            // SAFETY: as above.
            *register = unsafe { _mm256_mul_ps(_mm256_set1_ps(factor), *register) };
        }
        self
    }

    #[inline(always)]
    unsafe fn times_plus(mut self, factor: f32, other: Self) -> Self {
        for (register, other) in self.0.iter_mut().zip(other.0) {
            // SAFETY: as above.
            *register = unsafe { _mm256_fmadd_ps(_mm256_set1_ps(factor), *register, other) };
        }
        self
    }
}

/// Two lane groups in an AVX-512 register.
#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512);

impl Registers for Avx512 {
    const COLUMNS: usize = 2 * LANES;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller's promise, here and below.
        unsafe { Avx512(_mm512_setzero_ps()) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as above.
        unsafe { Avx512(_mm512_loadu_ps(from)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as above.
        unsafe { _mm512_storeu_ps(to, self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Avx512(_mm512_add_ps(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn times(self, factor: f32) -> Self {
        // SAFETY: as above.
        unsafe { Avx512(_mm512_mul_ps(_mm512_set1_ps(factor), self.0)) }
    }

    #[inline(always)]
    unsafe fn times_plus(self, factor: f32, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { Avx512(_mm512_fmadd_ps(_mm512_set1_ps(factor), self.0, other.0)) }
    }
}
