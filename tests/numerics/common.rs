//! Slow reference arithmetic, and random expressions.

use std::collections::HashMap;
use std::sync::Arc;

use faer::Mat;
use isvd_dist::engine::{Cluster, Monitor, Transport, run};
use isvd_dist::graph::Sparse;
use isvd_dist::matrix::{Dense, Kind, Matrix};
use isvd_dist::svd::{self, Prepared, Svd, SvdError, decompose_on};

/// A dense f64 matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub rows: usize,
    pub columns: usize,
    pub data: Vec<f64>,
}

impl Table {
    pub fn new(rows: usize, columns: usize, of: impl Fn(usize, usize) -> f64) -> Self {
        let data = (0..rows * columns).map(|entry| of(entry / columns, entry % columns)).collect();
        Self { rows, columns, data }
    }

    pub fn of_dense(dense: &Dense) -> Self {
        Self::new(dense.rows(), dense.columns(), |row, column| f64::from(dense.row(row)[column]))
    }

    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.data[row * self.columns + column]
    }

    pub fn t(&self) -> Self {
        Self::new(self.columns, self.rows, |row, column| self.at(column, row))
    }

    pub fn times(&self, other: &Table) -> Self {
        assert_eq!(self.columns, other.rows);
        let entry = |row, column| (0..self.columns).map(|k| self.at(row, k) * other.at(k, column)).sum();
        Self::new(self.rows, other.columns, entry)
    }

    pub fn plus(&self, other: &Table, scale: f64) -> Self {
        Self::new(self.rows, self.columns, |row, column| self.at(row, column) + scale * other.at(row, column))
    }

    /// The largest difference between entries at the same place.
    pub fn distance(&self, other: &Table) -> f64 {
        assert_eq!((self.rows, self.columns), (other.rows, other.columns));
        self.plus(other, -1.0).largest()
    }

    pub fn absolute(&self) -> Self {
        Self::new(self.rows, self.columns, |row, column| self.at(row, column).abs())
    }

    pub fn column_norm(&self, column: usize) -> f64 {
        (0..self.rows).map(|row| self.at(row, column).powi(2)).sum::<f64>().sqrt()
    }

    /// The Frobenius norm.
    pub fn norm(&self) -> f64 {
        self.data.iter().map(|entry| entry * entry).sum::<f64>().sqrt()
    }

    pub fn largest(&self) -> f64 {
        self.data.iter().fold(0.0, |largest, entry| f64::max(largest, entry.abs()))
    }
}

/// `U·diag(s)·Vᵀ` with as many columns as the smaller side, in f64.
pub struct DenseSvd {
    pub left: Table,
    pub values: Vec<f64>,
    pub right: Table,
}

pub fn dense_svd(table: &Table) -> DenseSvd {
    let svd = mat(table).thin_svd().expect("the dense SVD converges");
    let (left, right) = (svd.U(), svd.V());
    DenseSvd {
        left: Table::new(left.nrows(), left.ncols(), |row, column| left[(row, column)]),
        values: svd.S().column_vector().iter().copied().collect(),
        right: Table::new(right.nrows(), right.ncols(), |row, column| right[(row, column)]),
    }
}

pub fn dense_singular_values(table: &Table) -> Vec<f64> {
    mat(table).singular_values().expect("the dense SVD converges")
}

fn mat(table: &Table) -> Mat<f64> {
    Mat::from_fn(table.rows, table.columns, |row, column| table.at(row, column))
}

/// `V S⁺ Uᵀ T` of the complete SVD, in f64. Singular values beyond the first `rank`, and those of
/// at most `cut` times the largest, count as zero.
pub fn pseudo_inverse_times(table: &Table, targets: &Table, rank: usize, cut: f64) -> Table {
    let svd = dense_svd(table);
    let least = cut * svd.values.first().copied().unwrap_or(0.0);
    let kept = svd.values.iter().take(rank).take_while(|value| **value > least).count();
    let projected = svd.left.t().times(targets);
    let divided = Table::new(projected.rows, projected.columns, |row, column| match row < kept {
        true => projected.at(row, column) / svd.values[row],
        false => 0.0,
    });
    svd.right.times(&divided)
}

