//! Chooses the parts of a matrix to form before the products.
//!
//! A part that is used in every product can be formed once, if its entries fit in memory and the
//! run then takes less time: 140 rows of a matrix with millions of columns do, a power of T that
//! fills in seldom does. The choice is greedy: the part that saves most is taken, as long as one
//! saves enough.

use std::collections::HashMap;

use super::cost::Machine;
use super::program::{Program, Side};
use crate::matrix::{Dense, Kind, Matrix};

/// Most parts that are tried, from the root of the expression down.
const MOST_TRIED: usize = 32;
/// Most parts that are formed.
const MOST_FORMED: usize = 4;
/// Steps of a program above which nothing is formed, since every part takes a plan of its own.
const LONGEST_PROGRAM: usize = 256;
/// Seconds to start the workers that form a part.
const START: f64 = 2e-3;
/// Least saving, relative to the time without forming: estimates are not more accurate.
const LEAST_SAVED: f64 = 0.1;

/// The products with a matrix in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Columns of every panel.
    pub block: usize,
    /// Products with the matrix.
    pub plain: usize,
    /// Products with its transpose.
    pub transposed: usize,
}

/// The parts of a matrix to form, with seconds of the reference machine.
#[derive(Debug, Clone, Default)]
pub struct Forming {
    /// The parts to form.
    pub parts: Vec<Matrix>,
    /// Seconds of all products if nothing is formed.
    pub without: f64,
    /// Seconds of forming the parts, and of all products afterwards.
    pub with: f64,
    /// Bytes of the parts, and of the panels in memory while they are formed.
    pub bytes: u64,
}

/// The parts of a matrix that are worth forming within `limit` bytes. `programs` multiply by the
/// matrix and by its transpose.
pub fn what_to_form(matrix: &Matrix, programs: [&Program; 2], work: Work, limit: u64) -> Forming {
    let without = work.seconds(programs);
    let mut best = Forming { without, with: without, ..Forming::default() };
    if programs.iter().any(|program| program.steps().len() > LONGEST_PROGRAM) {
        return best;
    }
    let mut candidates = Vec::new();
    parts(matrix, &mut HashMap::new(), &mut candidates);
    candidates.truncate(MOST_TRIED);
    // A lower bound: the products with the entries of the part alone.
    candidates.retain(|part| work.seconds_of(&outline(part)) <= (1.0 - LEAST_SAVED) * without);
    let mut formed = 0.0;
    while best.parts.len() < MOST_FORMED {
        let tried = candidates.iter().filter_map(|part| {
            let (bytes, forming) = (bytes_to_form(part), Program::forming(part).estimate(0, &Machine::REFERENCE));
            let forming = START + forming.seconds + forming.before;
            if best.bytes.saturating_add(bytes) > limit || formed + forming >= best.with {
                return None;
            }
            let mut parts = best.parts.clone();
            parts.push(part.clone());
            let with = formed + forming + work.seconds_of(&outlined(matrix, &parts));
            Some((with, forming, bytes, part))
        });
        let Some((with, forming, bytes, part)) = tried.min_by(|one, other| one.0.total_cmp(&other.0)) else { break };
        if with > best.with - LEAST_SAVED * without {
            break;
        }
        best.parts.push(part.clone());
        (best.with, best.bytes, formed) = (with, best.bytes + bytes, formed + forming);
    }
    best
}

/// Peak bytes of forming a matrix: its entries, and the panels in memory meanwhile.
pub fn bytes_to_form(matrix: &Matrix) -> u64 {
    let shape = matrix.shape();
    Dense::outline(shape.rows, shape.columns).bytes().saturating_add(Program::forming(matrix).count(0).temporary_bytes)
}

impl Program {
    /// The program that forms a matrix, or its transpose if that has fewer columns.
    pub fn forming(matrix: &Matrix) -> Program {
        let shape = matrix.shape();
        Program::form(&if shape.rows < shape.columns { matrix.t() } else { matrix.clone() })
    }
}

impl Work {
    /// Seconds of all products, by the programs of both sides.
    fn seconds(&self, [plain, transposed]: [&Program; 2]) -> f64 {
        let side = |program: &Program, panels: usize| {
            let estimate = program.estimate(self.block, &Machine::REFERENCE);
            panels as f64 * (estimate.seconds + estimate.before)
        };
        side(plain, self.plain) + side(transposed, self.transposed)
    }

    /// Seconds of all products with a matrix.
    fn seconds_of(&self, matrix: &Matrix) -> f64 {
        let [plain, transposed] = [Side::Plain, Side::Transposed].map(|side| Program::compile(matrix, side));
        self.seconds([&plain, &transposed])
    }
}

impl Forming {
    /// The matrix with its formed parts as outlines, for estimates of the products with it.
    pub fn outlined(&self, matrix: &Matrix) -> Matrix {
        outlined(matrix, &self.parts)
    }
}

/// The matrix with some parts replaced by outlines of dense matrices.
fn outlined(matrix: &Matrix, parts: &[Matrix]) -> Matrix {
    matrix.with_parts(&parts.iter().map(|part| (part.identity_key(), outline(part))).collect::<HashMap<_, _>>())
}

/// A dense matrix of the same shape, of which only the size is known.
fn outline(matrix: &Matrix) -> Matrix {
    let shape = matrix.shape();
    Matrix::dense("formed", Dense::outline(shape.rows, shape.columns)).unwrap_or_else(|_| matrix.clone())
}

/// The leaves below a part of a matrix.
#[derive(Clone, Copy, Default)]
struct Leaves {
    /// Whether there is a sparse matrix.
    has_sparse: bool,
    /// Whether there is a matrix of ones. Added to a large constant, 32-bit entries lose accuracy.
    has_ones: bool,
}

/// The parts of a matrix that may be worth forming, the matrix itself first.
fn parts(matrix: &Matrix, seen: &mut HashMap<usize, Leaves>, found: &mut Vec<Matrix>) -> Leaves {
    if let Some(leaves) = seen.get(&matrix.identity_key()) {
        return *leaves;
    }
    let place = found.len();
    let mut leaves = Leaves::default();
    matrix.for_each_part(|part| {
        let of_part = parts(part, seen, found);
        leaves.has_sparse |= of_part.has_sparse;
        leaves.has_ones |= of_part.has_ones;
    });
    let is_candidate = match matrix.kind() {
        Kind::Sparse { .. } => {
            leaves.has_sparse = true;
            false
        }
        Kind::Ones => {
            leaves.has_ones = true;
            false
        }
        // A multiple or a transpose is formed as the matrix inside.
        Kind::Scaled(..) | Kind::Transpose(_) => false,
        Kind::Dense { .. }
        | Kind::Diagonal { .. }
        | Kind::Own { .. }
        | Kind::Identity
        | Kind::Zero
        | Kind::Sum(..)
        | Kind::Difference(..)
        | Kind::Product(..)
        | Kind::Power(..)
        | Kind::Hstack(_)
        | Kind::Vstack(_)
        | Kind::Rows(..)
        | Kind::Columns(..)
        | Kind::Polynomial { .. } => leaves.has_sparse && !leaves.has_ones,
    };
    if is_candidate {
        found.insert(place, matrix.clone());
    }
    seen.insert(matrix.identity_key(), leaves);
    leaves
}
