//! One sweep is one walk of the keys, and a cut one goes on where it ended.

use std::sync::Mutex;
use std::time::Duration;

use keysweep::plan::{
    BatchBound, Counts, Cutoff, DatabaseName, Event, Failure, Guards, Identifier, Key, Limit, Report, Rule,
    RuleBook, Share, SpaceUsed, Stop, TableFacts, TableLabel, UnixTime,
};
use keysweep::store::sqlite::{Access, Sqlite};
use keysweep::store::{Batch, Leg, Place, Step, Store};
use keysweep::tick::{Mode, Order, TableMemory, tick};
use tokio_util::sync::CancellationToken;

use crate::support::{Database, Journal};

/// The real store, with a list of what it was asked for.
struct Recorded {
    store: Sqlite,
    searched_after: Vec<Option<String>>,
    deleted: Vec<String>,
}

impl Store for Recorded {
    async fn rules(&mut self, book: &RuleBook) -> Result<Vec<Rule>, Failure> {
        self.store.rules(book).await
    }

    async fn inspect(&mut self, rules: &[Rule]) -> Result<Vec<TableFacts>, Failure> {
        self.store.inspect(rules).await
    }

    async fn search(&mut self, rule: &Rule, cutoff: Cutoff, leg: &Leg) -> Result<Step, Failure> {
        let place = |place: &Place| Key::new(place.values().to_vec()).to_string();
        self.searched_after.push(leg.after.as_ref().map(place));
        self.store.search(rule, cutoff, leg).await
    }

    async fn delete_batch(
        &mut self,
        rule: &Rule,
        cutoff: Cutoff,
        keys: &[Key],
        bound: BatchBound,
    ) -> Result<Batch, Failure> {
        let batch = self.store.delete_batch(rule, cutoff, keys, bound).await?;
        self.deleted.extend(batch.deleted.iter().map(Key::to_string));
        Ok(batch)
    }

    async fn rest(&mut self, length: Duration) {
        self.store.rest(length).await;
    }

    async fn count(&mut self, rules: &[Rule], now: UnixTime) -> Result<Vec<Counts>, Failure> {
        self.store.count(rules, now).await
    }

    async fn space(&mut self) -> Result<SpaceUsed, Failure> {
        self.store.space().await
    }

    async fn abandoned(
        &mut self,
        rule: &Rule,
        now: UnixTime,
        most: usize,
    ) -> Result<Vec<(Key, UnixTime)>, Failure> {
        self.store.abandoned(rule, now, most).await
    }
}

/// A table that remembers its sweeps.
struct Swept<'a> {
    database: &'a Database,
    tables: Vec<TableMemory>,
}

impl<'a> Swept<'a> {
    fn new(database: &'a Database) -> Self {
        let memory = TableMemory::new(Rule::key_table(Duration::ZERO), Limit::MAX, Share::new(1.0).unwrap());
        Self { database, tables: vec![memory] }
    }

    /// One tick at the instant 100, stopped once so many rows are deleted.
    fn tick(&mut self, stop_after: u64, budget: Option<Duration>) -> (Report, Recorded) {
        let stop = CancellationToken::new();
        let store = Sqlite::new(self.database.path(), Access::Write, Duration::from_secs(5), stop.clone());
        let mut store = Recorded { store, searched_after: vec![], deleted: vec![] };
        let deleted = Mutex::new(0);
        let tell = |event: &Event| {
            if let Event::BatchCommitted { deleted: more, .. } = event {
                let mut deleted = deleted.lock().unwrap();
                *deleted += more;
                if *deleted >= stop_after {
                    stop.cancel();
                }
            }
        };
        let order = Order {
            database: &DatabaseName::new("app").unwrap(),
            now: UnixTime::new(100.0).unwrap(),
            budget,
            enabled: true,
            guards: Guards::default(),
            mode: Mode::Delete,
            stop: &stop,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let reports = runtime.block_on(tick(&order, &mut store, &mut self.tables, &tell));
        (reports.into_iter().next().unwrap(), store)
    }
}

const MANY: &str = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) \
    INSERT INTO keys SELECT printf('%05d', i), 'v1', 'done', '{}', CASE WHEN i % 2 THEN 1 ELSE 1000 END FROM n;";

#[test]
fn a_sweep_reads_each_row_once_whatever_the_number_of_batches() {
    let database = Database::with_keys(Journal::Wal, []);
    database.shell(MANY);
    let (report, store) = Swept::new(&database).tick(u64::MAX, None);
    assert_eq!((report.stop, report.deleted), (Stop::Drained, 5_000));
    assert!(report.batches >= 50, "{report:?}");
    let mut ascending = store.searched_after.clone();
    ascending.sort();
    ascending.dedup();
    assert_eq!(store.searched_after, ascending, "a search began anew");
    assert_eq!(store.searched_after.iter().filter(|after| after.is_none()).count(), 1);
    assert!(store.deleted.is_sorted());
}

