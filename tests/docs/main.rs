//! What the README and the pages of `docs/` tell people to write and to type works as they say.

#[path = "../support/mod.rs"]
mod support;

mod commands;
mod generated;
mod links;
mod modules;
mod page;
mod readme;
mod source;
mod walk;
