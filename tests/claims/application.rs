//! The application does not feel it: two of them write a table of a million rows while it is swept.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::database::KEY_TABLE;
use crate::support::{Application, Database, Journal, wait_for};

const ROWS: u64 = 1_000_000;
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// What an application does between two statements.
const THINKING: Duration = Duration::from_millis(5);
/// Every so many rows one is expired and then taken up again by the applications.
const SHARED_EVERY: u64 = 1_000;

#[test]
fn a_million_rows_in_wal_mode_are_swept_under_two_writers() {
    sweep_under_two_writers(Journal::Wal, 40);
}

#[test]
fn a_million_rows_in_rollback_mode_are_swept_under_two_writers() {
    sweep_under_two_writers(Journal::Delete, 1_000);
}

fn sweep_under_two_writers(journal: Journal, expired_every: u64) {
    let database = Database::new(journal, &million(expired_every));
    let before = database.folder().join("before.db");
    std::fs::copy(database.path(), &before).unwrap();
    let swept = AtomicBool::new(false);
    let (answer, shell, python) = std::thread::scope(|scope| {
        let shell = Application::shell(&database.path(), BUSY_TIMEOUT);
        let python = Application::python(&database.path(), BUSY_TIMEOUT);
        let shell = scope.spawn(|| Writer::new("shell", 0, shell).work_until(&swept));
        let python = scope.spawn(|| Writer::new("python", 1, python).work_until(&swept));
        let answer = database.sweep("", &[]);
        swept.store(true, Ordering::Relaxed);
        (answer, shell.join().unwrap(), python.join().unwrap())
    });
    assert_eq!(answer.status, 0, "{answer:?}");
    assert_eq!(answer.json_lines()[0]["stop"], "drained", "{answer:?}");
    println!(
        "{journal:?}: {} and {} statements beside {}",
        shell.statements, python.statements, answer.stdout
    );

    let writers = [shell, python];
    for writer in &writers {
        assert_eq!(writer.errors, [""; 0], "{}", writer.name);
        assert!(writer.statements > 300, "{} said only {}", writer.name, writer.statements);
        assert!(!writer.taken_up.is_empty(), "{} took no row up again", writer.name);
    }
    assert_eq!(database.shell("SELECT count(*) FROM keys WHERE fingerprint = 'goes'"), "0\n");
    assert_eq!(database.shell(&CHANGED.replace('@', before.to_str().unwrap())), "0\n");
    assert_eq!(database.sweep("", &[]).status, 0);
    assert_eq!(rows(&database, "shared"), taken_up(&writers));
    assert_eq!(rows(&database, "own"), own(&writers));
    assert_eq!(database.shell("PRAGMA integrity_check"), "ok\n");
}

/// A search nominates far ahead of the batch, so these rows are nominated when they are taken up.
#[test]
fn a_row_that_is_taken_up_after_it_was_nominated_survives() {
    for journal in [Journal::Wal, Journal::Delete] {
        let ids: Vec<String> = (0..1_000).map(|row| format!("{row:04}")).collect();
        let database = Database::with_keys(journal, ids.iter().map(|id| (id.as_str(), "done", 1.0)));
        let mut application = Application::python(&database.path(), BUSY_TIMEOUT);
        let taken_up = std::thread::scope(|scope| {
            let sweep = scope.spawn(|| database.sweep("share = 0.02", &[]));
            wait_for("the first batch", || (database.ids().len() < ids.len()).then_some(()));
            let sql = "UPDATE keys SET status = 'pending' WHERE id >= '0500'";
            let taken_up = application.run(sql).changes;
            assert_eq!(sweep.join().unwrap().status, 0);
            taken_up
        });
        assert!(taken_up > 0, "the sweep was over before the application came");
        assert_eq!(database.ids(), ids[ids.len() - taken_up as usize..]);
    }
}

/// Rows in random order. The fingerprint says what is to become of each, and nothing else.
fn million(expired_every: u64) -> String {
    let multiplier = MULTIPLIER;
    format!(
        "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; {KEY_TABLE}
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}),
            row(i, fate, status) AS (SELECT i,
                CASE WHEN i % {SHARED_EVERY} = 7 THEN 'shared' WHEN i % {expired_every} = 0 THEN 'goes' ELSE 'stays' END,
                CASE i % 10 WHEN 1 THEN 'DONE' WHEN 2 THEN 'done ' WHEN 3 THEN '' WHEN 4 THEN CAST('done' AS BLOB)
                    WHEN 5 THEN 'done' ELSE 'pending' END FROM n)
        INSERT INTO keys SELECT
            CASE WHEN i % 10 = 8 AND fate = 'stays' THEN NULL ELSE printf('%08x-%d', i * {multiplier} % 4294967296, i) END,
            fate, CASE fate WHEN 'stays' THEN status ELSE 'done' END, '{{\"receipt\":' || i || '}}',
            CASE WHEN fate <> 'stays' THEN 1.5e9 + i / 7.0 WHEN status IS NOT 'done' THEN i
                WHEN i % 3 = 0 THEN '2015-01-01 00:00:00' WHEN i % 3 = 1 THEN x'00' ELSE 4.1e9 + i END FROM row;
        UPDATE keys SET status = 'done' WHERE id IS NULL;"
    )
}

