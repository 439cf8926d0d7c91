//! `explain`: one row, and why it is kept or due.

use serde_json::json;

use crate::support::database::KEY_TABLE;
use crate::support::writer::Writer;
use crate::support::{Answer, Database, Journal, keysweep};

fn explain(database: &Database, lines: &str, args: &[&str]) -> Answer {
    let config = database.config(lines);
    keysweep(["--config", config.to_str().unwrap(), "explain", "--database", "app"].iter().chain(args))
}

const LINES: &str = "[[database.table]]\nkeep = [{ column = 'response', is = 'not null' }]\n\
    expires = { column = 'expires', unit = 'unix_s', never = [0] }\nretention = '60s'\n";

/// A row of every fate: its id, status, response, expires, and what is said.
const ROWS: [(&str, &str, &str, &str, &str); 8] = [
    ("pending", "'pending'", "NULL", "1000000000", "a pending row is never deleted"),
    ("unknown", "'DONE'", "NULL", "1000000000", "no rule says what its state is"),
    ("kept", "'done'", "'{}'", "1000000000", "a test of `keep` matches it"),
    ("never", "'done'", "NULL", "0", "holds a value of `never`"),
    ("unreadable", "'done'", "NULL", "'soon'", "cannot be read in its unit"),
    ("unreadable", "'done'", "NULL", "NULL", "cannot be read in its unit"),
    ("not_yet", "'done'", "NULL", "4000000000", "kept for now: due at 2096-10-02T07:07:40Z"),
    ("due", "'done'", "NULL", "1000000000", "due: the next sweep deletes it"),
];

fn every_fate() -> Database {
    let rows = ROWS.iter().enumerate().map(|(at, (_, status, response, expires, _))| {
        format!("INSERT INTO keys VALUES ('k{at}', 'v1', {status}, {response}, {expires});")
    });
    let table = KEY_TABLE.replace("expires REAL NOT NULL", "expires");
    Database::new(Journal::Wal, &format!("{table} {}", rows.collect::<String>()))
}

#[test]
fn it_says_of_each_row_why_it_is_kept_or_due_and_a_sweep_does_just_that() {
    let database = every_fate();
    for (at, (fate, .., words)) in ROWS.iter().enumerate() {
        let key = format!("k{at}");
        let people = explain(&database, LINES, &["--key", &key]);
        assert_eq!(people.status, 0, "{people:?}");
        assert!(people.stdout.contains(words), "{words:?} in {people:?}");
        let machine = &explain(&database, LINES, &["--json", "--key", &key]).json_lines()[0];
        assert_eq!((&machine["fate"], &machine["found"]), (&json!(fate), &json!(true)), "{machine}");
        assert!(machine["cutoff"].is_f64(), "{machine}");
    }
    let due = ROWS.iter().enumerate().filter(|(_, (fate, ..))| *fate == "due").count();
    let swept = database.sweep(LINES, &[]);
    assert_eq!(swept.json_lines()[0]["deleted"], due, "{swept:?}");
    let gone = explain(&database, LINES, &["--key", "k7"]);
    assert_eq!(gone.status, 1, "{gone:?}");
    assert!(gone.stdout.contains("app/keys: there is no row with key k7"), "{gone:?}");
}

#[test]
fn the_clock_is_shown_as_it_is_stored_and_as_an_instant() {
    let database = every_fate();
    let people = explain(&database, LINES, &["--key", "k7"]);
    assert!(people.stdout.contains("expires = 1000000000 (unix_s): 2001-09-09T01:46:40Z"), "{people:?}");
    let machine = &explain(&database, LINES, &["--json", "--key", "k6"]).json_lines()[0];
    let shown =
        [&machine["clock"], &machine["instant"], &machine["due"], &machine["state"], &machine["unit"]];
    let wanted =
        [json!(4_000_000_000_u64), json!(4e9), json!(4_000_000_060.0), json!("done"), json!("unix_s")];
    assert_eq!(shown, wanted.each_ref(), "{machine}");
}

#[test]
fn a_key_is_text_an_integer_or_bytes_and_may_have_several_columns() {
    let rule = "[[database.table]]\ntable = 't'\nkey = ['a', 'b']\ndone = 'every-row'\n\
                since = { column = 'at', unit = 'unix_s' }\nretention = '7d'\n";
    let database = Database::new(
        Journal::Wal,
        "CREATE TABLE t(a, b, at, PRIMARY KEY(a, b));
         INSERT INTO t VALUES (7, 'x', 1000000000), ('7', x'6162', 1000000000), (-1, 'x''6162''', 1000000000);",
    );
    let found = |a: &str, b: &str| {
        let answer = explain(&database, rule, &["--json", "--key", a, "--key", b]);
        (answer.status, answer.json_lines()[0]["key"].clone())
    };
    assert_eq!(found("7", "x"), (0, json!([7, "x"])));
    assert_eq!(found("7", "x'6162'"), (0, json!(["7", { "hex": "6162" }])));
    assert_eq!(found("-1", "x'6162'"), (0, json!([-1, "x'6162'"])));
    assert_eq!(found("8", "x").0, 1);
}

#[test]
fn a_call_that_cannot_be_meant_is_refused() {
    let database = every_fate();
    for (args, words) in [
        (&["--key", "a", "--key", "b"][..], "keys (id)"),
        (&["--key", "a", "--table", "other"], "there is `keys`"),
        (&[], "--key"),
    ] {
        let answer = explain(&database, LINES, args);
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{answer:?}");
        assert!(answer.stderr.contains(words), "{answer:?}");
    }
    let misfit = Database::new(Journal::Wal, "CREATE TABLE orders(id INTEGER PRIMARY KEY);");
    let answer = explain(&misfit, "", &["--key", "a"]);
    assert_eq!(answer.status, 3, "{answer:?}");
    assert!(answer.stderr.contains("app/keys: there is no table `keys`"), "{answer:?}");
}

#[test]
fn it_reads_beside_a_writer_and_changes_nothing() {
    let database = every_fate();
    let _writer = Writer::begin(&database);
    let answer = explain(&database, LINES, &["--key", "k7"]);
    assert_eq!(answer.status, 0, "{answer:?}");
    assert_eq!(database.ids().len(), ROWS.len());
}

#[test]
fn a_key_cannot_forge_a_line_of_the_answer() {
    let database = every_fate();
    let answer = explain(&database, LINES, &["--key", "x\napp/keys: k7\u{1b}[2J"]);
    assert_eq!((answer.status, answer.stdout.lines().count()), (1, 1), "{answer:?}");
    assert!(!answer.stdout.contains('\u{1b}'), "{answer:?}");
}

#[test]
fn a_row_that_another_one_refers_to_is_kept_by_it() {
    let skip = "[[database.table]]\nreferences = 'skip'\n";
    let database = Database::with_keys(Journal::Wal, [("free", "done", 1e9), ("kept", "done", 1e9)]);
    database
        .shell("CREATE TABLE receipts(key TEXT REFERENCES keys(id)); INSERT INTO receipts VALUES ('kept');");
    let fate =
        |key: &str| explain(&database, skip, &["--json", "--key", key]).json_lines()[0]["fate"].clone();
    assert_eq!((fate("free"), fate("kept")), (json!("due"), json!("referenced")));
    assert_eq!(database.sweep(skip, &[]).json_lines()[0]["deleted"], 1);
    assert_eq!(database.ids(), ["kept"]);
    database.shell("DELETE FROM receipts;");
    assert_eq!(fate("kept"), json!("due"));
}
