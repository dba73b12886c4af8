//! The weights, in closed form.

use std::sync::Arc;

use super::{ClassifierError, Design, Labels, Options, Rows};
use crate::dataset::UNLABELLED;
use crate::engine::{Cluster, form, run};
use crate::kernel::Mask;
use crate::matrix::{Dense, Matrix};
use crate::svd::{self, Prepared, Progress, solve_on};

/// M is written down up to so many bytes; beyond, it is only multiplied by.
const MOST_FORMED_BYTES: usize = 2 << 30;

/// The weights of a linear classifier, and how far to trust them.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// W*: one row a column of M, one column a class.
    pub weights: Arc<Dense>,
    /// Those that were used, from the largest down.
    pub singular_values: Vec<f64>,
    /// The residual of each of their triplets, relative to its own σ.
    pub relative_residuals: Vec<f64>,
    /// How many iterations were made; none where the Gram matrix was decomposed.
    pub iterations: usize,
    /// How many columns were multiplied by M or its transpose.
    pub operator_columns: usize,
}

/// Fits the classes of the nodes in `learn`. Their labels, and no others, are read.
pub fn fit(
    design: &Design,
    labels: &[u32],
    learn: &[u32],
    classes: usize,
    options: &Options,
    cluster: Cluster,
    progress: Arc<Progress>,
) -> Result<Fitted, ClassifierError> {
    let learn: Vec<u32> = learn.iter().copied().filter(|&node| labels[node as usize] != UNLABELLED).collect();
    if learn.is_empty() {
        return Err(ClassifierError::NoLabels);
    }
    let known = Labels::known(labels, &learn, classes);
    let all = design.matrix(Some(&known))?;
    let (one, rows) = match options.rows {
        Rows::All => (all, learn.iter().map(|&node| node as usize).collect::<Vec<_>>()),
        Rows::Labelled => {
            let rows: Vec<usize> = learn.iter().map(|&node| node as usize).collect();
            (all.try_rows(&rows)?, (0..learn.len()).collect())
        }
    };
    let matrix = copies(design, one, options, cluster)?;
    let copy_rows = matrix.shape().rows / count_copies(design, options);
    let targets = Arc::new(targets(labels, &learn, &rows, classes, copy_rows, options)?);
    let rank = options.rank.unwrap_or_else(|| default_rank(learn.len() * count_copies(design, options)));
    let rank = rank.min(matrix.shape().smaller_side());
    let prepared = Prepared::new(&matrix, &svd::Options { rank, ..options.svd.clone() })?;
    let (cut, copies) = (options.cut, count_copies(design, options));
    run(cluster, prepared.programs(), move |session| {
        let stacked = Dense::new(copy_rows * copies, classes, targets.data().repeat(copies))?;
        let panel = session.panel_from(&stacked, classes, 0, 0)?;
        drop(stacked);
        let solution = solve_on(session, &prepared, &panel, cut, progress.as_ref())?;
        Ok(Fitted {
            weights: Arc::new(session.collect(&solution.weights)?.unwrap_or_default()),
            singular_values: solution.singular_values,
            relative_residuals: solution.certificate.relative_residuals,
            iterations: solution.iterations,
            operator_columns: solution.operator_columns,
        })
    })
}

/// The rank that the paper's figures have: 100, but with few rows to learn from 24 less than those, so that the last
/// directions, which are mostly noise, stay out.
fn default_rank(rows: usize) -> usize {
    rows.saturating_sub(24).max(rows / 2).clamp(1, 100)
}

fn count_copies(design: &Design, options: &Options) -> usize {
    1 + usize::from(drops_labels(design, options)) + options.dropout_copies
}

fn drops_labels(design: &Design, options: &Options) -> bool {
    options.label_dropout && design.label_classes > 0
}

/// M, below it M without labels, below it copies of M with entries dropped. It is written down if it is small enough, as
/// it must be where entries are dropped.
fn copies(design: &Design, one: Matrix, options: &Options, cluster: Cluster) -> Result<Matrix, ClassifierError> {
    let shape = one.shape();
    let bytes = shape.rows.saturating_mul(shape.columns).saturating_mul(size_of::<f32>());
    let one = match bytes <= MOST_FORMED_BYTES {
        true => Matrix::dense("M", form(&one, cluster)?)?,
        false if options.dropout_copies == 0 => one,
        false => return Err(ClassifierError::TooLargeToDrop { rows: shape.rows, columns: shape.columns }),
    };
    let mut parts = vec![one.clone()];
    if drops_labels(design, options) {
        parts.push(one.try_multiply(&Matrix::diagonal("K", design.feature_columns())?)?);
    }
    for copy in 0..options.dropout_copies {
        parts.push(one.try_dropout(Mask::new(options.dropout_rate, options.svd.seed, copy as u32))?);
    }
    match parts.len() {
        1 => Ok(one),
        _ => Ok(Matrix::try_stacked(&parts)?),
    }
}

/// What W* is to give at every row: zero, hence nothing to fit, where there is no label.
fn targets(
    labels: &[u32],
    learn: &[u32],
    rows: &[usize],
    classes: usize,
    copy_rows: usize,
    options: &Options,
) -> Result<Dense, ClassifierError> {
    let mut data = vec![0.0; copy_rows * classes];
    for (&node, &row) in learn.iter().zip(rows) {
        let target = &mut data[row * classes..(row + 1) * classes];
        target.fill(options.targets.miss);
        target[labels[node as usize] as usize] = options.targets.hit;
    }
    Ok(Dense::new(copy_rows, classes, data)?)
}
