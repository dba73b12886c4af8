//! The vectors of a finished embedding, and what they say of pairs.

use crate::matrix::Dense;

/// Two vectors for every node, weights multiplied in: `left` for what leaves a node, `right` for what arrives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Vectors {
    /// `L`, one row a node.
    pub left: Dense,
    /// `R`, one row a node, unless a matrix of the user's own has columns that are no nodes.
    pub right: Dense,
}

/// Which vector of a node is meant.
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

/// Both vectors of a row were asked for, and the sides have different rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the matrix has {left} rows and {right} columns, which are not the same nodes: choose one side, left or right")]
pub struct UnlikeSides {
    /// Rows of `left`.
    pub left: usize,
    /// Rows of `right`.
    pub right: usize,
}

impl Vectors {
    /// How many rows a side has.
    pub fn rows(&self, side: Side) -> Result<usize, UnlikeSides> {
        let (left, right) = (self.left.rows(), self.right.rows());
        match side {
            Side::Left => Ok(left),
            Side::Right => Ok(right),
            Side::Both if left == right => Ok(left),
            Side::Both => Err(UnlikeSides { left, right }),
        }
    }

    /// How many entries a vector of a side has.
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

    /// How likely an edge from i to j is; without directions, an edge between them.
    pub fn score(&self, i: u32, j: u32, is_directed: bool) -> f32 {
        self.exact_score(i, j, is_directed) as f32
    }

    /// The same in double precision.
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
