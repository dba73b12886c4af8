//! Every key there is.

use super::defaults::*;
use super::error::Hint;
use super::scalar;
use crate::dataset::format::{IdKind, Weights};
use crate::evaluate::Metric;
use crate::model::classifier::Rows;
use crate::model::rank::RankSearch;
use crate::svd::{self, Method};

/// A key of a config: its meaning, the values it accepts, and its default.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The key with the table it is in, such as `embedding.rank`.
    pub path: &'static str,
    /// What it means.
    pub about: &'static str,
    /// The values it accepts, in words.
    pub accepts: &'static str,
    default: Option<fn() -> String>,
}

impl Key {
    /// The default as text; `None` when the key has no default.
    pub fn default(&self) -> Option<String> {
        self.default.map(|default| default())
    }
}

/// The tables that hold keys.
pub(super) const TABLES: &[&str] =
    &["data", "embedding", "finetune", "update", "features", "classifier", "network", "evaluate"];

/// The keys that say what the matrix of an embedding is.
pub(super) const OF_THE_MODEL: [&Key; 6] = [&WINDOW, &WALK_WEIGHTS, &NEGATIVE, &NORMALIZE, &DEGREE_WEIGHTED, &STAY];

const COUNT: &str = "a whole number from 1 to 4294967295";
const COUNT_OR_ZERO: &str = "a whole number from 0 to 4294967295";
const SWITCH: &str = "true or false";

/// Declares constants, each a key: its path, what it means, what it accepts, and its default. Lists
/// all of them in the order of their declaration.
macro_rules! keys {
    ($($name:ident $path:literal: $about:expr, accepts $accepts:expr $(, default $default:expr)?;)*) => {
        $(pub(super) const $name: Key =
            Key { path: $path, about: $about, accepts: $accepts, default: keys!(@ $($default)?) };)*

        /// Every key, in the order in which people read them.
        pub const KEYS: &[Key] = &[$($name),*];
    };
    (@) => { None };
    (@ $default:expr) => { Some(|| $default.to_string()) };
}

