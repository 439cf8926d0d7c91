//! What keysweep claims, each claim shown against the real thing: the built binary, the
//! distribution's `sqlite3`, Python, Prometheus. One file a subject; `support` starts the real things.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

mod commands;
mod contract;
mod daemon;
mod locks;
mod record;
mod walk;