/// A matrix with these singular values and the singular vectors of a random matrix.
pub fn with_spectrum(rows: usize, columns: usize, values: &[f64], numbers: &mut Numbers) -> Dense {
    let random = dense_svd(&Table::of_dense(&dense(rows, columns, numbers)));
    let scaled = Table::new(rows, values.len(), |row, column| random.left.at(row, column) * values[column]);
    let right = Table::new(values.len(), columns, |row, column| random.right.at(column, row));
    let data = scaled.times(&right).data.into_iter().map(|entry| entry as f32).collect();
    Dense::new(rows, columns, data).unwrap()
}

/// The entries of a matrix. With `absolute`, those of the absolute values of all leaves and
/// coefficients, which bound the effect of rounding.
pub fn form(matrix: &Matrix, absolute: bool) -> Table {
    form_shared(matrix, absolute, &mut HashMap::new())
}

/// Forms each node once, however often it is used.
fn form_shared(matrix: &Matrix, absolute: bool, formed: &mut HashMap<usize, Table>) -> Table {
    if let Some(table) = formed.get(&matrix.identity_key()) {
        return table.clone();
    }
    let table = form_anew(matrix, absolute, formed);
    formed.insert(matrix.identity_key(), table.clone());
    table
}

fn form_anew(matrix: &Matrix, absolute: bool, formed: &mut HashMap<usize, Table>) -> Table {
    let shape = matrix.shape();
    let (rows, columns) = (shape.rows, shape.columns);
    let mut form = |inner: &Matrix| form_shared(inner, absolute, formed);
    let sign = |value: f64| if absolute { value.abs() } else { value };
    match matrix.kind() {
        Kind::Sparse { data, .. } => {
            let mut table = Table::new(rows, columns, |_, _| 0.0);
            data.for_each(|row, column, value| table.data[row * columns + column] += sign(f64::from(value)));
            table
        }
        Kind::Dense { data, mask, .. } => Table::new(rows, columns, |row, column| {
            let factor = mask.map_or(1.0, |mask| mask.factor(row as u64, column as u32));
            sign(f64::from(data.row(row)[column] * factor))
        }),
        Kind::Diagonal { values, .. } => {
            Table::new(rows, columns, |row, column| if row == column { sign(f64::from(values[row])) } else { 0.0 })
        }
        Kind::Identity => Table::new(rows, columns, |row, column| f64::from(u8::from(row == column))),
        Kind::Ones => Table::new(rows, columns, |_, _| 1.0),
        Kind::Zero => Table::new(rows, columns, |_, _| 0.0),
        Kind::Sum(left, right) => form(left).plus(&form(right), 1.0),
        Kind::Difference(left, right) => form(left).plus(&form(right), if absolute { 1.0 } else { -1.0 }),
        Kind::Scaled(coefficient, inner) => {
            let inner = form(inner);
            Table::new(rows, columns, |row, column| sign(*coefficient) * inner.at(row, column))
        }
        Kind::Product(left, right) => form(left).times(&form(right)),
        Kind::Power(base, exponent) => {
            let base = form(base);
            let identity = Table::new(rows, columns, |row, column| f64::from(u8::from(row == column)));
            (0..*exponent).fold(identity, |power, _| power.times(&base))
        }
        Kind::Transpose(inner) => form(inner).t(),
        Kind::Hstack(parts) => {
            let parts: Vec<Table> = parts.iter().map(&mut form).collect();
            let find = |mut column: usize| {
                for part in &parts {
                    if column < part.columns {
                        return (part, column);
                    }
                    column -= part.columns;
                }
                unreachable!()
            };
            Table::new(rows, columns, |row, column| {
                let (part, column) = find(column);
                part.at(row, column)
            })
        }
        Kind::Vstack(parts) => {
            let data = parts.iter().flat_map(|part| form(part).data).collect();
            Table { rows, columns, data }
        }
        Kind::Rows(inner, indices) => {
            let inner = form(inner);
            Table::new(rows, columns, |row, column| inner.at(indices[row], column))
        }
        Kind::Columns(inner, indices) => {
            let inner = form(inner);
            Table::new(rows, columns, |row, column| inner.at(row, indices[column]))
        }
        Kind::Polynomial { coefficients, base } => {
            let base = form(base);
            let mut power = Table::new(rows, columns, |row, column| f64::from(u8::from(row == column)));
            let mut sum = Table::new(rows, columns, |_, _| 0.0);
            for &coefficient in coefficients.iter() {
                sum = sum.plus(&power, sign(coefficient));
                power = power.times(&base);
            }
            sum
        }
        _ => unreachable!("a kind of matrix that the oracle does not know"),
    }
}

