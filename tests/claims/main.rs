//! What keysweep claims, each claim shown against the real thing: the built binary, the
//! distribution's `sqlite3`, Python, Prometheus. One file a subject; `support` starts the real things.

// clippy.toml allows these in a #[test] itself, not in what it calls.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

mod clocks;
mod daemon;
mod demo;
mod http;
mod logs;
mod looking;
mod prometheus;
