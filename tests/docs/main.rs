//! The commands and programs of the README, `docs/` and `examples/` work.

#[path = "../support/mod.rs"]
mod support;

mod commands;
mod examples;
mod generated;
mod links;
mod modules;
mod needs;
mod page;
mod readme;
mod source;
mod walk;
