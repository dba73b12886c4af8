//! Every key there is.

use super::defaults::*;
use super::error::Hint;
use super::scalar;
use crate::evaluate::Metric;
use crate::svd;

/// A key of a config: what it is, what it accepts, and what it is when nobody sets it.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The key with the table it is in, such as `embedding.rank`.
    pub path: &'static str,
    /// What it means.
    pub about: &'static str,
    /// The values it accepts, in words.
    pub accepts: &'static str,
    default: fn() -> Option<String>,
}

impl Key {
    /// The default as text; `None` when the key has no default.
    pub fn default(&self) -> Option<String> {
        (self.default)()
    }
}

/// The tables that hold keys.
pub(super) const TABLES: &[&str] = &["embedding", "evaluate"];

/// Every key, in the order in which people read them.
pub const KEYS: &[Key] = &[
    DATASET,
    SEED,
    WINDOW,
    NEGATIVE,
    NORMALIZE,
    DEGREE_WEIGHTED,
    RANK,
    OVERSAMPLE,
    ITERATIONS,
    TOLERANCE,
    METHOD,
    ORTHONORMALIZE,
    METRICS,
];

pub(super) const DATASET: Key =
    Key { path: "dataset", about: "the graph to work on", accepts: "a known dataset: \"demo\"", default: || None };
pub(super) const SEED: Key = Key {
    path: "seed",
    about: "of all random numbers; --seed wins",
    accepts: "a whole number from 0 to 18446744073709551615",
    default: || Some(DEFAULT_SEED.to_string()),
};
pub(super) const WINDOW: Key = Key {
    path: "embedding.window",
    about: "the longest walk, C",
    accepts: "a whole number from 1 to 1000",
    default: || Some(DEFAULT_WINDOW.to_string()),
};
pub(super) const NEGATIVE: Key = Key {
    path: "embedding.negative",
    about: "the weight of the non-edges, λ",
    accepts: "a finite number, at least 0",
    default: || Some(DEFAULT_NEGATIVE.to_string()),
};
pub(super) const NORMALIZE: Key = Key {
    path: "embedding.normalize",
    about: "the walk matrix: D⁻¹A or D^-½ A D^-½",
    accepts: "\"row\" or \"symmetric\"",
    default: || scalar::name_of(scalar::NORMALIZE, DEFAULT_NORMALIZE),
};
pub(super) const DEGREE_WEIGHTED: Key = Key {
    path: "embedding.degree_weighted",
    about: "weigh walks by the degree they end at: √degree beside a symmetric T, degree beside a row-normalised",
    accepts: "true or false",
    default: || Some(DEFAULT_DEGREE_WEIGHTED.to_string()),
};
pub(super) const RANK: Key = Key {
    path: "embedding.rank",
    about: "how many singular triplets to keep",
    accepts: "a whole number from 1 to 4294967295",
    default: || Some(DEFAULT_RANK.to_string()),
};
pub(super) const OVERSAMPLE: Key = Key {
    path: "embedding.oversample",
    about: "columns to iterate on beyond the rank",
    accepts: "a whole number from 0 to 4294967295",
    default: || Some("the rank, at most 30".to_owned()),
};
pub(super) const ITERATIONS: Key = Key {
    path: "embedding.iterations",
    about: "how many iterations to make at most",
    accepts: "a whole number from 0 to 4294967295",
    default: || Some(svd::DEFAULT_ITERATIONS.to_string()),
};
pub(super) const TOLERANCE: Key = Key {
    path: "embedding.tolerance",
    about: "stop when each residual, relative to its own σ, is below this",
    accepts: "a finite number above 0",
    default: || Some("never stop early".to_owned()),
};
pub(super) const METHOD: Key = Key {
    path: "embedding.method",
    about: "the algorithm",
    accepts: "\"subspace\"",
    default: || scalar::name_of(scalar::METHOD, svd::Method::default()),
};
pub(super) const ORTHONORMALIZE: Key = Key {
    path: "embedding.orthonormalize",
    about: "how a basis is made orthonormal",
    accepts: "\"cholesky\" or \"qr\"",
    default: || scalar::name_of(scalar::ORTHONORMALIZE, svd::Orthonormalize::default()),
};
pub(super) const METRICS: Key = Key {
    path: "evaluate.metrics",
    about: "the figures to compute on held-out edges",
    accepts: "a list of one or more metrics: \"auc\", \"ap\" or \"hits@K\" with K at least 1",
    default: || {
        let names: Vec<String> = DEFAULT_METRICS.iter().map(Metric::to_string).collect();
        Some(format!("{names:?}"))
    },
};

/// What to write instead of an unknown `path`.
pub(super) fn hint(path: &str) -> Hint {
    let (parent, leaf) = path.rsplit_once('.').unwrap_or(("", path));
    let siblings = siblings(parent);
    let paths = || KEYS.iter().map(|key| key.path);
    let elsewhere = paths().find(|known| known.rsplit('.').next() == Some(leaf));
    let nearest = nearest(leaf, siblings.iter().copied()).or(elsewhere).or_else(|| nearest(path, paths()));
    match nearest {
        Some(key) => Hint::Nearest(key),
        None if siblings.is_empty() => Hint::Known(self::siblings("")),
        None => Hint::Known(siblings),
    }
}

/// The keys and tables directly inside `table`; `""` is the top.
fn siblings(table: &str) -> Vec<&'static str> {
    let keys = KEYS.iter().filter_map(|key| match key.path.rsplit_once('.') {
        Some((parent, leaf)) => (parent == table).then_some(leaf),
        None => table.is_empty().then_some(key.path),
    });
    let tables = TABLES.iter().copied().filter(|_| table.is_empty());
    keys.chain(tables).collect()
}

/// The closest of `known`, if a third of the letters are right to guess from.
fn nearest(word: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let limit = (word.chars().count() / 3).max(1);
    known
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Source;

    #[test]
    fn every_dataset_is_named_among_the_accepted() {
        for source in Source::ALL {
            assert!(DATASET.accepts.contains(&format!("\"{source}\"")));
        }
    }

    #[test]
    fn hints() {
        for (path, expected) in [
            ("embedding.windw", "window"),
            ("embedding.normalise", "normalize"),
            ("sed", "seed"),
            ("embeding", "embedding"),
            ("rank", "embedding.rank"),
            ("embeding.rank", "embedding.rank"),
            ("embeding.rnk", "embedding.rank"),
            ("evaluate.metric", "metrics"),
        ] {
            assert_eq!(hint(path), Hint::Nearest(expected), "{path}");
        }
        let top = Hint::Known(vec!["dataset", "seed", "embedding", "evaluate"]);
        assert_eq!(hint("finetune"), top);
        assert_eq!(hint("finetune.kernel"), top);
        assert_eq!(hint("evaluate.frobnicate"), Hint::Known(vec!["metrics"]));
    }
}
