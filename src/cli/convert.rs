//! `isvd-dist convert`: a dataset as a folder that is ready to use.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;

use super::arguments::What;
use super::request::data_folder;
use super::{Error, print_text, signals};
use crate::config::usual_import;
use crate::dataset::check_nodes;
use crate::dataset::store::{MatrixSettings, Numbering, Writer};
use crate::experiment::{RunError, graph_of, load, may_renumber, renumber};
use crate::graph::{Import, SelfLoops};
use crate::report::progress::{Bar, ProgressObserver, ProgressSink};
use crate::report::table::converted;

/// Write the dataset of an experiment, and the matrix of its edges, as a folder that opens at once.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct Convert {
    /// The experiment whose dataset is converted, and how its edges become a graph
    #[command(flatten)]
    pub what: What,

    /// The folder to make; a store that is there is replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  isvd-dist convert --config ddi --out stores/ddi
  isvd-dist --config ddi --set dataset=stores/ddi";

impl Convert {
    /// Loads, writes and prints.
    pub fn run(&self) -> Result<(), Error> {
        let start = Instant::now();
        let experiment = self.what.experiment()?;
        let mut writer = Writer::create(&self.out)?;
        let partial = writer.folder().to_owned();
        signals::end_at_once("interrupted: nothing was written", move || {
            // What cannot be removed does no harm.
            let _ = std::fs::remove_dir_all(&partial);
        });
        let (sink, data) = (ProgressSink::for_stderr(self.quiet), data_folder(self.what.data.clone())?);
        let observer = ProgressObserver::shared(sink);
        let mut dataset = load(&experiment.dataset, data.as_deref(), experiment.seed, &observer)?;
        let mut import = experiment.import;
        if experiment.nodes.is_some() {
            check_nodes(&dataset)
                .map_err(|source| RunError::Nodes { dataset: dataset.name.clone(), source: Box::new(source) })?;
            // The graph that nodes are classified on.
            import = Import { self_loops: SelfLoops::Drop, ..import };
        }
        writer.dataset(&dataset)?;
        if experiment.nodes.is_some() {
            dataset.graph.forget_direction();
        }
        let order = renumber(&experiment, &mut dataset)?;
        let graph = graph_of(&dataset.graph, import, &dataset.name, &observer)?;
        let making = MatrixSettings {
            import,
            usual_import: usual_import(&experiment.dataset, false),
            directed: dataset.graph.is_directed(),
            numbering: match &order {
                Some(_) => Numbering::ByDegree,
                None if may_renumber(&experiment) => Numbering::Best,
                None => Numbering::Given,
            },
        };
        let bar = Bar::new("write", sink);
        writer.finish_with(&graph, making, order.as_ref())?;
        bar.done("");
        print_text(converted(&dataset, graph.report.edges, start.elapsed(), &self.out))
    }
}