/// 500,000 rows; with `KEYSWEEP_LONG` set it is 5,000,000.
#[test]
fn a_sweep_of_a_large_table_without_a_useful_index_is_one_walk() {
    let rows = if crate::support::is_long() { 5_000_000 } else { 500_000 };
    let database = Database::with_keys(Journal::Wal, []);
    database.shell(&format!(
        "PRAGMA synchronous = OFF; WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {})
         INSERT INTO keys SELECT printf('%08d', i), '', 'done', NULL, iif(i % 1000, 1000, 1) FROM n;",
        rows - 1
    ));
    let (report, store) = Swept::new(&database).tick(u64::MAX, None);
    assert_eq!((report.stop, report.deleted), (Stop::Drained, rows / 1000));
    let searched = &store.searched_after;
    assert!(searched.windows(2).all(|pair| pair[0] < pair[1]), "a step read what another one had read");
    assert!(searched.len() >= rows as usize / 2_000);
}

/// Pending rows that an index of the clock column puts before the due ones.
#[test]
fn rows_behind_many_that_an_index_finds_in_vain_go_though_each_tick_is_cut() {
    let database = Database::with_keys(Journal::Wal, []);
    database.shell(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
         INSERT INTO keys SELECT printf('%06d', i), '', 'pending', NULL, 1 FROM n;
         INSERT INTO keys VALUES ('a', '', 'done', NULL, 2), ('000000b', '', 'done', NULL, 3);
         CREATE INDEX by_expiry ON keys(expires);",
    );
    let mut swept = Swept::new(&database);
    let stops: Vec<Stop> =
        (0..150).map(|_| swept.tick(u64::MAX, Some(Duration::from_micros(500))).0.stop).collect();
    assert_eq!(stops[0], Stop::Budget, "no tick was cut: {stops:?}");
    assert_eq!(database.shell("SELECT count(*) FROM keys WHERE status = 'done'"), "0\n");
}

#[test]
fn a_cut_sweep_goes_on_where_it_ended_and_goes_round_once_before_it_is_drained() {
    let database = Database::with_keys(Journal::Wal, []);
    database.shell(MANY);
    let mut swept = Swept::new(&database);
    let (report, first) = swept.tick(1_000, None);
    assert_eq!(report.stop, Stop::Shutdown);
    let last = first.deleted.last().unwrap().clone();
    database.shell("INSERT INTO keys VALUES ('00000-new', 'v1', 'done', '{}', 1)");

    let (report, second) = swept.tick(u64::MAX, None);
    assert_eq!(second.searched_after[0].as_deref(), Some(last.as_str()));
    assert!(second.deleted[0] > last, "{} came after {last}", second.deleted[0]);
    assert_eq!(second.deleted.last().map(String::as_str), Some("00000-new"));
    assert_eq!(report.stop, Stop::Drained);
    assert_eq!(database.shell("SELECT count(*) FROM keys WHERE expires <= 100"), "0\n");

    let (_, third) = swept.tick(u64::MAX, None);
    assert_eq!(third.searched_after[0], None, "a drained table is walked from the start");
}

#[test]
fn a_tick_without_time_deletes_nothing_and_says_budget() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0)]);
    let mut swept = Swept::new(&database);
    let (report, _) = swept.tick(u64::MAX, Some(Duration::ZERO));
    assert_eq!((report.stop, report.deleted), (Stop::Budget, 0));
    assert_eq!(database.ids(), ["a"]);
}

/// Where little is due, a tick may read for all its time and never fill a batch.
#[test]
fn a_few_expired_rows_in_a_table_too_large_for_one_tick_go_all_the_same() {
    let database = Database::with_keys(Journal::Wal, []);
    database.shell(MANY);
    database.shell(
        "UPDATE keys SET expires = 1000 WHERE id NOT IN ('00001', '02001', '04001', '06001', '09999')",
    );
    let mut swept = Swept::new(&database);
    let stops: Vec<Stop> =
        (0..200).map(|_| swept.tick(u64::MAX, Some(Duration::from_micros(500))).0.stop).collect();
    assert!(stops.contains(&Stop::Budget), "no tick was cut: {stops:?}");
    assert_eq!(database.shell("SELECT count(*) FROM keys WHERE expires <= 100"), "0\n");
}

/// A turn in the first table takes longer than a whole tick may.
#[test]
fn a_table_that_uses_up_each_tick_keeps_no_other_from_its_turn() {
    let database = Database::with_keys(Journal::Wal, []);
    database.shell(MANY);
    database.shell("CREATE TABLE other AS SELECT * FROM keys LIMIT 10; CREATE UNIQUE INDEX u ON other(id);");
    let mut swept = Swept::new(&database);
    let mut other = Rule::key_table(Duration::ZERO);
    (other.table, other.label) = (Identifier::new("other").unwrap(), TableLabel::new("other").unwrap());
    swept.tables.push(TableMemory::new(other, Limit::MAX, Share::new(1.0).unwrap()));
    for _ in 0..10 {
        let (report, _) = swept.tick(u64::MAX, Some(Duration::from_micros(100)));
        assert_eq!(report.stop, Stop::Budget, "a tick was not cut");
    }
    assert_eq!(database.shell("SELECT count(*) FROM other WHERE expires <= 100"), "0\n");
    assert_ne!(database.shell("SELECT count(*) FROM keys WHERE expires <= 100"), "0\n");
}
