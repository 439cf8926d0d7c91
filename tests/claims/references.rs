//! Foreign keys and triggers that hang on a table: nothing is deleted, and it is counted on.

use serde_json::json;

use crate::poison::{expired, report, rule};
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

/// The keys that a dry run names, ascending, and the report of the sweep that follows it.
fn dry_then_real(database: &Database, references: &str) -> (Vec<String>, serde_json::Value) {
    let mut lines = database.sweep(&rule(references), &["--dry-run"]).json_lines();
    let summary = lines.pop().unwrap();
    let mut named: Vec<String> = lines.iter().map(|line| line["key"].as_str().unwrap().into()).collect();
    named.sort();
    assert_eq!(summary["would_delete"], json!(named.len()), "{summary}");
    let before = database.ids();
    let report = report(&database.sweep(&rule(references), &[]));
    let after = database.ids();
    let gone: Vec<String> = before.into_iter().filter(|id| !after.contains(id)).collect();
    assert_eq!(named, gone, "the dry run named others");
    (named, report)
}

#[test]
fn of_250_rows_whose_lowest_is_referenced_249_go() {
    for journal in [Journal::Wal, Journal::Delete] {
        for action in ["", "ON DELETE RESTRICT", "DEFERRABLE INITIALLY DEFERRED"] {
            for references in ["skip", "cascade"] {
                let sql = format!("{CHILD} keys(id) {action}); INSERT INTO receipts VALUES (1, '00000');");
                let database = expired(journal, 250, &sql);
                let (named, report) = dry_then_real(&database, references);
                assert_eq!(named.len(), 249, "{action} {references}");
                assert_eq!((&report["deleted"], &report["skipped"]), (&json!(249), &json!(1)), "{report}");
                assert_eq!(report["stop"], json!("drained"));
                assert_eq!(database.ids(), ["00000"]);
            }
        }
    }
}

#[test]
fn a_skipped_row_is_counted_as_referenced() {
    let sql = format!("{CHILD} keys(id)); INSERT INTO receipts VALUES (1, '00000');");
    let database = expired(Journal::Wal, 2, &sql);
    let daemon = Daemon::start(&database.config(&format!("every = '1h'\n{}", rule("skip"))));
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, 1.0);
    daemon.wait_for_metric(
        r#"keysweep_skipped_rows_total{database="app",reason="referenced",table="keys"}"#,
        1.0,
    );
}

#[test]
fn skip_keeps_what_cascade_lets_go_with_its_children() {
    let sql = format!(
        "{CHILD} keys(id) ON DELETE CASCADE); CREATE TABLE notes(key TEXT REFERENCES keys(id) ON DELETE SET NULL);
         INSERT INTO receipts VALUES (1, '00000'); INSERT INTO notes VALUES ('00001');"
    );
    let database = expired(Journal::Wal, 4, &sql);
    assert_eq!(dry_then_real(&database, "skip").0, ["00002", "00003"]);
    assert_eq!(database.shell("SELECT count(*) FROM receipts"), "1\n");
    assert_eq!(dry_then_real(&database, "cascade").0, ["00000", "00001"]);
    assert_eq!(database.shell("SELECT count(*) FROM receipts"), "0\n");
    assert_eq!(database.shell("SELECT count(*), key IS NULL FROM notes"), "1|1\n");
}

#[test]
fn a_deferred_key_further_down_that_only_the_commit_meets_costs_one_row() {
    let sql = format!(
        "{CHILD} keys(id) ON DELETE CASCADE);
         CREATE TABLE lines(receipt INTEGER REFERENCES receipts(n) DEFERRABLE INITIALLY DEFERRED);
         INSERT INTO receipts VALUES (1, '00003'), (2, '00007'), (3, '00009');
         INSERT INTO lines VALUES (1), (2);"
    );
    for journal in [Journal::Wal, Journal::Delete] {
        let database = expired(journal, 250, &sql);
        let report = report(&database.sweep(&rule("cascade"), &[]));
        assert_eq!((&report["deleted"], &report["skipped"]), (&json!(248), &json!(2)), "{report}");
        assert_eq!(database.ids(), ["00003", "00007"]);
    }
}

#[test]
fn a_child_of_another_collation_or_affinity_refers_as_the_engine_says() {
    for (declared, value) in
        [("TEXT COLLATE NOCASE", "'A'"), ("INTEGER", "7"), ("", "'7'"), ("BLOB", "x'61'")]
    {
        let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0), ("7", "done", 1.0)]);
        let child = format!(
            "CREATE TABLE child(k {declared} REFERENCES keys(id)); INSERT INTO child VALUES ({value});"
        );
        database.shell(&child);
        // What the engine itself refuses, asked of each row alone.
        let kept: Vec<String> = ["7", "a"]
            .into_iter()
            .filter(|id| {
                let connection = rusqlite::Connection::open(database.path()).unwrap();
                connection.execute_batch("PRAGMA foreign_keys = ON; BEGIN").unwrap();
                connection.execute("DELETE FROM keys WHERE id = ?1", [id]).is_err()
            })
            .map(String::from)
            .collect();
        let (_, report) = dry_then_real(&database, "skip");
        assert_eq!(database.ids(), kept, "{declared} {value}: {report}");
        assert_eq!(report["skipped"], json!(kept.len()));
    }
}

#[test]
fn a_key_of_two_columns_refers_only_with_both() {
    let database = Database::new(
        Journal::Wal,
        "CREATE TABLE keys(scope TEXT, id TEXT, status TEXT, expires REAL, PRIMARY KEY(scope, id)) WITHOUT ROWID;
         CREATE TABLE child(a TEXT, b TEXT, FOREIGN KEY(a, b) REFERENCES keys);
         INSERT INTO keys VALUES ('s', '1', 'done', 1), ('s', '2', 'done', 1), ('t', '1', 'done', 1);
         INSERT INTO child VALUES ('s', '2'), ('s', NULL), ('t', '9');",
    );
    let table = format!("{}key = ['scope', 'id']", rule("skip"));
    let report = report(&database.sweep(&table, &[]));
    assert_eq!((&report["deleted"], &report["skipped"]), (&json!(2), &json!(1)), "{report}");
    assert_eq!(database.shell("SELECT scope, id FROM keys"), "s|2\n");
}

#[test]
fn a_row_that_refers_to_itself_keeps_nobody() {
    let database = Database::new(
        Journal::Wal,
        "CREATE TABLE keys(id TEXT PRIMARY KEY, status TEXT, expires REAL, next TEXT REFERENCES keys(id));
         INSERT INTO keys VALUES ('a', 'done', 1, 'a'), ('b', 'done', 1, NULL), ('c', 'pending', 1, 'b');",
    );
    assert_eq!(dry_then_real(&database, "skip").0, ["a"]);
}

#[test]
fn a_hold_ends_once_the_config_says_what_to_do() {
    let database = expired(Journal::Wal, 2, &format!("{CHILD} keys(id))"));
    assert_eq!(report(&database.sweep(&rule("refuse"), &[]))["held"], json!("references"));
    let report = report(&database.sweep(&rule("skip"), &[]));
    assert_eq!((&report["held"], &report["deleted"]), (&json!(null), &json!(2)));
}
