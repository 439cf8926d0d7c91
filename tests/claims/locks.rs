//! SQLite's locks: ours hold, and looking at a file does not drop them.

use std::process::{Command, Stdio};
use std::time::Duration;

use keysweep::plan::Rule;
use keysweep::store::Store;
use keysweep::store::sqlite::{Access, Sqlite};
use tokio_util::sync::CancellationToken;

use crate::support::command::run;
use crate::support::{Database, Journal};

/// Whether another process can begin to write now.
fn another_process_can_write(database: &Database) -> bool {
    let mut shell = Command::new("/usr/bin/sqlite3");
    let answer = run(shell.arg(database.path()).arg("BEGIN IMMEDIATE; ROLLBACK;").stderr(Stdio::piped()));
    assert!(answer.status == 0 || answer.stderr.contains("locked"), "{answer:?}");
    answer.status == 0
}

/// POSIX locks fall when any descriptor of the file is closed in the process that holds them.
#[test]
fn a_look_at_the_schema_drops_no_lock_of_this_process() {
    for journal in [Journal::Wal, Journal::Delete] {
        let database = Database::with_keys(journal, [("a", "done", 1.0)]);
        let writer = rusqlite::Connection::open(database.path()).unwrap();
        writer.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(!another_process_can_write(&database), "{journal:?}");

        let path = database.path();
        let mut store = Sqlite::new(path, Access::Read, Duration::ZERO, CancellationToken::new());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let facts = runtime.block_on(store.inspect(&[Rule::key_table(Duration::ZERO)])).unwrap();
        assert_eq!(facts[0].columns.len(), 5);
        drop(store);

        assert!(!another_process_can_write(&database), "{journal:?}: a look dropped the lock");
        writer.execute_batch("ROLLBACK").unwrap();
        assert!(another_process_can_write(&database), "{journal:?}");
    }
}
