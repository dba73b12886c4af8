//! Files of every format, downloads, and stores.

#[path = "../support/mod.rs"]
mod support;

mod fetch;
mod fetch_made_up;
mod formats;
mod store;
