//! A graph whose edges change while it is embedded, followed by the real binary.

#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod resume;
mod same;
mod sources;
mod world;
