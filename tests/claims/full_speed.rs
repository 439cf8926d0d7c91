//! What a deleted row costs when nothing rests: counted, never timed. Batches of 100 rows, ordered keys, the
//! advised index, a write-ahead log.

use std::path::Path;
use std::process::Command;

use crate::record::program;
use crate::support::command::run;
use crate::support::database::{KEY_TABLE, shell};
use crate::support::{Database, Journal};

const ROWS_A_BATCH: u32 = 100;
/// The header before each page in the log.
const FRAME_HEADER: u32 = 24;
const PAGE: u32 = 4096;

/// So many rows, all done; the row `i` expires at `i`, so the first are due.
fn table_of(rows: u32) -> Database {
    let sql = format!(
        "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; {KEY_TABLE}
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
        INSERT INTO keys SELECT printf('%08x', i), 'fingerprint', 'done', '{{}}', i FROM n;
        CREATE INDEX i ON keys(expires) WHERE status = 'done';"
    );
    Database::new(Journal::Wal, &sql)
}

fn batches(database: &Path, batches: u32) -> Command {
    let mut command = Command::new(program("batches"));
    command.arg(database).arg(batches.to_string());
    command
}

/// What the distribution's sqlite3 does to as many rows in one statement.
fn one_delete(database: &Path, batches: u32) -> Command {
    let mut command = Command::new("/usr/bin/sqlite3");
    let rows = batches * ROWS_A_BATCH;
    command.arg(database).arg(format!("DELETE FROM keys WHERE status = 'done' AND expires <= {rows}"));
    command
}

/// Instructions for each row of the second ten batches, counted by valgrind: what a process costs once is not
/// among them.
fn instructions_a_row(rows: u32, delete: fn(&Path, u32) -> Command) -> f64 {
    let database = table_of(rows);
    let of = |batches| {
        let copy = database.folder().join(format!("{batches}.db"));
        std::fs::copy(database.path(), &copy).unwrap();
        let command = delete(&copy, batches);
        let mut counted = Command::new("valgrind");
        counted.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        let answer = run(counted.arg(command.get_program()).args(command.get_args()));
        assert_eq!(answer.status, 0, "{answer:?}");
        let left = rows - batches * ROWS_A_BATCH;
        assert_eq!(shell(&copy, "SELECT count(*) FROM keys"), format!("{left}\n"));
        let count = answer.stderr.lines().find_map(|line| line.split_once("Collected : ")).unwrap();
        count.1.trim().parse::<f64>().unwrap()
    };
    (of(20) - of(10)) / f64::from(10 * ROWS_A_BATCH)
}

#[test]
fn a_deleted_row_costs_the_same_in_a_table_ten_times_as_large() {
    let (few, many) = (instructions_a_row(100_000, batches), instructions_a_row(1_000_000, batches));
    println!("{few} and {many} instructions a row");
    assert!(many < few * 1.2, "{few} and {many} instructions a row");
}

#[test]
fn a_deleted_row_costs_little_more_than_by_one_statement_for_all_rows() {
    let (ours, one) = (instructions_a_row(100_000, batches), instructions_a_row(100_000, one_delete));
    println!("{ours} instructions a row, {one} by one DELETE");
    assert!(ours < one * MOST_OVER_ONE_DELETE, "{ours} instructions a row, {one} by one DELETE");
}

/// Every guard is looked at three times, of which the check in memory is built without optimisation here.
const MOST_OVER_ONE_DELETE: f64 = 8.0;

#[test]
fn a_batch_of_neighbours_writes_each_of_their_pages_once() {
    let database = table_of(100_000);
    let answer = run(&mut batches(&database.path(), 20));
    assert_eq!(answer.status, 0, "{answer:?}");
    // Closing does not checkpoint, so the log is all there.
    let log = std::fs::metadata(database.folder().join("app.db-wal")).unwrap().len();
    let pages = log as f64 / f64::from(FRAME_HEADER + PAGE);
    let a_row = pages / f64::from(20 * ROWS_A_BATCH);
    println!("{a_row} pages a row");
    assert!(a_row < 0.25, "{a_row} pages a row");
}
