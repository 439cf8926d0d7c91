//! States: what is pending, done or unknown, and what survives whatever its age.

use std::ffi::OsString;
use std::time::Duration;

use keysweep::plan::{Done, Identifier, Literal, Rule, StateTest, Stop, UnixTime};

use crate::support::library::{census_at, sweep_at};
use crate::support::{Daemon, Database, Journal, keysweep};

const NOW: f64 = 1_790_000_000.0;
const TEN_YEARS: f64 = 3_652.0 * 86_400.0;
const JOURNALS: [Journal; 2] = [Journal::Wal, Journal::Delete];

fn key_table() -> Rule {
    Rule::key_table(Duration::ZERO)
}

/// Every stored bit of a table, in an order of its own.
fn content(database: &Database) -> String {
    database.shell(
        "SELECT typeof(id), hex(id), typeof(status), hex(status), typeof(expires), expires FROM keys
         ORDER BY 1, 2, 3, 4, 5, 6;",
    )
}

/// Ten years past their expiry: eleven rows that are not done, by what they hold as id and status.
fn undone(declared: &str) -> String {
    let rows = [
        ("'p1'", "'pending'"),
        ("'p2'", "'pending'"),
        ("'DONE'", "'DONE'"),
        ("'space'", "'done '"),
        ("'blob'", "x'646f6e65'"),
        ("'nul'", "CAST(x'646f6e6500' AS TEXT)"),
        ("'integer'", "1"),
        ("'empty'", "''"),
        ("'null'", "NULL"),
    ];
    let expires = NOW - TEN_YEARS;
    let insert = |(id, status): (&str, &str)| format!("INSERT INTO keys VALUES ({id}, {status}, {expires});");
    let rows: String = rows.into_iter().map(insert).collect();
    format!(
        "CREATE TABLE keys(id TEXT PRIMARY KEY, status {declared}, expires REAL);{rows}
         INSERT INTO keys VALUES (NULL, 'pending', {expires}), (NULL, 'done', {expires});"
    )
}

#[test]
fn what_is_not_done_survives_any_number_of_sweeps_ten_years_past_its_expiry() {
    for (journal, declared) in
        [(Journal::Wal, ""), (Journal::Delete, ""), (Journal::Delete, "TEXT COLLATE NOCASE")]
    {
        let database = Database::new(journal, &undone(declared));
        let before = content(&database);
        database.shell(&format!("INSERT INTO keys VALUES ('due', 'done', {NOW});"));
        for round in 0..5 {
            let report = sweep_at(&database, &key_table(), NOW + f64::from(round));
            assert_eq!((report.stop, report.deleted), (Stop::Drained, u64::from(round == 0)), "{report:?}");
        }
        assert_eq!(content(&database), before, "{journal:?} {declared:?}");
    }
}

#[test]
fn each_row_is_counted_under_its_state_and_the_states_add_up_to_the_table() {
    for journal in JOURNALS {
        let database = Database::new(journal, &undone(""));
        let counts = census_at(&database, &key_table(), NOW);
        assert_eq!(
            (counts.unfinished.unwrap().pending, counts.done, counts.unfinished.unwrap().unknown),
            (3, 1, 7),
            "{journal:?}"
        );
        // The one done row has no key, and a backlog that no sweep can work off would never end.
        assert_eq!((counts.expired, counts.unreadable), (0, 0));
        assert_eq!(database.shell("SELECT count(*) FROM keys"), "11\n");
    }
}

