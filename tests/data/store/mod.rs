//! `isvd-dist convert` and the stores that it makes.

mod damage;
mod made_up;
mod places;
mod same_bits;
mod share;
mod world;
