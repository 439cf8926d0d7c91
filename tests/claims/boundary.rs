//! Which rows are expired at an instant, and which never are.

use std::time::Duration;

use keysweep::plan::{Clock, ClockColumn, Identifier, Rule, Stop, Unit};

use crate::support::library::{census_at, sweep_at};
use crate::support::{Database, Journal};

const NOW: i64 = 1_790_000_000;
const HOUR: Duration = Duration::from_secs(3_600);

/// A table whose columns keep what is written, type and all.
const UNTYPED: &str = "CREATE TABLE keys(id TEXT PRIMARY KEY, status, expires);";

fn expires(unit: Unit, grace: Duration) -> Rule {
    let clock = Clock::expires(ClockColumn::new(Identifier::new("expires").unwrap(), unit), grace);
    Rule { clock: Some(clock), ..Rule::key_table(Duration::ZERO) }
}

/// Done rows, each with its clock value as its key.
fn done_rows<T: ToString>(values: impl IntoIterator<Item = T>) -> Database {
    let row = |value: T| {
        let value = value.to_string();
        format!("INSERT INTO keys VALUES ('{}', 'done', {value});", value.replace('\'', "''"))
    };
    let rows: String = values.into_iter().map(row).collect();
    Database::new(Journal::Wal, &format!("{UNTYPED}{rows}"))
}

fn left_at(database: &Database, rule: &Rule, now: f64) -> Vec<String> {
    let report = sweep_at(database, rule, now);
    assert_eq!(report.stop, Stop::Drained, "{report:?}");
    database.ids()
}

#[test]
fn of_the_rows_around_now_only_the_one_after_it_stays() {
    for journal in [Journal::Wal, Journal::Delete] {
        let at = |offset: i64| (NOW + offset) as f64;
        let rows = [("before", "done", at(-1)), ("now", "done", at(0)), ("after", "done", at(1))];
        let database = Database::with_keys(journal, rows);
        assert_eq!(left_at(&database, &Rule::key_table(Duration::ZERO), at(0)), ["after"], "{journal:?}");
        assert_eq!(left_at(&database, &Rule::key_table(Duration::ZERO), at(1)), [""; 0], "{journal:?}");
    }
}

#[test]
fn retention_shifts_the_boundary() {
    let rule = expires(Unit::UnixSeconds, HOUR);
    let database = done_rows([NOW - 3_601, NOW - 3_600, NOW - 3_599, NOW]);
    let left = left_at(&database, &rule, NOW as f64);
    assert_eq!(left, [(NOW - 3_599).to_string(), NOW.to_string()]);
}

#[test]
fn since_counts_retention_from_the_instant_of_finishing() {
    let on = ClockColumn::new(Identifier::new("expires").unwrap(), Unit::Millis);
    let clock = Clock::since(on, HOUR).unwrap();
    let rule = Rule { clock: Some(clock), abandoned: None, ..Rule::key_table(Duration::ZERO) };
    let boundary = (NOW - 3_600) * 1_000;
    let database = done_rows([boundary - 1, boundary, boundary + 1, NOW * 1_000]);
    let left = left_at(&database, &rule, NOW as f64);
    assert_eq!(left, [(boundary + 1).to_string(), (NOW * 1_000).to_string()]);
}

#[test]
fn each_unit_has_its_boundary_to_the_last_digit() {
    let units = [
        (Unit::UnixSeconds, 1),
        (Unit::Millis, 1_000),
        (Unit::Micros, 1_000_000),
        (Unit::Nanos, 1_000_000_000),
    ];
    for (unit, scale) in units {
        let boundary = NOW * scale;
        let database = done_rows([boundary - 1, boundary, boundary + 1]);
        let left = left_at(&database, &expires(unit, Duration::ZERO), NOW as f64);
        assert_eq!(left, [(boundary + 1).to_string()], "{unit:?}");
    }
}

#[test]
fn a_fraction_of_a_second_counts_in_every_unit() {
    let half = NOW as f64 + 0.5;
    let database = done_rows([format!("{half}"), format!("{NOW}.501")]);
    let left = left_at(&database, &expires(Unit::UnixSeconds, Duration::ZERO), half);
    assert_eq!(left, [format!("{NOW}.501")]);
    let boundary = NOW * 1_000 + 500;
    let database = done_rows([format!("{boundary}"), format!("{boundary}.25"), format!("{}", boundary + 1)]);
    let left = left_at(&database, &expires(Unit::Millis, Duration::ZERO), half);
    assert_eq!(left, [format!("{boundary}.25"), (boundary + 1).to_string()]);
}

#[test]
fn a_clock_that_is_no_finite_number_never_expires_and_is_counted_as_unreadable() {
    let clocks = ["NULL", "'1'", "'1970-01-01'", "''", "x'31'", "9e999", "-9e999"];
    for unit in [Unit::UnixSeconds, Unit::Millis, Unit::Micros, Unit::Nanos] {
        let database = done_rows(clocks.into_iter().chain(["5"]));
        let rule = expires(unit, Duration::ZERO);
        let counts = census_at(&database, &rule, NOW as f64);
        assert_eq!((counts.done, counts.expired, counts.unreadable), (8, 1, 7), "{unit:?}");
        assert_eq!(left_at(&database, &rule, 1e11).len(), 7, "{unit:?}");
    }
}

#[test]
fn a_clock_in_another_unit_than_the_configured_one_is_unreadable_and_stays() {
    let wrong = [
        (Unit::Millis, vec![NOW, 978_307_200]),
        (Unit::Micros, vec![NOW, NOW * 1_000]),
        (Unit::Nanos, vec![NOW, NOW * 1_000, NOW * 1_000_000]),
    ];
    for (unit, clocks) in wrong {
        let database = done_rows(clocks.iter());
        let rule = expires(unit, Duration::ZERO);
        let counts = census_at(&database, &rule, NOW as f64);
        let all = clocks.len() as u64;
        assert_eq!((counts.done, counts.expired, counts.unreadable), (all, 0, all), "{unit:?}");
        assert_eq!(left_at(&database, &rule, NOW as f64).len(), clocks.len(), "{unit:?}");
    }
}

#[test]
fn a_small_number_is_just_old_in_every_unit() {
    for unit in [Unit::UnixSeconds, Unit::Millis, Unit::Micros, Unit::Nanos] {
        let database = done_rows(["10", "0", "-1"]);
        assert_eq!(left_at(&database, &expires(unit, Duration::ZERO), NOW as f64), [""; 0], "{unit:?}");
    }
}

#[test]
fn milliseconds_called_seconds_lie_in_the_future_and_stay() {
    let database = done_rows([NOW * 1_000]);
    let rule = expires(Unit::UnixSeconds, Duration::ZERO);
    assert_eq!(left_at(&database, &rule, NOW as f64).len(), 1);
    assert_eq!(census_at(&database, &rule, NOW as f64).expired, 0);
}
