//! Results over HTTP: the real binary, real connections, a real browser.

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod limits;
mod many;
mod page;
mod small;
mod stop;
mod world;
