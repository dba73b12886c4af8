use std::fmt;

/// A part of a split of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitPart {
    /// Nodes to learn from.
    Train,
    /// Nodes for choosing settings.
    Valid,
    /// Nodes for the final figure.
    Test,
}

impl fmt::Display for SplitPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Train => "training",
            Self::Valid => "validation",
            Self::Test => "test",
        })
    }
}

/// Why nodes cannot be classified. Rows and columns count from 0; row `i` is node `i`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeDataError {
    /// Nodes carry nothing.
    #[error(
        "the dataset `{dataset}` has no features, which a classifier needs: name the file that holds them, or complete the \
         folder (the Open Graph Benchmark keeps them in raw/node-feat.csv.gz, raw/node-feat.npz or raw/data.npz)"
    )]
    NoFeatures {
        /// Its name in a config.
        dataset: String,
    },
    /// No class is known.
    #[error(
        "the dataset `{dataset}` has no labels, which a classifier needs: name the file that holds them, or complete the \
         folder (the Open Graph Benchmark keeps them in raw/node-label.csv.gz or raw/node-label.npz)"
    )]
    NoLabels {
        /// Its name in a config.
        dataset: String,
    },
    /// Nothing says which nodes to learn from.
    #[error(
        "the dataset `{dataset}` does not say which nodes to learn from: name files with the nodes of each part, or give the \
         fractions to draw"
    )]
    NoSplit {
        /// Its name in a config.
        dataset: String,
    },
    /// Features of more or fewer nodes than there are.
    #[error("found features in {rows} rows, expected {nodes}, one a node: write one row of features a node")]
    FeatureRows {
        /// Rows of features.
        rows: usize,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// The arrays that hold features contradict each other.
    #[error("the features are stored wrongly, {problem}: make them again")]
    FeatureLayout {
        /// The contradiction.
        problem: &'static str,
    },
    /// An entry of sparse features is in no column.
    #[error("found a feature in row {row}, column {column}, expected columns below {columns}: repair that row")]
    FeatureColumn {
        /// The node.
        row: usize,
        /// The column of the entry.
        column: u32,
        /// How many columns there are.
        columns: usize,
    },
    /// A feature is NaN or infinite.
    #[error(
        "found {value} as the feature in row {row}, column {column}, expected a finite number: repair that row, for \
         instance with 0 or the mean of the column"
    )]
    FeatureNotFinite {
        /// The node.
        row: usize,
        /// The feature.
        column: usize,
        /// The value found.
        value: f32,
    },
    /// Every feature of every node is zero.
    #[error("every feature of every node is 0, so nothing can be learnt from them: write the features again")]
    FeaturesZero,
    /// Every node has the same features.
    #[error("all nodes have the same features, so nothing can be learnt from them: write the features again")]
    FeaturesConstant,
    /// Labels of more or fewer nodes than there are.
    #[error("found {rows} labels, expected {nodes}, one a node: write one label a node, or none where it is unknown")]
    LabelRows {
        /// Labels.
        rows: usize,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// A label is the number of no class.
    #[error("found the label {label} in row {row}, expected a class below {classes}: repair that label")]
    LabelBeyondClasses {
        /// The node.
        row: usize,
        /// Its label.
        label: u32,
        /// How many classes there are.
        classes: usize,
    },
    /// The split names a row that the graph does not have.
    #[error("found row {row} among the {part} nodes, expected a row below {nodes}, the number of nodes: remove it")]
    SplitRow {
        /// Where it is named.
        part: SplitPart,
        /// The row.
        row: u32,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// A part of the split names a node twice.
    #[error("found the node {node} twice among the {part} nodes, expected it once: remove one of them")]
    SplitTwice {
        /// Where it is named.
        part: SplitPart,
        /// Its id and row.
        node: String,
    },
    /// Two parts of the split have the same node, which would be judged by what was learnt from it.
    #[error(
        "found the node {node} among the {first} and the {second} nodes, expected it in one part: remove it from one"
    )]
    SplitOverlap {
        /// One part.
        first: SplitPart,
        /// The other part.
        second: SplitPart,
        /// Its id and row.
        node: String,
    },
    /// A node of the split has no label.
    #[error("the node {node}, one of the {part} nodes, has no label: add its label, or remove it from the split")]
    SplitUnlabelled {
        /// Where it is named.
        part: SplitPart,
        /// Its id and row.
        node: String,
    },
    /// There is nothing to learn from.
    #[error("there are no training nodes: add nodes with a label to the training part of the split")]
    NoTrainingNodes,
    /// Labels that are hardly classes.
    #[error(
        "found {classes} classes and {rows} training nodes, expected at least one node a class: check that the labels are \
         classes, not ids or measurements, or add training nodes"
    )]
    MoreClassesThanRows {
        /// How many classes there are.
        classes: usize,
        /// Training nodes.
        rows: usize,
    },
    /// A class is to be found that was never seen.
    #[error(
        "no training node has the class `{class}`, which other nodes of the split have: add one to the training part"
    )]
    ClassWithoutTraining {
        /// Its name.
        class: String,
    },
}