keys! {
    DATASET "dataset":
        "the graph to work on",
        accepts "a known dataset: \"demo\", \"ppi\", \"facebook\", \"astroph\", \"hepth\", \"cora\", \"citeseer\", \"pubmed\", \
         \"ogbn-arxiv\" or \"ogbl-ddi\"; or \"rmat-N\", a made-up graph of 2^N nodes, N from 6 to 26 (\"rmat-NxK\": K edges \
         drawn a node, up to 1024; without, 32); or the path of a folder that `isvd-dist convert` has made; for a graph of \
         your own, data.path instead";
    SEED "seed":
        "of all random numbers; --seed wins",
        accepts "a whole number from 0 to 18446744073709551615", default DEFAULT_SEED;
    SEEDS "seeds":
        "how many times to run, with the seeds from `seed` on; figures are the mean, with the spread beside it",
        accepts "a whole number from 1 to 1000", default DEFAULT_SEEDS;
    MATRIX "matrix":
        "decompose this matrix instead of that of [embedding], whose rank and method it takes; --matrix is the same",
        accepts "a text such as \"walk(T, 5) - 0.02 * (J - A)\"", default "that of [embedding]";
    PATH "data.path":
        "a graph of your own, in place of a dataset: an edge list, .npy pairs, a scipy .npz or Matrix Market, plain or gzip",
        accepts "the path of a file";
    DIRECTED "data.directed":
        "whether the edges of data.path have a direction",
        accepts SWITCH, default "only if data.path is a matrix that is not symmetric";
    IDS "data.ids":
        "what the ids in data.path are",
        accepts "\"auto\", \"numbers\", \"names\" or \"rows\" (numbers from 0; one without edges is a node too)",
        default scalar::name_of(scalar::IDS, IdKind::default());
    WEIGHTS "data.weights":
        "what becomes of columns after the second, or of the values of a matrix, in data.path",
        accepts "\"auto\" (a third is the weight), \"third\" (it must be there) or \"ignore\"",
        default scalar::name_of(scalar::WEIGHTS, Weights::default());
    HEADER "data.header":
        "whether the first line of data.path names its columns",
        accepts SWITCH, default "found out";
    FEATURE_FILE "data.features":
        "what the nodes of data.path carry, one row a node: .npy, a sparse scipy .npz, or numbers in columns of text",
        accepts "the path of a file", default "none";
    LABEL_FILE "data.labels":
        "the classes of the nodes of data.path: one a line (nothing, -1 or ? where unknown), or .npy",
        accepts "the path of a file", default "none";
    TRAIN "data.train":
        "the nodes to learn from: a file with one row a line or .npy; or the fraction of those with a label",
        accepts "the path of a file, or a number above 0 and up to 1", default "what valid and test leave";
    VALID "data.valid":
        "what to hold out for choosing settings: a fraction of the edges of data.path; with labels, a fraction of the \
         nodes that have one, or a file of nodes",
        accepts "a number from 0 to 0.5; with data.labels one up to 1, or the path of a file",
        default format!("{DEFAULT_VALID}, {DEFAULT_VALID_NODES} of the nodes");
    TEST "data.test":
        "what to hold out for the final figure; as data.valid",
        accepts "a number from 0 to 0.5; with data.labels one up to 1, or the path of a file",
        default format!("{DEFAULT_TEST}, {DEFAULT_TEST_NODES} of the nodes");
    DUPLICATES "data.duplicates":
        "what becomes of edges that are listed more than once",
        accepts "\"add\" (their weights add up) or \"once\" (the first counts)",
        default "\"add\", for nodes and R-MAT \"once\"";
    SELF_LOOPS "data.self_loops":
        "what becomes of edges from a node to itself",
        accepts "\"keep\" or \"drop\"", default "\"keep\", for nodes \"drop\"";
    ORDER "data.order":
        "which rows nodes get while they are embedded; results are in the order of the data whichever it is",
        accepts "\"auto\" (by degree where that pays: hubs among many nodes) or \"given\"", default "\"auto\"";
    WINDOW "embedding.window":
        "the longest walk, C",
        accepts "a whole number from 1 to 1000", default DEFAULT_WINDOW;
    WALK_WEIGHTS "embedding.walk_weights":
        "how much walks of 1, 2, … steps count, in place of the window",
        accepts "a list of 1 to 1000 finite numbers", default "those of the window";
    NEGATIVE "embedding.negative":
        "the weight of the non-edges, λ",
        accepts "a finite number, at least 0", default DEFAULT_NEGATIVE;
    NORMALIZE "embedding.normalize":
        "the walk matrix: D⁻¹A or D^-½ A D^-½",
        accepts "\"row\" or \"symmetric\"", default scalar::name_of(scalar::NORMALIZE, DEFAULT_NORMALIZE);
    DEGREE_WEIGHTED "embedding.degree_weighted":
        "weigh walks by the degree they end at: √degree beside a symmetric T, degree beside a row-normalised",
        accepts SWITCH, default DEFAULT_DEGREE_WEIGHTED;
    STAY "embedding.self_loops":
        "let walks stay where they are: T of the graph with an edge from every node to itself",
        accepts SWITCH, default DEFAULT_STAY;
    RANK "embedding.rank":
        "how many singular triplets to keep; \"best\" tries embedding.ranks on held-out training edges; with energy, as \
         many as hold that share of ‖M‖², and with tolerance, all whose σ is at least so many times the second, at most \
         max (256). The first, which is the mean, is always kept and not counted",
        accepts "a whole number from 1 to 4294967295, \"best\", { energy = 0.9, max = 256 } or { tolerance = 0.1, max = 256 }",
        default DEFAULT_RANK;
    RANKS "embedding.ranks":
        "the ranks to try when the rank is \"best\"",
        accepts "a list of one or more whole numbers from 1 to 4294967295",
        default format!("{:?}", RankSearch::default().candidates);
    KEPT "embedding.kept":
        "the fraction of the distinct edges that ranks are tried with; the others are looked for",
        accepts "a number between 0 and 1", default RankSearch::default().kept;
    OVERSAMPLE "embedding.oversample":
        "columns to iterate on beyond the rank",
        accepts COUNT_OR_ZERO, default "the rank, at most 30";
    ITERATIONS "embedding.iterations":
        "how many iterations to make at most; for \"krylov\", as many columns as these would multiply by",
        accepts COUNT_OR_ZERO, default svd::DEFAULT_ITERATIONS;
    TOLERANCE "embedding.tolerance":
        "stop when each residual, relative to its own σ, is below this",
        accepts "a finite number above 0", default "never stop early";
    METHOD "embedding.method":
        "the algorithm: \"subspace\" iterates on one block, \"krylov\" keeps every block and needs fewer products, \"gram\" \
         takes the Gram matrix of the short side, \"auto\" chooses",
        accepts "\"subspace\", \"krylov\", \"gram\" or \"auto\"",
        default scalar::name_of(scalar::METHOD, Method::default());
    BASIS "embedding.basis":
        "the most columns that \"krylov\" keeps on each side before it goes on from the best of them; at least the rank and \
         two blocks",
        accepts COUNT, default "4 · rank + 48; 64 more for up to 32,768 nodes";
    COMPLETENESS "embedding.completeness":
        "check that no larger singular value is missing: with a gap g, none above (1 + g) times the smallest one found, \
         with a probability of at least 0.999; a smaller gap takes more products; \"krylov\" only",
        accepts "a number above 0 and at most 10, or \"off\"", default "0.2";
    KERNEL "finetune.kernel":
        "what is trained; any key of [finetune] asks for this stage",
        accepts "\"gaussian\"", default "\"gaussian\"";
    LEARNING_RATE "finetune.learning_rate":
        "the step of Adam",
        accepts "a finite number above 0", default DEFAULT_LEARNING_RATE;
    BATCH "finetune.batch":
        "edges in a batch; each direction of an undirected edge counts",
        accepts COUNT, default DEFAULT_BATCH;
    NEGATIVES "finetune.negatives":
        "random pairs for every edge",
        accepts COUNT, default DEFAULT_NEGATIVES;
    EPOCHS "finetune.epochs":
        "how often every edge is seen",
        accepts COUNT, default DEFAULT_EPOCHS;
    UPDATE_EDGES "update.edges":
        "the edges to embed again with; any key of [update] asks for this stage",
        accepts "\"valid\"", default "\"valid\"";
    WARM_START "update.warm_start":
        "start from the vectors found before",
        accepts SWITCH, default DEFAULT_WARM_START;
    UPDATE_ITERATIONS "update.iterations":
        "how many iterations to make at most when embedding again",
        accepts COUNT_OR_ZERO, default "those of the embedding";
    EMBEDDED "features.embedding":
        "put the vectors L and R of [embedding] beside the features",
        accepts SWITCH, default DEFAULT_EMBEDDED;
    COMPONENTS "features.components":
        "reduce features to so many principal components",
        accepts COUNT, default "take them as they are";
    COMPONENTS_TOLERANCE "features.tolerance":
        "find the principal components to this residual, relative to the σ of each, where they are found by iteration",
        accepts "a finite number above 0", default DEFAULT_COMPONENTS_TOLERANCE;
    LAYERS "classifier.layers":
        "L: how many steps features travel; [classifier], even if it is empty, asks for node classification",
        accepts "a whole number from 0 to 1000", default DEFAULT_LAYERS;
    LABEL_REUSE "classifier.label_reuse":
        "known labels of other nodes within two steps are input too",
        accepts SWITCH, default DEFAULT_LABEL_REUSE;
    CLASSIFIER_ROWS "classifier.rows":
        "decompose the rows of M with a label to learn from, or all of M and take those rows of U",
        accepts "\"labelled\" or \"all\"", default scalar::name_of(scalar::ROWS, Rows::default());
    CLASSIFIER_RANK "classifier.rank":
        "how many singular triplets to keep of M",
        accepts COUNT, default "100, less for few rows";
    CLASSIFIER_OVERSAMPLE "classifier.oversample":
        "columns to iterate on beyond the rank",
        accepts COUNT_OR_ZERO, default "the rank, at most 30";
    CLASSIFIER_ITERATIONS "classifier.iterations":
        "how many iterations to make at most, where the method iterates",
        accepts COUNT_OR_ZERO, default svd::DEFAULT_ITERATIONS;
    CLASSIFIER_METHOD "classifier.method":
        "the algorithm; \"auto\" takes \"gram\" where it is less work and its certificate allows",
        accepts "\"auto\", \"gram\", \"krylov\" or \"subspace\"",
        default scalar::name_of(scalar::METHOD, Method::Auto);
    TARGETS "classifier.targets":
        "what to fit for the class of a node, and for every other class",
        accepts "a list of two finite numbers, the first larger",
        default format!("[{:?}, {:?}]", DEFAULT_TARGETS.hit, DEFAULT_TARGETS.miss);
    CUT "classifier.cut":
        "singular values below this many times the largest count as zero",
        accepts "a number from 0 and below 1", default DEFAULT_CUT;
    LABEL_DROPOUT "classifier.label_dropout":
        "learn from a copy of M without labels too",
        accepts SWITCH, default DEFAULT_LABEL_DROPOUT;
    DROPOUT_COPIES "classifier.dropout_copies":
        "learn from so many copies of M with entries dropped at random too",
        accepts "a whole number from 0 to 100", default DEFAULT_DROPOUT_COPIES;
    DROPOUT_RATE "classifier.dropout_rate":
        "the fraction of the entries that such a copy drops",
        accepts "a number between 0 and 1", default DEFAULT_DROPOUT_RATE;
    PASSES "classifier.passes":
        "how often to score: from the second time on with what was found in place of unknown labels",
        accepts "a whole number from 1 to 10", default "2 with label_reuse, else 1";
    LEARN_FROM "classifier.learn_from":
        "whose labels to learn from",
        accepts "\"train\" or \"train+valid\"",
        default scalar::name_of(scalar::LEARN_FROM, DEFAULT_LEARN_FROM);
    NETWORK_EPOCHS "network.epochs":
        "how often every node is seen, with each of the learning rates; any key of [network] asks for fine-tuning",
        accepts "a list of one or more whole numbers from 1 to 4294967295",
        default format!("{DEFAULT_NETWORK_EPOCHS:?}");
    LEARNING_RATES "network.learning_rates":
        "the steps of Adam, one for each number of epochs",
        accepts "a list of as many finite numbers above 0 as there are in network.epochs",
        default format!("{DEFAULT_LEARNING_RATES:?}");
    NETWORK_BATCH "network.batch":
        "nodes in a batch",
        accepts COUNT, default DEFAULT_NETWORK_BATCH;
    FANOUTS "network.fanouts":
        "how many neighbours to draw for a node, from the batch outwards, one number a layer",
        accepts "a list of whole numbers from 1 to 4294967295 or \"all\", as many as classifier.layers",
        default "4, and \"all\" for the last";
    NETWORK_DROPOUT "network.dropout":
        "the fraction of the inputs of every layer that is dropped",
        accepts "a number from 0 and below 1", default DEFAULT_NETWORK_DROPOUT;
    WEIGHT_DECAY "network.weight_decay":
        "the weight of the squared weights in the loss",
        accepts "a finite number, at least 0", default DEFAULT_WEIGHT_DECAY;
    NETWORK_LEARN_FROM "network.learn_from":
        "whose labels to train on; with those of \"valid\" the last epoch is kept, else the best on them",
        accepts "\"train\" or \"train+valid\"", default "that of the classifier";
    METRICS "evaluate.metrics":
        "the figures to compute on held-out edges",
        accepts "a list of one or more metrics: \"auc\", \"ap\", \"mrr\" or \"hits@K\" with K at least 1",
        default format!("{:?}", DEFAULT_METRICS.iter().map(Metric::to_string).collect::<Vec<_>>());
}

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
