//! A tick with nothing to do costs little, whatever the size of the table, and sees what changed all the same.

use std::fs;
use std::process::Command;
use std::time::Duration;

use keysweep::plan::{Rule, TableFacts, UnixTime};
use keysweep::store::sqlite::{Access, Learnt, Sqlite};
use keysweep::store::{Leg, Store};
use tokio_util::sync::CancellationToken;

use crate::record::program;
use crate::support::command::run;
use crate::support::database::KEY_TABLE;
use crate::support::{Database, Journal};

const INDEX: &str = "CREATE INDEX i ON keys(expires) WHERE status = 'done';";

/// Done rows that are not due for long.
fn idle(journal: Journal, rows: u32) -> Database {
    let sql = format!(
        "PRAGMA synchronous = OFF; {KEY_TABLE}
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
        INSERT INTO keys SELECT printf('%08x', i), '', 'done', NULL, 4e9 FROM n; {INDEX}"
    );
    Database::new(journal, &sql)
}

/// Instructions of a process that does these, counted by valgrind.
fn instructions(database: &Database, ticks: u32, censuses: u32, memory: &str) -> f64 {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program("idler"));
    command.arg(database.path()).args([ticks.to_string(), censuses.to_string()]).arg(memory);
    let answer = run(&mut command);
    let count = answer.stderr.lines().find_map(|line| line.split_once("Collected : "));
    count.unwrap_or_else(|| panic!("{answer:?}")).1.trim().parse().unwrap()
}

/// Of a tick, with its part of what it takes to start.
fn of_a_tick(database: &Database, memory: &str) -> f64 {
    instructions(database, 50, 0, memory) / 50.0
}

/// Twice what it takes as the tests are built.
const MOST_OF_A_TICK: f64 = 1.4e6;

#[test]
fn an_idle_tick_costs_little_and_the_same_at_a_thousand_and_at_two_hundred_thousand_rows() {
    let [few, many] = [1_000, 200_000].map(|rows| of_a_tick(&idle(Journal::Wal, rows), "keeps"));
    let rollback = of_a_tick(&idle(Journal::Delete, 1_000), "keeps");
    println!("{few} and {many} instructions a tick, {rollback} in rollback-journal mode");
    assert!(many < few * 1.1, "{few} and {many} instructions a tick");
    assert!(many.max(rollback) < MOST_OF_A_TICK, "{many} and {rollback} instructions a tick");
}

#[test]
fn a_schema_that_did_not_change_is_not_looked_into_again() {
    let database = idle(Journal::Wal, 1_000);
    let (kept, forgotten) = (of_a_tick(&database, "keeps"), of_a_tick(&database, "forgets"));
    println!("{kept} instructions a tick, and {forgotten} where each is the first");
    assert!(kept * 2.0 < forgotten, "{kept} instructions a tick, and {forgotten} where each is the first");
}

/// What is counted of a row mentions its columns many times; they are asked once.
#[test]
fn a_count_asks_little_of_a_row() {
    let [few, many] = [1_000, 11_000].map(|rows| instructions(&idle(Journal::Wal, rows), 0, 1, "keeps"));
    let of_a_row = (many - few) / 10_000.0;
    println!("{of_a_row} instructions a row");
    assert!(of_a_row < 1.5e4, "{of_a_row} instructions a row");
}

/// What a tick finds by this memory, having worked on the table if it could.
fn facts(database: &Database, learnt: &Learnt) -> TableFacts {
    let rule = Rule::key_table(Duration::ZERO);
    let store =
        Sqlite::new(database.path(), Access::Write, Duration::from_secs(10), CancellationToken::new());
    let mut store = store.with_learnt(learnt.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let facts = store.inspect(std::slice::from_ref(&rule)).await.unwrap().remove(0);
        let cutoff = rule.cutoff(UnixTime::new(100.0).unwrap()).unwrap();
        // It fails where the table is not as it should be; then a tick would not have come so far.
        let _ = store.search(&rule, cutoff, &Leg::default()).await;
        facts
    })
}

/// What was learnt before is as good as a first look, and so is what is learnt now.
fn assert_seen(database: &Database, learnt: &Learnt, what: &str) -> TableFacts {
    let first = facts(database, &Learnt::default());
    for look in ["the next look", "the one after"] {
        assert_eq!(facts(database, learnt), first, "{what}: {look}");
    }
    first
}

#[test]
fn whatever_changes_between_two_ticks_is_seen_by_the_second() {
    for journal in [Journal::Wal, Journal::Delete] {
        let (database, learnt) = (idle(journal, 10), Learnt::default());
        let mut before = assert_seen(&database, &learnt, "as it was");
        assert!(before.in_clock_order);
        for change in [
            "CREATE TABLE log(id); CREATE TRIGGER t AFTER DELETE ON keys BEGIN INSERT INTO log VALUES (1); END",
            "DROP TRIGGER t",
            "CREATE TRIGGER t AFTER DELETE ON keys BEGIN INSERT OR REPLACE INTO log VALUES (1); END",
            "DROP TRIGGER t; DROP TABLE log",
            "CREATE TABLE child(key TEXT REFERENCES keys(id))",
            "CREATE INDEX c ON child(key)",
            "DROP TABLE child",
            "DROP INDEX i",
            "CREATE INDEX i ON keys(expires)",
            "ALTER TABLE keys ADD COLUMN note",
            "ALTER TABLE keys RENAME TO old",
            "CREATE VIEW keys AS SELECT * FROM old",
            "DROP VIEW keys",
            "ALTER TABLE old RENAME TO keys",
        ] {
            database.shell(change);
            let now = assert_seen(&database, &learnt, change);
            assert_ne!(now, before, "{change} {journal:?}");
            before = now;
        }
        for harmless in [
            "VACUUM",
            "ANALYZE",
            "INSERT INTO keys(id, fingerprint, status, expires) VALUES ('a', 'v', 'done', 1)",
        ] {
            database.shell(harmless);
            assert_eq!(assert_seen(&database, &learnt, harmless).columns, before.columns);
        }
    }
}

/// Neither its place nor the number of its schema tells this file from the one before.
#[test]
fn another_database_that_is_copied_over_the_file_is_seen_by_the_next_tick() {
    let trigger = "CREATE TABLE log(id); CREATE TRIGGER t AFTER DELETE ON keys BEGIN DELETE FROM log; END;";
    for journal in [Journal::Wal, Journal::Delete] {
        let [one, other] = ["", trigger].map(|sql| {
            Database::new(journal, &format!("{KEY_TABLE}{INDEX}{sql} PRAGMA schema_version = 77;"))
        });
        let learnt = Learnt::default();
        assert!(assert_seen(&one, &learnt, "as it was").delete_triggers.is_empty());
        for journal in ["app.db-wal", "app.db-shm"] {
            // What the searches left; nobody has it open.
            let _ = fs::remove_file(one.folder().join(journal));
        }
        fs::copy(other.path(), one.path()).unwrap();
        assert_eq!(assert_seen(&one, &learnt, "copied over").delete_triggers, ["t"]);
    }
}
