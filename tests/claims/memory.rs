//! Memory and lock are bounded by the config, not by the table.

use crate::support::database::KEY_TABLE;
use crate::support::{Daemon, Database, Journal, is_long, wait_for};

pub const MOST_KIB: u64 = 30 * 1024;
const DELETED: &str = r#"keysweep_deleted_rows_total{database="app",table="keys"}"#;
/// Batches after which the size of one has been learnt.
const LEARNT: f64 = 10.0;

/// 100 KB each. With the variable `KEYSWEEP_LONG` set it is 100,000 rows: 10 GB, and some minutes.
#[test]
fn rows_with_large_responses_cost_neither_memory_nor_a_long_lock() {
    let rows = if is_long() { 100_000 } else { 2_000 };
    let database = Database::new(Journal::Wal, &large(rows));
    let daemon = Daemon::start(&database.config("every = '100ms'\nbudget = '15m'\ncensus = '1s'"));
    let first = wait_for("the first batches", || Some(Batches::of(&daemon)).filter(|it| it.all >= LEARNT));
    wait_for("the sweep", || {
        assert!(peak_kib(&daemon) < MOST_KIB, "{} KiB", peak_kib(&daemon));
        (daemon.metric(DELETED) == Some(f64::from(rows))).then_some(())
    });
    assert_eq!(database.ids(), [""; 0]);
    let last = Batches::of(&daemon);
    let (learnt, short) = (last.all - first.all, last.within_10_ms - first.within_10_ms);
    println!("{} KiB; {learnt} batches once learnt, {short} of them within 10 ms", peak_kib(&daemon));
    assert!(learnt > 20.0 && short >= learnt * 0.8, "{short} of {learnt} batches were within 10 ms");
}

#[test]
fn a_million_rows_that_stay_cost_no_memory() {
    for journal in [Journal::Wal, Journal::Delete] {
        let database = Database::new(journal, &small(1_000_000));
        let daemon = Daemon::start(&database.config("every = '100ms'\nbudget = '15m'\ncensus = '100ms'"));
        let drained = r#"keysweep_sweeps_total{database="app",stop="drained",table="keys"}"#;
        let counted = r#"keysweep_rows{database="app",state="done",table="keys"}"#;
        wait_for("a walk and a census", || {
            (daemon.metric(drained) >= Some(1.0) && daemon.metric(counted).is_some()).then_some(())
        });
        daemon.wait_for_metric(counted, 500_000.0);
        println!("{journal:?}: {} KiB", peak_kib(&daemon));
        assert!(peak_kib(&daemon) < MOST_KIB, "{} KiB", peak_kib(&daemon));
    }
}

fn large(rows: u32) -> String {
    format!(
        "PRAGMA synchronous = OFF; {KEY_TABLE}
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
        INSERT INTO keys SELECT printf('%08x', i * 2654435761 % 4294967296), 'v1', 'done',
            '\"' || hex(zeroblob(50000)) || '\"', 1.0 FROM n;"
    )
}

fn small(rows: u32) -> String {
    format!(
        "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; {KEY_TABLE}
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
        INSERT INTO keys SELECT printf('%08x', i), '', iif(i % 2, 'pending', 'done'), NULL, 4e9 FROM n;"
    )
}

/// The most that was ever resident.
pub fn peak_kib(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// What the histogram of batches says.
#[derive(Debug, Clone, Copy)]
struct Batches {
    all: f64,
    within_10_ms: f64,
}

impl Batches {
    fn of(daemon: &Daemon) -> Self {
        let value = |sample: &str| daemon.metric(sample).unwrap();
        Self {
            all: value(r#"keysweep_batch_duration_seconds_count{database="app"}"#),
            within_10_ms: value(r#"keysweep_batch_duration_seconds_bucket{database="app",le="0.01"}"#),
        }
    }
}
