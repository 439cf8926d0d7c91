//! What keysweep claims, each claim shown against the real thing: the built binary, the
//! distribution's `sqlite3`, Python, Prometheus. One file a subject; `support` starts the real things.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

mod application;
mod commands;
mod contract;
mod crash;
mod daemon;
mod locked;
mod locks;
mod memory;
mod record;
mod walk;
