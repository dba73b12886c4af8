//! What became of the batches of a stream, for people.

use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};

use super::table::quoted;
use crate::dataset::Ids;
use crate::experiment::follow::{BatchFigures, FollowFigures};
use crate::experiment::metrics::Scores;
use crate::model::follow::Follower;

/// Nodes that a line names before it only counts them.
const NAMED: usize = 3;

impl BatchFigures {
    fn changes(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (added, removed, reweighted) = (self.edges_added, self.edges_removed, self.edges_reweighted);
        write!(f, "  edges +{added} -{removed} ={reweighted}  {} new nodes", self.new_nodes)?;
        if !self.isolated.is_empty() {
            let more = if self.isolated.len() > NAMED { ", …" } else { "" };
            let named = self.isolated[..self.isolated.len().min(NAMED)].join(", ");
            write!(f, "  {} isolated ({named}{more})", self.isolated.len())?;
        }
        write!(f, "  {} rows touched", self.rows_touched)
    }
}

impl Display for BatchFigures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "batch {}", self.batch)?;
        if let Some(time) = &self.time {
            write!(f, "  {time}")?;
        }
        match self.batch {
            0 => write!(f, "  {} nodes  {} edges", self.nodes, self.edges)?,
            _ => self.changes(f)?,
        }
        match &self.embedding {
            None => write!(f, "  patch {:.3} s", self.patch_seconds)?,
            Some(embedding) => {
                let found = &embedding.decomposition;
                write!(f, "  {} columns", found.operator_columns)?;
                if let Some(residual) = found.max_relative_residual {
                    write!(f, "  residual {residual:.1e}")?;
                }
                if let Some(tolerance) = found.missed_tolerance() {
                    write!(f, " (above the tolerance of {tolerance})")?;
                }
                if let Some(moved) = embedding.rows_moved {
                    write!(f, "  {moved} rows moved")?;
                }
                for scores in [("valid", &embedding.valid), ("test", &embedding.test)] {
                    let (split, Some(Scores(scores))) = scores else { continue };
                    scores.iter().try_for_each(|(name, value)| write!(f, "  {split} {name} {value:.4}"))?;
                }
                write!(f, "  patch {:.3} s  embed {:.3} s", self.patch_seconds, embedding.seconds)?;
            }
        }
        write!(f, "  {:.0} bytes an edge", self.ledger_bytes_per_edge)
    }
}

impl Display for FollowFigures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (added, removed, reweighted) = (self.edges_added, self.edges_removed, self.edges_reweighted);
        writeln!(f, "{} batches, {} updates: edges +{added} -{removed} ={reweighted}", self.batches, self.updates)?;
        writeln!(f, "{} new nodes, {} nodes without edges", self.new_nodes, self.isolated_nodes)?;
        self.counts.iter().try_for_each(|(what, count)| writeln!(f, "{count} {what}"))
    }
}

/// Writes rows of the last embedding, aligned with those before, with the ids of their nodes and the
/// distances that they moved.
pub fn write_changes(file: &mut dyn Write, rows: &[(u32, f32)], ids: &Ids, follower: &Follower) -> io::Result<()> {
    let rank = follower.embedding().map_or(0, |embedding| embedding.rank);
    write!(file, "id,moved")?;
    for side in ["left", "right"] {
        (1..=rank).try_for_each(|column| write!(file, ",{side}_{column}"))?;
    }
    writeln!(file)?;
    for &(row, moved) in rows {
        write!(file, "{},{moved}", quoted(&ids.get(row as usize).unwrap_or_default(), ','))?;
        for side in follower.aligned_row(row) {
            side.iter().try_for_each(|entry| write!(file, ",{entry}"))?;
        }
        writeln!(file)?;
    }
    Ok(())
}
