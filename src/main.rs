//! The keysweep command.
#![forbid(unsafe_code)]

fn main() {}
