//! The daemon as a process.

use crate::support::{Daemon, Database, Journal};

#[test]
fn it_sweeps_at_once_and_then_at_each_ring() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0), ("b", "pending", 1.0)]);
    let daemon = Daemon::start(&database.config("every = '100ms'\ncensus = '100ms'"));
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, 1.0);
    assert_eq!(database.ids(), ["b"]);
    database.shell("INSERT INTO keys VALUES ('c', 'v1', 'done', '{}', 2)");
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, 2.0);
    daemon.wait_for_metric(r#"keysweep_rows{database="app",state="pending",table="keys"}"#, 1.0);
    assert_eq!(database.ids(), ["b"]);
}

#[test]
fn a_signal_ends_it_with_status_zero() {
    for signal in ["TERM", "INT"] {
        let database = Database::with_keys(Journal::Wal, []);
        let daemon = Daemon::start(&database.config("every = '100ms'"));
        daemon.signal(signal);
        assert_eq!(daemon.ended().code(), Some(0), "{signal}");
    }
}
