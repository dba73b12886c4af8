//! Edges as a list.

use crate::kernel;

/// Edges as they were read: node numbers are rows, `0..nodes`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EdgeList {
    /// How many nodes there are, joined or not.
    pub nodes: usize,
    /// Each edge by the numbers of its two nodes.
    pub edges: Vec<(u32, u32)>,
    /// One weight an edge; `None` when every edge weighs one.
    pub weights: Option<Vec<f32>>,
    /// An undirected edge is listed once, in either direction.
    pub directed: bool,
}

/// Gives the nodes of pairs their rows, by several threads.
pub(crate) fn renumber(pairs: &mut [(u32, u32)], rows: &[u32]) {
    /// Fewer pairs than this are not worth a thread.
    const WORTH_A_THREAD: usize = 1 << 16;
    let length = pairs.len().div_ceil(kernel::cores()).max(WORTH_A_THREAD);
    let row = |node: u32| rows[node as usize];
    std::thread::scope(|scope| {
        for part in pairs.chunks_mut(length) {
            scope.spawn(move || part.iter_mut().for_each(|pair| *pair = (row(pair.0), row(pair.1))));
        }
    });
}
