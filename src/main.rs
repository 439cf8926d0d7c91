//! The keysweep command: parse flags, call the library, turn the outcome into an exit status.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    keysweep::cli::main()
}
