//! Retention of idempotency keys and other finished records.
#![forbid(unsafe_code)]

pub mod observe;
pub mod plan;
