//! A tick reads what is due and no more where an index of the clock column finds it; the rows that go
//! are the same without one.

use std::process::Command;
use std::time::Duration;

use keysweep::plan::{Done, Literal, Rule, StateTest};
use keysweep::store::Store;
use keysweep::store::sqlite::{Access, Sqlite};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::poison::{expired, report, rule};
use crate::support::command::{BINARY, run};
use crate::support::database::KEY_TABLE;
use crate::support::{Daemon, Database, Journal, is_long};

/// Rows of every kind: many of one instant, either side of the boundary, no number, no key, the wrong
/// state, in another case, of another type.
const ROWS: &str = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999)
    INSERT INTO keys SELECT printf('%05d', i * 7919 % 5000), 'v1',
        CASE i % 7 WHEN 0 THEN 'pending' WHEN 1 THEN 'DONE' WHEN 2 THEN 'failed' ELSE 'done' END, '{}',
        CASE i % 5 WHEN 0 THEN 1 WHEN 1 THEN i WHEN 2 THEN 4e9 + i WHEN 3 THEN -i ELSE 100 END FROM n;
    INSERT INTO keys VALUES (NULL, 'v1', 'done', '{}', 1), ('text', 'v1', 'done', '{}', 'soon'),
        ('blob', 'v1', 'done', '{}', x'00'), ('julian', 'v1', 'done', '{}', 2460000.5),
        ('past', 'v1', 'done', '{}', -9e999), (x'ff', 'v1', 'done', '{}', 5), (7, 'v1', x'646f6e65', '{}', 5);";

const FAILED_TOO: &str =
    "[[database.table]]\ntable = 'keys'\ndone = { column = 'status', in = ['done', 'failed'] }\n";

/// Whether an index is used, by the facts of the table.
fn is_found_by_clock(database: &Database, rule: &Rule) -> bool {
    let mut store = Sqlite::new(database.path(), Access::Write, Duration::ZERO, CancellationToken::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(store.inspect(std::slice::from_ref(rule))).unwrap()[0].in_clock_order
}

fn two_states() -> Rule {
    let mut rule = Rule::key_table(Duration::ZERO);
    if let Done::Any(tests) = &mut rule.done
        && let Some(StateTest::OneOf { values, .. }) = tests.first_mut()
    {
        values.push(Literal::Text("failed".into()));
    }
    rule
}

/// What is left of the rows after a sweep under this index, dry run and sweep agreeing.
fn left(index: &str, table: &str) -> String {
    let create = KEY_TABLE.replace("expires REAL", "expires");
    let database = Database::new(Journal::Wal, &format!("{create}{ROWS}{index};"));
    let named = database.sweep(table, &["--dry-run"]).json_lines().len() - 1;
    let report = report(&database.sweep(table, &[]));
    assert_eq!(
        (&report["stop"], &report["deleted"]),
        (&json!("drained"), &json!(named)),
        "{index}: {report}"
    );
    database.shell("SELECT quote(id), status, expires FROM keys ORDER BY typeof(id), id")
}

#[test]
fn the_same_rows_go_whatever_the_index() {
    let one = Rule::key_table(Duration::ZERO);
    for (index, by_one, by_two) in [
        ("CREATE INDEX i ON keys(expires)", true, true),
        ("CREATE INDEX i ON keys(status, expires)", true, false),
        ("CREATE INDEX i ON keys(expires) WHERE status = 'done'", true, false),
        ("CREATE INDEX i ON keys(expires) WHERE status IN ('done', 'failed')", false, true),
        ("CREATE INDEX i ON keys(expires DESC)", false, false),
        ("CREATE INDEX i ON keys(expires) WHERE status = 'pending'", false, false),
        ("CREATE INDEX i ON keys(status)", false, false),
        ("CREATE INDEX \"o\"\"dd )\" ON keys(expires)", true, true),
    ] {
        let database = Database::new(Journal::Wal, &format!("{KEY_TABLE}{index};"));
        assert_eq!(is_found_by_clock(&database, &one), by_one, "{index}");
        assert_eq!(is_found_by_clock(&database, &two_states()), by_two, "{index}");
        for table in ["", FAILED_TOO] {
            assert!(left(index, table) == left("", table), "{index} {table}");
        }
    }
}

#[test]
fn a_table_without_row_numbers_is_found_by_its_index_too() {
    let create = "CREATE TABLE keys(scope TEXT, id TEXT, status TEXT, expires REAL, PRIMARY KEY(scope, id)) WITHOUT ROWID;
        INSERT INTO keys VALUES ('b', '1', 'done', 1), ('a', '2', 'done', 1), ('a', '1', 'pending', 1), ('a', '3', 'done', 9e9);
        CREATE INDEX i ON keys(expires);";
    let database = Database::new(Journal::Wal, create);
    let table = "[[database.table]]\ntable = 'keys'\nkey = ['scope', 'id']\n";
    assert_eq!(report(&database.sweep(table, &[]))["deleted"], json!(2));
    assert_eq!(database.shell("SELECT scope, id FROM keys"), "a|1\na|3\n");
}

#[test]
fn more_rows_of_one_instant_than_are_gathered_at_once_go_in_flat_memory() {
    let database = expired(Journal::Wal, 250_000, "CREATE INDEX i ON keys(expires);");
    let daemon = Daemon::start(&database.config("every = '100ms'\nbudget = '15m'\nshare = 1.0"));
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, 250_000.0);
    let peak = crate::memory::peak_kib(&daemon);
    assert!(peak < crate::memory::MOST_KIB + 16 * 1024, "{peak} KiB");
    assert_eq!(database.ids(), [""; 0]);
}

