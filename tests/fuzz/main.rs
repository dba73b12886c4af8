//! For any bytes from the network or from a disk, parsers do not panic, allocate memory in
//! proportion to the input, and name what they accepted.
//!
//! Each target parses randomly changed valid bytes for three seconds, or for `ISVD_FUZZ_SECONDS`.
//! To repeat a failure, set `ISVD_FUZZ_SEED` to the seed that it names.

mod change;
mod memory;
mod store;

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::panic::catch_unwind;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use isvd_dist::engine::fuzz::{Target, targets};

use change::Numbers;
use memory::measured;

const SECONDS: u64 = 3;
/// Bytes that may be allocated for each byte of the input.
const WORTH: usize = 64;

fn variable(name: &str) -> Option<u64> {
    env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}")))
}

fn fuzz(target: &Target) {
    if let Some(seed) = variable("ISVD_FUZZ_SEED") {
        attempt(target, seed);
        return;
    }
    let end = Instant::now() + Duration::from_secs(variable("ISVD_FUZZ_SECONDS").unwrap_or(SECONDS));
    // A new seed for each run, so that repeated runs cover more inputs.
    let mut seeds = Numbers::of(RandomState::new().hash_one(target.name));
    let (mut tried, mut taken) = (0, 0);
    while Instant::now() < end {
        tried += 1;
        taken += usize::from(attempt(target, seeds.word()));
    }
    println!("{}: {tried} tried, {taken} of them taken", target.name);
}

/// Parses the bytes of a seed unchanged and changed. Returns whether the changed ones were
/// accepted.
fn attempt(target: &Target, seed: u64) -> bool {
    let mut numbers = Numbers::of(seed);
    let whole = (target.example)(&mut |bound| numbers.below(bound));
    let mut changed = whole.clone();
    numbers.change(&mut changed);
    assert!(tried(target, seed, &whole), "{}: valid bytes are refused, ISVD_FUZZ_SEED={seed}", target.name);
    tried(target, seed, &changed)
}

fn tried(target: &Target, seed: u64, bytes: &[u8]) -> bool {
    let (outcome, asked) = measured(|| catch_unwind(|| (target.accepts)(bytes)));
    let case = || format!("{}: ISVD_FUZZ_SEED={seed}, {} bytes: {}", target.name, bytes.len(), bytes.escape_ascii());
    let Ok(is_taken) = outcome else { panic!("{}", case()) };
    assert!(asked <= target.overhead + WORTH * bytes.len(), "asked for {asked} bytes of memory, {}", case());
    is_taken
}

/// One test for each target.
macro_rules! tests {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            fuzz(targets().iter().find(|target| target.name == $name).expect("there is such a target"));
        })*

        #[test]
        fn every_target_is_tried() {
            assert!(targets().iter().map(|target| target.name).eq([$($name),*]));
        }
    };
}

tests! {
    data: "message",
    facts: "facts",
    messages: "messages",
    callers: "a caller",
    answerers: "an answerer",
    manifests: "manifest",
    pieces: "piece",
    numbers: "numbers",
}

#[test]
fn stores() {
    LazyLock::force(&store::FILES);
    fuzz(&store::TARGET);
}
