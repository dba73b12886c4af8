//! The numbers of a network.

use serde::{Deserialize, Serialize};

use super::NetworkError;
use super::shape::{NetworkShape, Product};
use crate::matrix::{Dense, Shape};

/// A Split-ReLU network: its shape and its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Network {
    shape: NetworkShape,
    parameters: Vec<f64>,
}

impl Network {
    /// The network that computes what the linear classifier with these weights computes. Their rows
    /// are those of `[X, ÂX, ZY, Â²X, ÂZY, …]`, or of `[X, ÂX, Â²X, …]` without labels.
    pub fn from_linear(weights: &Dense, shape: NetworkShape) -> Result<Self, NetworkError> {
        let needed = Shape::new(shape.linear_rows(), shape.classes);
        if weights.shape() != needed {
            return Err(NetworkError::WrongShape {
                what: "the weight matrix of the linear classifier",
                given: weights.shape(),
                needed,
            });
        }
        shape.check_size()?;
        let mut parameters = vec![0.0; shape.parameters()];
        let products = shape.products();
        let mut set = |product: &Product, row: usize, column: usize, value: f64| {
            let weights = &mut parameters[product.weights()][row * product.both()..][..product.both()];
            weights[column] = value;
            weights[product.columns + column] = -value;
        };
        for layer in 1..=shape.layers {
            (0..shape.width()).for_each(|row| set(&products[shape.hidden(layer)], row, row, 1.0));
        }
        let mut first_row = 0;
        for layer in 0..=shape.layers {
            for row in 0..shape.columns(layer) {
                let weights = weights.row(first_row + row).iter().enumerate();
                weights.for_each(|(column, &w)| set(&products[shape.output(layer)], row, column, f64::from(w)));
            }
            first_row += shape.columns(layer);
        }
        Ok(Self { shape, parameters })
    }

    /// A network from what [`Network::parameters`] gave; `None` if there are not as many as its
    /// shape needs, or one of them is no finite number.
    pub fn from_parameters(shape: NetworkShape, parameters: Vec<f64>) -> Option<Self> {
        shape.check_size().ok()?;
        let is_whole = parameters.len() == shape.parameters() && parameters.iter().all(|number| number.is_finite());
        is_whole.then_some(Self { shape, parameters })
    }

    /// What it takes and gives.
    pub fn shape(&self) -> NetworkShape {
        self.shape
    }

    /// All its numbers: for every product the weights `[W₊ | W₋]`, row after row, and the biases
    /// `[b₊ | b₋]`; first the products that make the layers, then those that make the outputs of
    /// the layers.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    pub(super) fn parameters_mut(&mut self) -> &mut [f64] {
        &mut self.parameters
    }
}

/// The parameters of a product as the kernels want them.
#[derive(Debug, Clone, Default)]
pub(super) struct Factor {
    pub(super) weights: Vec<f32>,
    pub(super) transposed: Vec<f32>,
    pub(super) biases: Vec<f32>,
}

/// The parameters of a network as the kernels want them.
#[derive(Debug, Clone)]
pub(super) struct Factors {
    pub(super) shape: NetworkShape,
    pub(super) products: Vec<Product>,
    factors: Vec<Factor>,
}

impl Factors {
    pub(super) fn of(network: &Network) -> Self {
        let products = network.shape.products();
        let mut factors = Self { shape: network.shape, factors: vec![Factor::default(); products.len()], products };
        factors.refresh(network);
        factors
    }

    /// Follows the network to its present parameters.
    pub(super) fn refresh(&mut self, network: &Network) {
        for (product, factor) in self.products.iter().zip(&mut self.factors) {
            round(&network.parameters[product.weights()], &mut factor.weights);
            round(&network.parameters[product.biases()], &mut factor.biases);
            factor.transposed.resize(factor.weights.len(), 0.0);
            for (row, weights) in factor.weights.chunks_exact(product.both()).enumerate() {
                for (column, &weight) in weights.iter().enumerate() {
                    factor.transposed[column * product.depth + row] = weight;
                }
            }
        }
    }

    pub(super) fn get(&self, product: usize) -> (&Product, &Factor) {
        (&self.products[product], &self.factors[product])
    }
}

fn round(from: &[f64], to: &mut Vec<f32>) {
    to.clear();
    to.extend(from.iter().map(|&value| value as f32));
}