/// 500,000 rows of which 1 in 100 is due; with `KEYSWEEP_LONG` set it is 5,000,000.
#[test]
fn a_table_without_a_useful_index_is_swept_in_flat_memory() {
    let rows = if is_long() { 5_000_000 } else { 500_000 };
    let database = table_of(rows, "iif(i % 100, 4e9, 1)", "");
    let daemon = Daemon::start(&database.config("every = '100ms'\nbudget = '15m'\ncensus = '1h'"));
    let drained = r#"keysweep_sweeps_total{database="app",stop="drained",table="keys"}"#;
    let due = f64::from(rows / 100);
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, due);
    crate::support::wait_for("the sweep", || daemon.metric(drained).filter(|sweeps| *sweeps >= 1.0));
    let peak = crate::memory::peak_kib(&daemon);
    assert!(peak < crate::memory::MOST_KIB, "{peak} KiB");
}

fn table_of(rows: u32, expires: &str, index: &str) -> Database {
    let sql = format!(
        "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; {KEY_TABLE}
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
        INSERT INTO keys SELECT printf('%08x', i), '', 'done', NULL, {expires} FROM n; {index}"
    );
    Database::new(Journal::Delete, &sql)
}

/// Instructions of one `keysweep sweep`, counted by valgrind.
fn instructions(database: &Database) -> f64 {
    let config = database.config("");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", BINARY, "--config"]);
    let answer = run(command.arg(config).args(["sweep", "--json"]));
    assert_eq!(report(&answer)["deleted"], json!(0), "{answer:?}");
    let count = answer.stderr.lines().find_map(|line| line.split_once("Collected : ")).unwrap();
    count.1.trim().parse().unwrap()
}

#[test]
fn a_tick_with_nothing_due_costs_the_same_at_ten_thousand_and_at_a_million_rows() {
    let index = "CREATE INDEX i ON keys(expires) WHERE status = 'done';";
    let of = |rows| instructions(&table_of(rows, "4e9", index));
    let (few, many) = (of(10_000), of(1_000_000));
    println!("{few} and {many} instructions");
    assert!(many < few * 1.1, "{few} and {many} instructions");
    let unindexed = instructions(&table_of(10_000, "4e9", ""));
    assert!(unindexed > few * 1.1, "a walk of 10,000 rows cost {unindexed} instructions, no more than {few}");
}

#[test]
fn a_referenced_row_stays_with_an_index_as_without() {
    let sql = "CREATE INDEX i ON keys(expires); CREATE TABLE child(key TEXT REFERENCES keys(id)); INSERT INTO child VALUES ('00000');";
    let database = expired(Journal::Delete, 250, sql);
    assert_eq!(database.sweep(&rule("skip"), &["--dry-run"]).json_lines().len(), 250);
    assert_eq!(report(&database.sweep(&rule("skip"), &[]))["deleted"], json!(249));
    assert_eq!(database.ids(), ["00000"]);
}
