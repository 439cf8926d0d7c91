//! What cannot be swept: one clear error, down in the metrics, nothing created, and the others go on.

mod pair;

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::support::command::run;
use crate::support::users::{SWEEPER, permit};
use crate::support::writer::Writer;
use crate::support::{Daemon, Database, Journal};
use pair::{As, Pair};

const BAD_DELETED: &str = r#"keysweep_deleted_rows_total{database="bad",table="keys"}"#;

#[test]
fn a_missing_file() {
    let pair = Pair::new(Journal::Wal);
    fs::remove_file(pair.bad.path()).unwrap();
    pair.assert_refused(As::Root, "", None, &["there is no file", "correct `path`"]);
}

#[test]
fn a_directory() {
    let pair = Pair::new(Journal::Wal);
    fs::remove_file(pair.bad.path()).unwrap();
    fs::create_dir(pair.bad.path()).unwrap();
    pair.assert_refused(As::Root, "", None, &["is a directory", "set `path` to"]);
}

#[test]
fn a_pipe() {
    let pair = Pair::new(Journal::Wal);
    fs::remove_file(pair.bad.path()).unwrap();
    assert_eq!(run(Command::new("mkfifo").arg(pair.bad.path())).status, 0);
    pair.assert_refused(As::Root, "", None, &["is no regular file", "set `path` to"]);
}

#[test]
fn a_file_that_is_no_database() {
    for text in ["no database\n".repeat(500), "SQLite format 3\0".into(), "x".into()] {
        let pair = Pair::new(Journal::Wal);
        fs::write(pair.bad.path(), &text).unwrap();
        pair.assert_refused(As::Root, "", None, &["not a database", "set `path` to an SQLite database"]);
        assert!(fs::read(pair.bad.path()).unwrap() == text.as_bytes());
    }
}

#[test]
fn an_empty_file() {
    let pair = Pair::new(Journal::Wal);
    fs::write(pair.bad.path(), "").unwrap();
    pair.assert_refused(As::Root, "", None, &["is empty", "`path`"]);
    assert_eq!(pair.bad.path().metadata().unwrap().len(), 0);
}

#[test]
fn a_missing_table_also_where_nobody_has_the_database_open() {
    for journal in [Journal::Wal, Journal::Delete] {
        let pair = Pair::new(journal);
        pair.bad.shell("ALTER TABLE keys RENAME TO kyes");
        let words = ["there is no table `keys`", "set `table` to", "`kyes`"];
        pair.assert_refused(As::Root, "", Some("schema"), &words);
        assert_eq!(pair.bad.files(), ["app.db"], "{journal:?}");
    }
}

#[test]
fn a_missing_column() {
    let pair = Pair::new(Journal::Wal);
    pair.bad.shell("ALTER TABLE keys RENAME COLUMN expires TO expiry");
    let words = ["no column `expires`", "correct the column", "`expiry`"];
    pair.assert_refused(As::Root, "", Some("schema"), &words);
}

#[test]
fn a_misspelt_column_that_would_equal_every_row_were_it_a_text() {
    let rules = [
        "done = { column = 'done', in = ['done'] }",
        "done = { column = 'staus', in = ['staus'] }",
        "pending = { column = 'nope', in = ['pending'] }",
        "key = 'due'",
        "expires = { column = '1', unit = 'unix_s' }",
        "abandoned = { column = 'wehn', unit = 'ms', after = '1h' }",
    ];
    for rule in rules {
        let pair = Pair::new(Journal::Wal);
        let rule = format!("[[database.table]]\n{rule}");
        pair.assert_refused(As::Root, &rule, Some("schema"), &["has no column", "correct the column"]);
        assert_eq!(pair.bad.ids(), ["due", "open"], "{rule}");
    }
}

