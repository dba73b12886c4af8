//! What the network must do, checked against slow and obvious computations in f64.

mod gradient;
mod linear;
mod sampling;
mod training;
mod world;
