//! What keysweep claims, each claim shown against the real thing: the built binary, the
//! distribution's `sqlite3`, Python, Prometheus. One file a subject; `support` starts the real things.

// clippy.toml allows these in a #[test] itself, not in what it calls.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

mod application;
mod booted;
mod boundary;
mod changed;
mod check;
mod clocks;
mod commands;
mod container;
mod contract;
mod crash;
mod crashed;
mod daemon;
mod demo;
mod documented;
mod explain;
mod full_speed;
mod guards;
mod http;
mod idle;
mod index;
mod instants;
mod invariant;
mod kubernetes;
mod listener;
mod locked;
mod locks;
mod logs;
mod looking;
mod memory;
mod model;
mod monitoring;
mod notified;
mod openings;
mod ownership;
mod pace;
mod page;
mod poison;
mod prometheus;
mod record;
mod references;
mod refused;
mod reload;
mod replaced;
mod schemas;
mod scrape;
mod shapes;
mod soak;
mod states;
mod sweep;
mod tenants;
mod wal;
mod walk;
mod walls;
