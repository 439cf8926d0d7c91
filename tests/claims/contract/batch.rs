//! The batch that `purge` and the daemon share: what changed after its nomination survives, and
//! what did not commit is not counted.

use std::time::Duration;

use keysweep::plan::{
    BatchBound, Cutoff, Done, Failure, Identifier, Key, Literal, Rule, StateTest, UnixTime, Value,
};
use keysweep::store::sqlite::{Access, Sqlite};
use keysweep::store::{Batch, Leg, Store};
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::rows;
use crate::support::holder::Holder;
use crate::support::{Answer, Database, Journal, wait_for};

const BOUND: BatchBound = BatchBound { rows: 100, hold: Duration::MAX, until: None };

/// A store at work on a database, between its search and its batch.
struct Work {
    runtime: tokio::runtime::Runtime,
    store: Sqlite,
    rule: Rule,
    cutoff: Cutoff,
    nominated: Vec<Key>,
}

impl Work {
    fn nominate(database: &Database, rule: Rule) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let stop = CancellationToken::new();
        let mut store = Sqlite::new(database.path(), Access::Write, Duration::from_secs(10), stop);
        let cutoff = rule.cutoff(UnixTime::new(10.0).unwrap()).unwrap();
        let step = runtime.block_on(async {
            store.inspect(std::slice::from_ref(&rule)).await.unwrap();
            store.search(&rule, cutoff, &Leg::default()).await.unwrap()
        });
        Self { runtime, store, rule, cutoff, nominated: step.nominated }
    }

    fn delete(&mut self, keys: &[Key]) -> Result<Batch, Failure> {
        self.runtime.block_on(self.store.delete_batch(&self.rule, self.cutoff, keys, BOUND))
    }
}

fn key(text: &str) -> Key {
    Key::new(vec![Value::Text(text.into())])
}

fn keys<const N: usize>(names: [&str; N]) -> Vec<Key> {
    names.map(key).into()
}

fn six_expired() -> Database {
    Database::with_keys(Journal::Wal, ["a", "b", "c", "d", "e", "f"].map(|id| (id, "done", 1.0)))
}

/// Reserved again, kept for longer, replaced by a new request, in a state of the application's own.
const CHANGES: &str = "UPDATE keys SET status = 'pending', response = NULL WHERE id = 'b';
    UPDATE keys SET expires = 10.001 WHERE id = 'c';
    DELETE FROM keys WHERE id = 'd';
    INSERT INTO keys VALUES ('d', 'v2', 'pending', NULL, 99);
    UPDATE keys SET status = 'DONE' WHERE id = 'e';";

#[test]
fn a_row_that_changed_after_its_nomination_survives() {
    let database = six_expired();
    let mut work = Work::nominate(&database, Rule::key_table(Duration::ZERO));
    assert_eq!(work.nominated, keys(["a", "b", "c", "d", "e", "f"]));
    database.shell(CHANGES);
    let changed = "SELECT * FROM keys WHERE id BETWEEN 'b' AND 'e' ORDER BY id";
    let before = database.shell(changed);
    let nominated = work.nominated.clone();
    for key in nominated {
        let _ = work.delete(&[key]);
    }
    assert_eq!(database.shell(changed), before);
}

#[test]
fn the_rest_of_its_batch_goes_without_it() {
    let database = six_expired();
    let mut work = Work::nominate(&database, Rule::key_table(Duration::ZERO));
    database.shell(CHANGES);
    let nominated = work.nominated.clone();
    let batch = work.delete(&nominated).unwrap();
    assert_eq!((batch.deleted, batch.cost.rows), (keys(["a", "f"]), 6));
    assert_eq!(batch.skipped, []);
    assert_eq!(database.ids(), ["b", "c", "d", "e"]);
}

#[test]
fn a_row_that_both_rules_name_is_pending() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0), ("b", "settled", 1.0)]);
    let mut rule = Rule::key_table(Duration::ZERO);
    let status = |values: &[&str]| StateTest::OneOf {
        column: Identifier::new("status").unwrap(),
        values: values.iter().map(|value| Literal::Text((*value).into())).collect(),
    };
    rule.done = Done::Any(vec![status(&["done", "settled"])]);
    rule.pending = vec![status(&["pending", "done"])];
    let mut work = Work::nominate(&database, rule);
    assert_eq!(work.nominated, keys(["b"]));
    let batch = work.delete(&keys(["a", "b"])).unwrap();
    assert_eq!(batch.deleted, keys(["b"]));
    assert_eq!(database.ids(), ["a"]);
}

/// A reader in rollback-journal mode: it lets a batch begin and delete, and stops its COMMIT.
fn reader(database: &Database) -> Holder {
    Holder::start(&database.path(), "BEGIN; SELECT count(*) FROM keys")
}

fn report(answer: &Answer) -> Json {
    let [report] = <[Json; 1]>::try_from(answer.json_lines()).unwrap();
    report
}

#[test]
fn a_batch_that_did_not_commit_is_not_counted_and_leaves_every_row() {
    let database = Database::with_keys(Journal::Delete, [("a", "done", 1.0), ("b", "done", 1.0)]);
    let before = rows(&database.path());
    let reader = reader(&database);
    let answer = database.sweep("busy_timeout = '200ms'", &[]);
    let report = report(&answer);
    assert_eq!(answer.status, 3, "{answer:?}");
    assert_eq!((&report["deleted"], &report["batches"]), (&0.into(), &0.into()), "{report}");
    assert_eq!((&report["stop"], &report["held"]), (&"failed".into(), &Json::Null), "{report}");
    assert!(report["error"].as_str().unwrap().contains("busy_timeout"), "{report}");
    drop(reader);
    assert_eq!(rows(&database.path()), before);
    assert_eq!(database.files(), ["app.db", "keysweep.toml"]);
}

#[test]
fn a_commit_that_finds_a_reader_is_tried_again_until_the_reader_has_gone() {
    let database = Database::with_keys(Journal::Delete, [("a", "done", 1.0), ("b", "pending", 1.0)]);
    let reader = reader(&database);
    let journal = database.folder().join("app.db-journal");
    let answer = std::thread::scope(|scope| {
        let sweep = scope.spawn(|| database.sweep("busy_timeout = '60s'", &[]));
        wait_for("a batch to begin", || journal.exists().then_some(()));
        wait_for("it to be taken back", || (!journal.exists()).then_some(()));
        drop(reader);
        sweep.join().unwrap()
    });
    let report = report(&answer);
    assert_eq!((answer.status, &report["deleted"]), (0, &1.into()), "{answer:?}");
    assert_eq!(database.ids(), ["b"]);
}

#[test]
fn a_sweep_is_one_walk_of_the_keys_however_many_must_stay() {
    let database = Database::with_keys(Journal::Wal, [("z", "done", 1.0)]);
    database.shell(
        "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 10000) \
         INSERT INTO keys SELECT printf('k%05d', i), 'v1', 'pending', NULL, 1 FROM n",
    );
    let answer = database.sweep("budget = '8s'", &[]);
    let report = report(&answer);
    assert_eq!((&report["deleted"], &report["stop"]), (&1.into(), &"drained".into()), "{report}");
}