#[test]
fn a_view_and_a_virtual_table() {
    let spoiled = [
        ("CREATE VIEW keys AS SELECT * FROM other", "is a view"),
        ("CREATE VIRTUAL TABLE keys USING fts5(id, status, expires)", "is a virtual table"),
    ];
    for (sql, words) in spoiled {
        let pair = Pair::new(Journal::Wal);
        pair.bad.shell(&format!("ALTER TABLE keys RENAME TO other; {sql};"));
        pair.assert_refused(As::Root, "", Some("schema"), &[words, "table"]);
    }
}

#[test]
fn a_file_or_folder_that_keysweeps_user_may_not_use() {
    let remedy = "give keysweep's user read and write access";
    for (file, folder, words) in [
        (0o000, 0o755, "may not read"),
        (0o400, 0o755, "may not write"),
        (0o600, 0o555, "may not create a journal in the folder"),
        (0o600, 0o000, "Permission denied"),
    ] {
        let pair = Pair::of(SWEEPER);
        permit(&pair.bad.path(), file);
        permit(pair.bad.folder(), folder);
        pair.assert_refused(As::User(SWEEPER), "", None, &[words, remedy]);
        assert_eq!(pair.bad.ids(), ["due", "open"]);
    }
}

#[test]
fn a_read_only_file_system() {
    let pair = Pair::new(Journal::Delete);
    let words = ["may not write", "Read-only file system", "ReadWritePaths"];
    pair.assert_refused(As::ReadOnlyMount, "", None, &words);
    assert_eq!(pair.bad.ids(), ["due", "open"]);
}

#[test]
fn a_wal_database_that_may_only_be_read_gets_no_file_beside_it() {
    let pair = Pair::of(SWEEPER);
    pair.bad.shell("PRAGMA journal_mode = wal");
    permit(&pair.bad.path(), 0o400);
    pair.assert_refused(As::User(SWEEPER), "", None, &["may not write"]);
    permit(&pair.bad.path(), 0o600);
    assert_eq!(pair.reports(As::User(SWEEPER), "").1[0]["deleted"], json!(1));
}

fn assert_recovers(spoil: fn(&Database), mend: fn(&Database)) {
    let pair = Pair::new(Journal::Wal);
    spoil(&pair.bad);
    let daemon = Daemon::start_command(pair.keysweep(As::Root, "").arg("run"));
    daemon.wait_for_metric(r#"keysweep_database_up{database="bad"}"#, 0.0);
    mend(&pair.bad);
    daemon.wait_for_metric(BAD_DELETED, 1.0);
    daemon.wait_for_metric(r#"keysweep_database_up{database="bad"}"#, 1.0);
    daemon.wait_for_metric(r#"keysweep_held{database="bad",reason="schema",table="keys"}"#, 0.0);
    assert_eq!(pair.bad.ids(), ["open"]);
}

#[test]
fn it_recovers_by_itself_once_the_file_is_there() {
    assert_recovers(
        |bad| fs::rename(bad.path(), bad.folder().join("away")).unwrap(),
        |bad| fs::rename(bad.folder().join("away"), bad.path()).unwrap(),
    );
}

#[test]
fn it_recovers_by_itself_once_the_table_is_there() {
    assert_recovers(
        |bad| drop(bad.shell("ALTER TABLE keys RENAME TO away")),
        |bad| drop(bad.shell("ALTER TABLE away RENAME TO keys")),
    );
}

#[test]
fn a_database_whose_sweep_alone_fails_is_down_until_one_succeeds() {
    let pair = Pair::new(Journal::Wal);
    let writer = Writer::begin(&pair.bad);
    let daemon = Daemon::start_command(pair.keysweep(As::Root, "busy_timeout = '0s'").arg("run"));
    daemon.wait_for_metric(r#"keysweep_rows{database="bad",state="done",table="keys"}"#, 1.0);
    daemon.wait_for_metric(r#"keysweep_database_up{database="bad"}"#, 0.0);
    drop(writer);
    daemon.wait_for_metric(BAD_DELETED, 1.0);
    daemon.wait_for_metric(r#"keysweep_database_up{database="bad"}"#, 1.0);
}