#[test]
fn the_gauges_show_what_survived_under_the_right_state() {
    let database = Database::new(Journal::Wal, &undone("TEXT COLLATE RTRIM"));
    database.shell("INSERT INTO keys VALUES ('due', 'done', 1);");
    let daemon = Daemon::start(&database.config("every = '100ms'\ncensus = '100ms'"));
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, 1.0);
    for (state, rows) in [("done", 1.0), ("pending", 3.0), ("unknown", 7.0)] {
        let sample = format!(r#"keysweep_rows{{database="app",state="{state}",table="keys"}}"#);
        daemon.wait_for_metric(&sample, rows);
    }
    daemon.wait_for_metric(r#"keysweep_expired_rows{database="app",table="keys"}"#, 0.0);
    assert_eq!(database.shell("SELECT count(*) FROM keys"), "11\n");
}

#[test]
fn a_state_that_is_an_integer_is_no_text_and_no_real() {
    let database = Database::new(
        Journal::Delete,
        "CREATE TABLE keys(id TEXT PRIMARY KEY, status, expires);
         INSERT INTO keys VALUES ('1', 1, 1), ('text', '1', 1), ('real', 1.0, 1), ('blob', x'31', 1), ('0', 0, 1);",
    );
    let mut rule = key_table();
    rule.done = Done::Any(vec![column_is("status", 1)]);
    rule.pending = vec![column_is("status", 0)];
    assert_eq!(sweep_at(&database, &rule, NOW).deleted, 1);
    assert_eq!(database.ids(), ["0", "blob", "real", "text"]);
    let counts = census_at(&database, &rule, NOW);
    assert_eq!(
        (counts.unfinished.unwrap().pending, counts.done, counts.unfinished.unwrap().unknown),
        (1, 0, 3)
    );
}

fn column_is(column: &str, value: i64) -> StateTest {
    StateTest::OneOf { column: Identifier::new(column).unwrap(), values: vec![Literal::Integer(value)] }
}

#[test]
fn a_row_that_matches_both_rules_is_pending() {
    for journal in JOURNALS {
        let database = Database::new(
            journal,
            "CREATE TABLE keys(id TEXT PRIMARY KEY, status, locked, expires);
             INSERT INTO keys VALUES ('both', 'done', 1, 1), ('done', 'done', 0, 1), ('null', 'done', NULL, 1);",
        );
        let mut rule = key_table();
        rule.pending = vec![column_is("locked", 1)];
        let counts = census_at(&database, &rule, NOW);
        assert_eq!(
            (counts.unfinished.unwrap().pending, counts.done, counts.expired),
            (1, 2, 2),
            "{journal:?}"
        );
        assert_eq!(sweep_at(&database, &rule, NOW).deleted, 2);
        assert_eq!(database.ids(), ["both"], "{journal:?}");
    }
}

/// 5,000 rows after this table, every third done, pending or unknown, every second expired.
fn many(table: &str) -> String {
    format!(
        "{table};
         INSERT INTO keys(id, status, expires)
         WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999)
         SELECT printf('k%05d', i * 7919 % 5003),
                CASE i % 3 WHEN 0 THEN 'done' WHEN 1 THEN 'pending' ELSE 'Done' END,
                CASE i % 2 WHEN 0 THEN 9e9 ELSE i END FROM n;"
    )
}

#[test]
fn a_census_in_windows_is_exact_whatever_the_table_is_walked_by() {
    let tables = [
        "CREATE TABLE keys(id TEXT PRIMARY KEY, status, expires)",
        "CREATE TABLE keys(id TEXT PRIMARY KEY, status, expires) WITHOUT ROWID",
        "CREATE TABLE keys(id TEXT PRIMARY KEY COLLATE NOCASE, status, expires) WITHOUT ROWID",
        "CREATE TABLE keys(id TEXT PRIMARY KEY, status, expires, rowid DEFAULT 7)",
        "CREATE TABLE keys(id TEXT PRIMARY KEY, status, expires, rowid DEFAULT 7, OID, _rowid_ DEFAULT 'x')",
    ];
    for table in tables {
        for journal in JOURNALS {
            let database = Database::new(journal, &many(table));
            let counts = census_at(&database, &key_table(), NOW);
            let states = (
                counts.unfinished.unwrap().pending,
                counts.done,
                counts.unfinished.unwrap().unknown,
                counts.expired,
            );
            assert_eq!(states, (1_667, 1_667, 1_666, 833), "{table} {journal:?}");
            assert_eq!(counts.abandoned.unwrap().older_than, [834; 4], "{table} {journal:?}");
        }
    }
}

#[test]
fn rows_without_a_key_are_counted_even_where_nothing_else_numbers_the_rows() {
    for journal in JOURNALS {
        let table = "CREATE TABLE keys(id TEXT PRIMARY KEY, status, expires, rowid, oid, _rowid_)";
        let keyless = "UPDATE keys SET id = NULL WHERE id < 'k03000';";
        let database = Database::new(journal, &(many(table) + keyless));
        let counts = census_at(&database, &key_table(), NOW);
        assert_eq!(
            (counts.unfinished.unwrap().pending, counts.done, counts.unfinished.unwrap().unknown),
            (1_667, 1_667, 1_666),
            "{journal:?}"
        );
        let pending = ["--json", "pending", "--limit", "100000", "--config"].map(OsString::from);
        let answer = keysweep(pending.into_iter().chain([database.config("").into()]));
        assert_eq!((answer.status, answer.json_lines().len()), (0, 834), "{journal:?}");
    }
}

#[test]
fn abandoned_rows_are_counted_by_age_and_the_oldest_is_named() {
    for journal in JOURNALS {
        let ages =
            [("now", 0.0), ("1h", 3_600.0), ("1h less 1", 3_599.0), ("1d", 86_400.0), ("7d", 604_800.0)];
        let pending = ages.map(|(id, age)| (id, "pending", NOW - age));
        let others = [("later", "pending", NOW + 1.0), ("done", "done", 1.0), ("Pending", "Pending", 1.0)];
        let database = Database::with_keys(journal, pending.into_iter().chain(others));
        let abandoned = census_at(&database, &key_table(), NOW).abandoned.unwrap();
        assert_eq!(abandoned.older_than, [5, 3, 2, 1], "{journal:?}");
        assert_eq!(abandoned.oldest.map(UnixTime::seconds), Some(NOW - 604_800.0));
    }
}
