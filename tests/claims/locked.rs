//! A locked database is down, is shown to be, and keeps nothing else waiting.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::support::{Application, Daemon, Database, Journal, has_open, wait_for};

/// A sweep of one database must not be short of time for the wait for its lock.
const QUICK: &str = "every = '300ms'\nbusy_timeout = '200ms'\ncensus = '300ms'\nbudget = '20s'\nshare = 0.05";
const OTHER_DELETED: &str = r#"keysweep_deleted_rows_total{database="other",table="keys"}"#;
const LOCKED_DELETED: &str = r#"keysweep_deleted_rows_total{database="locked",table="keys"}"#;
const LOCKED_BUSY: &str = r#"keysweep_errors_total{database="locked",kind="busy"}"#;
const LOCKED_UP: &str = r#"keysweep_database_up{database="locked"}"#;
const OTHER_UP: &str = r#"keysweep_database_up{database="other"}"#;

#[test]
fn an_exclusive_lock_in_rollback_mode_stops_nothing_else() {
    a_lock_stops_nothing_else(Journal::Delete);
}

#[test]
fn a_write_lock_in_wal_mode_stops_nothing_else() {
    a_lock_stops_nothing_else(Journal::Wal);
}

fn a_lock_stops_nothing_else(journal: Journal) {
    let (locked, other) = (expired(journal, 50), expired(journal, 3_000));
    let holder = hold(&locked);
    let daemon = Daemon::start(&both(&locked, &other));
    daemon.wait_for_metric(LOCKED_UP, 0.0);
    let (deleted, failures) = (value(&daemon, OTHER_DELETED), value(&daemon, LOCKED_BUSY));
    assert!(failures > 0.0);
    let scrapes: Vec<Duration> = (0..40).map(|_| scrape(&daemon)).collect();
    other.shell("INSERT INTO keys VALUES ('new', 'v1', 'done', '{}', 1)");
    wait_for("the other database to be swept, and the locked one to fail on", || {
        let swept = value(&daemon, OTHER_DELETED) > deleted || other.ids().is_empty();
        (swept && value(&daemon, LOCKED_BUSY) >= failures + 2.0).then_some(())
    });
    daemon.wait_for_metric(OTHER_UP, 1.0);
    assert_eq!(daemon.metric(LOCKED_UP), Some(0.0));
    assert_eq!(daemon.metric(LOCKED_DELETED), Some(0.0));
    let quick = scrapes.iter().filter(|took| **took < Duration::from_millis(50)).count();
    assert!(quick * 4 >= scrapes.len() * 3, "{scrapes:?}");

    drop(holder);
    daemon.wait_for_metric(LOCKED_DELETED, 50.0);
    daemon.wait_for_metric(LOCKED_UP, 1.0);
    assert_eq!(locked.ids(), [""; 0]);
    told_once(&daemon, "sweep");
}

/// However many ticks failed: one line when it began, one when it ended.
fn told_once(daemon: &Daemon, work: &str) {
    let count = |message: String| {
        let is = |event: &serde_json::Value| event["database"] == "locked" && event["message"] == message;
        daemon.log().iter().filter(|event| is(event)).count()
    };
    // A line is written after the metric has changed.
    wait_for("the line of its end", || (count(format!("{work} works again")) > 0).then_some(()));
    assert_eq!(count(format!("{work} failed")), 1, "{:?}", daemon.log());
    assert_eq!(count(format!("{work} works again")), 1, "{:?}", daemon.log());
}

#[test]
fn a_signal_ends_the_wait_for_a_lock() {
    for journal in [Journal::Delete, Journal::Wal] {
        let locked = expired(journal, 50);
        let _holder = hold(&locked);
        let daemon = Daemon::start(&locked.config("every = '100ms'\nbusy_timeout = '5m'"));
        wait_for("a try for the lock", || has_open(daemon.pid(), &locked.path()).then_some(()));
        let asked = Instant::now();
        daemon.signal("TERM");
        daemon.wait_for_log("the end", |event| event["message"] == "keysweep has stopped");
        let cut_off = daemon.log().into_iter().find(|event| event["level"] == "WARN");
        assert_eq!(cut_off, None);
        assert_eq!(daemon.ended().code(), Some(0));
        assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    }
}

#[test]
fn a_second_signal_aborts() {
    let locked = expired(Journal::Delete, 50);
    let _holder = hold(&locked);
    let daemon = Daemon::start(&locked.config("every = '100ms'\nbusy_timeout = '5m'"));
    // Stopped, it takes both at once when it goes on.
    for signal in ["STOP", "TERM", "INT", "CONT"] {
        daemon.signal(signal);
    }
    let status = daemon.ended();
    assert_eq!((status.code(), status.signal()), (Some(3), None));
}

/// While a long reader is in the way, each COMMIT is taken back at once: one that waited would
/// keep every new reader out for as long as it waits.
#[test]
fn no_reader_queues_behind_a_commit_that_waits_for_a_reader() {
    let database = expired(Journal::Delete, 50);
    let mut reader = Application::python(&database.path(), Duration::from_secs(10));
    reader.run("BEGIN");
    reader.run("SELECT count(*) FROM keys");
    let daemon = Daemon::start(&database.config("every = '100ms'\nbusy_timeout = '1s'\nbudget = '20s'"));
    let busy = r#"keysweep_errors_total{database="app",kind="busy"}"#;
    let mut visitor = Application::shell(&database.path(), Duration::from_millis(300));
    let (mut visits, mut errors) = (0, Vec::new());
    wait_for("the sweep to fail twice", || {
        for _ in 0..20 {
            errors.extend(visitor.ask("SELECT count(*) FROM keys WHERE id = 'key-1'").errors);
            visits += 1;
        }
        (value(&daemon, busy) >= 2.0).then_some(())
    });
    println!("{visits} visits");
    assert!(visits > 100, "only {visits}");
    assert_eq!(errors, [""; 0]);
    assert_eq!(database.ids().len(), 50);

    reader.run("COMMIT");
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, 50.0);
    assert_eq!(database.ids(), [""; 0]);
}

fn expired(journal: Journal, rows: u32) -> Database {
    let ids: Vec<String> = (0..rows).map(|row| format!("key-{row}")).collect();
    Database::with_keys(journal, ids.iter().map(|id| (id.as_str(), "done", 1.0)))
}

/// An application in the middle of a transaction that lets nobody else write.
fn hold(database: &Database) -> Application {
    let mut holder = Application::python(&database.path(), Duration::from_secs(10));
    holder.run("BEGIN EXCLUSIVE");
    holder
}

fn both(locked: &Database, other: &Database) -> PathBuf {
    let section = |name: &str, database: &Database| {
        format!("[[database]]\nname = \"{name}\"\npath = {:?}\n{QUICK}\n", database.path())
    };
    locked.config_text(&(section("locked", locked) + &section("other", other)))
}

fn value(daemon: &Daemon, sample: &str) -> f64 {
    daemon.metric(sample).unwrap()
}

fn scrape(daemon: &Daemon) -> Duration {
    let begun = Instant::now();
    assert_eq!(daemon.get("/metrics").status, 200);
    begun.elapsed()
}
