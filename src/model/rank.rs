//! Choice of the rank by the prediction of held-out edges.
//!
//! Part of the distinct training edges is embedded at the largest rank. The first 4, 8, … singular
//! triplets of that embedding score the other edges and random non-edges, and the rank of the
//! largest ROC-AUC is chosen.

use super::embedding::{ModelError, Options, embed};
use crate::dataset::{EdgeList, HeldOut, Holdout, LinkSplit, hold_out_against};
use crate::engine::{Cluster, EngineError, Monitor};
use crate::evaluate::{EvaluateError, roc_auc};
use crate::graph::{Graph, GraphError, Import};
use crate::kernel::random::{bits, stream};
use crate::svd::{Method, Progress};

/// The candidates, and how they are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct RankSearch {
    /// The ranks to try; those beyond the number of nodes are passed over.
    pub candidates: Vec<usize>,
    /// The fraction of the distinct training edges that is embedded.
    pub kept: f64,
    /// Random pairs that are no edges, for each edge that is not embedded.
    pub negatives: usize,
}

impl Default for RankSearch {
    /// The ranks and the negatives of the paper. As many edges are held out as for validation and
    /// test by default, 15 %, so that the graph that ranks are tried on is like the one that is
    /// embedded.
    fn default() -> Self {
        Self { candidates: vec![4, 8, 16, 32, 64, 128, 256], kept: 0.85, negatives: 5 }
    }
}

/// The chosen rank, and the score of every candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct RankChoice {
    /// The best one; of equally good ones, the smallest.
    pub rank: usize,
    /// ROC-AUC of each candidate on the edges held out, in their order.
    pub tried: Vec<(usize, f64)>,
    /// Columns multiplied by the matrix.
    pub operator_columns: usize,
}

/// Why no rank could be chosen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RankError {
    /// All candidates are larger than the graph.
    #[error("none of the ranks to try is at most the number of nodes, {nodes}: name a smaller one")]
    NoCandidate {
        /// Nodes of the graph.
        nodes: usize,
    },
    /// Too few edges to hold any out.
    #[error("{edges} edges are too few to choose a rank with: name one")]
    TooFewEdges {
        /// Edges of the graph.
        edges: usize,
    },
    /// The edges make no graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The embedding failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The scores have no figure.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// The workers failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Tries the candidates. `options` say how to embed; their rank is not used.
pub fn choose_rank(
    edges: &EdgeList,
    import: Import,
    search: &RankSearch,
    options: &Options,
    cluster: Cluster,
    watch: Monitor<Progress>,
) -> Result<RankChoice, RankError> {
    let mut candidates: Vec<usize> =
        search.candidates.iter().copied().filter(|&rank| rank > 0 && rank <= edges.nodes).collect();
    candidates.sort_unstable();
    candidates.dedup();
    let largest = *candidates.last().ok_or(RankError::NoCandidate { nodes: edges.nodes })?;
    let (kept, LinkSplit { edges: held_out, non_edges }) = split(edges, search, options.svd.seed)?;
    let mut options = options.clone();
    options.svd.rank = largest;
    if options.svd.method != Method::Subspace {
        // Ranks are compared, not used: to vouch for every triplet of the largest would take most
        // of the time.
        options.svd.tolerance = None;
    }
    let embedding = embed(&Graph::from_edges(&kept, import)?, &options, cluster, watch)?;
    let mut tried = Vec::with_capacity(candidates.len());
    for rank in candidates {
        let weights = vec![1.0; rank];
        let positive = embedding.score_on(cluster, &held_out, edges.directed, &weights)?;
        let negative = embedding.score_on(cluster, &non_edges, edges.directed, &weights)?;
        tried.push((rank, roc_auc(&positive, &negative)?));
    }
    let best =
        tried.iter().fold((0, f64::NEG_INFINITY), |best, &(rank, auc)| if auc > best.1 { (rank, auc) } else { best });
    Ok(RankChoice { rank: best.0, tried, operator_columns: embedding.operator_columns })
}

