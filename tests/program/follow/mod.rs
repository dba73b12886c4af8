//! A graph whose edges change while it is embedded, followed by the real binary.

mod bad_input;
mod resume;
mod same;
mod sources;
mod world;
