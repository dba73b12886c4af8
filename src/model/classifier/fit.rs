//! Fitting the weights in closed form.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{ClassifierError, Design, Labels, Options, Rows};
use crate::dataset::UNLABELLED;
use crate::engine::checkpoint::StoredResult;
use crate::engine::{Cluster, EngineError, Monitor, Sharded, run, with_formed};
use crate::kernel::Mask;
use crate::matrix::{Dense, Matrix, MatrixError};
use crate::svd::{self, Certificate, Method, Prepared, Progress, solve_on};

/// The weights of a linear classifier, and their certificates.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// W*: one row a column of M, one column a class.
    pub weights: Arc<Dense>,
    /// The singular values that were used, in descending order.
    pub singular_values: Vec<f64>,
    /// The certificate of their triplets.
    pub certificate: Certificate,
    /// The certificate of W*: see [`svd::Solution::normal_residual`].
    pub normal_residual: f64,
    /// How many iterations were made; none where the Gram matrix was decomposed.
    pub iterations: usize,
    /// How many columns were multiplied by M or its transpose.
    pub operator_columns: usize,
}

/// The rows that a classifier is fitted to, stated once and fitted to with one set of options or
/// another.
#[derive(Debug, Clone)]
pub struct Examples {
    design: Design,
    /// The rows of M as they are stated, and the parts of them that are formed in `matrix`.
    stated: Matrix,
    parts: Vec<Matrix>,
    /// The rows of M, formed if they are few enough.
    matrix: Matrix,
    /// The class of every row, or [`UNLABELLED`].
    classes_of_rows: Arc<[u32]>,
    classes: usize,
}

impl Examples {
    /// The rows of some nodes with their labels, or those of all nodes with the labels of some. No
    /// other labels are read.
    pub fn new(
        design: &Design,
        labels: &[u32],
        learn: &[u32],
        classes: usize,
        options: &Options,
        cluster: Cluster,
    ) -> Result<Self, ClassifierError> {
        let learn: Vec<u32> = learn.iter().copied().filter(|&node| labels[node as usize] != UNLABELLED).collect();
        if learn.is_empty() {
            return Err(ClassifierError::NoLabels);
        }
        let known = Labels::known(labels, &learn, classes);
        let (matrix, classes_of_rows) = match options.rows {
            Rows::Labelled => {
                let of_rows = learn.iter().map(|&node| labels[node as usize]).collect();
                (Self::state(design, &known, Some(&learn))?, of_rows)
            }
            Rows::All => {
                let mut of_rows = vec![UNLABELLED; labels.len()];
                learn.iter().for_each(|&node| of_rows[node as usize] = labels[node as usize]);
                (Self::state(design, &known, None)?, of_rows.into())
            }
        };
        let rank = rank_of(options, learn.len()).min(matrix.shape().smaller_side());
        // Whether it fits is asked of what will be decomposed.
        let roomy = Cluster { memory: None, ..cluster };
        let prepared = Prepared::new(&matrix, &svd::Options { rank, ..options.svd.clone() }, roomy)?;
        let parts = prepared.forming(&matrix, needs_entries(options), cluster).parts;
        let (stated, matrix) = (matrix.clone(), with_formed(&matrix, &parts, cluster)?);
        Ok(Self { design: design.clone(), stated, parts, matrix, classes_of_rows, classes })
    }

    /// M with known labels, or some rows of it.
    pub fn state(design: &Design, labels: &Labels, rows: Option<&[u32]>) -> Result<Matrix, MatrixError> {
        let all = design.matrix(Some(labels))?;
        match rows {
            None => Ok(all),
            Some(rows) => all.try_rows(&rows.iter().map(|&node| node as usize).collect::<Vec<_>>()),
        }
    }

    /// M, below it M without labels, below it copies of M with entries dropped.
    fn copies(&self, options: &Options) -> Result<Vec<Matrix>, ClassifierError> {
        let one = &self.matrix;
        let mut copies = vec![one.clone()];
        if options.label_dropout && self.design.label_classes > 0 {
            copies.push(one.try_multiply(&Matrix::diagonal("K", self.design.feature_columns())?)?);
        }
        for copy in 0..options.dropout_copies {
            let mask = Mask::new(options.dropout_rate, options.svd.seed, copy as u32);
            let shape = one.shape();
            let too_large = |_| ClassifierError::TooLargeToDrop { rows: shape.rows, columns: shape.columns };
            copies.push(one.try_dropout(mask).map_err(too_large)?);
        }
        Ok(copies)
    }