/// Keeps a random part of the distinct edges, and lists the others with pairs that are no edges of
/// the whole graph.
fn split(edges: &EdgeList, search: &RankSearch, seed: u64) -> Result<(EdgeList, LinkSplit), RankError> {
    // With the seed itself the draws would be those that held out the validation and test edges.
    let seed = bits(seed, stream::SPLIT, u64::MAX, 1);
    let holdout = Holdout { valid: 0.0, test: 1.0 - search.kept };
    let HeldOut { graph, test, .. } = hold_out_against(edges, holdout, search.negatives, seed);
    match test {
        Some(split) if !graph.edges.is_empty() && !split.edges.is_empty() => Ok((graph, split)),
        _ => Err(RankError::TooFewEdges { edges: edges.edges.len() }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::kernel::random::uniform;
    use crate::model::embedding::{Normalize, Walks};
    use crate::svd;

    fn options() -> Options {
        Options {
            walks: Walks::Window(3),
            negative: 0.02,
            normalize: Normalize::Row,
            degree_weighted: false,
            self_loops: false,
            svd: svd::Options::of_rank(1),
        }
    }

    fn search(edges: &EdgeList, candidates: &[usize]) -> Result<RankChoice, RankError> {
        let search = RankSearch { candidates: candidates.to_vec(), kept: 0.5, ..RankSearch::default() };
        choose_rank(edges, Import::default(), &search, &options(), Cluster::threads(2), Monitor::default())
    }

    /// Eight cliques have eight strong directions: two triplets cannot tell them apart.
    #[test]
    fn cliques_need_as_many_triplets_as_there_are_cliques() {
        let cliques = 0..8u32;
        let inside =
            |clique: u32| (0..12u32).flat_map(move |i| (0..i).map(move |j| (12 * clique + i, 12 * clique + j)));
        let edges = EdgeList { nodes: 96, edges: cliques.flat_map(inside).collect(), ..EdgeList::default() };
        let choice = search(&edges, &[2, 8, 500]).unwrap();
        assert_eq!(choice.rank, 8);
        assert_eq!(choice.tried.len(), 2, "a rank beyond the nodes is passed over");
        assert!(choice.tried[1].1 > 0.9, "{choice:?}");
    }

    /// Six blocks of 50 nodes; a pair is joined with probability 0.2 within a block and 0.02
    /// otherwise.
    fn blocks(seed: u64) -> Vec<(u32, u32)> {
        let pairs = (0..300u32).flat_map(|to| (0..to).map(move |from| (from, to)));
        let odds = |from: u32, to: u32| if from % 6 == to % 6 { 0.2 } else { 0.02 };
        pairs.filter(|&(from, to)| uniform(seed, stream::SYNTHETIC, u64::from(from), to) < odds(from, to)).collect()
    }

    /// Catches lines that are divided in place of edges: the other listing of an edge that is
    /// looked for was kept, so the largest rank, which remembers single edges, looked best.
    #[test]
    fn edges_listed_twice_or_both_ways_do_not_change_the_choice() {
        for seed in 1..4 {
            let once = blocks(seed);
            let reversed: Vec<_> = once.iter().map(|&(from, to)| (to, from)).collect();
            for (listing, directed) in [
                (once.clone(), false),
                ([&once[..], &reversed].concat(), false),
                ([&once[..], &once].concat(), false),
                ([&once[..], &reversed].concat(), true),
            ] {
                let edges = EdgeList { nodes: 300, edges: listing, directed, ..EdgeList::default() };
                let choice = search(&edges, &[2, 6, 16, 64, 128]).unwrap();
                assert_eq!(choice.rank, 6, "{choice:?}");
            }
        }
    }

    #[test]
    fn no_edge_is_kept_and_looked_for_or_counts_as_none() {
        let once = blocks(1);
        let listed: Vec<_> = once.iter().flat_map(|&(from, to)| [(from, to), (to, from), (from, to)]).collect();
        for directed in [false, true] {
            let edges = EdgeList { nodes: 300, edges: listed.clone(), directed, ..EdgeList::default() };
            let (kept, LinkSplit { edges: looked_for, non_edges }) = split(&edges, &RankSearch::default(), 1).unwrap();
            let both_ways = |pairs: &[(u32, u32)]| -> HashSet<(u32, u32)> {
                pairs.iter().flat_map(|&(from, to)| [(from, to), (to, from)]).collect()
            };
            let (kept, all) = (both_ways(&kept.edges), both_ways(&listed));
            assert!(looked_for.iter().all(|pair| !kept.contains(pair)));
            assert!(non_edges.iter().all(|pair| !all.contains(pair)));
            assert_eq!(non_edges.len(), 5 * looked_for.len());
            let share = kept.len() as f64 / all.len() as f64;
            assert!((0.8..0.9).contains(&share), "{share}");
        }
    }

    #[test]
    fn what_cannot_be_tried_is_an_error() {
        let edges = EdgeList { nodes: 3, edges: vec![(0, 1)], ..EdgeList::default() };
        assert!(matches!(search(&edges, &[4]), Err(RankError::NoCandidate { nodes: 3 })));
        let single = search(&EdgeList { edges: vec![], ..edges }, &[2]);
        assert!(matches!(single, Err(RankError::TooFewEdges { edges: 0 })));
    }
}
