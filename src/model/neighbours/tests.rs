use proptest::prelude::*;

use super::*;
use crate::kernel::random::{bits, normal};
use crate::matrix::Dense;

/// Vectors of which some are zero, some alike and some very short or long.
fn drawn(rows: usize, rank: usize, seed: u64) -> Dense {
    let entry = |row: usize, column: usize| {
        let kind = bits(seed, 7, row as u64, 0) % 8;
        let of = if kind == 1 { row as u64 % 3 } else { row as u64 };
        let length = [0.0, 1.0, 1.0, 1e-12, 1e12, 1.0, 1.0, 1.0][kind as usize];
        length * normal(seed, 8, of, column as u32)
    };
    let data = (0..rows * rank).map(|place| entry(place / rank, place % rank)).collect();
    Dense::new(rows, rank, data).unwrap()
}

fn vectors(rows: usize, rank: usize, seed: u64) -> Arc<Vectors> {
    Arc::new(Vectors { left: drawn(rows, rank, seed), right: drawn(rows, rank, seed + 1) })
}

/// All rows compared one by one in double precision, and sorted.
fn slowly(vectors: &Vectors, by: By, question: u32, top: usize) -> Vec<Neighbour> {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
    let score = |row: u32| match by {
        By::Score { is_directed } => vectors.exact_score(question, row, is_directed) + 0.0,
        By::Cosine(side) => {
            let one: Vec<f32> = vectors.row(side, question as usize).collect();
            let other: Vec<f32> = vectors.row(side, row as usize).collect();
            let lengths = dot(&one, &one).sqrt() * dot(&other, &other).sqrt();
            if lengths > 0.0 { dot(&one, &other) / lengths + 0.0 } else { 0.0 }
        }
    };
    let others = (0..vectors.left.rows() as u32).filter(|&row| row != question);
    let mut all: Vec<(f64, u32)> = others.map(|row| (score(row), row)).collect();
    all.sort_by(|one, other| other.0.partial_cmp(&one.0).unwrap().then(one.1.cmp(&other.1)));
    all.truncate(top);
    all.into_iter().map(|(score, row)| Neighbour { row, score: score as f32 }).collect()
}

const ALL: [By; 5] = [
    By::Cosine(Side::Left),
    By::Cosine(Side::Right),
    By::Cosine(Side::Both),
    By::Score { is_directed: true },
    By::Score { is_directed: false },
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn neighbours_are_those_of_comparing_all_rows(
        rows in 1usize..1500, rank in 0usize..40, top in 0usize..30, by in 0usize..5, seed in 0u64..1000, asked in 1usize..150,
    ) {
        let (vectors, by) = (vectors(rows, rank, seed), ALL[by]);
        let neighbours = Neighbours::new(vectors.clone(), by).unwrap();
        let asked: Vec<u32> = (0..asked as u64).map(|n| (bits(seed, 9, n, 0) % rows as u64) as u32).collect();
        let found = neighbours.of(&asked, top, 1);
        prop_assert_eq!(found.len(), asked.len());
        for (&question, found) in asked.iter().zip(&found) {
            prop_assert_eq!(found, &slowly(&vectors, by, question, top));
        }
        for threads in [2, 3] {
            prop_assert_eq!(&neighbours.of(&asked, top, threads), &found);
            prop_assert_eq!(&neighbours.of(&asked[..1], top, threads)[0], &found[0]);
        }
    }
}

#[test]
fn equals_come_in_the_order_of_their_rows() {
    let alike = Dense::new(2000, 3, [1.0, 2.0, 3.0].repeat(2000)).unwrap();
    let vectors = Arc::new(Vectors { right: alike.clone(), left: alike });
    for by in ALL {
        let found = Neighbours::new(vectors.clone(), by).unwrap().of(&[2, 1999], 4, 3);
        let rows = |n: usize| found[n].iter().map(|neighbour| neighbour.row).collect::<Vec<_>>();
        assert_eq!((rows(0), rows(1)), (vec![0, 1, 3, 4], vec![0, 1, 2, 3]), "{by:?}");
    }
}

/// Catches scores that are compared after they were rounded to single precision: 1 − 5e-9 and 1 −
/// 1e-9 are one number there.
#[test]
fn scores_that_differ_in_double_precision_alone_are_told_apart() {
    let left = Dense::new(4, 2, vec![1.0, 0.0, 1.0, 1e-4, 1.0, 5e-5, 1.0, 1e-4]).unwrap();
    let right = Dense::new(4, 2, vec![1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]).unwrap();
    let vectors = Arc::new(Vectors { left, right });
    let rows = |by, question, threads| {
        let found = Neighbours::new(vectors.clone(), by).unwrap().of(&[question], 3, threads);
        found[0].iter().map(|neighbour| neighbour.row).collect::<Vec<_>>()
    };
    for threads in 1..=3 {
        assert_eq!(rows(By::Cosine(Side::Left), 0, threads), [2, 1, 3]);
        assert_eq!(rows(By::Score { is_directed: true }, 1, threads), [2, 3, 0]);
    }
    let close = Dense::new(3, 2, vec![1.0, 1.0, 1.0, 1e-9, 1.0, 2e-9]).unwrap();
    let vectors = Arc::new(Vectors { left: close.clone(), right: close });
    let found = Neighbours::new(vectors, By::Score { is_directed: true }).unwrap().of(&[0], 2, 1);
    assert_eq!(found[0].iter().map(|neighbour| neighbour.row).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn more_than_there_are_is_all_there_are() {
    let neighbours = Neighbours::new(vectors(3, 2, 1), By::Cosine(Side::Left)).unwrap();
    assert_eq!(neighbours.of(&[0], usize::MAX, 2)[0].len(), 2);
    assert!(neighbours.of(&[], 5, 2).is_empty());
    let alone = Neighbours::new(vectors(1, 2, 1), By::Score { is_directed: false }).unwrap();
    assert_eq!(alone.of(&[0], 5, 2), [vec![]]);
}

#[test]
fn sides_of_different_rows_are_not_taken_together() {
    let vectors = Arc::new(Vectors { left: drawn(3, 2, 1), right: drawn(4, 2, 1) });
    assert!(Neighbours::new(vectors.clone(), By::Cosine(Side::Right)).is_ok());
    for by in [By::Cosine(Side::Both), By::Score { is_directed: true }] {
        assert_eq!(Neighbours::new(vectors.clone(), by).unwrap_err(), UnlikeSides { left: 3, right: 4 });
    }
}
