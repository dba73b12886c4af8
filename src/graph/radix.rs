//! Sorting the entries of a strip by their places.

use super::cells::Key;

/// Bits of a digit: its counts stay in the nearest cache.
const DIGIT: u32 = 9;
/// Fewer keys are sorted by comparing.
const FEW: usize = 200;

/// Sorts keys by place, of which the lowest `bits` bits count; keys of one place stay in the order
/// they came. `spare` is scratch space.
pub(super) fn sort_by_place<K: Key>(keys: &mut [K], bits: u32, spare: &mut Vec<K>) {
    if keys.len() < FEW {
        keys.sort_by_key(|key| key.place());
        return;
    }
    spare.resize(spare.len().max(keys.len()), K::default());
    let spare = &mut spare[..keys.len()];
    let passes = bits.div_ceil(DIGIT).max(1);
    for pass in 0..passes {
        let (from, to) = if pass % 2 == 0 { (&*keys, &mut *spare) } else { (&*spare, &mut *keys) };
        scatter(from, to, pass * DIGIT);
    }
    if passes % 2 == 1 {
        keys.copy_from_slice(spare);
    }
}

fn scatter<K: Key>(from: &[K], to: &mut [K], shift: u32) {
    const MASK: u32 = (1 << DIGIT) - 1;
    let mut next = [0u32; 1 << DIGIT];
    for key in from {
        next[(key.place() >> shift & MASK) as usize] += 1;
    }
    let mut sum = 0;
    for count in &mut next {
        sum += std::mem::replace(count, sum);
    }
    for &key in from {
        let at = &mut next[(key.place() >> shift & MASK) as usize];
        to[*at as usize] = key;
        *at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::random::bits;

    #[test]
    fn places_are_in_order_and_equal_ones_as_they_came() {
        for (count, width) in [(0, 5), (10, 5), (1000, 5), (1000, 9), (1000, 18), (5000, 27), (5000, 32)] {
            let place = |n: usize| (bits(7, 1, n as u64, 0) >> (64 - width)) as u32;
            let mut keys: Vec<u64> = (0..count).map(|n| u64::new(place(n), n as f32)).collect();
            let mut expected = keys.clone();
            expected.sort_by_key(|key| key.place());
            sort_by_place(&mut keys, width, &mut vec![]);
            assert!(keys == expected, "{count} keys of {width} bits");
        }
    }
}
