//! The unit: values under the configured unit against the others.

use super::Checked;
use crate::support::{Database, Journal};

/// The units, and an instant of an hour and more ago as SQLite writes it in each.
const UNITS: [(&str, &str); 7] = [
    ("unix_s", "unixepoch() - 3600 * n"),
    ("ms", "(unixepoch() - 3600 * n) * 1000"),
    ("us", "(unixepoch() - 3600 * n) * 1000000"),
    ("ns", "(unixepoch() - 3600 * n) * 1000000000"),
    ("iso8601", "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', -n || ' hours')"),
    ("julian", "julianday('now') - n / 24.0"),
    ("dotnet_ticks", "(unixepoch() - 3600 * n) * 10000000 + 621355968000000000"),
];

/// A table of finished rows for each unit, named after it.
fn one_table_a_unit() -> Database {
    let table = |(name, value): &(&str, &str)| {
        format!(
            "CREATE TABLE {name}(id TEXT PRIMARY KEY, at);
             INSERT INTO {name} WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 30)
             SELECT 'k' || n, {value} FROM c;\n"
        )
    };
    Database::new(Journal::Wal, &UNITS.iter().map(table).collect::<String>())
}

fn rule(table: &str, unit: &str, more: &str) -> String {
    format!(
        "[[database.table]]\ntable = '{table}'\nkey = 'id'\ndone = 'every-row'\n\
         since = {{ column = 'at', unit = '{unit}'{more} }}\nretention = '7d'\n"
    )
}

#[test]
fn every_unit_called_by_another_name_is_a_fault_until_the_advised_one_is_set() {
    let database = one_table_a_unit();
    for (configured, _) in UNITS {
        let rules: String = UNITS.iter().map(|(table, _)| rule(table, configured, "")).collect();
        let checked = Checked::of(&database, &rules);
        assert_eq!(
            (checked.status, checked.all().iter().filter(|(severity, ..)| severity == "fault").count()),
            (1, 6)
        );
        for (real, _) in UNITS.iter().filter(|(real, _)| *real != configured) {
            let (severity, _, remedy) = checked.one(&format!("are instants of this age in {real},"));
            let advised = format!("set `unit = \"{real}\"` for column `at`");
            assert_eq!((severity.as_str(), remedy), ("fault", advised), "{real} called {configured}");
        }
    }
    Checked::of(&database, &UNITS.iter().map(|(table, _)| rule(table, table, "")).collect::<String>())
        .assert_fine();
}

fn table_of(values: &str) -> Database {
    Database::new(
        Journal::Wal,
        &format!(
            "CREATE TABLE t(id TEXT PRIMARY KEY, at, ends); INSERT INTO t(id, at, ends) VALUES {values};"
        ),
    )
}

#[test]
fn digits_as_text_are_a_fault_until_they_are_numbers() {
    let database = table_of("('a', CAST(unixepoch() AS TEXT), 0), ('b', CAST(unixepoch() AS TEXT), 0)");
    let (severity, _, remedy) = Checked::of(&database, &rule("t", "unix_s", "")).one("holds digits as text");
    assert_eq!(severity, "fault");
    assert!(remedy.contains("let the application store numbers"), "{remedy}");
    database.shell("UPDATE t SET at = CAST(at AS INTEGER);");
    Checked::of(&database, &rule("t", "unix_s", "")).assert_fine();
}

#[test]
fn a_length_of_time_taken_for_an_instant_is_a_fault_until_the_column_of_the_instant_is_named() {
    let database = table_of("('a', 86400, unixepoch()), ('b', 3600, unixepoch())");
    let checked = Checked::of(&database, &rule("t", "unix_s", ""));
    let (severity, what, remedy) = checked.one("before 2001");
    assert_eq!((checked.status, severity.as_str()), (1, "fault"));
    assert!(what.contains("1970-01-02T00:00:00Z") && remedy.contains("name the column"), "{what} {remedy}");
    Checked::of(&database, &rule("t", "unix_s", "").replace("'at'", "'ends'")).assert_fine();
}

#[test]
fn a_value_that_means_never_is_advised_on_until_it_is_listed() {
    let database = table_of("('a', unixepoch(), 0), ('b', unixepoch(), 0), ('c', 253402300799, 0)");
    let checked = Checked::of(&database, &rule("t", "unix_s", ""));
    let (severity, what, remedy) = checked.one("more than 10 years ahead");
    assert_eq!((checked.status, severity.as_str()), (0, "advice"));
    assert!(what.contains("9999-12-31T23:59:59Z") && remedy.contains("`never`"), "{what} {remedy}");
    Checked::of(&database, &rule("t", "unix_s", ", never = [253402300799]")).assert_fine();
}

#[test]
fn the_wrong_unit_is_seen_wherever_in_a_long_table_the_rows_lie() {
    // Only the newest rows are in the old unit's place: both ends and the middle are read.
    let database = Database::new(
        Journal::Delete,
        "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, at);
         INSERT INTO t WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 9000)
         SELECT n, CASE WHEN n < 300 THEN unixepoch() ELSE unixepoch() * 1000 END FROM c;",
    );
    let (severity, ..) = Checked::of(&database, &rule("t", "unix_s", "")).one("is not in unix_s");
    assert_eq!(severity, "fault");
}
