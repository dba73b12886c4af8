//! The vectors of a finished embedding, and the scores of pairs.

use crate::matrix::Dense;

/// The weighted vectors of every node: `left` for outgoing edges, `right` for incoming edges.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Vectors {
    /// `L`, one row a node.
    pub left: Dense,
    /// `R`, one row a node, or one row a column of a matrix whose columns are not nodes.
    pub right: Dense,
}

/// A choice of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Side {
    /// U√S, for what leaves a node
    #[default]
    Left,
    /// V√S, for what arrives at a node
    Right,
    /// Both, one after the other
    Both,
}

/// Both sides were asked for, and they have different numbers of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the matrix has {left} rows and {right} columns, which are not the same nodes: choose one side, left or right")]
pub struct UnlikeSides {
    /// Rows of `left`.
    pub left: usize,
    /// Rows of `right`.
    pub right: usize,
}

impl Vectors {
    /// The number of rows of a side.
    pub fn rows(&self, side: Side) -> Result<usize, UnlikeSides> {
        let (left, right) = (self.left.rows(), self.right.rows());
        match side {
            Side::Left => Ok(left),
            Side::Right => Ok(right),
            Side::Both if left == right => Ok(left),
            Side::Both => Err(UnlikeSides { left, right }),
        }
    }

    /// The length of the vectors of a side.
    pub fn columns(&self, side: Side) -> usize {
        self.parts(side).iter().map(|part| part.columns()).sum()
    }

    /// The vector of a row.
    pub fn row(&self, side: Side, row: usize) -> impl Iterator<Item = f32> + Clone + '_ {
        let [first, second] = match side {
            Side::Left => [self.left.row(row), &[]],
            Side::Right => [&[], self.right.row(row)],
            Side::Both => [self.left.row(row), self.right.row(row)],
        };
        first.iter().chain(second).copied()
    }

    /// The score of an edge from i to j, or between them if edges have no direction.
    pub fn score(&self, i: u32, j: u32, is_directed: bool) -> f32 {
        self.exact_score(i, j, is_directed) as f32
    }

    /// The score in double precision.
    pub fn exact_score(&self, i: u32, j: u32, is_directed: bool) -> f64 {
        let one_way = |i: u32, j: u32| {
            let terms = self.left.row(i as usize).iter().zip(self.right.row(j as usize));
            terms.map(|(&left, &right)| f64::from(left) * f64::from(right)).sum::<f64>()
        };
        match is_directed {
            true => one_way(i, j),
            false => (one_way(i, j) + one_way(j, i)) / 2.0,
        }
    }

    fn parts(&self, side: Side) -> Vec<&Dense> {
        match side {
            Side::Left => vec![&self.left],
            Side::Right => vec![&self.right],
            Side::Both => vec![&self.left, &self.right],
        }
    }
}