/// A small reproducible stream of numbers in [-1, 1).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound as u64) as usize
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

pub fn dense(rows: usize, columns: usize, numbers: &mut Numbers) -> Dense {
    let data = (0..rows * columns).map(|_| numbers.next() as f32).collect();
    Dense::new(rows, columns, data).unwrap()
}

/// A sparse matrix with a third of its entries, some rows and columns empty.
pub fn sparse(rows: usize, columns: usize, is_weighted: bool, numbers: &mut Numbers) -> Arc<Sparse> {
    let mut entries = Vec::new();
    for row in (0..rows).filter(|row| row % 5 != 3) {
        for column in (0..columns).filter(|column| column % 7 != 5) {
            if numbers.below(3) == 0 {
                entries.push((row as u32, column as u32));
            }
        }
    }
    let values = is_weighted.then(|| entries.iter().map(|_| numbers.next() as f32).collect());
    Arc::new(Sparse::from_triplets(rows, columns, entries, values).unwrap())
}

/// Random expressions over a pool of matrices of one size. Earlier expressions are used again, so
/// that sharing, powers and diagonals next to products occur.
pub fn pooled_expression(size: usize, nodes: usize, numbers: &mut Numbers) -> Matrix {
    // The second diagonal is the pseudo-inverse of the first, half of the time; sometimes zeros are
    // in both.
    let mut entry = || match numbers.below(8) {
        0 => 0.0,
        _ => 0.25 + 0.75 * numbers.next().abs() as f32,
    };
    let [first, mut second] = [0; 2].map(|_| (0..size).map(|_| entry()).collect::<Vec<f32>>());
    if numbers.below(2) == 0 {
        second = first.iter().map(|&entry| if entry == 0.0 { 0.0 } else { 1.0 / entry }).collect();
    }
    let mut pool = vec![
        Matrix::sparse("P", sparse(size, size, false, numbers)) * (1.0 / size as f64),
        Matrix::sparse("W", sparse(size, size, true, numbers)) * (1.0 / size as f64),
        Matrix::dense("X", dense(size, size, numbers)).unwrap() * (1.0 / size as f64),
        Matrix::diagonal("d", first).unwrap(),
        Matrix::diagonal("e", second).unwrap(),
        Matrix::ones(size, size) * (1.0 / size as f64),
        Matrix::identity(size),
        Matrix::zero(size, size),
    ];
    for _ in 0..nodes {
        let mut pick = || {
            // In half of the cases one of the newest, so that expressions become deep.
            let newest = numbers.below(2) * pool.len().saturating_sub(3);
            pool[newest + numbers.below(pool.len() - newest)].clone()
        };
        let (a, b) = (pick(), pick());
        pool.push(match numbers.below(11) {
            0 | 1 => &a + &b,
            2 => &a - &b,
            3 => &a * numbers.next(),
            4..=6 => &a * &b,
            7 => a.t(),
            8 => a.polynomial(&[numbers.next(), 0.5, 0.0, numbers.next()]),
            9 => {
                let indices: Vec<usize> = (0..size).map(|_| numbers.below(size)).collect();
                if numbers.below(2) == 0 { a.rows(&indices) } else { a.columns(&indices) }
            }
            _ => {
                let half: Vec<usize> = (0..size).step_by(2).collect();
                let rest: Vec<usize> = (1..size).step_by(2).collect();
                if rest.is_empty() {
                    a.pow(2)
                } else if numbers.below(2) == 0 {
                    Matrix::vstack(&[a.rows(&half), b.rows(&rest)])
                } else {
                    Matrix::hstack(&[a.columns(&half), b.columns(&rest)])
                }
            }
        });
    }
    pool.pop().expect("a pool is never empty")
}

