//! What a sweep does with the write-ahead log that it shares with the application.

use std::os::unix::fs::MetadataExt;

use serde_json::json;

use crate::support::database::KEY_TABLE;
use crate::support::holder::Holder;
use crate::support::{Database, Journal};

/// Keys in random order, so that each deleted row touches a page of its own; so many are due.
fn scattered(due: u32) -> Database {
    let sql = format!(
        "{KEY_TABLE} WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         INSERT INTO keys SELECT hex(randomblob(16)), hex(randomblob(40)), 'done', '{{}}',
           CASE WHEN i <= {due} THEN 1 ELSE 4e9 END FROM n;"
    );
    Database::new(Journal::Wal, &sql)
}

/// Whether a sweep under this policy moved the log into the database.
fn is_moved(due: u32, checkpoint: &str) -> bool {
    let database = scattered(due);
    let written = || {
        let file = database.path().metadata().unwrap();
        (file.mtime(), file.mtime_nsec())
    };
    let before = written();
    let swept = database.sweep(&format!("share = 1.0\ncheckpoint = '{checkpoint}'"), &[]);
    assert_eq!(swept.json_lines()[0]["deleted"], json!(due), "{swept:?}");
    written() != before
}

#[test]
fn the_log_is_moved_at_the_threshold_of_sqlite_or_early_or_never() {
    assert!(is_moved(3_000, "auto"));
    assert!(!is_moved(3_000, "never"));
    assert!(!is_moved(400, "auto"), "more often than SQLite itself would");
    assert!(is_moved(400, "early"));
}

#[test]
fn a_sweep_ends_while_a_reader_keeps_the_log_too_large_and_goes_on_once_it_is_gone() {
    let database = scattered(3_000);
    let lines = "share = 1.0\nmax_wal = '100KiB'";
    let reader = Holder::start(&database.path(), "BEGIN; SELECT count(*) FROM keys");
    let swept = database.sweep(lines, &[]);
    let line = &swept.json_lines()[0];
    assert_eq!((swept.status, &line["stop"]), (1, &json!("budget")), "{line}");
    let deleted = line["deleted"].as_u64().unwrap();
    assert!(deleted > 0 && deleted < 3_000, "{line}");
    assert!(line["error"].as_str().unwrap().contains("more than max_wal = 102400 bytes"), "{line}");
    drop(reader);
    let swept = database.sweep(lines, &[]);
    let line = &swept.json_lines()[0];
    assert_eq!((&line["stop"], &line["deleted"]), (&json!("drained"), &json!(3_000 - deleted)), "{line}");
}

#[test]
fn a_log_that_is_moved_stops_nobody_however_large_its_file_became() {
    let database = scattered(300);
    // The application grows the log, moves all of it, and stays: the file keeps its size.
    let application = rusqlite::Connection::open(database.path()).unwrap();
    application.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    for _ in 0..3 {
        application.execute_batch("UPDATE keys SET fingerprint = hex(randomblob(40))").unwrap();
    }
    let moved = "PRAGMA wal_checkpoint(PASSIVE)";
    let all: bool =
        application.query_row(moved, [], |row| Ok(row.get::<_, i64>(1)? == row.get::<_, i64>(2)?)).unwrap();
    assert!(all && database.path().with_extension("db-wal").metadata().unwrap().size() > 4 << 20);
    let swept = database.sweep("share = 1.0\ncheckpoint = 'never'\nmax_wal = '4MiB'", &[]);
    let line = &swept.json_lines()[0];
    assert_eq!((&line["stop"], line["deleted"].as_u64()), (&json!("drained"), Some(300)), "{line}");
}
