//! Whole trainings.

use std::sync::{Arc, Mutex};

use super::world::{linear, problem, shape};
use crate::dataset::UNLABELLED;
use crate::engine::{Cluster, Monitor};
use crate::finetune::network::{EpochProgress, Network, NetworkError, Options, Phase, Problem, Trained, score, train};

fn options(schedule: &[(usize, f64)]) -> Options {
    let phase = |&(epochs, learning_rate): &(usize, f64)| Phase { epochs, learning_rate };
    Options {
        schedule: schedule.iter().map(phase).collect(),
        batch: 150,
        fanouts: vec![Some(3), Some(2)],
        dropout: 0.3,
        weight_decay: 1e-4,
        train_on_valid: false,
        seed: 4,
    }
}

fn start() -> Network {
    Network::from_linear(&linear(shape(2, true)), shape(2, true)).unwrap()
}

fn run(problem: &Problem, options: &Options, workers: usize) -> Result<Trained, NetworkError> {
    train(Arc::new(problem.clone()), start(), options, Cluster::threads(workers), Monitor::default())
}

fn valid_accuracy(problem: &Problem, network: &Network) -> f64 {
    let scores = score(problem, network, &problem.learn, 1, Cluster::threads(1)).unwrap();
    let is_hit = |&&node: &&u32| {
        let row = scores.row(node as usize);
        let of_class = row[problem.labels[node as usize] as usize];
        row.iter().all(|&score| score <= of_class)
    };
    problem.valid.iter().filter(is_hit).count() as f64 / problem.valid.len() as f64
}

#[test]
fn bits_do_not_depend_on_the_number_of_workers() {
    let problem = problem(900, 3000);
    for fanouts in [[Some(3), Some(2)], [Some(3), None]] {
        let options = Options { fanouts: fanouts.into(), ..options(&[(1, 1e-2), (1, 1e-3)]) };
        let [one, two, three] = [1, 2, 3].map(|workers| run(&problem, &options, workers).unwrap());
        for other in [two, three] {
            assert_eq!(one.network, other.network);
            let figures = |t: &Trained| t.epochs.iter().map(|e| (e.loss, e.valid_accuracy)).collect::<Vec<_>>();
            assert_eq!(figures(&one), figures(&other));
        }
    }
}

#[test]
fn the_best_epoch_is_kept() {
    let problem = problem(900, 3000);
    // It learns, then far too long steps break what it has learnt.
    let trained = run(&problem, &options(&[(6, 1e-2), (1, 1e3)]), 2).unwrap();
    let accuracies: Vec<f64> = trained.epochs.iter().map(|epoch| epoch.valid_accuracy.unwrap()).collect();
    let best = accuracies.iter().copied().fold(trained.start_accuracy.unwrap(), f64::max);
    assert_eq!(accuracies[trained.best_epoch - 1], best);
    assert!(trained.best_epoch <= 6 && best > trained.start_accuracy.unwrap() + 0.1, "{accuracies:?}");
    assert_eq!(valid_accuracy(&problem, &trained.network), best);
    assert!(trained.epochs[5].loss < 0.8 * trained.epochs[0].loss, "{:?}", trained.epochs);
}

#[test]
fn a_start_that_is_best_is_kept() {
    let problem = problem(900, 3000);
    let good = run(&problem, &options(&[(6, 1e-2)]), 2).unwrap().network;
    let trained =
        train(Arc::new(problem.clone()), good.clone(), &options(&[(1, 1e3)]), Cluster::threads(2), Monitor::default());
    let trained = trained.unwrap();
    assert_eq!((trained.best_epoch, trained.epochs.len()), (0, 1));
    assert_eq!(trained.network, good);
}

#[test]
fn where_valid_nodes_are_trained_on_the_last_epoch_is_kept() {
    let mut problem = problem(900, 3000);
    let learn_valid = problem.valid.clone();
    problem.learn.extend(learn_valid);
    let options = Options { train_on_valid: true, ..options(&[(3, 1e-2)]) };
    let trained = run(&problem, &options, 2).unwrap();
    assert_eq!((trained.best_epoch, trained.start_accuracy), (3, None));
    assert!(trained.epochs.iter().all(|epoch| epoch.valid_accuracy.is_none()));
}

#[test]
fn every_batch_and_validation_is_told() {
    let told: Arc<Mutex<Vec<EpochProgress>>> = Arc::default();
    let sink = told.clone();
    let progress = Arc::new(move |report: &EpochProgress| sink.lock().unwrap().push(*report));
    let problem = Arc::new(problem(900, 3000));
    let trained = train(problem, start(), &options(&[(2, 1e-2)]), Cluster::threads(2), Monitor::new(progress)).unwrap();
    let told = told.lock().unwrap();
    // 600 nodes are four batches; each epoch ends with a validation, and the start has one.
    let places: Vec<_> = told.iter().map(|report| (report.epoch, report.batch)).collect();
    assert_eq!(places, [(0, 0), (1, 1), (1, 2), (1, 3), (1, 4), (1, 4), (2, 1), (2, 2), (2, 3), (2, 4), (2, 4)]);
    let last = told.last().unwrap();
    assert_eq!((last.epochs, last.batches, last.valid_accuracy), (2, 4, trained.epochs[1].valid_accuracy));
    assert_eq!(last.loss, trained.epochs[1].loss);
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let problem = problem(60, 200);
    let good = options(&[(1, 1e-2)]);
    let says = |problem: &Problem, options: &Options| run(problem, options, 2).unwrap_err().to_string();
    let nobody = Problem { learn: vec![], ..problem.clone() };
    assert_eq!(says(&nobody, &good), "no node has a label to learn from: the network cannot be trained");
    let short = Options { fanouts: vec![None], ..good.clone() };
    assert_eq!(says(&problem, &short), "1 fan-outs for a network of 2 layers: give one a layer, each at least 1");
    let all = Options { dropout: 1.0, ..good.clone() };
    assert_eq!(says(&problem, &all), "the dropout rate is 1: it must be at least 0 and below 1");
    let unlabelled = Problem { labels: vec![UNLABELLED; 60].into(), ..problem.clone() };
    assert_eq!(says(&unlabelled, &good), "node 1 is to be learnt from, but it has no label below 3");
    let outside = Problem { learn: vec![60], ..problem.clone() };
    assert_eq!(says(&outside, &good), "there is no node 60: the graph has 60");
    let diverging = options(&[(3, 1e30)]);
    assert_eq!(says(&problem, &diverging), "the loss of batch 1 of epoch 2 is not finite: lower the learning rate");
}
