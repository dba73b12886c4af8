//! Adjacent entries of a row, in the registers of an instruction set.
//!
//! Kernels are written once, generic over [`Registers`], and inlined into functions that enable the
//! instructions. Entries never mix, so the width of the registers does not show in a result. AVX2
//! and AVX-512 round a multiply-add once, [`Portable`] code twice.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::ops::{Add, Mul};

use super::LANES;

/// Adjacent entries of a row.
///
/// # Safety
/// The instructions that an implementation uses must be there, and pointers must be good for
/// [`Registers::COLUMNS`] entries.
pub(crate) trait Registers: Copy {
    /// The type of an entry.
    type Entry: Copy;
    /// Number of entries.
    const COLUMNS: usize;
    /// Rows of sums that registers hold at a time beside a row and a factor.
    const ROWS: usize;

    unsafe fn zero() -> Self;
    unsafe fn load(from: *const Self::Entry) -> Self;
    unsafe fn store(self, to: *mut Self::Entry);
    /// `self + other`
    unsafe fn plus(self, other: Self) -> Self;
    /// `factor · self`
    unsafe fn times(self, factor: Self::Entry) -> Self;
    /// `factor · self + other`
    unsafe fn times_plus(self, factor: Self::Entry, other: Self) -> Self;
}

/// Lane groups in plain arrays, which the compiler turns into whatever the machine has.
#[derive(Clone, Copy)]
pub(crate) struct Portable<T, const GROUPS: usize>([[T; LANES]; GROUPS]);

impl<T, const GROUPS: usize> Registers for Portable<T, GROUPS>
where
    T: Copy + Default + Add<Output = T> + Mul<Output = T>,
{
    type Entry = T;
    const COLUMNS: usize = GROUPS * LANES;
    const ROWS: usize = 1;

    #[inline(always)]
    unsafe fn zero() -> Self {
        Self([[T::default(); LANES]; GROUPS])
    }

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller's promise; an array is aligned as its entries are.
        Self(unsafe { from.cast::<[[T; LANES]; GROUPS]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: as above.
        unsafe { to.cast::<[[T; LANES]; GROUPS]>().write(self.0) };
    }

    #[inline(always)]
    unsafe fn plus(mut self, other: Self) -> Self {
        for (entry, other) in self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened()) {
            *entry = *entry + *other;
        }
        self
    }

    #[inline(always)]
    unsafe fn times(mut self, factor: T) -> Self {
        for entry in self.0.as_flattened_mut() {
            *entry = factor * *entry;
        }
        self
    }

    #[inline(always)]
    unsafe fn times_plus(mut self, factor: T, other: Self) -> Self {
        for (entry, other) in self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened()) {
            *entry = factor * *entry + *other;
        }
        self
    }
}

/// Implements [`Registers`] for arrays of a SIMD type.
#[cfg(target_arch = "x86_64")]
macro_rules! registers {
    (
        $(#[$doc:meta])* $name:ident: [$register:ty] of $entry:ty,
        $zero:ident, $load:ident, $store:ident, $add:ident, $multiply:ident, $broadcast:ident, $multiply_add:ident
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name<const COUNT: usize>([$register; COUNT]);

        // SAFETY of all blocks: the caller's promise.
        impl<const COUNT: usize> Registers for $name<COUNT> {
            type Entry = $entry;
            const COLUMNS: usize = COUNT * (size_of::<$register>() / size_of::<$entry>());
            const ROWS: usize = 12 / COUNT;

            #[inline(always)]
            unsafe fn zero() -> Self {
                unsafe { Self([$zero(); COUNT]) }
            }

            #[inline(always)]
            unsafe fn load(from: *const $entry) -> Self {
                unsafe {
                    let mut loaded = Self::zero();
                    for (place, register) in loaded.0.iter_mut().enumerate() {
                        *register = $load(from.add(place * (Self::COLUMNS / COUNT)));
                    }
                    loaded
                }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $entry) {
                for (place, register) in self.0.into_iter().enumerate() {
                    unsafe { $store(to.add(place * (Self::COLUMNS / COUNT)), register) };
                }
            }

            #[inline(always)]
            unsafe fn plus(mut self, other: Self) -> Self {
                for (register, other) in self.0.iter_mut().zip(other.0) {
                    *register = unsafe { $add(*register, other) };
                }
                self
            }

            #[inline(always)]
            unsafe fn times(mut self, factor: $entry) -> Self {
                for register in &mut self.0 {
                    *register = unsafe { $multiply($broadcast(factor), *register) };
                }
                self
            }

            #[inline(always)]
            unsafe fn times_plus(mut self, factor: $entry, other: Self) -> Self {
                for (register, other) in self.0.iter_mut().zip(other.0) {
                    *register = unsafe { $multiply_add($broadcast(factor), *register, other) };
                }
                self
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
registers! {
    /// Eight f32 entries in each AVX2 register.
    Avx2: [__m256] of f32,
    _mm256_setzero_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_mul_ps, _mm256_set1_ps, _mm256_fmadd_ps
}
#[cfg(target_arch = "x86_64")]
registers! {
    /// Four f64 entries in each AVX2 register.
    Avx2Double: [__m256d] of f64,
    _mm256_setzero_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_add_pd, _mm256_mul_pd, _mm256_set1_pd, _mm256_fmadd_pd
}
#[cfg(target_arch = "x86_64")]
registers! {
    /// Sixteen f32 entries in each AVX-512 register.
    Avx512: [__m512] of f32,
    _mm512_setzero_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps, _mm512_mul_ps, _mm512_set1_ps, _mm512_fmadd_ps
}
#[cfg(target_arch = "x86_64")]
registers! {
    /// Eight f64 entries in each AVX-512 register.
    Avx512Double: [__m512d] of f64,
    _mm512_setzero_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_add_pd, _mm512_mul_pd, _mm512_set1_pd, _mm512_fmadd_pd
}