    /// What W* is to give at every row: zero, hence nothing to fit, where there is no label.
    fn targets(&self, options: &Options) -> Vec<f32> {
        let mut targets = vec![0.0; self.classes_of_rows.len() * self.classes];
        for (target, &class) in targets.chunks_exact_mut(self.classes).zip(self.classes_of_rows.iter()) {
            if class != UNLABELLED {
                target.fill(options.targets.miss);
                target[class as usize] = options.targets.hit;
            }
        }
        targets
    }
}

/// Fits the classes of examples.
pub fn fit(
    examples: &Examples,
    options: &Options,
    cluster: Cluster,
    watch: Monitor<Progress>,
) -> Result<Fitted, ClassifierError> {
    let copies = examples.copies(options)?;
    let matrix = match &copies[..] {
        [one] => one.clone(),
        _ => Matrix::try_vstack(&copies)?,
    };
    let labelled = examples.classes_of_rows.iter().filter(|&&class| class != UNLABELLED).count();
    let rank = rank_of(options, labelled * copies.len()).min(matrix.shape().smaller_side());
    let start = Instant::now();
    let prepared = Prepared::new(&matrix, &svd::Options { rank, ..options.svd.clone() }, cluster)?;
    let stated = if copies.len() == 1 { &examples.stated } else { &matrix };
    let (formed, took) = (&examples.parts[..], start.elapsed());
    svd::show_plan(&svd::Planned { matrix: stated, formed, surrogate: None, prepared: &prepared, took });
    let targets = examples.targets(options).repeat(copies.len());
    let targets = Arc::new(Dense::new(matrix.shape().rows, examples.classes, targets)?);
    let cut = options.cut;
    let label = format!("fit {} to {} classes, rank {rank}", matrix.shape(), examples.classes);
    watch.once(&label, cluster, || {
        let watch = watch.clone();
        run(cluster, prepared.programs(), move |session| {
            let panel = session.panel_from(&targets, targets.columns(), 0, 0)?;
            let solution = solve_on(session, &prepared, &panel, cut, &watch)?;
            Ok(Fitted {
                weights: Arc::new(session.collect(&solution.weights)?.unwrap_or_default()),
                singular_values: solution.singular_values,
                certificate: solution.certificate,
                normal_residual: solution.normal_residual,
                iterations: solution.iterations,
                operator_columns: solution.operator_columns,
            })
        })
    })
}

/// All of [`Fitted`] but its weights.
#[derive(Serialize, Deserialize)]
pub struct FittedNumbers {
    singular_values: Vec<f64>,
    certificate: Certificate,
    normal_residual: f64,
    iterations: usize,
    operator_columns: usize,
}

impl StoredResult for Fitted {
    type Numbers = FittedNumbers;

    fn numbers(&self) -> FittedNumbers {
        FittedNumbers {
            singular_values: self.singular_values.clone(),
            certificate: self.certificate.clone(),
            normal_residual: self.normal_residual,
            iterations: self.iterations,
            operator_columns: self.operator_columns,
        }
    }

    fn panels(&self) -> Vec<Sharded> {
        vec![Dense::clone(&self.weights).into()]
    }

    fn from_parts(numbers: FittedNumbers, panels: Vec<Sharded>, cluster: Cluster) -> Result<Option<Self>, EngineError> {
        let Ok([weights]) = <[Sharded; 1]>::try_from(panels) else { return Ok(None) };
        Ok(Some(Self {
            weights: Arc::new(weights.gathered(cluster)?),
            singular_values: numbers.singular_values,
            certificate: numbers.certificate,
            normal_residual: numbers.normal_residual,
            iterations: numbers.iterations,
            operator_columns: numbers.operator_columns,
        }))
    }
}

/// Whether the rows of M must be written down to be fitted to: to drop some of their entries, or to
/// sum their Gram matrix up for every stage.
pub fn needs_entries(options: &Options) -> bool {
    options.dropout_copies > 0 || options.svd.method != Method::Subspace
}

/// The rank to fit so many labelled rows with.
pub fn rank_of(options: &Options, rows: usize) -> usize {
    options.rank.unwrap_or_else(|| default_rank(rows))
}

/// The rank of the published method, min(100, rows − 24), which is part of what is reproduced and
/// was not chosen here. It gives none to 24 rows or fewer: there, and up to 48 rows, it is half of
/// them.
fn default_rank(rows: usize) -> usize {
    rows.saturating_sub(24).max(rows / 2).clamp(1, 100)
}
