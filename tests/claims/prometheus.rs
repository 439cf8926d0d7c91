//! Prometheus sees what the shell counts.

use crate::support::prometheus::{Prometheus, promtool};
use crate::support::{Daemon, Database, Journal};

const PENDING: &str = r#"keysweep_rows{database="app",table="keys",state="pending"}"#;
const DONE: &str = r#"keysweep_rows{database="app",table="keys",state="done"}"#;
const LATER: f64 = 9e9;

fn counted_by_the_shell(database: &Database, status: &str) -> f64 {
    let count = database.shell(&format!("SELECT count(*) FROM keys WHERE status = '{status}';"));
    count.trim().parse().unwrap()
}

fn sees_what_the_shell_counts(prometheus: &Prometheus, database: &Database) {
    for (query, status) in [(PENDING, "pending"), (DONE, "done")] {
        prometheus.wait_for_value(query, counted_by_the_shell(database, status));
    }
}

#[test]
fn a_query_returns_the_counts_that_the_shell_counts_also_after_they_changed() {
    let rows = [("a", "pending", 1.0), ("b", "done", 1.0), ("c", "done", LATER), ("d", "done", LATER)];
    let database = Database::with_keys(Journal::Wal, rows);
    let daemon = Daemon::start(&database.config("every = '100ms'\ncensus = '100ms'"));
    let prometheus = Prometheus::scraping(daemon.address());
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, 1.0);
    sees_what_the_shell_counts(&prometheus, &database);
    database.shell(
        "INSERT INTO keys SELECT 'new' || value, 'v1', iif(value % 3, 'pending', 'done'), NULL, 9e9 \
         FROM generate_series(1, 50);",
    );
    assert_eq!(counted_by_the_shell(&database, "pending"), 35.0);
    sees_what_the_shell_counts(&prometheus, &database);
}

fn assert_no_complaint(exposition: &str) {
    let answer = promtool(exposition);
    assert!(answer.status.success() && answer.stdout.is_empty() && answer.stderr.is_empty(), "{answer:?}");
}

#[test]
fn promtool_has_no_complaint_about_anything_that_was_measured() {
    let rows = [("a", "pending", 1.0), ("b", "done", 1.0), ("c", "odd", 1.0)];
    let database = Database::with_keys(Journal::Wal, rows);
    let daemon = Daemon::start(&database.config("every = '100ms'\ncensus = '100ms'"));
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, 1.0);
    daemon.wait_for_metric(r#"keysweep_rows{database="app",state="unknown",table="keys"}"#, 1.0);
    assert_no_complaint(&daemon.get("/metrics").body);
}

#[test]
fn promtool_has_no_complaint_about_a_hostile_name() {
    let database = Database::with_keys(Journal::Wal, [("a", "pending", 1.0)]);
    let path = database.path();
    let config = format!("[[database]]\nname = 'a\"b\\n{{}}é'\npath = {path:?}\ncensus = '100ms'\n");
    let daemon = Daemon::start(&database.config_text(&config));
    let pending = r#"keysweep_rows{database="a\"b\\n{}é",state="pending",table="keys"}"#;
    daemon.wait_for_metric(pending, 1.0);
    assert_no_complaint(&daemon.get("/metrics").body);
}
