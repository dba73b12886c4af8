//! The effect of planning: products by M and by Mᵀ, written out, shared and planned:
//! `cargo bench --bench planner`.
//!
//! The matrices and block widths are those of the shipped configs. Figure 2 of the paper compares
//! its SVD with and without lazy caching, which corresponds to [`Effort::Shared`] and
//! [`Effort::Written`].

mod common;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use common::timing::{self, Times};
use isvd_dist::config::{Experiment, NodeTask};
use isvd_dist::dataset::Dataset;
use isvd_dist::engine::{Cluster, EngineError, Monitor, run};
use isvd_dist::graph::Graph;
use isvd_dist::matrix::Matrix;
use isvd_dist::model::classifier::{Design, rank_of};
use isvd_dist::model::embedding::{Embedding, embed, matrix};
use isvd_dist::model::features::{of_dataset, reduce, with_embedding};
use isvd_dist::model::propagation::Propagation;
use isvd_dist::plan::{Effort, Program, Side};
use isvd_dist::svd;
use isvd_kernel as kernel;
use isvd_kernel::random::stream;

const CONFIGS: [&str; 7] = ["demo", "ppi", "facebook", "hepth", "ddi", "cora", "pubmed"];
const EFFORTS: [(&str, Effort); 3] =
    [("written out", Effort::Written), ("shared", Effort::Shared), ("planned", Effort::Planned)];
const ROUNDS: usize = 7;
/// Multiplications by M and Mᵀ in a run, after the first.
const PAIRS: usize = 3;

fn main() {
    kernel::configure();
    let cluster = Cluster::threads(std::thread::available_parallelism().map_or(1, usize::from));
    println!("M·G and Mᵀ·(M·G), {} workers; best of {ROUNDS} runs of {PAIRS}, by turns", cluster.workers);
    let rows: Vec<Row> = CONFIGS.iter().filter_map(|config| Row::measure(config, cluster)).collect();
    let efforts = format!("{:>9} {:>8} {:>8}", "written", "shared", "planned");
    println!("\n{:26}{:^28}{:^30}{:^18}", "", "sparse products, M/Mᵀ", "milliseconds", "times planned");
    println!(
        "{:<10}{:>7}{:>7}  {efforts} {efforts} {:>9} {:>8} {:>9}",
        "config", "nodes", "block", "written", "shared", "plan, ms"
    );
    rows.iter().for_each(Row::print);
    println!("\n`plan, ms` is how long planning both programs takes, once for all iterations");
    println!("of the classifiers' time, nearly all goes into dense products with X, which no plan saves");
    println!("the paper (Figure 2 and the appendix on lazy caching): caching makes its SVD up to 4 times as fast");
}

/// A matrix, and the cost of products with it.
struct Row {
    config: &'static str,
    nodes: usize,
    block: usize,
    products: Vec<[usize; 2]>,
    times: Vec<Times>,
    planning: f64,
}

impl Row {
    fn measure(config: &'static str, cluster: Cluster) -> Option<Self> {
        let (nodes, matrix, block) = match stated(config, cluster) {
            Ok(stated) => stated,
            Err(error) => {
                println!("{config}: {}: skipped", error.to_string().lines().next().unwrap_or_default());
                return None;
            }
        };
        let compile = |effort| [Side::Plain, Side::Transposed].map(|side| Program::compile_with(&matrix, side, effort));
        let start = Instant::now();
        compile(Effort::Planned);
        let planning = start.elapsed().as_secs_f64();
        let programs = EFFORTS.map(|(name, effort)| (name, compile(effort).map(Arc::new)));
        let products =
            programs.iter().map(|(_, both)| both.each_ref().map(|program| program.sparse_products())).collect();
        let columns = matrix.shape().columns;
        let contenders = programs.map(|(name, both)| -> timing::Contender {
            (name, Box::new(move || multiply(&both, columns, block, cluster)))
        });
        let times = timing::by_turns(ROUNDS, contenders.into());
        Some(Self { config, nodes, block, products, times, planning })
    }

