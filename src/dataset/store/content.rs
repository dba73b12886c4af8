//! The arrays of a dataset in a store.

use std::sync::Arc;

use bytemuck::Pod;

use super::manifest::{Facts, IdKind};
use super::{PieceWriter, Store, StoreError, WriteError, Writer};
use crate::dataset::{Budget, Dataset, EdgeList, Edges, Ids, LinkSplit, NodeSplit, Reservation, SparseFeatures};
use crate::kernel::Array;

const EDGES: &str = "edges.u32";
const WEIGHTS: &str = "weights.f32";
const ID_NUMBERS: &str = "ids.u64";
const ID_TEXT: &str = "ids.txt";
const ID_ENDS: &str = "id-ends.u64";
const FEATURES: &str = "features.f32";
const FEATURE_STARTS: &str = "feature-starts.u64";
const FEATURE_COLUMNS: &str = "feature-columns.u32";
const FEATURE_VALUES: &str = "feature-values.f32";
const LABELS: &str = "labels.u32";
const YEARS: &str = "years.i32";
/// Edges and pairs that are no edges, of each split.
const VALID: [&str; 2] = ["valid-edges.u32", "valid-non-edges.u32"];
const TEST: [&str; 2] = ["test-edges.u32", "test-non-edges.u32"];
/// The nodes of each split.
const NODES: [&str; 3] = ["train-nodes.u32", "valid-nodes.u32", "test-nodes.u32"];

/// Pairs that are written at a time.
const PAIRS: usize = 1 << 16;

impl Writer {
    /// Writes a dataset.
    pub fn dataset(&mut self, dataset: &Dataset) -> Result<(), WriteError> {
        let list = dataset.graph.list()?;
        self.pairs(EDGES, &list.edges)?;
        self.optional(WEIGHTS, list.weights.as_deref())?;
        for (split, names) in [(&dataset.valid, VALID), (&dataset.test, TEST)] {
            if let Some(split) = split {
                self.pairs(names[0], &split.edges)?;
                self.pairs(names[1], &split.non_edges)?;
            }
        }
        self.optional(FEATURES, dataset.features.as_deref())?;
        if let Some(sparse) = &dataset.sparse_features {
            self.array(FEATURE_STARTS, &sparse.starts.iter().map(|&start| start as u64).collect::<Vec<_>>())?;
            self.array(FEATURE_COLUMNS, &sparse.columns)?;
            self.array(FEATURE_VALUES, &sparse.values)?;
        }
        self.optional(LABELS, dataset.labels.as_deref())?;
        self.optional(YEARS, dataset.years.as_deref())?;
        if let Some(NodeSplit { train, valid, test }) = &dataset.node_split {
            NODES.into_iter().zip([train, valid, test]).try_for_each(|(name, nodes)| self.array(name, nodes))?;
        }
        self.facts = Facts {
            name: dataset.name.clone(),
            nodes: list.nodes,
            edges: list.edges.len(),
            directed: list.directed,
            signed: dataset.graph.is_signed(),
            features: dataset.feature_count,
            classes: dataset.classes.clone(),
            ids: self.ids(&dataset.ids)?,
        };
        Ok(())
    }

    fn optional<T: Pod>(&mut self, name: &str, entries: Option<&[T]>) -> Result<(), WriteError> {
        entries.map_or(Ok(()), |entries| self.array(name, entries))
    }

    fn pairs(&mut self, name: &str, pairs: &[(u32, u32)]) -> Result<(), WriteError> {
        self.file(name, |file: &mut PieceWriter| {
            pairs.chunks(PAIRS).try_for_each(|some| {
                let some: Vec<[u32; 2]> = some.iter().map(|&(from, to)| [from, to]).collect();
                file.write(bytemuck::cast_slice(&some))
            })
        })
    }

    fn ids(&mut self, ids: &Ids) -> Result<IdKind, WriteError> {
        if let Some(first) = ids.first_of_counted() {
            return Ok(IdKind::Counted { first });
        }
        if let Some(numbers) = ids.as_numbers() {
            self.array(ID_NUMBERS, numbers)?;
            return Ok(IdKind::Numbers);
        }
        let mut ends = Vec::with_capacity(ids.len());
        self.file(ID_TEXT, |file| {
            let mut end = 0;
            ids.iter().try_for_each(|id| {
                end += id.len() as u64;
                ends.push(end);
                file.write(id.as_bytes())
            })
        })?;
        self.array(ID_ENDS, &ends)?;
        Ok(IdKind::Names)
    }
}

impl Store {
    /// The dataset. Its edges are read on demand.
    pub fn dataset(self: &Arc<Self>) -> Result<Dataset, StoreError> {
        let facts = self.facts();
        let features = match self.has(FEATURES) {
            true => Some(self.copy(&self.array_of(FEATURES, facts.nodes.saturating_mul(facts.features))?)?),
            false => None,
        };
        Ok(Dataset {
            name: facts.name.clone(),
            graph: Edges::stored(self),
            valid: self.links(VALID)?,
            test: self.links(TEST)?,
            features,
            sparse_features: self.sparse_features()?,
            feature_count: facts.features,
            labels: self.by_node(LABELS)?,
            classes: facts.classes.clone(),
            node_split: self.node_split()?,
            years: self.by_node(YEARS)?,
            ids: self.ids()?,
            remarks: vec![],
        })
    }

    /// How many edges there are.
    pub fn edges(&self) -> usize {
        self.facts().edges
    }

