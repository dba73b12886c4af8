//! The edges of a dataset: listed, or in a store until someone asks for them.

use std::sync::{Arc, OnceLock};

use super::store::{Store, StoreError};
use crate::graph::{EdgeList, renumber};

/// The edges of a dataset. A store has the matrix of its edges ready, so most runs never ask for the list.
///
/// ```
/// use isvd_dist::dataset::{EdgeList, Edges};
/// let edges = Edges::from(EdgeList { nodes: 3, edges: vec![(0, 1)], ..EdgeList::default() });
/// assert_eq!((edges.nodes(), edges.len(), edges.is_directed()), (3, 1, false));
/// assert_eq!(edges.list()?.edges, [(0, 1)]);
/// # Ok::<(), isvd_dist::dataset::store::StoreError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Edges(Held);

#[derive(Debug, Clone)]
enum Held {
    Listed(EdgeList),
    Stored(StoredEdges),
}

/// Edges of a store.
#[derive(Debug, Clone)]
pub struct StoredEdges {
    /// The store.
    pub store: Arc<Store>,
    /// Whether edges count in the direction in which they are listed alone.
    pub is_directed: bool,
    /// The row of every node, if it is not its number.
    pub rows: Option<Arc<[u32]>>,
    list: OnceLock<EdgeList>,
}

impl Edges {
    /// The edges of a store.
    pub fn stored(store: &Arc<Store>) -> Self {
        let (store, is_directed) = (Arc::clone(store), store.is_directed());
        Self(Held::Stored(StoredEdges { store, is_directed, rows: None, list: OnceLock::new() }))
    }

    /// How many nodes there are, joined or not.
    pub fn nodes(&self) -> usize {
        match &self.0 {
            Held::Listed(list) => list.nodes,
            Held::Stored(stored) => stored.store.nodes(),
        }
    }

    /// How many edges are listed.
    pub fn len(&self) -> usize {
        match &self.0 {
            Held::Listed(list) => list.edges.len(),
            Held::Stored(stored) => stored.store.edges(),
        }
    }

    /// Whether there are no edges.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether edges have a direction.
    pub fn is_directed(&self) -> bool {
        match &self.0 {
            Held::Listed(list) => list.directed,
            Held::Stored(stored) => stored.is_directed,
        }
    }

    /// Whether some weight is negative.
    pub fn is_signed(&self) -> bool {
        match &self.0 {
            Held::Listed(list) => {
                list.weights.as_ref().is_some_and(|weights| weights.iter().any(|&weight| weight < 0.0))
            }
            Held::Stored(stored) => stored.store.is_signed(),
        }
    }

    /// The list, in the order in which it was read; from a store it is read now, once.
    pub fn list(&self) -> Result<&EdgeList, StoreError> {
        match &self.0 {
            Held::Listed(list) => Ok(list),
            Held::Stored(stored) => stored.list(),
        }
    }

    /// What is known of edges that are in a store.
    pub fn in_store(&self) -> Option<&StoredEdges> {
        match &self.0 {
            Held::Listed(_) => None,
            Held::Stored(stored) => Some(stored),
        }
    }

    /// From now on edges count in both directions.
    pub fn forget_direction(&mut self) {
        match &mut self.0 {
            Held::Listed(list) => list.directed = false,
            Held::Stored(stored) => {
                stored.is_directed = false;
                stored.list = OnceLock::new();
            }
        }
    }

    /// Gives the nodes other rows, once; a list that was not yet read gets them when it is.
    pub fn renumber(&mut self, rows: &Arc<[u32]>) {
        match &mut self.0 {
            Held::Listed(list) => renumber(&mut list.edges, rows),
            Held::Stored(stored) => {
                stored.rows = Some(Arc::clone(rows));
                stored.list = OnceLock::new();
            }
        }
    }

    /// Bytes of the list, if it is in memory.
    pub(super) fn bytes(&self) -> usize {
        let list = match &self.0 {
            Held::Listed(list) => Some(list),
            Held::Stored(stored) => stored.list.get(),
        };
        list.map_or(0, |list| 8 * list.edges.len() + 4 * list.weights.as_ref().map_or(0, Vec::len))
    }
}

impl StoredEdges {
    fn list(&self) -> Result<&EdgeList, StoreError> {
        if let Some(list) = self.list.get() {
            return Ok(list);
        }
        let mut list = EdgeList { directed: self.is_directed, ..self.store.edge_list()? };
        if let Some(rows) = &self.rows {
            renumber(&mut list.edges, rows);
        }
        Ok(self.list.get_or_init(|| list))
    }
}

impl From<EdgeList> for Edges {
    fn from(list: EdgeList) -> Self {
        Self(Held::Listed(list))
    }
}

impl Default for Edges {
    fn default() -> Self {
        EdgeList::default().into()
    }
}

/// Edges are equal if their lists are; those that cannot be read equal none.
impl PartialEq for Edges {
    fn eq(&self, other: &Self) -> bool {
        matches!((self.list(), other.list()), (Ok(list), Ok(other)) if list == other)
    }
}
