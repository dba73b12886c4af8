//! Which parts of a matrix to write down before it is multiplied by.
//!
//! A part that is used in every product can be formed once, if that takes less time over the whole run and its entries fit:
//! 140 rows of a matrix with millions of columns, yes; a power of T that fills up, hardly ever. Every part that may pay is tried, the one
//! that saves most is taken, and so on while anything is saved.

use std::collections::HashMap;

use super::cost::Machine;
use super::program::{Program, Side};
use crate::matrix::{Dense, Kind, Matrix};

/// At most so many parts are tried, from the whole matrix down.
const MOST_TRIED: usize = 32;
/// At most so many are formed.
const MOST_FORMED: usize = 4;
/// Longer programs are not planned again for every part.
const LONGEST_PROGRAM: usize = 256;
/// Seconds that it takes to start workers for forming something.
const START: f64 = 2e-3;
/// What forming must save at least, of the time without it: estimates are not that exact.
const LEAST_SAVED: f64 = 0.1;

/// How often a matrix will be multiplied by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Columns of every panel.
    pub block: usize,
    /// Panels that are multiplied by the matrix.
    pub plain: usize,
    /// Panels that are multiplied by its transpose.
    pub transposed: usize,
}

/// What forming parts of a matrix comes to, in seconds of the reference machine.
#[derive(Debug, Clone, Default)]
pub struct Forming {
    /// The parts to form.
    pub parts: Vec<Matrix>,
    /// Seconds of all products with nothing formed.
    pub without: f64,
    /// Seconds of forming the parts, and of all products then.
    pub with: f64,
    /// Bytes of the parts, and of what is in memory while they are formed.
    pub bytes: u64,
}

/// The parts of a matrix that are worth forming, in no more than `limit` bytes. `programs` multiply by the matrix and by its
/// transpose.
pub fn what_to_form(matrix: &Matrix, programs: [&Program; 2], work: Work, limit: u64) -> Forming {
    let without = work.seconds(programs);
    let mut best = Forming { without, with: without, ..Forming::default() };
    if programs.iter().any(|program| program.steps().len() > LONGEST_PROGRAM) {
        return best;
    }
    let mut candidates = Vec::new();
    parts(matrix, &mut HashMap::new(), &mut candidates);
    candidates.truncate(MOST_TRIED);
    // Whatever else is saved, its entries are multiplied by then.
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

/// How many bytes it takes to write a matrix down: its entries, and what is in memory on the way.
pub fn bytes_to_form(matrix: &Matrix) -> u64 {
    let shape = matrix.shape();
    // Counting the steps of a program takes their shapes, not their entries.
    Dense::outline(shape.rows, shape.columns).bytes().saturating_add(Program::forming(matrix).count(0).temporary_bytes)
}

impl Program {
    /// The program that makes the entries of a matrix, or those of its transpose if it is wider than high: a walk from each
    /// row, not one from each column.
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
    /// The matrix with the parts to form in outline: as it will be multiplied by.
    pub fn outlined(&self, matrix: &Matrix) -> Matrix {
        outlined(matrix, &self.parts)
    }
}

/// The matrix with some of its parts in outline.
fn outlined(matrix: &Matrix, parts: &[Matrix]) -> Matrix {
    matrix.with_parts(&parts.iter().map(|part| (part.identity_key(), outline(part))).collect::<HashMap<_, _>>())
}

/// A matrix as it is when its entries are written down.
fn outline(matrix: &Matrix) -> Matrix {
    let shape = matrix.shape();
    Matrix::dense("formed", Dense::outline(shape.rows, shape.columns)).unwrap_or_else(|_| matrix.clone())
}

/// What a part of a matrix is made of.
#[derive(Clone, Copy, Default)]
struct Made {
    /// Whether it takes a product with a sparse matrix.
    of_products: bool,
    /// Whether it is near a matrix of ones: beside a large constant, entries of 32 bits lose what matters.
    of_ones: bool,
}

/// The parts of a matrix that can be worth forming, the matrix itself first.
fn parts(matrix: &Matrix, seen: &mut HashMap<usize, Made>, found: &mut Vec<Matrix>) -> Made {
    if let Some(made) = seen.get(&matrix.identity_key()) {
        return *made;
    }
    let place = found.len();
    let mut made = Made::default();
    match matrix.kind() {
        Kind::Sparse { .. } => made.of_products = true,
        Kind::Ones => made.of_ones = true,
        _ => matrix.for_each_part(|part| {
            let of_part = parts(part, seen, found);
            made.of_products |= of_part.of_products;
            made.of_ones |= of_part.of_ones;
        }),
    }
    // What is only turned or scaled is formed as what it is of.
    let is_another = matches!(matrix.kind(), Kind::Sparse { .. } | Kind::Scaled(..) | Kind::Transpose(_));
    if made.of_products && !made.of_ones && !is_another {
        found.insert(place, matrix.clone());
    }
    seen.insert(matrix.identity_key(), made);
    made
}
