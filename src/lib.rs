//! Retention of idempotency keys and other finished records.
#![forbid(unsafe_code)]

pub mod census;
pub mod cli;
pub mod clock;
pub mod config;
pub mod daemon;
pub mod observe;
pub mod plan;
pub mod record;
pub mod schedule;
pub mod store;
pub mod tick;
