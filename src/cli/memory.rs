//! Amounts of memory, as people write them.

use crate::dataset::Budget;
pub(super) use crate::experiment::memory::share;

/// Reads an amount such as `16GB`, `512MiB` or `1.5e9`.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    let number_ends = text.find(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E').unwrap_or(text.len());
    let (number, unit) = text.split_at(number_ends);
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024f64.powi(2),
        "gib" => 1024f64.powi(3),
        "tib" => 1024f64.powi(4),
        _ => return Err("give an amount such as 16GB, 512MiB or 1.5e9".to_owned()),
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number * unit < u64::MAX as f64 => Ok((number * unit) as u64),
        _ => Err("give an amount above 0, such as 16GB, 512MiB or 1.5e9".to_owned()),
    }
}

/// Does `work`, in which reading data takes at most `limit` bytes, or [`share`] without a limit.
pub(super) fn bounded<T>(limit: Option<u64>, work: impl FnOnce() -> T) -> T {
    limit.or_else(share).map_or_else(Budget::unlimited, Budget::new).within(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        let amounts = [("16GB", 16_000_000_000), ("512 MiB", 512 << 20), ("1.5e9", 1_500_000_000), ("7k", 7000)];
        for (text, bytes) in amounts {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "GB", "-1GB", "0", "many", "1e30", "5 apples", "nan", "1e999"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
