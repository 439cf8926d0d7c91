//! An application that was killed in the middle of a transaction.

use std::process::Command;

use serde_json::json;

use crate::support::command::run;
use crate::support::{Daemon, Database, Journal};

/// Rows that are due, and an application that is killed while it makes them pending again.
fn crashed(journal: Journal) -> Database {
    let rows: Vec<String> = (0..500).map(|n| format!("k{n:03}")).collect();
    let due = rows.iter().map(|id| (id.as_str(), "done", 1.0));
    let database = Database::with_keys(journal, due.chain([("open", "pending", 1.0)]));
    let program = "import os, signal, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute('PRAGMA cache_size = 5')
c.execute('BEGIN IMMEDIATE')
c.execute('UPDATE keys SET status = \"pending\", response = hex(zeroblob(500))')
os.kill(os.getpid(), signal.SIGKILL)";
    run(Command::new("/usr/bin/python3").args(["-c", program]).arg(database.path()));
    let left = match journal {
        Journal::Wal => "app.db-wal",
        Journal::Delete => "app.db-journal",
    };
    assert!(database.files().iter().any(|name| name == left), "{:?}", database.files());
    database
}

#[test]
fn a_sweep_sees_the_rows_as_they_were_committed() {
    for journal in [Journal::Wal, Journal::Delete] {
        let database = crashed(journal);
        let report = database.sweep("", &[]).json_lines().pop().unwrap();
        assert_eq!((&report["deleted"], &report["stop"]), (&json!(500), &json!("drained")), "{report}");
        assert_eq!(database.ids(), ["open"], "{journal:?}");
        assert_eq!(database.shell("PRAGMA integrity_check"), "ok\n");
    }
}

#[test]
fn a_dry_run_that_would_have_to_roll_back_first_says_so_and_leaves_that_to_a_writer() {
    let database = crashed(Journal::Delete);
    let before = std::fs::read(database.path()).unwrap();
    let answer = database.sweep("", &["--dry-run"]);
    let report = answer.json_lines().pop().unwrap();
    let error = report["error"].as_str().unwrap();
    assert_eq!((answer.status, &report["stop"]), (3, &json!("failed")), "{report}");
    assert!(error.contains("must be rolled back first") && error.contains("`keysweep sweep`"), "{error}");
    assert!(std::fs::read(database.path()).unwrap() == before);
}

#[test]
fn the_daemon_recovers_the_database_and_counts_it() {
    for journal in [Journal::Wal, Journal::Delete] {
        let database = crashed(journal);
        let daemon = Daemon::start(&database.config("every = '100ms'\ncensus = '100ms'"));
        daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, 500.0);
        daemon.wait_for_metric(r#"keysweep_rows{database="app",state="pending",table="keys"}"#, 1.0);
        daemon.wait_for_metric(r#"keysweep_rows{database="app",state="done",table="keys"}"#, 0.0);
        daemon.wait_for_metric(r#"keysweep_database_up{database="app"}"#, 1.0);
    }
}
