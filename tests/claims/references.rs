//! Foreign keys and triggers that hang on a table: nothing is deleted, and it is counted on.

use serde_json::json;

use crate::support::{Daemon, Database, Journal};

const CHILD: &str = "CREATE TABLE receipts(n INTEGER PRIMARY KEY, key TEXT REFERENCES";

fn assert_held(sql: &str, words: &str) {
    for journal in [Journal::Wal, Journal::Delete] {
        let database = Database::with_keys(journal, [("a", "done", 1.0), ("b", "pending", 1.0)]);
        database.shell(sql);
        for args in [&[][..], &["--dry-run"]] {
            let answer = database.sweep("", args);
            let report = answer.json_lines().pop().unwrap();
            assert_eq!((answer.status, &report["stop"]), (1, &json!("held")), "{sql}: {answer:?}");
            assert_eq!((&report["held"], &report["deleted"]), (&json!("references"), &json!(0)));
            let error = report["error"].as_str().unwrap();
            assert!(error.contains(words) && error.contains(database.path().to_str().unwrap()), "{error}");
        }
        let daemon = Daemon::start(&database.config("every = '100ms'\ncensus = '100ms'"));
        daemon.wait_for_metric(r#"keysweep_held{database="app",reason="references",table="keys"}"#, 1.0);
        daemon.wait_for_metric(r#"keysweep_rows{database="app",state="done",table="keys"}"#, 1.0);
        daemon.wait_for_metric(r#"keysweep_expired_rows{database="app",table="keys"}"#, 1.0);
        daemon.wait_for_metric(r#"keysweep_database_up{database="app"}"#, 1.0);
        assert_eq!(database.ids(), ["a", "b"], "{sql} {journal:?}");
    }
}

#[test]
fn a_foreign_key_that_points_at_the_table_holds_it_whatever_its_action() {
    for action in ["", "ON DELETE CASCADE", "ON DELETE SET NULL", "ON DELETE RESTRICT"] {
        assert_held(&format!("{CHILD} keys(id) {action})"), "receipts");
    }
}

#[test]
fn a_foreign_key_is_seen_however_it_spells_the_table() {
    assert_held(&format!("{CHILD} KEYS)"), "receipts");
}

#[test]
fn a_trigger_that_fires_on_delete_holds_the_table() {
    assert_held(
        "CREATE TABLE log(id); CREATE TRIGGER audit AFTER DELETE ON keys BEGIN INSERT INTO log VALUES (old.id); END",
        "audit",
    );
    assert_held(
        "CREATE TRIGGER shield BEFORE DELETE ON Keys WHEN old.status = 'done' BEGIN SELECT RAISE(IGNORE); END",
        "shield",
    );
    assert_held(
        "CREATE TRIGGER theirs AFTER DELETE ON keys BEGIN SELECT their_function(old.id); END",
        "theirs",
    );
}

#[test]
fn what_hangs_on_the_table_only_otherwise_does_not_hold_it() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0), ("b", "pending", 1.0)]);
    database.shell(
        "CREATE TABLE log(id);
         CREATE TRIGGER made AFTER INSERT ON keys BEGIN INSERT INTO log VALUES (new.id); END;
         CREATE TRIGGER kept AFTER UPDATE ON keys BEGIN INSERT INTO log VALUES (new.id); END;
         CREATE TABLE other(id TEXT PRIMARY KEY);
         CREATE TABLE child(id TEXT REFERENCES other(id));",
    );
    assert_eq!(database.sweep("", &[]).json_lines()[0]["deleted"], json!(1));
    assert_eq!(database.ids(), ["b"]);
    assert_eq!(database.shell("SELECT count(*) FROM log"), "0\n");
}

#[test]
fn a_hold_ends_once_the_reference_is_gone() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0)]);
    database.shell(&format!("{CHILD} keys(id))"));
    let daemon = Daemon::start(&database.config("every = '100ms'\ncensus = '100ms'"));
    daemon.wait_for_metric(r#"keysweep_held{database="app",reason="references",table="keys"}"#, 1.0);
    database.shell("DROP TABLE receipts");
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, 1.0);
    daemon.wait_for_metric(r#"keysweep_held{database="app",reason="references",table="keys"}"#, 0.0);
}
