//! The durable counter: each key once, whatever happens in between.

use std::time::{Duration, Instant};

use keysweep::plan::FailureKind;
use keysweep::record::{DurableCounter, OperationError, Overflow, RecordError};

use super::tables;
use crate::support::database::shell;
use crate::support::{Answer, keysweep};

fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    (folder, path)
}

fn add(path: &std::path::Path, scope: &str, key: &str, amount: &str) -> Answer {
    let db = path.to_str().unwrap();
    keysweep(["counter", "add", "--db", db, "--scope", scope, "--key", key, "--amount", amount])
}

#[test]
fn each_key_is_applied_once_and_a_retry_gets_the_first_answer() {
    let (_folder, path) = folder();
    let counter = DurableCounter::open(&path).unwrap();
    assert_eq!(counter.add("u1", "k1", 50), Ok(50));
    assert_eq!(counter.add("u1", "k1", 50), Ok(50));
    assert_eq!(counter.add("u1", "k2", 10), Ok(60));
    assert_eq!(counter.add("u2", "k1", 5), Ok(65));
    assert_eq!(counter.add("u1", "k1", 70), Err(OperationError::KeyConflict));
    assert_eq!(counter.add("u1", "k1", 50), Ok(50));
    assert_eq!(tables(&path), "1|65\nu1|k1|50|50\nu1|k2|10|60\nu2|k1|5|65\n");
}

#[test]
fn the_command_gives_the_same_answers() {
    let (_folder, path) = folder();
    let answers = [
        ("u1", "k1", "50", "50"),
        ("u1", "k2", "10", "60"),
        ("u2", "k1", "5", "65"),
        ("u1", "k1", "50", "50"),
    ];
    for (scope, key, amount, value) in answers {
        let answer = add(&path, scope, key, amount);
        assert_eq!((answer.status, answer.stdout), (0, format!("{value}\n")), "{}", answer.stderr);
    }
    let conflict = add(&path, "u1", "k1", "70");
    assert_eq!((conflict.status, conflict.stdout.as_str()), (1, ""));
    assert!(conflict.stderr.contains("another request"), "{}", conflict.stderr);
}

#[test]
fn an_invalid_argument_changes_neither_table() {
    let (_folder, path) = folder();
    let counter = DurableCounter::open(&path).unwrap();
    counter.add("u1", "k1", 50).unwrap();
    let before = tables(&path);
    for (scope, key, amount) in
        [("", "k", 1), ("u", "", 1), ("u", "k", 0), ("u", "k", -1), ("u", "k", i64::MIN)]
    {
        let answer = counter.add(scope, key, amount);
        assert!(
            matches!(answer, Err(OperationError::InvalidArgument(_))),
            "{scope:?} {key:?} {amount}: {answer:?}"
        );
    }
    for (scope, key, amount) in
        [("", "k", "1"), ("u", "", "1"), ("u", "k", "0"), ("u", "k", "-1"), ("u", "k", "9223372036854775808")]
    {
        assert_eq!(add(&path, scope, key, amount).status, 2, "{scope:?} {key:?} {amount}");
    }
    assert_eq!(tables(&path), before);
}

#[test]
fn an_invalid_argument_makes_no_file() {
    let (folder, path) = folder();
    assert_eq!(add(&path, "", "k", "1").status, 2);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_sum_past_the_largest_integer_changes_neither_table() {
    let (_folder, path) = folder();
    let counter = DurableCounter::open(&path).unwrap();
    counter.add("u", "k1", i64::MAX).unwrap();
    let before = tables(&path);
    assert_eq!(counter.add("u", "k2", 1), Err(OperationError::Refused(Overflow)));
    assert_eq!(add(&path, "u", "k2", "1").status, 3);
    assert_eq!(tables(&path), before);
    assert_eq!(counter.add("u", "k1", i64::MAX), Ok(i64::MAX));
}

#[test]
fn a_response_that_cannot_be_retained_takes_its_change_back() {
    let (_folder, path) = folder();
    let counter = DurableCounter::open(&path).unwrap();
    counter.add("u", "k1", 50).unwrap();
    shell(
        &path,
        "CREATE TRIGGER no BEFORE INSERT ON requests BEGIN SELECT RAISE(ABORT, 'not retained'); END;",
    );
    let failed = counter.add("u", "k2", 10);
    assert!(
        matches!(&failed, Err(OperationError::Record(RecordError::Storage(why))) if why.to_string().contains("not retained")),
        "{failed:?}"
    );
    shell(&path, "DROP TRIGGER no;");
    assert_eq!(counter.add("u", "k2", 10), Ok(60), "the refused change had moved the counter");
}

#[test]
fn a_held_lock_is_the_busy_error_after_the_timeout_and_nothing_changes() {
    let (_folder, path) = folder();
    let timeout = Duration::from_millis(300);
    let counter = DurableCounter::open_waiting(&path, timeout).unwrap();
    counter.add("u", "k1", 50).unwrap();
    let before = tables(&path);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    let busy = counter.add("u", "k2", 10);
    let waited = begun.elapsed();
    other.execute_batch("ROLLBACK").unwrap();
    assert!(
        matches!(&busy, Err(OperationError::Record(RecordError::Busy(why))) if why.kind() == FailureKind::Busy),
        "{busy:?}"
    );
    assert!(waited >= timeout, "gave up after {waited:?}");
    assert_eq!(tables(&path), before);
    assert_eq!(counter.add("u", "k2", 10), Ok(60), "the same key works once the lock is free");
}

#[test]
fn any_busy_timeout_is_taken() {
    for timeout in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
        let (_folder, path) = folder();
        assert_eq!(DurableCounter::open_waiting(&path, timeout).unwrap().add("u", "k", 1), Ok(1));
    }
}

#[test]
fn a_file_that_is_no_database_or_has_other_tables_is_refused() {
    let (folder, path) = folder();
    assert!(matches!(DurableCounter::open(folder.path()), Err(RecordError::NotOurTable(_))));
    shell(&path, "CREATE TABLE requests(x); CREATE TABLE business(id INTEGER PRIMARY KEY, value);");
    let answer = DurableCounter::open(&path).unwrap().add("u", "k", 1);
    assert!(matches!(answer, Err(OperationError::Record(RecordError::NotOurTable(_)))), "{answer:?}");
}
