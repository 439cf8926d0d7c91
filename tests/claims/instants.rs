//! Instants as applications write them: text with offsets and fractions, days, ticks, and zones that do not matter.

use std::path::PathBuf;

use keysweep::config::parse;
use keysweep::plan::{Limit, Rule, Stop};
use keysweep::tick::Mode;
use serde_json::json;

use crate::support::frozen::keysweep_frozen_at;
use crate::support::library::{count_at, tick_at};
use crate::support::{Database, Journal};

/// 2026-09-21T12:00:00Z, and the start of 2027.
const NOW: i64 = 1_789_992_000;
const NEW_YEAR: i64 = 1_798_761_600;

/// A table in which every row is done, its expiry in this column.
fn lines(unit: &str, retention: &str) -> String {
    format!(
        "[[database.table]]\ntable = 'keys'\nkey = 'id'\ndone = 'every-row'\nretention = '{retention}'\n\
         expires = {{ column = 'expires', unit = '{unit}' }}\n"
    )
}

fn rules(lines: &str) -> Vec<Rule> {
    let config = format!("[[database]]\nname = 'app'\npath = '/app.db'\n{lines}");
    parse("keysweep.toml", config.as_bytes(), []).unwrap().blocks.remove(0).template.rules.rules(&[])
}

/// A column declared so, with these SQL expressions in it; each is its row's key.
fn table(declared: &str, clocks: &[&str]) -> Database {
    let insert =
        |clock: &&str| format!("INSERT INTO keys VALUES ('{}', {clock});", clock.replace('\'', "''"));
    let rows: String = clocks.iter().map(insert).collect();
    Database::new(Journal::Wal, &format!("CREATE TABLE keys(id TEXT PRIMARY KEY, expires {declared});{rows}"))
}

/// The keys that are left after a tick at this instant; a dry run before it named the others.
fn left_at(database: &Database, rules: &[Rule], now: f64) -> Vec<String> {
    let before = database.ids();
    let dry = tick_at(&database.path(), rules, Limit::MAX, Mode::DryRun, now);
    let swept = tick_at(&database.path(), rules, Limit::MAX, Mode::Delete, now);
    assert!(swept.reports.iter().all(|report| report.stop == Stop::Drained), "{swept:?}");
    let left = database.ids();
    assert_eq!(dry.named.len(), before.len() - left.len(), "{dry:?}");
    left
}

#[test]
fn an_evening_in_new_york_is_not_over_when_the_year_is_over_in_utc() {
    let database = table("TEXT", &["'2026-12-31T23:59:59-05:00'"]);
    let rules = rules(&lines("iso8601", "0s"));
    let hour = |hour: i64| (NEW_YEAR + hour * 3_600) as f64;
    assert_eq!(left_at(&database, &rules, hour(2)).len(), 1);
    assert_eq!(left_at(&database, &rules, hour(5) - 1.5).len(), 1);
    assert_eq!(left_at(&database, &rules, hour(5)).len(), 0);
}

#[test]
fn a_space_sorts_before_a_t_and_is_no_earlier() {
    let database = table("TEXT", &["'2026-09-21 23:59:59'"]);
    let rules = rules(&lines("iso8601", "0s"));
    let midnight = (NOW - 43_200) as f64;
    assert_eq!(left_at(&database, &rules, midnight + 1.0).len(), 1);
    assert_eq!(left_at(&database, &rules, midnight + 86_398.0).len(), 1);
    assert_eq!(left_at(&database, &rules, midnight + 86_399.0).len(), 0);
}

#[test]
fn a_fraction_of_any_length_is_part_of_the_instant() {
    let clocks = [
        "'2026-09-21T12:00:00.5Z'",
        "'2026-09-21T12:00:00.50000001Z'",
        "'2026-09-21T12:00:00,500Z'",
        "'2026-09-21T12:00:00.4999999Z'",
    ];
    let database = table("TEXT", &clocks);
    let rules = rules(&lines("iso8601", "0s"));
    let half = NOW as f64 + 0.5;
    assert_eq!(left_at(&database, &rules, half - 0.001).len(), 4);
    assert_eq!(left_at(&database, &rules, half), [clocks[1]]);
    assert_eq!(left_at(&database, &rules, half + 0.001).len(), 0);
}

#[test]
fn text_of_an_instant_is_read_whatever_the_column_was_declared_as() {
    let due = ["'2026-09-21T12:00:00Z'", "'2026-09-21 14:00:00.000+02:00'", "'2026-09-20 23:59'"];
    let not_due = ["'2026-09-21T12:00:00.001Z'", "'2026-09-21 12:00:00-00:01'", "NULL", "1789992000", "''"];
    for declared in
        ["TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB", "", "DATETIME", "TEXT COLLATE NOCASE", "BOOLEAN"]
    {
        let database = table(declared, &[&due[..], &not_due[..]].concat());
        database.shell("CREATE INDEX by_expiry ON keys(expires);");
        let mut left = left_at(&database, &rules(&lines("iso8601", "0s")), NOW as f64);
        left.sort();
        let mut meant = not_due;
        meant.sort();
        assert_eq!(left, meant, "{declared:?}");
    }
}

