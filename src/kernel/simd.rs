//! Which instructions a kernel may use.

/// The instruction set chosen for a kernel call.
///
/// Only [`Simd::best`] can yield the fast one, after asking the machine, so holding it proves that it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simd {
    fast: bool,
}

impl Simd {
    /// The fastest instructions of this machine.
    #[inline]
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let fast = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            Simd { fast }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Simd { fast: false }
    }

    /// Plain code, as on a machine without AVX2.
    pub const fn portable() -> Self {
        Simd { fast: false }
    }

    /// Whether AVX2 and FMA are used.
    #[inline]
    pub const fn is_fast(self) -> bool {
        self.fast
    }
}
