//! Theorem 2 of the paper: the network starts as the linear classifier.

use super::world::{
    Rows, assert_close, average_rows, linear, multiply, neighbour_rows, one_hot, problem, rows_of, shape,
};
use crate::dataset::UNLABELLED;
use crate::engine::Cluster;
use crate::finetune::network::{Network, NetworkError, score};

/// Rows one beside the other.
fn beside(parts: &[&Rows]) -> Rows {
    (0..parts[0].len()).map(|row| parts.iter().flat_map(|part| part[row].iter().copied()).collect()).collect()
}

#[test]
fn at_the_start_it_computes_what_the_linear_classifier_computes() {
    let problem = problem(90, 260);
    let (average, neighbours) = (average_rows(&problem.propagation), neighbour_rows(&problem.propagation));
    for (layers, label_reuse) in [(0, false), (1, false), (1, true), (2, false), (2, true), (3, true)] {
        let shape = shape(layers, label_reuse);
        let network = Network::from_linear(&linear(shape), shape).unwrap();
        let scores = score(&problem, &network, &problem.learn, 1, Cluster::threads(2)).unwrap();
        let known = problem.classes_of(&problem.learn, shape).unwrap();
        let x = rows_of(&problem.features);
        let mut blocks = vec![x.clone()];
        let (mut of_features, mut of_labels) = (x, multiply(&neighbours, &one_hot(&known, shape.classes)));
        for layer in 1..=layers {
            of_features = multiply(&average, &of_features);
            if layer > 1 {
                of_labels = multiply(&average, &of_labels);
            }
            blocks.push(if label_reuse { beside(&[&of_features, &of_labels]) } else { of_features.clone() });
        }
        let expected = multiply(&beside(&blocks.iter().collect::<Vec<_>>()), &rows_of(&linear(shape)));
        for (node, expected) in expected.iter().enumerate() {
            for (class, &got) in scores.row(node).iter().enumerate() {
                assert_close(got, expected[class], (layers, label_reuse, node, class));
            }
        }
    }
}

#[test]
fn the_second_pass_hears_what_the_first_one_said_of_nodes_that_are_not_known() {
    let (problem, shape) = (problem(60, 200), shape(1, true));
    let network = Network::from_linear(&linear(shape), shape).unwrap();
    let [once, twice] =
        [1, 2].map(|passes| score(&problem, &network, &problem.learn, passes, Cluster::threads(2)).unwrap());
    let known = problem.classes_of(&problem.learn, shape).unwrap();
    let mut labels = one_hot(&known, 3);
    for node in (0..60).filter(|&node| known[node] == UNLABELLED) {
        let powers: Vec<f64> = once.row(node).iter().map(|&logit| f64::from(logit).exp()).collect();
        let total: f64 = powers.iter().sum();
        labels[node] = powers.iter().map(|power| power / total).collect();
    }
    let told = multiply(&neighbour_rows(&problem.propagation), &labels);
    let averaged = multiply(&average_rows(&problem.propagation), &rows_of(&problem.features));
    let matrix = beside(&[&rows_of(&problem.features), &averaged, &told]);
    let expected = multiply(&matrix, &rows_of(&linear(shape)));
    for (node, expected) in expected.iter().enumerate() {
        twice.row(node).iter().enumerate().for_each(|(k, &got)| assert_close(got, expected[k], (node, k)));
    }
}

#[test]
fn weights_of_another_shape_are_refused() {
    let refused = Network::from_linear(&linear(shape(2, true)), shape(2, false)).unwrap_err();
    assert!(matches!(refused, NetworkError::WrongShape { .. }), "{refused}");
    let network = Network::from_linear(&linear(shape(2, true)), shape(2, true)).unwrap();
    let copy = Network::from_parameters(network.shape(), network.parameters().to_vec());
    assert_eq!(copy, Some(network.clone()));
    assert_eq!(Network::from_parameters(shape(1, true), network.parameters().to_vec()), None);
}
