//! Requirements of tests that some machines lack. If one is missing, the test is skipped, and the
//! test program reports it at its end. `ISVD_REQUIRE` turns a skip into a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::io::Write;
use std::sync::{Mutex, Once, PoisonError};
use std::{env, io, thread};

/// The required kinds, separated by commas.
const REQUIRE: &str = "ISVD_REQUIRE";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Real datasets.
    Data,
    /// Chromium.
    Browser,
    /// Permission to create network namespaces and to mount disks.
    Namespaces,
    /// Python with packages.
    Python,
    /// Other programs, such as strace.
    Programs,
}

impl Need {
    pub const ALL: [Self; 5] = [Self::Data, Self::Browser, Self::Namespaces, Self::Python, Self::Programs];

    /// Its word in `ISVD_REQUIRE`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Browser => "browser",
            Self::Namespaces => "namespaces",
            Self::Python => "python",
            Self::Programs => "programs",
        }
    }

    /// How to provide it.
    fn remedy(self) -> &'static str {
        match self {
            Self::Data => "ISVD_DATA names the folder of datasets",
            Self::Browser => "install Chromium, or name a browser with CHROMIUM",
            Self::Namespaces => "only root can make them, on Linux, with ip, tc and mount",
            Self::Python => ".ci/run installs it",
            Self::Programs => "install them",
        }
    }
}

/// A requirement of a test. If it is missing, the result is `None`, and the test is skipped and
/// counted; it fails instead if `ISVD_REQUIRE` lists the kind.
#[track_caller]
pub fn found_or_skip<T>(need: Need, found: Result<T, String>) -> Option<T> {
    let text = env::var_os(REQUIRE).unwrap_or_default();
    let is_required = required(&text.to_string_lossy()).contains(&need);
    match found {
        Ok(found) => Some(found),
        Err(missing) if is_required => {
            panic!("{REQUIRE} has `{}`, but this is missing: {missing} ({})", need.word(), need.remedy())
        }
        Err(missing) => {
            count(need, missing);
            None
        }
    }
}

#[track_caller]
fn required(text: &str) -> BTreeSet<Need> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    let need = |word| {
        let known = Need::ALL.map(Need::word).join(", ");
        Need::ALL.into_iter().find(|need| need.word() == word).ok_or_else(|| format!("`{word}` is none of {known}"))
    };
    words.map(need).collect::<Result<_, _>>().unwrap_or_else(|fault| panic!("{REQUIRE}: {fault}"))
}

/// The tests that were skipped because of one kind, and the missing items.
struct Skipped {
    tests: BTreeSet<String>,
    missing: BTreeSet<String>,
}

static SKIPPED: Mutex<BTreeMap<Need, Skipped>> = Mutex::new(BTreeMap::new());

fn count(need: Need, missing: String) {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| assert_eq!(atexit(tell), 0, "there is room for one more function"));
    // The harness gives the thread of a test the name of the test.
    let test = thread::current().name().unwrap_or("a thread without a name").to_owned();
    let mut skipped = SKIPPED.lock().unwrap_or_else(PoisonError::into_inner);
    let of_kind = skipped.entry(need).or_insert(Skipped { tests: BTreeSet::new(), missing: BTreeSet::new() });
    of_kind.tests.insert(test);
    of_kind.missing.insert(missing);
}

/// One line per kind. The harness captures the output of macros, but not direct writes to stderr.
extern "C" fn tell() {
    for (need, Skipped { tests, missing }) in &*SKIPPED.lock().unwrap_or_else(PoisonError::into_inner) {
        let (count, plural) = (tests.len(), if tests.len() == 1 { "" } else { "s" });
        let missing = missing.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let (kind, remedy) = (need.word(), need.remedy());
        // A closed stderr cannot be reported.
        let _ = writeln!(
            io::stderr(),
            "skipped for want of {kind}: {count} test{plural}, whole or in part; missing: {missing} ({remedy})"
        );
    }
}

// SAFETY: the declaration is that of C. `atexit` may be called at any time and from any thread.
unsafe extern "C" {
    /// Registers a function that is called when the process ends.
    safe fn atexit(function: extern "C" fn()) -> c_int;
}