    /// Whether edges have a direction.
    pub fn is_directed(&self) -> bool {
        self.facts().directed
    }

    /// Whether some weight is negative.
    pub fn is_signed(&self) -> bool {
        self.facts().signed
    }

    /// The edges, in the order in which they were listed.
    pub fn edge_list(&self) -> Result<EdgeList, StoreError> {
        let &Facts { nodes, edges: count, directed, .. } = self.facts();
        let edges = self.pairs(EDGES)?;
        if edges.len() != count {
            return Err(self.wrong(format!("{EDGES} has {} edges instead of {count}", edges.len())));
        }
        let weights = match self.has(WEIGHTS) {
            true => Some(self.copy(&self.array_of(WEIGHTS, count)?)?),
            false => None,
        };
        Ok(EdgeList { nodes, edges, weights, directed })
    }

    fn pairs(&self, file: &str) -> Result<Vec<(u32, u32)>, StoreError> {
        let pairs = self.array::<[u32; 2]>(file)?;
        self.within(file, pairs.as_flattened())?;
        self.take::<(u32, u32)>(pairs.len())?;
        Ok(pairs.iter().map(|&[from, to]| (from, to)).collect())
    }

    /// Reserves memory for a copy of `count` entries.
    fn take<T>(&self, count: usize) -> Result<(), StoreError> {
        let taken = Budget::current().reserve_for::<T>(count);
        taken.map(Reservation::keep).map_err(|over| StoreError::Memory { folder: self.folder().to_owned(), over })
    }

    fn copy<T: Pod>(&self, array: &Array<T>) -> Result<Vec<T>, StoreError> {
        self.take::<T>(array.len())?;
        Ok(array.to_vec())
    }

    /// Fails if a node is out of range.
    fn within(&self, file: &str, nodes: &[u32]) -> Result<(), StoreError> {
        match nodes.iter().max() {
            Some(&most) if most as usize >= self.nodes() => {
                Err(self.wrong(format!("{file} has node {most}, and there are {} nodes", self.nodes())))
            }
            _ => Ok(()),
        }
    }

    fn links(&self, names: [&str; 2]) -> Result<Option<LinkSplit>, StoreError> {
        if !self.has(names[0]) {
            return Ok(None);
        }
        Ok(Some(LinkSplit { edges: self.pairs(names[0])?, non_edges: self.pairs(names[1])? }))
    }

    fn by_node<T: Pod>(&self, file: &str) -> Result<Option<Vec<T>>, StoreError> {
        if !self.has(file) {
            return Ok(None);
        }
        Ok(Some(self.copy(&self.array_of(file, self.nodes())?)?))
    }

    fn node_split(&self) -> Result<Option<NodeSplit>, StoreError> {
        if !self.has(NODES[0]) {
            return Ok(None);
        }
        let nodes = |file: &str| {
            let nodes = self.array::<u32>(file)?;
            self.within(file, &nodes)?;
            self.copy(&nodes)
        };
        Ok(Some(NodeSplit { train: nodes(NODES[0])?, valid: nodes(NODES[1])?, test: nodes(NODES[2])? }))
    }

    fn sparse_features(&self) -> Result<Option<SparseFeatures>, StoreError> {
        if !self.has(FEATURE_STARTS) {
            return Ok(None);
        }
        let (rows, feature_count) = (self.nodes(), self.facts().features);
        let starts = self.array_of::<u64>(FEATURE_STARTS, rows.saturating_add(1))?;
        self.take::<usize>(starts.len())?;
        let starts: Vec<usize> = starts.iter().map(|&start| start as usize).collect();
        let columns: Vec<u32> = self.copy(&self.array(FEATURE_COLUMNS)?)?;
        let values = self.copy(&self.array_of(FEATURE_VALUES, columns.len())?)?;
        if starts[0] != 0 || !starts.is_sorted() || starts[rows] != columns.len() {
            return Err(self.wrong(format!("{FEATURE_STARTS} is out of order")));
        }
        Ok(Some(SparseFeatures { rows, feature_count, starts, columns, values }))
    }

    fn ids(&self) -> Result<Ids, StoreError> {
        let nodes = self.nodes();
        let ids = match self.facts().ids {
            IdKind::Counted { first } if first.checked_add(nodes as u64).is_none() => {
                return Err(self.wrong(format!("{nodes} ids from {first} on are too many")));
            }
            IdKind::Counted { first } => Ids::counted(first, nodes),
            IdKind::Numbers => Ids::numbers(self.copy(&self.array(ID_NUMBERS)?)?),
            IdKind::Names => {
                let (text, ends) = (self.array::<u8>(ID_TEXT)?, self.array::<u64>(ID_ENDS)?);
                // The text, and for each name its end, its slot in a hash table, and a slice while
                // names are collected.
                self.take::<u8>(text.len())?;
                self.take::<[u64; 5]>(ends.len())?;
                let starts = std::iter::once(0).chain(ends.iter().copied());
                let name =
                    |(start, end): (u64, &u64)| std::str::from_utf8(text.get(start as usize..*end as usize)?).ok();
                let names: Option<Vec<&str>> = starts.zip(ends.iter()).map(name).collect();
                Ids::names(names.ok_or_else(|| self.wrong(format!("{ID_TEXT} and {ID_ENDS} disagree")))?)
            }
        };
        match ids.len() == nodes {
            true => Ok(ids),
            false => Err(self.wrong(format!("{} ids for {nodes} nodes", ids.len()))),
        }
    }
}
