//! The contract of the key table, operation by operation, as the `keys` commands print it.

mod batch;
mod exact_keys;
mod refusals;

use std::path::{Path, PathBuf};

use keysweep::plan::UnixTime;
use keysweep::record::{Keys, Response, Retry};

use crate::support::database::shell;
use crate::support::{Answer, Database, Journal, PATIENCE, keysweep, now};

/// `keys` with these words, on this file.
fn keys(path: &Path, words: &str) -> Answer {
    let mut words = words.split_whitespace();
    let operation = words.next().unwrap();
    keysweep(["keys", operation, "--db", path.to_str().unwrap()].into_iter().chain(words))
}

/// The call ends with this status and prints exactly this.
fn answers(path: &Path, words: &str, status: i32, stdout: &str) {
    let answer = keys(path, words);
    assert_eq!((answer.status, answer.stdout.as_str()), (status, stdout), "{words}: {}", answer.stderr);
}

/// Every row, byte by byte and in the order of its insertion.
fn rows(path: &Path) -> String {
    shell(
        path,
        "SELECT rowid, typeof(id), hex(id), hex(fingerprint), quote(status), hex(response), quote(expires) \
         FROM keys ORDER BY rowid",
    )
}

fn empty() -> Database {
    Database::with_keys(Journal::Wal, [])
}

fn new_file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    (folder, path)
}

#[test]
fn init_creates_the_table_and_a_second_init_changes_nothing() {
    let (_folder, path) = new_file();
    answers(&path, "init", 0, "true\n");
    let columns = "SELECT name, type, \"notnull\", pk FROM pragma_table_info('keys')";
    assert_eq!(
        shell(&path, columns),
        "id|TEXT|0|1\nfingerprint|TEXT|1|0\nstatus|TEXT|1|0\nresponse|TEXT|0|0\nexpires|REAL|1|0\n"
    );
    answers(&path, "reserve --key a --fingerprint v1 --expires 10", 0, "true\n");
    let before = std::fs::read(&path).unwrap();
    answers(&path, "init", 0, "true\n");
    assert!(std::fs::read(&path).unwrap() == before, "a second init changed the file");
}

#[test]
fn init_goes_into_an_empty_file_and_into_an_applications_own_database() {
    let (_folder, path) = new_file();
    std::fs::write(&path, "").unwrap();
    answers(&path, "init", 0, "true\n");
    answers(&path, "counts", 0, "{\"pending\":0,\"done\":0}\n");
    let application = Database::new(Journal::Wal, "CREATE TABLE orders(id); INSERT INTO orders VALUES (7);");
    answers(&application.path(), "init", 0, "true\n");
    assert_eq!(application.shell("SELECT * FROM orders"), "7\n");
}

#[test]
fn a_new_key_is_reserved_as_pending_and_without_a_response() {
    let database = empty();
    answers(&database.path(), "reserve --key a --fingerprint v1 --expires 10", 0, "true\n");
    assert_eq!(database.shell("SELECT *, response IS NULL FROM keys"), "a|v1|pending||10.0|1\n");
}

#[test]
fn a_key_and_a_fingerprint_may_look_like_flags_or_statements() {
    let database = empty();
    let path = database.path();
    for key in ["-abc", "--db", "-1", "a'b", "\";DROP_TABLE_keys;--", "%s", "päs\u{1f511}"] {
        let words = format!("--key {key} --fingerprint {key}");
        answers(&path, &format!("reserve {words} --expires 10"), 0, "true\n");
        answers(&path, &format!("finish {words} --response [1]"), 0, "true\n");
        answers(&path, &format!("fetch --key {key} --now 1"), 0, "[1]\n");
    }
    answers(&path, "counts", 0, "{\"pending\":0,\"done\":7}\n");
}

#[test]
fn reserving_an_existing_key_changes_not_one_byte_of_it() {
    let later = now() + 1e6;
    let states = ["pending", "done", "DONE"];
    let names = ["p1", "d1", "o1", "p2", "d2", "o2"];
    let row = |(index, name)| (name, states[index % 3], if index < 3 { 1.0 } else { later });
    let database = Database::with_keys(Journal::Delete, names.into_iter().enumerate().map(row));
    let (before, bytes) = (rows(&database.path()), std::fs::read(database.path()).unwrap());
    for name in names {
        let words = format!("reserve --key {name} --fingerprint v2 --expires 99");
        answers(&database.path(), &words, 1, "false\n");
    }
    assert_eq!(rows(&database.path()), before);
    assert!(std::fs::read(database.path()).unwrap() == bytes, "the file changed");
}

