//! The edges of a dataset: a list in memory, or a store from which the list is read on demand.

use std::sync::{Arc, OnceLock};

use super::store::{Store, StoreError};
use crate::graph::{EdgeList, renumber};

/// The edges of a dataset. A store also has the matrix of its edges, so most runs never read the
/// list.
///
/// ```
/// use isvd_dist::dataset::{EdgeList, Edges};
/// let edges = Edges::from(EdgeList { nodes: 3, edges: vec![(0, 1)], ..EdgeList::default() });
/// assert_eq!((edges.nodes(), edges.len(), edges.is_directed()), (3, 1, false));
/// assert_eq!(edges.list()?.edges, [(0, 1)]);
/// # Ok::<(), isvd_dist::dataset::store::StoreError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Edges(Storage);

#[derive(Debug, Clone)]
enum Storage {
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
        Self(Storage::Stored(StoredEdges { store, is_directed, rows: None, list: OnceLock::new() }))
    }

    /// How many nodes there are, joined or not.
    pub fn nodes(&self) -> usize {
        match &self.0 {
            Storage::Listed(list) => list.nodes,
            Storage::Stored(stored) => stored.store.nodes(),
        }
    }

    /// How many edges are listed.
    pub fn len(&self) -> usize {
        match &self.0 {
            Storage::Listed(list) => list.edges.len(),
            Storage::Stored(stored) => stored.store.edges(),
        }
    }

    /// Whether there are no edges.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether edges have a direction.
    pub fn is_directed(&self) -> bool {
        match &self.0 {
            Storage::Listed(list) => list.directed,
            Storage::Stored(stored) => stored.is_directed,
        }
    }

    /// Whether some weight is negative.
    pub fn is_signed(&self) -> bool {
        match &self.0 {
            Storage::Listed(list) => {
                list.weights.as_ref().is_some_and(|weights| weights.iter().any(|&weight| weight < 0.0))
            }
            Storage::Stored(stored) => stored.store.is_signed(),
        }
    }

    /// The list in the order of its file. From a store it is read at the first call.
    pub fn list(&self) -> Result<&EdgeList, StoreError> {
        match &self.0 {
            Storage::Listed(list) => Ok(list),
            Storage::Stored(stored) => stored.list(),
        }
    }

    /// The store, if the edges are in one.
    pub fn in_store(&self) -> Option<&StoredEdges> {
        match &self.0 {
            Storage::Listed(_) => None,
            Storage::Stored(stored) => Some(stored),
        }
    }

    /// Makes the edges undirected.
    pub fn forget_direction(&mut self) {
        match &mut self.0 {
            Storage::Listed(list) => list.directed = false,
            Storage::Stored(stored) => {
                stored.is_directed = false;
                stored.list = OnceLock::new();
            }
        }
    }

    /// Gives the nodes other rows. To be called once; a list that is read later is renumbered then.
    pub fn renumber(&mut self, rows: &Arc<[u32]>) {
        match &mut self.0 {
            Storage::Listed(list) => renumber(&mut list.edges, rows),
            Storage::Stored(stored) => {
                stored.rows = Some(Arc::clone(rows));
                stored.list = OnceLock::new();
            }
        }
    }

    /// The size of the list in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let list = match &self.0 {
            Storage::Listed(list) => Some(list),
            Storage::Stored(stored) => stored.list.get(),
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
        Self(Storage::Listed(list))
    }
}

impl Default for Edges {
    fn default() -> Self {
        EdgeList::default().into()
    }
}

/// Edges are equal if their lists are. Lists that cannot be read equal no others.
impl PartialEq for Edges {
    fn eq(&self, other: &Self) -> bool {
        matches!((self.list(), other.list()), (Ok(list), Ok(other)) if list == other)
    }
}
