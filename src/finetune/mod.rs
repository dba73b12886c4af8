//! Training by gradient descent from the result of an SVD.
//!
//! For link prediction a [`Kernel`] over the powers of the singular values is trained by [`tune`].
//! For node classification the Split-ReLU [`network`] starts as the linear classifier.

mod adam;
mod kernel;
pub mod network;
mod tune;

pub use adam::Adam;
pub use kernel::{Kernel, MOST_SPREAD, POWERS};
pub use tune::{Options, Progress, TuneError, TuneProgress, Tuned, tune};
