//! What triggers and declared actions take along must have been due itself, or nothing goes.

use serde_json::json;

use crate::poison::{expired, report, rule};
use crate::support::database::KEY_TABLE;
use crate::support::{Daemon, Database, Journal};

const HELD: &str = r#"keysweep_held{database="app",reason="invariant",table="keys"}"#;

/// Held at the first batch, for ever, and gone with a restart once its cause is gone.
fn assert_held(database: &Database, references: &str, remedy: &str, left: &[&str]) {
    let before = database.ids();
    let config = database.config(&format!("every = '100ms'\n{}", rule(references)));
    let daemon = Daemon::start(&config);
    daemon.wait_for_metric(HELD, 1.0);
    assert_eq!(database.ids(), before, "something was deleted");
    database.shell(remedy);
    let sweeps = r#"keysweep_sweeps_total{database="app",stop="held",table="keys"}"#;
    let seen = daemon.metric(sweeps).unwrap();
    crate::support::wait_for("two further ticks", || {
        daemon.metric(sweeps).filter(|sweeps| *sweeps >= seen + 2.0)
    });
    assert_eq!((daemon.metric(HELD), database.ids()), (Some(1.0), before));
    drop(daemon);
    let daemon = Daemon::start(&config);
    daemon.wait_for_metric(r#"keysweep_sweeps_total{database="app",stop="drained",table="keys"}"#, 1.0);
    assert_eq!(
        (daemon.metric(HELD), database.ids()),
        (Some(0.0), left.iter().map(|id| (*id).into()).collect())
    );
}

#[test]
fn a_trigger_that_deletes_a_pending_row_holds_the_table_until_a_restart() {
    for journal in [Journal::Wal, Journal::Delete] {
        let database =
            Database::with_keys(journal, [("a", "done", 1.0), ("b", "done", 1.0), ("open", "pending", 1.0)]);
        database.shell(
            "CREATE TRIGGER along AFTER DELETE ON keys WHEN old.id = 'b' BEGIN DELETE FROM keys WHERE id = 'open'; END",
        );
        assert_held(&database, "skip", "DROP TRIGGER along", &["open"]);
    }
}

#[test]
fn a_trigger_that_deletes_and_then_ignores_is_seen() {
    for (when, action) in [("BEFORE", "IGNORE"), ("AFTER", "IGNORE")] {
        let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0), ("open", "pending", 1.0)]);
        database.shell(&format!(
            "CREATE TRIGGER along {when} DELETE ON keys WHEN old.id = 'a' \
             BEGIN DELETE FROM keys WHERE id = 'open'; SELECT RAISE({action}); END"
        ));
        assert_held(&database, "cascade", "DROP TRIGGER along", &["open"]);
    }
}

const TREE: &str = "CREATE TABLE keys(id TEXT PRIMARY KEY, fingerprint TEXT, status TEXT, response TEXT, \
    expires REAL, parent TEXT REFERENCES keys(id) ON DELETE CASCADE);";

#[test]
fn a_cascade_onto_a_pending_row_of_the_same_table_holds_it() {
    let database = Database::new(
        Journal::Wal,
        &format!(
            "{TREE} INSERT INTO keys VALUES ('a', 'v1', 'done', '{{}}', 1, NULL), ('b', 'v1', 'pending', NULL, 1, 'a');"
        ),
    );
    assert_held(&database, "cascade", "UPDATE keys SET parent = NULL", &["b"]);
}

#[test]
fn a_cascade_onto_a_row_that_is_due_itself_counts_as_a_deletion() {
    let rows = "('a', 'v1', 'done', '{}', 1, NULL), ('b', 'v1', 'done', '{}', 1, 'a'), ('c', 'v1', 'done', '{}', 9e9, NULL)";
    let database = Database::new(Journal::Wal, &format!("{TREE} INSERT INTO keys VALUES {rows};"));
    let report = report(&database.sweep(&rule("cascade"), &[]));
    assert_eq!((&report["deleted"], &report["stop"]), (&json!(2), &json!("drained")), "{report}");
    assert_eq!(database.ids(), ["c"]);
}

#[test]
fn a_trigger_that_only_records_is_no_reason_to_stop() {
    let audit = "CREATE TABLE log(id); CREATE TRIGGER audit AFTER DELETE ON keys BEGIN INSERT INTO log VALUES (old.id); END;";
    let database = expired(Journal::Delete, 250, audit);
    assert_eq!(report(&database.sweep(&rule("skip"), &[]))["deleted"], json!(250));
    assert_eq!(database.shell("SELECT count(*) FROM log"), "250\n");
    let files = database.files();
    assert!(files.iter().all(|name| !name.contains("keysweep_")), "{files:?}");
    assert_eq!(database.shell("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'keysweep%'"), "0\n");
}

