//! What operations are recorded in is swept like any other table; the counter's own cannot be.

use keysweep::record::{DurableCounter, Fingerprint, Operations, Request};

use crate::support::{Database, Journal, keysweep};

const OPERATIONS: &str = "every = '1h'\n[[database.table]]\ntable = 'operations'\nkey = ['scope', 'key']\n\
    done = 'every-row'\nsince = { column = 'recorded', unit = 'unix_s' }\nretention = '1h'";
const REQUESTS: &str = "[[database.table]]\ntable = 'requests'\nkey = ['scope', 'key']\ndone = 'every-row'";

fn record(operations: &Operations, scope: &str, key: &str) {
    let request = Request::new(scope, key, Fingerprint::new("nothing", 1, [])).unwrap();
    let change = |_: &rusqlite::Transaction<'_>| Ok::<_, std::convert::Infallible>("null".parse().unwrap());
    operations.once(&request, change).unwrap();
}

#[test]
fn a_recorded_operation_is_retained_for_the_stated_time_and_no_longer() {
    for journal in [Journal::Wal, Journal::Delete] {
        let database = Database::new(journal, "CREATE TABLE unrelated(x);");
        let operations = Operations::create(&database.path(), std::time::Duration::from_secs(5)).unwrap();
        for (scope, key) in [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")] {
            record(&operations, scope, key);
        }
        database.shell("UPDATE operations SET recorded = recorded - 3601 WHERE (scope, key) IN (('a', '2'), ('b', '1'));");
        let dry = database.sweep(OPERATIONS, &["--dry-run"]);
        assert_eq!(dry.json_lines()[0]["key"], serde_json::json!(["a", "2"]), "{dry:?}");
        let swept = database.sweep(OPERATIONS, &[]);
        assert_eq!(swept.json_lines()[0]["deleted"], 2, "{journal:?}: {swept:?}");
        assert_eq!(database.shell("SELECT scope, key FROM operations ORDER BY 1, 2;"), "a|1\nb|2\n");
        assert_eq!(database.sweep(OPERATIONS, &[]).json_lines()[0]["deleted"], 0);
    }
}

#[test]
fn a_key_of_several_columns_is_walked_once_however_many_rows_share_its_first() {
    let rows = "CREATE TABLE operations(scope TEXT, key INTEGER, recorded REAL, PRIMARY KEY(scope, key)) WITHOUT ROWID;
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
        INSERT INTO operations SELECT 'scope ' || (i % 2), i, CASE WHEN i % 3 THEN 1 ELSE 1e12 END FROM n;";
    for journal in [Journal::Wal, Journal::Delete] {
        let database = Database::new(journal, rows);
        let config = database.config(&format!("share = 1\n{OPERATIONS}"));
        let check = keysweep(["--config", config.to_str().unwrap(), "check"]);
        assert!(check.stdout.contains("0 pending, 10000 done (6666 expired), 0 unknown"), "{check:?}");
        let swept = database.sweep(&format!("share = 1\n{OPERATIONS}"), &[]);
        assert_eq!(swept.json_lines()[0]["deleted"], 6666, "{swept:?}");
        assert_eq!(
            database.shell("SELECT count(*), min(recorded) FROM operations;"),
            "3334|1000000000000.0\n"
        );
    }
}

/// Each step of the search would sort the whole table.
#[test]
fn a_key_in_another_order_than_its_index_is_held() {
    let tables = [
        "CREATE TABLE operations(scope TEXT, key TEXT, recorded REAL, PRIMARY KEY(key, scope));",
        "CREATE TABLE operations(scope TEXT, key TEXT, recorded REAL);
         CREATE UNIQUE INDEX folded ON operations(scope COLLATE NOCASE, key);",
    ];
    for table in tables {
        let database =
            Database::new(Journal::Wal, &format!("{table} INSERT INTO operations VALUES ('a', 'b', 1);"));
        let swept = database.sweep(OPERATIONS, &[]);
        let line = &swept.json_lines()[0];
        assert_eq!((&line["stop"], &line["held"]), (&"held".into(), &"schema".into()), "{swept:?}");
        assert!(line["error"].as_str().unwrap().contains("in the order of key `scope`, `key`"), "{line}");
        assert_eq!(database.shell("SELECT count(*) FROM operations;"), "1\n");
    }
}

#[test]
fn the_counters_own_table_is_refused_a_sweep_and_its_rows_can_be_counted() {
    let database = Database::new(Journal::Wal, "CREATE TABLE unrelated(x);");
    let counter = DurableCounter::open(&database.path()).unwrap();
    counter.add("u", "k1", 1).unwrap();
    counter.add("u", "k2", 1).unwrap();
    let refused = database.sweep(REQUESTS, &[]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("nothing tells when a row was recorded"), "{}", refused.stderr);

    let config = database.config(&format!("enabled = false\n{REQUESTS}"));
    let check = keysweep(["--config", config.to_str().unwrap(), "check"]);
    assert_eq!(check.status, 0, "{check:?}");
    assert!(check.stdout.contains("0 pending, 2 done (0 expired), 0 unknown"), "{}", check.stdout);
    let swept = database.sweep(&format!("enabled = false\n{REQUESTS}"), &[]);
    assert_eq!(swept.json_lines()[0]["stop"], "disabled", "{swept:?}");
    let dry = database.sweep(&format!("enabled = false\n{REQUESTS}"), &["--dry-run"]);
    assert_eq!(dry.json_lines()[0]["would_delete"], 0, "{dry:?}");
}
