//! Every key there is.

mod matrix;
mod nodes;

use super::defaults::*;
use super::error::Hint;
use super::scalar;
use crate::dataset::format::{IdKind, Weights};
use crate::evaluate::Metric;
use crate::model::rank::RankSearch;
use crate::svd;

pub(super) use matrix::*;
pub(super) use nodes::*;

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
pub(super) const TABLES: &[&str] =
    &["data", "embedding", "finetune", "update", "features", "classifier", "network", "evaluate"];

/// Every key, in the order in which people read them.
pub const KEYS: &[Key] = &[
    DATASET,
    SEED,
    SEEDS,
    MATRIX,
    PATH,
    DIRECTED,
    IDS,
    WEIGHTS,
    HEADER,
    FEATURE_FILE,
    LABEL_FILE,
    TRAIN,
    VALID,
    TEST,
    DUPLICATES,
    SELF_LOOPS,
    ORDER,
    WINDOW,
    WALK_WEIGHTS,
    NEGATIVE,
    NORMALIZE,
    DEGREE_WEIGHTED,
    STAY,
    RANK,
    RANKS,
    KEPT,
    OVERSAMPLE,
    ITERATIONS,
    TOLERANCE,
    METHOD,
    BASIS,
    COMPLETENESS,
    KERNEL,
    LEARNING_RATE,
    BATCH,
    NEGATIVES,
    EPOCHS,
    UPDATE_EDGES,
    WARM_START,
    UPDATE_ITERATIONS,
    EMBEDDED,
    COMPONENTS,
    COMPONENTS_TOLERANCE,
    LAYERS,
    LABEL_REUSE,
    CLASSIFIER_ROWS,
    CLASSIFIER_RANK,
    CLASSIFIER_OVERSAMPLE,
    CLASSIFIER_ITERATIONS,
    CLASSIFIER_METHOD,
    TARGETS,
    CUT,
    LABEL_DROPOUT,
    DROPOUT_COPIES,
    DROPOUT_RATE,
    PASSES,
    LEARN_FROM,
    NETWORK_EPOCHS,
    LEARNING_RATES,
    NETWORK_BATCH,
    FANOUTS,
    NETWORK_DROPOUT,
    WEIGHT_DECAY,
    NETWORK_LEARN_FROM,
    METRICS,
];