#[test]
fn only_a_pending_row_of_this_key_and_fingerprint_is_finished() {
    let rows_before = [("p", "pending", 1.0), ("d", "done", 1.0), ("o", "PENDING", 1.0)];
    let database = Database::with_keys(Journal::Wal, rows_before);
    let before = rows(&database.path());
    for (key, fingerprint) in [("p", "v2"), ("p", "V1"), ("d", "v1"), ("o", "v1"), ("P", "v1"), ("x", "v1")] {
        let words = format!("finish --key {key} --fingerprint {fingerprint} --response [2]");
        answers(&database.path(), &words, 1, "false\n");
    }
    assert_eq!(rows(&database.path()), before);
    let finish = "finish --key p --fingerprint v1 --response [1]";
    answers(&database.path(), finish, 0, "true\n");
    assert_eq!(database.shell("SELECT * FROM keys WHERE id = 'p'"), "p|v1|done|[1]|1.0\n");
    answers(&database.path(), finish, 1, "false\n");
}

#[test]
fn a_response_is_replayed_byte_for_byte() {
    let database = empty();
    let path = database.path();
    for (index, response) in [
        r#"{"b":1,"a":12345678901234567890123,"x":1.10,"n":null}"#,
        "null",
        r#"{"a":1,"a":2}"#,
        r#""\u00e9é\/\u0000""#,
        " [ 1,\t-0.0, 1E400 ]\n",
        "-1",
    ]
    .iter()
    .enumerate()
    {
        let key = index.to_string();
        answers(&path, &format!("reserve --key {key} --fingerprint v1 --expires 20"), 0, "true\n");
        let finish = ["keys", "finish", "--db", path.to_str().unwrap(), "--key", &key];
        let finish = keysweep(finish.iter().chain(&["--fingerprint", "v1", "--response", response]));
        assert_eq!((finish.status, finish.stdout.as_str()), (0, "true\n"), "{response}: {}", finish.stderr);
        answers(&path, &format!("fetch --key {key} --now 10"), 0, &format!("{response}\n"));
    }
}

#[test]
fn a_response_may_be_nested_as_deep_as_it_likes() {
    let database = empty();
    let keys = Keys::open(&database.path(), PATIENCE).unwrap();
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(keys.reserve("k", "v1", at(20.0)).unwrap());
    assert!(keys.finish("k", "v1", &deep.parse().unwrap()).unwrap());
    assert!(keys.fetch("k", at(10.0)).unwrap().unwrap().as_str() == deep);
}

fn at(seconds: f64) -> UnixTime {
    UnixTime::new(seconds).unwrap()
}

#[test]
fn with_nothing_to_replay_nothing_is_printed() {
    let database = Database::with_keys(Journal::Wal, [("p", "pending", 20.0), ("o", "DONE", 20.0)]);
    database.shell("INSERT INTO keys VALUES ('n', 'v1', 'done', NULL, 20)");
    for key in ["p", "o", "n", "x"] {
        answers(&database.path(), &format!("fetch --key {key} --now 10"), 1, "");
    }
}

#[test]
fn a_response_is_replayed_until_just_before_it_expires() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 10.5)]);
    for (now, status, stdout) in [("10.499999", 0, "{}\n"), ("10.5", 1, ""), ("10.500001", 1, "")] {
        answers(&database.path(), &format!("fetch --key a --now {now}"), status, stdout);
    }
}

#[test]
fn expired_and_purge_take_the_same_done_rows_up_to_now_and_no_other() {
    let row_at = |name, status, expires| (name, status, expires);
    let database = Database::with_keys(
        Journal::Wal,
        [
            row_at("before", "done", 9.999),
            row_at("at", "done", 10.0),
            row_at("after", "done", 10.001),
            row_at("pending", "pending", 1.0),
            row_at("DONE", "DONE", 1.0),
        ],
    );
    let before = rows(&database.path());
    answers(&database.path(), "expired --now 10", 0, "[\"at\",\"before\"]\n");
    assert_eq!(rows(&database.path()), before);
    answers(&database.path(), "purge --now 10", 0, "[\"at\",\"before\"]\n");
    assert_eq!(database.ids(), ["DONE", "after", "pending"]);
    answers(&database.path(), "expired --now 10", 0, "[]\n");
    answers(&database.path(), "purge --now 10", 0, "[]\n");
}

