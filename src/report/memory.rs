//! How much memory the process took.

use crate::kernel::buffer::release_unused;

/// The most memory that the process has held at once, in bytes; `None` where the system does not tell.
pub fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    bytes_of("VmHWM", &status)
}

/// Forgets the peak so far, so that [`peak_bytes`] tells that of what follows, and tells what is held now. Where the system
/// does not allow it, nothing happens.
pub fn reset_peak() -> Option<u64> {
    release_unused();
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    peak_bytes()
}

/// The bytes of a line such as `VmHWM:  123 kB` among others.
pub fn bytes_of(name: &str, text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_line_of_the_high_water_mark() {
        assert_eq!(bytes_of("VmHWM", "VmPeak:\t  9 kB\nVmHWM:\t  123 kB\nVmRSS:\t 7 kB\n"), Some(123 * 1024));
        assert_eq!(bytes_of("VmHWM", "VmPeak:\t  9 kB\n"), None);
        assert_eq!(bytes_of("VmHWM", "VmHWM:\t  many\n"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_a_peak() {
        assert!(peak_bytes().is_some_and(|bytes| bytes > 100_000));
    }
}
