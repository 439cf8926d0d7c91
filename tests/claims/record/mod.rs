//! Record once, replay, and never pay twice.

mod counter;
mod killed;
mod many;
mod operation;
mod shop;
mod storage;
mod swept;

use std::path::{Path, PathBuf};

use crate::support::database::shell;

/// A program of `tests/programs`, built beside this one.
pub fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(
        program.exists(),
        "{program:?} is not built: run `cargo build --examples`, or all of `cargo test`"
    );
    program
}

/// Both tables of the counter, as the distribution's shell sees them.
fn tables(path: &Path) -> String {
    shell(path, "SELECT * FROM business; SELECT * FROM requests ORDER BY scope, key;")
}
