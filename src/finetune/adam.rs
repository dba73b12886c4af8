//! The Adam optimiser (Kingma and Ba, 2015).

use serde::{Deserialize, Serialize};

/// Decay of the mean of the gradients.
const MEAN_DECAY: f64 = 0.9;
/// Decay of the mean of their squares.
const SQUARE_DECAY: f64 = 0.999;
/// Keeps a step finite where gradients vanish.
const EPSILON: f64 = 1e-8;

/// The state of the optimiser.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adam {
    learning_rate: f64,
    steps: i32,
    means: Vec<f64>,
    squares: Vec<f64>,
}

impl Adam {
    /// An optimiser of `parameters` parameters.
    pub fn new(parameters: usize, learning_rate: f64) -> Self {
        Self { learning_rate, steps: 0, means: vec![0.0; parameters], squares: vec![0.0; parameters] }
    }

    /// Changes the learning rate and keeps the moments.
    pub fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }

    /// Takes one step down the gradient.
    ///
    /// # Panics
    /// If the number of parameters or gradients differs from that of [`Adam::new`].
    pub fn step(&mut self, parameters: &mut [f64], gradients: &[f64]) {
        assert!(
            parameters.len() == self.means.len() && gradients.len() == self.means.len(),
            "one gradient a parameter"
        );
        self.steps = self.steps.saturating_add(1);
        let mean_scale = 1.0 / (1.0 - MEAN_DECAY.powi(self.steps));
        let square_scale = 1.0 / (1.0 - SQUARE_DECAY.powi(self.steps));
        let state = self.means.iter_mut().zip(&mut self.squares);
        for ((parameter, &gradient), (mean, square)) in parameters.iter_mut().zip(gradients).zip(state) {
            *mean = MEAN_DECAY * *mean + (1.0 - MEAN_DECAY) * gradient;
            *square = SQUARE_DECAY * *square + (1.0 - SQUARE_DECAY) * gradient * gradient;
            *parameter -= self.learning_rate * *mean * mean_scale / ((*square * square_scale).sqrt() + EPSILON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_is_as_long_as_the_learning_rate() {
        let mut parameters = [1.0, 1.0, 1.0];
        Adam::new(3, 0.1).step(&mut parameters, &[5.0, -0.01, 0.0]);
        for (parameter, expected) in parameters.iter().zip([0.9, 1.1, 1.0]) {
            assert!((parameter - expected).abs() < 1e-6, "{parameter}");
        }
    }

    #[test]
    fn it_finds_the_bottom_of_a_bowl() {
        let mut parameters = [3.0, -2.0];
        let mut adam = Adam::new(2, 0.05);
        for _ in 0..2000 {
            let gradients = [2.0 * (parameters[0] - 1.0), 20.0 * (parameters[1] - 0.5)];
            adam.step(&mut parameters, &gradients);
        }
        assert!((parameters[0] - 1.0).abs() < 1e-3 && (parameters[1] - 0.5).abs() < 1e-3, "{parameters:?}");
    }
}
