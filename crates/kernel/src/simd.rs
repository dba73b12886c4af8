//! The instruction set of a kernel call.

/// An instruction set that the machine has.
///
/// Only [`Simd::best`] detects the fast ones, so a value proves that they are there. AVX2 and
/// AVX-512 give the same bits: their kernels add in the same order, and round a multiply-add once
/// where portable code rounds twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simd {
    level: Level,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Portable,
    Avx2,
    Avx512,
}

impl Simd {
    /// The fastest instructions of this machine.
    #[inline]
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let is_fast = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let is_wide = is_fast && is_x86_feature_detected!("avx512f");
            let level = match (is_fast, is_wide) {
                (_, true) => Level::Avx512,
                (true, false) => Level::Avx2,
                (false, false) => Level::Portable,
            };
            Simd { level }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Simd::portable()
    }

    /// Portable code, as on a machine without AVX2.
    pub const fn portable() -> Self {
        Simd { level: Level::Portable }
    }

    /// The same without AVX-512.
    pub fn without_wide(self) -> Self {
        Simd { level: self.level.min(Level::Avx2) }
    }

    /// Whether AVX2 and FMA may be used.
    #[inline]
    pub fn is_fast(self) -> bool {
        self.level >= Level::Avx2
    }

    /// Whether AVX-512 may be used.
    #[inline]
    pub fn is_wide(self) -> bool {
        self.level == Level::Avx512
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self.level {
            Level::Portable => "portable",
            Level::Avx2 => "AVX2",
            Level::Avx512 => "AVX-512",
        }
    }
}

/// Prefetches the cache line of an entry, to read or to write; it may point anywhere.
#[inline(always)]
pub(crate) fn prefetch<const WRITE: bool, T>(entry: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and a prefetch reads nothing.
        unsafe {
            match WRITE {
                true => _mm_prefetch::<_MM_HINT_ET0>(entry.cast()),
                false => _mm_prefetch::<_MM_HINT_T0>(entry.cast()),
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = entry;
}

/// Calls an `#[inline(always)]` function compiled for AVX2 where the machine has it. The compiler
/// never fuses multiply-adds, so the bits are the same.
macro_rules! faster {
    ($function:ident ( $($argument:ident : $kind:ty),* )) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn with_avx2($($argument: $kind),*) {
            $function($($argument),*)
        }
        #[cfg(target_arch = "x86_64")]
        if $crate::Simd::best().is_fast() {
            // SAFETY: the machine was asked for AVX2.
            unsafe { with_avx2($($argument),*) };
            return;
        }
        $function($($argument),*)
    }};
}
pub(crate) use faster;
