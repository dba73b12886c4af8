//! How much memory the process took, and how much it may take.

use std::fs;

use crate::kernel::buffer::release_unused;

/// The program itself, its threads and their stacks.
pub(crate) const PROGRAM_BYTES: u64 = 9 << 20;

/// The most memory that the process has held at once, in bytes; `None` where the system does not
/// tell.
pub fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    bytes_of("VmHWM", &status)
}

/// Resets the peak that [`peak_bytes`] returns, and returns the bytes held now. Does nothing where
/// the system does not allow it.
pub fn reset_peak() -> Option<u64> {
    release_unused();
    fs::write("/proc/self/clear_refs", "5").ok()?;
    peak_bytes()
}

/// Three quarters of what the machine has, or of what its container may use; `None` where the
/// system does not tell.
pub fn share() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let installed = read("/proc/meminfo").and_then(|text| bytes_of("MemTotal", &text));
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let allowed = limits.iter().filter_map(|path| read(path)?.trim().parse().ok());
    allowed.chain(installed).min().map(|bytes: u64| bytes / 4 * 3)
}

/// The bytes of a line such as `VmHWM:  123 kB` among others.
fn bytes_of(name: &str, text: &str) -> Option<u64> {
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
