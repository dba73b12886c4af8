//! Trees of drawn neighbours against all of them.

use std::sync::Arc;

use super::world::{Tables, assert_close, bent, linear, problem, shape};
use crate::engine::Cluster;
use crate::finetune::network::parameters::Factors;
use crate::finetune::network::pass::{Chance, Pass};
use crate::finetune::network::{Network, score};

fn without_dropout(fanouts: &[Option<usize>], piece: u64) -> Chance<'_> {
    Chance { fanouts, dropout: 0.0, seed: 2, piece }
}

/// All neighbours everywhere give what the whole graph gives, for a known seed as if its label were
/// not known.
#[test]
fn all_neighbours_give_the_scores_of_the_whole_graph_without_the_label_of_the_seed() {
    let problem = problem(40, 70);
    for (layers, label_reuse) in [(1, true), (2, true), (3, true), (2, false)] {
        let shape = shape(layers, label_reuse);
        let (tables, network) = (Tables::new(&problem, shape), bent(shape));
        let seeds = [0, 1, 2, 3, 5, 17, 39];
        // The last fan-out as a look-up, and as a number that no degree passes.
        for last in [None, Some(40)] {
            let mut fanouts = vec![None; layers];
            fanouts[layers - 1] = last;
            let mut pass = Pass::default();
            pass.forward(tables.inputs(), &Factors::of(&network), &seeds, without_dropout(&fanouts, 0));
            for (row, &seed) in seeds.iter().enumerate() {
                let others: Vec<u32> = problem.learn.iter().copied().filter(|&node| node != seed).collect();
                let scores = score(&problem, &network, &others, 1, Cluster::threads(1)).unwrap();
                for (class, &expected) in scores.row(seed as usize).iter().enumerate() {
                    assert_close(pass.logits.row(row)[class], f64::from(expected), (layers, last, seed, class));
                }
            }
        }
    }
}

#[test]
fn a_seed_does_not_hear_of_its_own_label() {
    let (original, shape) = (problem(40, 120), shape(3, true));
    let factors = Factors::of(&bent(shape));
    for fanouts in [[Some(3), Some(2), Some(4)], [Some(3), Some(2), None]] {
        let before = Tables::new(&original, shape);
        for &seed in &original.learn[..8] {
            let mut changed = original.clone();
            let mut labels = original.labels.to_vec();
            labels[seed as usize] = (labels[seed as usize] + 1) % 3;
            changed.labels = Arc::from(labels);
            let after = Tables::new(&changed, shape);
            let neighbour = original.learn.iter().copied().find(|&other| other != seed).unwrap();
            let [one, other] = [&before, &after].map(|tables| {
                let mut pass = Pass::default();
                pass.forward(tables.inputs(), &factors, &[seed, neighbour], without_dropout(&fanouts, 5));
                pass.logits
            });
            for (one, other) in one.row(0).iter().zip(other.row(0)) {
                assert_close(*one, f64::from(*other), (fanouts, seed));
            }
        }
    }
}

#[test]
fn labels_of_others_are_heard() {
    let (original, shape) = (problem(40, 120), shape(2, true));
    let mut changed = original.clone();
    changed.labels = original.labels.iter().map(|class| (class + 1) % 3).collect();
    let [one, other] = [&original, &changed].map(|problem| {
        let mut pass = Pass::default();
        let (tables, factors) = (Tables::new(problem, shape), Factors::of(&bent(shape)));
        pass.forward(tables.inputs(), &factors, &[1], without_dropout(&[Some(3), Some(2)], 5));
        pass.logits
    });
    assert_ne!(one.row(0), other.row(0));
}

/// The network is linear at its start, so its mean over draws is that of the products of drawn
/// matrices.
#[test]
fn drawn_neighbours_are_right_in_the_mean() {
    let (problem, shape) = (problem(40, 200), shape(2, true));
    let network = Network::from_linear(&linear(shape), shape).unwrap();
    let (tables, factors) = (Tables::new(&problem, shape), Factors::of(&network));
    let expected = score(&problem, &network, &problem.learn, 1, Cluster::threads(1)).unwrap();
    let draws = 20_000;
    for fanouts in [[Some(3), Some(2)], [Some(3), None]] {
        let (mut means, mut squares) = ([0.0; 3], [0.0; 3]);
        let mut pass = Pass::default();
        for piece in 0..draws {
            pass.forward(tables.inputs(), &factors, &[3], without_dropout(&fanouts, piece));
            for (class, &logit) in pass.logits.row(0).iter().enumerate() {
                means[class] += f64::from(logit) / draws as f64;
                squares[class] += f64::from(logit).powi(2) / draws as f64;
            }
        }
        for (class, &expected) in expected.row(3).iter().enumerate() {
            let deviation = (squares[class] - means[class].powi(2)).sqrt() / (draws as f64).sqrt();
            assert!(deviation > 1e-6, "draws differ");
            let error = (means[class] - f64::from(expected)).abs();
            assert!(error < 4.5 * deviation, "{fanouts:?}, class {class}: {error} with deviation {deviation}");
        }
    }
}

#[test]
fn neighbours_are_drawn_once_and_equally_often() {
    let (problem, shape) = (problem(40, 200), shape(1, true));
    let tables = Tables::new(&problem, shape);
    let degree = tables.inputs().walk.neighbours.degree(3);
    assert!(degree > 5);
    let mut counts = [0; 40];
    let mut trees = Pass::default().trees;
    for piece in 0..4000 {
        trees.grow(tables.inputs().walk, &[3], &[Some(4)], 7, piece);
        let mut drawn = trees.nodes[1..].to_vec();
        drawn.iter().for_each(|&node| counts[node as usize] += 1);
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 4);
    }
    for &neighbour in tables.inputs().walk.neighbours.targets(3) {
        let share = f64::from(counts[neighbour as usize]) / 4000.0;
        assert!((share - 4.0 / degree as f64).abs() < 0.04, "{share} of {degree}");
    }
}
