//! Instants of any size, and keys that are no plain text: taken and deleted exactly as they are stored.

use super::{answers, rows};
use crate::support::{Database, Journal, now};

#[test]
fn an_instant_is_any_finite_number() {
    for (expires, before) in [
        ("-5.5", "-5.500001"),
        ("-1e300", "-1.0000001e300"),
        ("1.7976931348623157e308", "1.7976931348623155e308"),
        ("0.30000000000000004", "0.3"),
        ("1790000000.123456", "1790000000.123455"),
        ("5e-324", "0"),
    ] {
        let database = Database::with_keys(Journal::Wal, []);
        let path = database.path();
        answers(&path, &format!("reserve --key k --fingerprint v1 --expires {expires}"), 0, "true\n");
        answers(&path, "finish --key k --fingerprint v1 --response [1]", 0, "true\n");
        answers(&path, &format!("fetch --key k --now {before}"), 0, "[1]\n");
        answers(&path, &format!("expired --now {before}"), 0, "[]\n");
        answers(&path, &format!("fetch --key k --now {expires}"), 1, "");
        answers(&path, &format!("purge --now {expires}"), 0, "[\"k\"]\n");
    }
}

#[test]
fn without_now_it_is_the_wall_clock() {
    let database =
        Database::with_keys(Journal::Wal, [("old", "done", now() - 60.0), ("new", "done", now() + 3600.0)]);
    answers(&database.path(), "fetch --key new", 0, "{}\n");
    answers(&database.path(), "fetch --key old", 1, "");
    answers(&database.path(), "expired", 0, "[\"old\"]\n");
    answers(&database.path(), "purge", 0, "[\"old\"]\n");
    assert_eq!(database.ids(), ["new"]);
}

/// The same two bytes as text and as a blob are two keys; so is each with a NUL behind it.
const KEYS: [&str; 6] = ["''", "'ab'", "'ab' || char(0)", "CAST(x'ff61' AS TEXT)", "x'6162'", "x'616200'"];
const SHOWN: [&str; 6] =
    [r#""""#, r#""ab""#, r#""ab\u0000""#, r#"{"hex":"ff61"}"#, r#"{"hex":"6162"}"#, r#"{"hex":"616200"}"#];

fn with_key(key: &str, status: &str) -> String {
    format!("INSERT INTO keys VALUES ({key}, 'v1', '{status}', '{{}}', 1);")
}

#[test]
fn a_key_that_is_no_plain_text_is_shown_and_purged_by_its_exact_bytes() {
    let database = Database::with_keys(Journal::Wal, []);
    database.shell(&KEYS.map(|key| with_key(key, "done")).concat());
    let all = format!("[{}]\n", SHOWN.join(","));
    answers(&database.path(), "expired --now 10", 0, &all);
    answers(&database.path(), "purge --now 10", 0, &all);
    assert_eq!(rows(&database.path()), "");
}

#[test]
fn purging_one_key_leaves_those_that_only_look_like_it() {
    for (key, shown) in KEYS.into_iter().zip(SHOWN) {
        let database = Database::with_keys(Journal::Wal, []);
        let others: String =
            KEYS.into_iter().filter(|other| *other != key).map(|other| with_key(other, "pending")).collect();
        database.shell(&others);
        let before = rows(&database.path());
        database.shell(&with_key(key, "done"));
        answers(&database.path(), "purge --now 10", 0, &format!("[{shown}]\n"));
        assert_eq!(rows(&database.path()), before, "{key}");
    }
}

#[test]
fn rows_without_a_key_are_never_purged_and_stand_in_no_ones_way() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0)]);
    database.shell(&with_key("NULL", "done").repeat(200));
    answers(&database.path(), "purge --now 10", 0, "[\"a\"]\n");
    assert_eq!(database.ids(), ["NULL"; 200]);
}