/// A random expression of any shape, `depth` nodes deep at most.
pub fn expression(rows: usize, columns: usize, depth: usize, numbers: &mut Numbers) -> Matrix {
    if depth == 0 {
        return match numbers.below(5) {
            0 => Matrix::sparse("W", sparse(rows, columns, true, numbers)),
            1 => Matrix::dense("X", dense(rows, columns, numbers)).unwrap(),
            2 => Matrix::ones(rows, columns),
            _ => Matrix::sparse("P", sparse(rows, columns, false, numbers)),
        };
    }
    let depth = depth - 1;
    match numbers.below(7) {
        0 => expression(rows, columns, depth, numbers) - expression(rows, columns, depth, numbers) * numbers.next(),
        1 => {
            let middle = 1 + numbers.below(90);
            expression(rows, middle, depth, numbers) * expression(middle, columns, depth, numbers)
        }
        2 => expression(columns, rows, depth, numbers).t(),
        3 if columns > 1 => {
            let cut = 1 + numbers.below(columns - 1);
            let parts = [expression(rows, cut, depth, numbers), expression(rows, columns - cut, depth, numbers)];
            Matrix::hstack(&parts)
        }
        4 if rows > 1 => {
            let cut = 1 + numbers.below(rows - 1);
            let parts = [expression(cut, columns, depth, numbers), expression(rows - cut, columns, depth, numbers)];
            Matrix::vstack(&parts)
        }
        5 => {
            let of = 1 + numbers.below(90);
            let indices: Vec<usize> = (0..rows).map(|_| numbers.below(of)).collect();
            expression(of, columns, depth, numbers).rows(&indices)
        }
        _ => {
            let of = 1 + numbers.below(90);
            let indices: Vec<usize> = (0..columns).map(|_| numbers.below(of)).collect();
            expression(rows, of, depth, numbers).columns(&indices)
        }
    }
}

/// The clusters of every distributed test: one, two and three workers by pointers, two and three by
/// bytes.
pub const CLUSTERS: [Cluster; 5] = [
    Cluster::threads(1),
    Cluster::threads(2),
    Cluster::threads(3),
    Cluster { transport: Transport::Bytes, ..Cluster::threads(2) },
    Cluster { transport: Transport::Bytes, ..Cluster::threads(3) },
];

/// Runs `work`, and fails instead of hanging when it takes longer than a minute.
pub fn within_a_minute<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || sender.send(work()));
    match receiver.recv_timeout(std::time::Duration::from_secs(60)) {
        Ok(result) => result,
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("still running after a minute"),
        Err(_) => std::panic::resume_unwind(thread.join().expect_err("the work panicked")),
    }
}

/// Checks that every worker keeps its own rows of a decomposition.
pub fn assert_shards_of(matrix: &Matrix, options: &svd::Options, cluster: Cluster, whole: Svd) {
    let prepared = Prepared::with_parts_formed(matrix, None, options, cluster).unwrap();
    let checked: Result<(), SvdError> = run(cluster, prepared.programs(), move |session| {
        let triplets = decompose_on(session, &prepared, &Monitor::default())?;
        for (shard, dense) in [(&triplets.left, &whole.left), (&triplets.right, &whole.right)] {
            for (place, row) in shard.rows().iter().enumerate() {
                assert_eq!(shard.panel().row(place), dense.row(row));
            }
        }
        Ok(())
    });
    checked.unwrap();
}

/// A decomposition that has the same bits on every cluster.
pub fn decomposed(matrix: &Matrix, options: &svd::Options) -> Svd {
    let on = |cluster| {
        let (matrix, options) = (matrix.clone(), options.clone());
        within_a_minute(move || svd::decompose(&matrix, &options, cluster).unwrap())
    };
    let first = on(CLUSTERS[0]);
    for cluster in &CLUSTERS[1..] {
        assert!(on(*cluster) == first, "{matrix}: other bits on {cluster:?}");
    }
    first
}

/// The larger of ‖Mv − σu‖/σ and ‖Mᵀu − σv‖/σ of every triplet, in f64.
pub fn residuals(table: &Table, svd: &Svd) -> Vec<f64> {
    let (left, right) = (Table::of_dense(&svd.left), Table::of_dense(&svd.right));
    let distance = |images: &Table, vectors: &Table, column: usize, value: f64| {
        let square = |row| (images.at(row, column) - value * vectors.at(row, column)).powi(2);
        (0..images.rows).map(square).sum::<f64>().sqrt() / value
    };
    let (images, back) = (table.times(&right), table.t().times(&left));
    let of_triplet =
        |(column, &value)| distance(&images, &left, column, value).max(distance(&back, &right, column, value));
    svd.singular_values.iter().enumerate().map(of_triplet).collect()
}