#[test]
fn text_in_a_column_that_should_hold_numbers_is_unreadable_and_never_goes() {
    let database = table("INTEGER", &["'2006-09-21T12:00:00Z'", "'2006'", "'x'"]);
    // SQLite makes the number 2006 of the second one, an instant of 1970.
    for unit in ["unix_s", "ms", "us", "ns", "dotnet_ticks", "julian"] {
        let rules = rules(&lines(unit, "0s"));
        let counts = count_at(&database.path(), &rules, NOW as f64).unwrap();
        assert_eq!((counts[0].expired, counts[0].unreadable), (1, 2), "{unit}");
    }
    assert_eq!(left_at(&database, &rules(&lines("unix_s", "0s")), 4e9).len(), 2);
}

/// One sweep of the same rows by the real binary, in each of these zones.
#[test]
fn the_time_zone_of_the_process_changes_nothing() {
    let clocks = [
        "'2026-09-21T11:59:59'",
        "'2026-09-21 12:00:00'",
        "'2026-09-21T12:00:00.001'",
        "'2026-09-21T08:00:00-04:00'",
        "'2026-09-21T17:30:01+05:30'",
        "'2026-09-21 16:00:00'",
        "'2026-09-21T12:00:00Z'",
    ];
    let left = ["UTC", "America/New_York", "Asia/Kolkata"].map(|zone| {
        let database = table("TEXT", &clocks);
        let config = database.config(&lines("iso8601", "0s"));
        let swept = keysweep_frozen_at(NOW, zone, ["--config", config.to_str().unwrap(), "sweep", "--json"]);
        let line = &swept.json_lines()[0];
        assert_eq!((&line["now"], &line["deleted"]), (&json!(NOW as f64), &json!(4)), "{zone}: {swept:?}");
        database.ids()
    });
    let mut meant = [clocks[2], clocks[4], clocks[5]];
    meant.sort();
    assert_eq!(left[0], meant);
    assert!(left.iter().all(|one| *one == left[0]), "{left:?}");
}

/// 99,999 days before [`NOW`], 1752-12-07T12:00:00Z: how each unit writes a step before it, itself, a step behind it.
const LONG_AGO: [(&str, [&str; 3]); 7] = [
    ("unix_s", ["-6849921601", "-6849921600", "-6849921599"]),
    ("ms", ["-6849921600001", "-6849921600000", "-6849921599999"]),
    ("us", ["-6849921600000001", "-6849921600000000", "-6849921599999999"]),
    ("ns", ["-6849921600000000001", "-6849921600000000000", "-6849921599999999999"]),
    ("iso8601", ["'1752-12-07T11:59:59.999999Z'", "'1752-12-07 12:00'", "'1752-12-07T12:00:00.0000001Z'"]),
    (
        "julian",
        [
            "julianday('1752-12-07 11:59:59.999')",
            "julianday('1752-12-07 12:00')",
            "julianday('1752-12-07 12:00:00.001')",
        ],
    ),
    ("dotnet_ticks", ["552856751999999999", "552856752000000000", "552856752000000001"]),
];

#[test]
fn a_retention_of_99999_days_does_not_overflow_in_any_unit() {
    for (unit, clocks) in LONG_AGO {
        let database = table("", &clocks);
        let config: PathBuf = database.config(&lines(unit, "99999d"));
        let sweep = ["--config", config.to_str().unwrap(), "sweep", "--json"];
        let dry = keysweep_frozen_at(NOW, "UTC", sweep.into_iter().chain(["--dry-run"])).json_lines();
        assert_eq!(dry.len(), 3, "{unit}: {dry:?}");
        assert_eq!(dry[2]["cutoff"], json!((NOW - 99_999 * 86_400) as f64), "{unit}");
        let swept = keysweep_frozen_at(NOW, "UTC", sweep);
        assert_eq!(swept.json_lines()[0]["deleted"], json!(2), "{unit}: {swept:?}");
        assert_eq!(database.ids(), [clocks[2]], "{unit}");
    }
}

#[test]
fn a_julian_day_is_what_sqlite_says_it_is_to_the_millisecond() {
    for (at, instant) in
        [("2026-09-21 12:00:00", NOW as f64), ("2027-01-01 00:00:00.5", NEW_YEAR as f64 + 0.5)]
    {
        let before = format!("julianday('{at}', '-0.001 seconds')");
        let (exact, after) = (format!("julianday('{at}')"), format!("julianday('{at}', '+0.001 seconds')"));
        let database = table("REAL", &[&before, &exact, &after]);
        assert_eq!(left_at(&database, &rules(&lines("julian", "0s")), instant), [after], "{at}");
    }
}

#[test]
fn a_tick_of_dotnet_is_100_ns_since_the_year_1() {
    let ticks = |step: &str| format!("(unixepoch('2026-09-21 12:00:00') + 62135596800) * 10000000 {step}");
    let clocks = [ticks("- 1"), ticks(""), ticks("+ 1")];
    let clocks = [clocks[0].as_str(), &clocks[1], &clocks[2]];
    let database = table("INTEGER", &clocks);
    assert_eq!(left_at(&database, &rules(&lines("dotnet_ticks", "0s")), NOW as f64), [clocks[2]]);
    assert_eq!(database.shell("SELECT expires FROM keys"), "639255888000000001\n");
}
