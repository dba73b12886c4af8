//! Results over HTTP: the real binary, real connections, a real browser.

mod answers;
mod limits;
mod many;
mod page;
mod small;
mod stop;
mod world;
