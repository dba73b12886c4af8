//! What the SVD starts and gradients finish.
//!
//! For link prediction that is one kernel over the powers of the singular values: [`Kernel`], trained by [`tune`].

mod adam;
mod kernel;
mod tune;

pub use adam::Adam;
pub use kernel::{Kernel, MOST_SPREAD, POWERS};
pub use tune::{Options, Progress, TuneError, Tuned, tune};