pub(super) const DATASET: Key = Key {
    path: "dataset",
    about: "the graph to work on",
    accepts: "a known dataset: \"demo\", \"ppi\", \"facebook\", \"astroph\", \"hepth\", \"cora\", \"citeseer\", \"pubmed\", \
                  \"ogbn-arxiv\" or \"ogbl-ddi\"; or \"rmat-N\", a made-up graph of 2^N nodes, N from 6 to 26 (\"rmat-NxK\": K edges \
                  drawn a node, up to 1024; without, 32); or the path of a folder that `isvd-dist convert` has made; for a graph of \
                  your own, data.path instead",
    default: || None,
};
pub(super) const PATH: Key = Key {
    path: "data.path",
    about: "a graph of your own, in place of a dataset: an edge list, .npy pairs, a scipy .npz or Matrix Market, plain or gzip",
    accepts: "the path of a file",
    default: || None,
};
pub(super) const DIRECTED: Key = Key {
    path: "data.directed",
    about: "whether the edges of data.path have a direction",
    accepts: "true or false",
    default: || Some("only if data.path is a matrix that is not symmetric".to_owned()),
};
pub(super) const IDS: Key = Key {
    path: "data.ids",
    about: "what the ids in data.path are",
    accepts: "\"auto\", \"numbers\", \"names\" or \"rows\" (numbers from 0; one without edges is a node too)",
    default: || scalar::name_of(scalar::IDS, IdKind::default()),
};
pub(super) const WEIGHTS: Key = Key {
    path: "data.weights",
    about: "what becomes of columns after the second, or of the values of a matrix, in data.path",
    accepts: "\"auto\" (a third is the weight), \"third\" (it must be there) or \"ignore\"",
    default: || scalar::name_of(scalar::WEIGHTS, Weights::default()),
};
pub(super) const HEADER: Key = Key {
    path: "data.header",
    about: "whether the first line of data.path names its columns",
    accepts: "true or false",
    default: || Some("found out".to_owned()),
};
pub(super) const VALID: Key = Key {
    path: "data.valid",
    about: "what to hold out for choosing settings: a fraction of the edges of data.path; with labels, a fraction of the \
            nodes that have one, or a file of nodes",
    accepts: "a number from 0 to 0.5; with data.labels one up to 1, or the path of a file",
    default: || Some(format!("{DEFAULT_VALID}, {DEFAULT_VALID_NODES} of the nodes")),
};
pub(super) const TEST: Key = Key {
    path: "data.test",
    about: "what to hold out for the final figure; as data.valid",
    accepts: "a number from 0 to 0.5; with data.labels one up to 1, or the path of a file",
    default: || Some(format!("{DEFAULT_TEST}, {DEFAULT_TEST_NODES} of the nodes")),
};
pub(super) const SEED: Key = Key {
    path: "seed",
    about: "of all random numbers; --seed wins",
    accepts: "a whole number from 0 to 18446744073709551615",
    default: || Some(DEFAULT_SEED.to_string()),
};
pub(super) const DUPLICATES: Key = Key {
    path: "data.duplicates",
    about: "what becomes of edges that are listed more than once",
    accepts: "\"add\" (their weights add up) or \"once\" (the first counts)",
    default: || Some("\"add\", for nodes and R-MAT \"once\"".to_owned()),
};
pub(super) const SELF_LOOPS: Key = Key {
    path: "data.self_loops",
    about: "what becomes of edges from a node to itself",
    accepts: "\"keep\" or \"drop\"",
    default: || Some("\"keep\", for nodes \"drop\"".to_owned()),
};
pub(super) const ORDER: Key = Key {
    path: "data.order",
    about: "which rows nodes get while they are embedded; results are in the order of the data whichever it is",
    accepts: "\"auto\" (by degree where that pays: hubs among many nodes) or \"given\"",
    default: || Some("\"auto\"".to_owned()),
};
pub(super) const WALK_WEIGHTS: Key = Key {
    path: "embedding.walk_weights",
    about: "how much walks of 1, 2, … steps count, in place of the window",
    accepts: "a list of 1 to 1000 finite numbers",
    default: || Some("those of the window".to_owned()),
};
pub(super) const STAY: Key = Key {
    path: "embedding.self_loops",
    about: "let walks stay where they are: T of the graph with an edge from every node to itself",
    accepts: "true or false",
    default: || Some(DEFAULT_STAY.to_string()),
};
pub(super) const RANKS: Key = Key {
    path: "embedding.ranks",
    about: "the ranks to try when the rank is \"best\"",
    accepts: "a list of one or more whole numbers from 1 to 4294967295",
    default: || Some(format!("{:?}", RankSearch::default().candidates)),
};
pub(super) const KEPT: Key = Key {
    path: "embedding.kept",
    about: "the fraction of the distinct edges that ranks are tried with; the others are looked for",
    accepts: "a number between 0 and 1",
    default: || Some(RankSearch::default().kept.to_string()),
};
pub(super) const KERNEL: Key = Key {
    path: "finetune.kernel",
    about: "what is trained; any key of [finetune] asks for this stage",
    accepts: "\"gaussian\"",
    default: || Some("\"gaussian\"".to_owned()),
};
pub(super) const LEARNING_RATE: Key = Key {
    path: "finetune.learning_rate",
    about: "the step of Adam",
    accepts: "a finite number above 0",
    default: || Some(DEFAULT_LEARNING_RATE.to_string()),
};
pub(super) const BATCH: Key = Key {
    path: "finetune.batch",
    about: "edges in a batch; each direction of an undirected edge counts",
    accepts: "a whole number from 1 to 4294967295",
    default: || Some(DEFAULT_BATCH.to_string()),
};
pub(super) const NEGATIVES: Key = Key {
    path: "finetune.negatives",
    about: "random pairs for every edge",
    accepts: "a whole number from 1 to 4294967295",
    default: || Some(DEFAULT_NEGATIVES.to_string()),
};
pub(super) const EPOCHS: Key = Key {
    path: "finetune.epochs",
    about: "how often every edge is seen",
    accepts: "a whole number from 1 to 4294967295",
    default: || Some(DEFAULT_EPOCHS.to_string()),
};
pub(super) const UPDATE_EDGES: Key = Key {
    path: "update.edges",
    about: "the edges to embed again with; any key of [update] asks for this stage",
    accepts: "\"valid\"",
    default: || Some("\"valid\"".to_owned()),
};
pub(super) const WARM_START: Key = Key {
    path: "update.warm_start",
    about: "start from the vectors found before",
    accepts: "true or false",
    default: || Some(DEFAULT_WARM_START.to_string()),
};
pub(super) const UPDATE_ITERATIONS: Key = Key {
    path: "update.iterations",
    about: "how many iterations to make at most when embedding again",
    accepts: "a whole number from 0 to 4294967295",
    default: || Some("those of the embedding".to_owned()),
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
    about: "how many singular triplets to keep; \"best\" tries embedding.ranks on held-out training edges; with energy, as \
            many as hold that share of ‖M‖², and with tolerance, all whose σ is at least so many times the second, at most \
            max (256). The first, which is the mean, is always kept and not counted",
    accepts: "a whole number from 1 to 4294967295, \"best\", { energy = 0.9, max = 256 } or { tolerance = 0.1, max = 256 }",
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
    about: "how many iterations to make at most; for \"krylov\", as many columns as these would multiply by",
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
    about: "the algorithm: \"subspace\" iterates on one block, \"krylov\" keeps every block and needs fewer products, \"gram\" \
            takes the Gram matrix of the short side, \"auto\" chooses",
    accepts: "\"subspace\", \"krylov\", \"gram\" or \"auto\"",
    default: || scalar::name_of(scalar::METHOD, svd::Method::default()),
};
pub(super) const BASIS: Key = Key {
    path: "embedding.basis",
    about: "the most columns that \"krylov\" keeps on each side before it goes on from the best of them; at least the rank and \
            two blocks",
    accepts: "a whole number from 1 to 4294967295",
    default: || Some("4 · rank + 48; 64 more for up to 32,768 nodes".to_owned()),
};
pub(super) const COMPLETENESS: Key = Key {
    path: "embedding.completeness",
    about: "check that no larger singular value is missing: with a gap g, none above (1 + g) times the smallest one found, \
            with a probability of at least 0.999; a smaller gap takes more products; \"krylov\" only",
    accepts: "a number above 0 and at most 10, or \"off\"",
    default: || Some("0.2".to_owned()),
};
pub(super) const METRICS: Key = Key {
    path: "evaluate.metrics",
    about: "the figures to compute on held-out edges",
    accepts: "a list of one or more metrics: \"auc\", \"ap\", \"mrr\" or \"hits@K\" with K at least 1",
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
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
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
        for name in Source::known().split(", ") {
            assert!(DATASET.accepts.contains(&name.replace('`', "\"")), "{name}");
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
        let known = ["dataset", "seed", "seeds", "matrix"].iter().chain(TABLES).copied().collect();
        let top = Hint::Known(known);
        assert_eq!(hint("kubernetes"), top);
        assert_eq!(hint("kubernetes.pods"), top);
        assert_eq!(hint("clasifier"), Hint::Nearest("classifier"));
        assert_eq!(hint("classifier.layer"), Hint::Nearest("layers"));
        assert_eq!(hint("evaluate.frobnicate"), Hint::Known(vec!["metrics"]));
    }
}