#[test]
fn ids_come_in_ascending_order_and_ten_at_a_time_unless_said_otherwise() {
    // 7 and 121 have no common divisor, so every id is there once, in no order.
    let names: Vec<String> = (0..121).map(|index| format!("k{:03}", index * 7 % 121)).collect();
    let database = Database::with_keys(Journal::Wal, names.iter().map(|name| (name.as_str(), "done", 1.0)));
    let list = |from: usize, to: usize| {
        let ids: Vec<String> = (from..to).map(|index| format!("\"k{index:03}\"")).collect();
        format!("[{}]\n", ids.join(","))
    };
    let path = database.path();
    answers(&path, "expired --now 10", 0, &list(0, 10));
    answers(&path, "expired --now 10 --limit 100", 0, &list(0, 100));
    answers(&path, "purge --now 10", 0, &list(0, 10));
    answers(&path, "purge --now 10 --limit 1", 0, &list(10, 11));
    answers(&path, "purge --now 10 --limit 100", 0, &list(11, 111));
    answers(&path, "purge --now 10 --limit 100", 0, &list(111, 121));
    answers(&path, "counts", 0, "{\"pending\":0,\"done\":0}\n");
}

#[test]
fn candidates_behind_thousands_of_pending_rows_are_found() {
    let database = Database::with_keys(Journal::Wal, [("z1", "done", 1.0), ("z2", "done", 1.0)]);
    database.shell(
        "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000) \
         INSERT INTO keys SELECT printf('a%05d', i), 'v1', 'pending', NULL, 1 FROM n",
    );
    answers(&database.path(), "purge --now 10", 0, "[\"z1\",\"z2\"]\n");
    answers(&database.path(), "counts", 0, "{\"pending\":5000,\"done\":0}\n");
}

#[test]
fn counts_name_both_states_also_at_zero() {
    let database = empty();
    let path = database.path();
    answers(&path, "counts", 0, "{\"pending\":0,\"done\":0}\n");
    answers(&path, "reserve --key a --fingerprint v1 --expires 10", 0, "true\n");
    answers(&path, "counts", 0, "{\"pending\":1,\"done\":0}\n");
    answers(&path, "finish --key a --fingerprint v1 --response {}", 0, "true\n");
    database.shell("INSERT INTO keys VALUES ('b', 'v1', 'DONE', NULL, 1)");
    answers(&path, "counts", 0, "{\"pending\":0,\"done\":1}\n");
}

#[test]
fn the_retention_cycle_shows_that_the_guarantee_has_ended() {
    let (_folder, path) = new_file();
    answers(&path, "retention-cycle --key k", 0, "true\n");
    let row = shell(&path, "SELECT *, response IS NULL FROM keys");
    assert_eq!(row, "k|v2|pending||20.0|1\n");
}

#[test]
fn a_retry_is_told_apart_from_another_request_with_the_same_key() {
    let database = Database::with_keys(Journal::Wal, []);
    let keys = Keys::open(&database.path(), PATIENCE).unwrap();
    let receipt: Response = r#"{"receipt":1}"#.parse().unwrap();
    assert_eq!(keys.retry("k", "v1", at(0.0)).unwrap(), Retry::Free);
    keys.reserve("k", "v1", at(10.0)).unwrap();
    assert_eq!(keys.retry("k", "v1", at(99.0)).unwrap(), Retry::InProgress);
    assert_eq!(keys.retry("k", "v2", at(0.0)).unwrap(), Retry::AnotherRequest);
    keys.finish("k", "v1", &receipt).unwrap();
    assert_eq!(keys.retry("k", "v1", at(9.9)).unwrap(), Retry::Replay(receipt));
    assert_eq!(keys.retry("k", "v2", at(9.9)).unwrap(), Retry::AnotherRequest);
    assert_eq!(keys.retry("k", "v1", at(10.0)).unwrap(), Retry::Expired);
    database.shell("UPDATE keys SET status = 'DONE'");
    assert_eq!(keys.retry("k", "v1", at(0.0)).unwrap(), Retry::InProgress, "no state of the contract");
}