const MULTIPLIER: u64 = 2_654_435_761;

fn shared_id(n: u64) -> String {
    let i = n * SHARED_EVERY + 7;
    format!("{:08x}-{i}", i * MULTIPLIER % (1 << 32))
}

/// How many of the rows that stay are not byte for byte what they were in the copy under `@`.
const CHANGED: &str = "
    ATTACH '@' AS before;
    SELECT count(*) FROM before.keys AS o LEFT JOIN main.keys AS n ON n.rowid = o.rowid
    WHERE o.fingerprint = 'stays' AND (n.id IS NOT o.id OR n.fingerprint IS NOT o.fingerprint OR n.status IS NOT o.status
        OR n.response IS NOT o.response OR quote(n.expires) IS NOT quote(o.expires));";

/// An application that remembers what it did.
struct Writer {
    name: &'static str,
    turn: u64,
    application: Application,
    statements: u64,
    errors: Vec<String>,
    /// Rows of its own that must be there in the end, with their status.
    own: BTreeMap<String, &'static str>,
    /// Expired rows of the table that it made pending before the sweep came.
    taken_up: BTreeSet<String>,
}

impl Writer {
    fn new(name: &'static str, turn: u64, application: Application) -> Self {
        Self {
            name,
            turn,
            application,
            statements: 0,
            errors: Vec::new(),
            own: BTreeMap::new(),
            taken_up: BTreeSet::new(),
        }
    }

    fn work_until(mut self, swept: &AtomicBool) -> Self {
        for step in 0.. {
            if swept.load(Ordering::Relaxed) {
                break;
            }
            self.step(step);
        }
        self
    }

    /// A key is reserved, most are finished, and some are due at once.
    fn step(&mut self, step: u64) {
        let id = format!("{:08x}-{}-{step}", step * MULTIPLIER % (1 << 32), self.name);
        let (expires, finished) = ([4e9, 1.5e9][(step % 2) as usize], !step.is_multiple_of(3));
        self.say(&format!("INSERT INTO keys VALUES ('{id}', 'own', 'pending', NULL, {expires})"));
        if finished {
            self.say("BEGIN IMMEDIATE");
            self.say(&format!("SELECT count(*) FROM keys WHERE id = '{id}' AND status = 'pending'"));
            self.say(&format!("UPDATE keys SET status = 'done', response = '{{}}' WHERE id = '{id}'"));
            self.say("COMMIT");
        }
        if !finished || expires > 2e9 {
            self.own.insert(id, if finished { "done" } else { "pending" });
        }
        self.take_up(step * 2 + self.turn);
    }

    fn take_up(&mut self, n: u64) {
        if n >= ROWS / SHARED_EVERY {
            return;
        }
        let id = shared_id(n);
        let sql = format!("UPDATE keys SET status = 'pending', response = NULL WHERE id = '{id}'");
        if self.say(&sql) == 1 {
            self.taken_up.insert(id);
        }
    }

    fn say(&mut self, sql: &str) -> u64 {
        let said = self.application.ask(sql);
        self.statements += 1;
        self.errors.extend(said.errors);
        std::thread::sleep(THINKING);
        said.changes
    }
}

fn rows(database: &Database, fingerprint: &str) -> String {
    let sql = format!("SELECT id, status FROM keys WHERE fingerprint = '{fingerprint}' ORDER BY id");
    database.shell(&sql)
}

fn taken_up(writers: &[Writer]) -> String {
    let all: BTreeSet<&String> = writers.iter().flat_map(|writer| &writer.taken_up).collect();
    lines(all.into_iter().map(|id| (id, "pending")))
}

fn own(writers: &[Writer]) -> String {
    let all: BTreeMap<&String, &str> =
        writers.iter().flat_map(|writer| &writer.own).map(|(id, status)| (id, *status)).collect();
    lines(all.into_iter())
}

fn lines<'a>(rows: impl Iterator<Item = (&'a String, &'a str)>) -> String {
    rows.fold(String::new(), |mut lines, (id, status)| {
        writeln!(lines, "{id}|{status}").unwrap();
        lines
    })
}
