//! What the SVD starts and gradients finish.
//!
//! For link prediction that is one kernel over the powers of the singular values: [`Kernel`], trained by [`tune`]. For node
//! classification it is a [`network`] that starts as the linear classifier.
//! For node classification it is the Split-ReLU [`network`].

mod adam;
mod kernel;
pub mod network;
mod tune;

pub use adam::Adam;
pub use kernel::{Kernel, MOST_SPREAD, POWERS};
pub use tune::{Options, Progress, TuneError, TuneProgress, Tuned, tune};
