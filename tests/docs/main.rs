//! What the README, `docs/` and `examples/` tell people to write and to type works as they say.

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