    fn print(&self) {
        let products: Vec<String> =
            self.products.iter().map(|[plain, transposed]| format!("{plain}/{transposed}")).collect();
        let best: Vec<f64> = self.times.iter().map(|times| 1e3 * times.best()).collect();
        print!("{:<10}{:>7}{:>7}  ", self.config, self.nodes, self.block);
        print!("{:>9} {:>8} {:>8} ", products[0], products[1], products[2]);
        print!("{:>9.2} {:>8.2} {:>8.2} ", best[0], best[1], best[2]);
        println!("{:>9.2} {:>8.2} {:>9.2}", best[0] / best[2], best[1] / best[2], 1e3 * self.planning);
    }
}

/// Seconds of a product by M and one by Mᵀ. They are measured by the engine, without starting
/// threads and building dataflows.
fn multiply(programs: &[Arc<Program>; 2], columns: usize, block: usize, cluster: Cluster) -> f64 {
    let seconds: Result<f64, EngineError> = run(cluster, programs.to_vec(), move |session| {
        let panel = session.random_normal(columns, block, 1, stream::START_BLOCK)?;
        let mut start = Instant::now();
        for pair in 0..=PAIRS {
            if pair == 1 {
                start = Instant::now();
            }
            let product = session.multiply(0, &panel)?;
            session.multiply(1, &product)?;
        }
        Ok(start.elapsed().as_secs_f64() / PAIRS as f64)
    });
    seconds.expect("a product")
}

/// The nodes, the matrix that a config decomposes, and the columns that it iterates with.
fn stated(config: &str, cluster: Cluster) -> Result<(usize, Matrix, usize), Box<dyn Error>> {
    let experiment = Experiment::load(config.as_ref(), &[])?;
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let folder = std::env::var_os("ISVD_DATA").map_or(beside, PathBuf::from);
    let mut dataset = experiment.dataset.load(Some(&folder), experiment.seed)?;
    if experiment.nodes.is_some() {
        dataset.graph.forget_direction();
    }
    let graph = Graph::from_edges(dataset.graph.list()?, experiment.import)?;
    let (matrix, svd) = match &experiment.nodes {
        None => (matrix(&graph, &experiment.embedding)?, experiment.embedding.svd),
        Some(task) => {
            let matrix = design(&experiment, task, &dataset, &graph, cluster)?;
            let rank = rank_of(&task.classifier, matrix.shape().rows);
            (matrix, svd::Options { rank, ..task.classifier.svd.clone() })
        }
    };
    let block = svd.rank + svd.oversample.unwrap_or(svd.rank.min(svd::DEFAULT_OVERSAMPLE_LIMIT));
    let block = block.min(matrix.shape().smaller_side());
    Ok((graph.nodes(), matrix, block))
}

/// The rows of labelled nodes of `[X, ÂX, Â²X, …]`, multiplied implicitly although they are few
/// enough to form.
fn design(
    experiment: &Experiment,
    task: &NodeTask,
    dataset: &Dataset,
    graph: &Graph,
    cluster: Cluster,
) -> Result<Matrix, Box<dyn Error>> {
    let Embedding { left, right, .. } = embed(graph, &experiment.embedding, cluster, Monitor::default())?;
    let sides = (left.gathered(cluster)?, right.gathered(cluster)?);
    let features = with_embedding(&of_dataset(dataset)?, &sides)?;
    let components = task.components.as_ref().ok_or("features that are not reduced")?;
    let reduced = reduce(&features, components, cluster, Monitor::default())?.reduction.apply(&features, cluster)?;
    let design = Design {
        propagation: Propagation::new(graph)?,
        features: with_embedding(&Matrix::dense("X", reduced)?, &sides)?,
        layers: task.classifier.layers,
        label_classes: 0,
    };
    let split = dataset.node_split.as_ref().ok_or("nodes that are not split")?;
    let rows: Vec<usize> = split.train.iter().map(|&node| node as usize).collect();
    Ok(design.matrix(None)?.try_rows(&rows)?)
}