/// A REPLACE deletes without any trigger being told, so nothing that might set one off is swept.
#[test]
fn a_trigger_that_replaces_rows_holds_the_table_and_no_pending_row_goes() {
    let replaces = [
        "INSERT OR REPLACE INTO keys VALUES ('new', 'v', 'pending', '', 5, 2)",
        "REPLACE INTO keys VALUES ('new', 'v', 'pending', '', 5, 2)",
        "UPDATE OR REPLACE keys SET u = 2 WHERE id = 'y'",
    ];
    for action in replaces {
        let database = Database::new(
            Journal::Wal,
            "CREATE TABLE keys(id TEXT PRIMARY KEY, fingerprint, status, response, expires, u INTEGER UNIQUE);
             INSERT INTO keys VALUES ('a', 'v', 'done', '', 1, 1), ('y', 'v', 'done', '', 4e9, 3), ('z', 'v', 'pending', '', 1, 2);",
        );
        database.shell(&format!("CREATE TRIGGER t AFTER DELETE ON keys BEGIN {action}; END"));
        let line = report(&database.sweep(&rule("skip"), &[]));
        assert_eq!((&line["held"], &line["deleted"]), (&json!("references"), &json!(0)), "{action}: {line}");
        assert_eq!(database.ids(), ["a", "y", "z"], "{action}");
        database.shell("DROP TRIGGER t");
        database.shell("CREATE TRIGGER t AFTER DELETE ON keys BEGIN SELECT replace(old.id, 'a', 'b'); END");
        assert_eq!(report(&database.sweep(&rule("skip"), &[]))["deleted"], json!(1), "{action}");
    }
}

#[test]
fn a_row_that_has_a_rule_of_its_own_goes_by_that_rule_alone() {
    let child = "CREATE TABLE child(id TEXT PRIMARY KEY, status, expires, parent TEXT REFERENCES keys(id) ON DELETE CASCADE);";
    let rows = "INSERT INTO child VALUES ('open', 'pending', 1, 'a'), ('kept', 'done', 4e9, 'b');";
    let database =
        Database::with_keys(Journal::Wal, [("a", "done", 1.0), ("b", "done", 1.0), ("c", "done", 1.0)]);
    database.shell(&format!("{child}{rows}"));
    let rules = rule("cascade") + "[[database.table]]\ntable = 'child'\n";
    let swept = database.sweep(&rules, &[]).json_lines();
    assert_eq!((&swept[0]["deleted"], &swept[0]["skipped"]), (&json!(1), &json!(2)), "{swept:?}");
    assert_eq!((swept[0]["held"].is_null(), database.ids()), (true, vec!["a".into(), "b".into()]));
    assert_eq!(database.shell("SELECT count(*) FROM child"), "2\n");
    // Without a rule of its own it is the cascade's.
    assert_eq!(report(&database.sweep(&rule("cascade"), &[]))["deleted"], json!(2));
    assert_eq!(database.shell("SELECT count(*) FROM child"), "0\n");
}

#[test]
fn a_row_that_would_take_too_many_along_stays_and_the_others_go() {
    let family = |parent: &str, children: u32| {
        format!(
            "INSERT INTO keys VALUES ('{parent}', 'v', 'done', '', 1, NULL);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {children})
             INSERT INTO keys SELECT printf('{parent}-%05d', i), 'v', 'done', '', 1, '{parent}' FROM n;"
        )
    };
    let tree = KEY_TABLE.replace(
        "expires REAL NOT NULL",
        "expires REAL NOT NULL, parent TEXT REFERENCES keys(id) ON DELETE CASCADE",
    );
    let database =
        Database::new(Journal::Wal, &(tree.clone() + &family("large", 201) + &family("small", 60)));
    let line = report(&database.sweep(&format!("share = 1.0\n{}", rule("cascade")), &[]));
    assert_eq!((&line["held"], &line["stop"]), (&json!(null), &json!("drained")), "{line}");
    // The children of the large one go by themselves, and then it goes too.
    assert_eq!(
        database.shell("SELECT count(*) FROM keys WHERE id LIKE 'small%' OR id LIKE 'large-%'"),
        "0\n"
    );
    assert_eq!(report(&database.sweep(&rule("cascade"), &[]))["stop"], json!("drained"));
    assert_eq!(database.ids(), [] as [String; 0]);
}
