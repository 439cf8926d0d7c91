//! Wrong calls are refused before anything is opened, and a locked database is told from a wrong one.

use std::time::Duration;

use keysweep::plan::Limit;
use keysweep::record::{Keys, KeysError, RecordError};

use super::{answers, at, keys, new_file, rows};
use crate::support::holder::Holder;
use crate::support::{Database, Journal, keysweep};

/// Every operation that creates nothing.
const OPERATIONS: [&str; 6] = [
    "reserve --key k --fingerprint v1 --expires 10",
    "finish --key k --fingerprint v1 --response {}",
    "fetch --key k",
    "expired --now 10",
    "purge --now 10",
    "counts",
];

#[test]
fn a_missing_file_is_refused_by_name_and_nothing_is_created() {
    let (folder, path) = new_file();
    for operation in OPERATIONS {
        let answer = keys(&path, operation);
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{operation}: {}", answer.stderr);
        assert!(answer.stderr.contains(path.to_str().unwrap()), "{operation}: {}", answer.stderr);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "{operation}");
    }
}

#[test]
fn what_is_no_database_is_refused_by_name_and_left_alone() {
    let (folder, path) = new_file();
    for content in ["", "this is a letter, and not a database at all; far from it, in fact"] {
        std::fs::write(&path, content).unwrap();
        for operation in OPERATIONS {
            let answer = keys(&path, operation);
            assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{operation}: {}", answer.stderr);
            assert!(answer.stderr.contains(path.to_str().unwrap()), "{operation}: {}", answer.stderr);
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    for operation in OPERATIONS.iter().chain(&["init", "retention-cycle --key k"]) {
        assert_eq!(keys(folder.path(), operation).status, 2, "{operation} of a directory");
    }
}

#[test]
fn a_database_without_the_key_table_is_refused() {
    let database = Database::new(Journal::Wal, "CREATE TABLE orders(id);");
    for operation in OPERATIONS {
        let answer = keys(&database.path(), operation);
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{operation}: {}", answer.stderr);
    }
}

#[test]
fn a_wrong_argument_is_refused_and_nothing_is_opened() {
    let database = Database::with_keys(Journal::Delete, [("a", "done", 1.0), ("p", "pending", 1.0)]);
    let bytes = std::fs::read(database.path()).unwrap();
    for limit in
        ["0", "101", "-1", "true", "\"10\"", "10.5", "10.0", "1e1", "+", "ten", "99999999999999999999"]
    {
        refused(&database, &format!("expired --now 10 --limit {limit}"));
        refused(&database, &format!("purge --now 10 --limit {limit}"));
    }
    for instant in ["nan", "NaN", "inf", "-inf", "infinity", "1e999", "ten", "10s"] {
        for operation in ["purge", "expired", "fetch --key a"] {
            refused(&database, &format!("{operation} --now {instant}"));
        }
        refused(&database, &format!("reserve --key b --fingerprint v1 --expires {instant}"));
    }
    for response in ["{", "{'a':1}", "nan", "[1,]", "1,2", "undefined"] {
        refused(&database, &format!("finish --key p --fingerprint v1 --response {response}"));
    }
    for call in ["", "explode", "purge --now", "fetch", "reserve --key b", "counts --key a", "init --force"] {
        refused(&database, &format!("{call} "));
    }
    assert!(std::fs::read(database.path()).unwrap() == bytes, "the file changed");
    assert_eq!(database.files(), ["app.db"]);
}

fn refused(database: &Database, words: &str) {
    let path = database.path();
    let mut args: Vec<&str> = words.split_whitespace().collect();
    args.insert(0, "keys");
    args.extend(["--db", path.to_str().unwrap()]);
    let answer = keysweep(&args);
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{words}: {}", answer.stderr);
    assert!(!answer.stderr.is_empty(), "{words} was refused without a word");
}

#[test]
fn an_empty_key_is_refused_also_where_a_file_would_be_created() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0)]);
    let before = rows(&database.path());
    let (folder, missing) = new_file();
    for (path, operation) in [
        (&database.path(), "reserve --fingerprint v1 --expires 10 --key="),
        (&database.path(), "finish --fingerprint v1 --response {} --key="),
        (&database.path(), "fetch --key="),
        (&missing, "retention-cycle --key="),
    ] {
        answers(path, operation, 2, "");
    }
    assert_eq!(rows(&database.path()), before);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "a refused call created a file");
}

#[test]
fn the_library_knows_no_limit_outside_1_to_100() {
    for rows in [i64::MIN, -1, 0, 101, 1000, i64::MAX] {
        assert!(Limit::new(rows).is_err(), "{rows}");
    }
    assert_eq!(Limit::DEFAULT.rows(), 10);
}

#[test]
fn a_locked_database_is_no_answer_and_nothing_is_changed() {
    let database = Database::with_keys(Journal::Delete, [("d", "done", 1.0), ("k", "pending", 20.0)]);
    let before = rows(&database.path());
    let holder = Holder::start(&database.path(), "BEGIN EXCLUSIVE");
    std::thread::scope(|scope| {
        for operation in OPERATIONS.iter().chain(&["init", "retention-cycle --key k"]) {
            let path = database.path();
            scope.spawn(move || answers(&path, operation, 3, ""));
        }
    });
    drop(holder);
    assert_eq!(rows(&database.path()), before);
}

#[test]
fn the_library_tells_busy_from_wrong() {
    let database = Database::with_keys(Journal::Wal, [("d", "done", 1.0)]);
    let holder = Holder::start(&database.path(), "BEGIN IMMEDIATE");
    let keys = Keys::open(&database.path(), Duration::from_millis(20)).unwrap();
    assert!(matches!(keys.reserve("k", "v1", at(10.0)), Err(KeysError::Record(RecordError::Busy(_)))));
    assert!(matches!(keys.purge(at(10.0), Limit::DEFAULT), Err(KeysError::Record(RecordError::Busy(_)))));
    assert_eq!(keys.expired(at(10.0), Limit::DEFAULT).unwrap().len(), 1);
    drop(holder);
    assert_eq!(keys.purge(at(10.0), Limit::DEFAULT).unwrap().len(), 1);
}
