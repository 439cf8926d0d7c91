//! The schema changes, or the file is another one, between a search and its batch.

use std::time::Duration;

use keysweep::plan::{
    BatchBound, Counts, Cutoff, DatabaseName, Failure, Guards, HoldReason, Identifier, Key, Limit, Report,
    Rule, RuleBook, Share, SpaceUsed, Stop, TableFacts, TableLabel, UnixTime,
};
use keysweep::store::sqlite::{Access, Openings, Sqlite};
use keysweep::store::{Batch, Leg, Step, Store};
use keysweep::tick::{Mode, Order, TableMemory, tick};
use tokio_util::sync::CancellationToken;

use crate::poison::expired;
use crate::support::{Database, Journal};

const JOURNALS: [Journal; 2] = [Journal::Wal, Journal::Delete];
const INDEX: &str = "CREATE INDEX by_expiry ON keys(expires)";

/// The real store, beside which somebody acts before each batch; given the number of batches before.
struct Meddled<F> {
    store: Sqlite,
    before_batch: F,
    batches: usize,
}

impl<F: FnMut(usize) + Send> Store for Meddled<F> {
    async fn rules(&mut self, book: &RuleBook) -> Result<Vec<Rule>, Failure> {
        self.store.rules(book).await
    }

    async fn inspect(&mut self, rules: &[Rule]) -> Result<Vec<TableFacts>, Failure> {
        self.store.inspect(rules).await
    }

    async fn search(&mut self, rule: &Rule, cutoff: Cutoff, leg: &Leg) -> Result<Step, Failure> {
        self.store.search(rule, cutoff, leg).await
    }

    async fn delete_batch(
        &mut self,
        rule: &Rule,
        cutoff: Cutoff,
        keys: &[Key],
        bound: BatchBound,
    ) -> Result<Batch, Failure> {
        (self.before_batch)(self.batches);
        self.batches += 1;
        self.store.delete_batch(rule, cutoff, keys, bound).await
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

/// One tick at the instant 100 of these rules.
fn sweep(database: &Database, rules: Vec<Rule>, before_batch: impl FnMut(usize) + Send) -> Vec<Report> {
    let memory = |rule| TableMemory::new(rule, Limit::MAX, Share::new(1.0).unwrap());
    sweep_at_pace(database, rules.into_iter().map(memory).collect(), Openings::default(), before_batch)
}

fn sweep_at_pace(
    database: &Database,
    mut tables: Vec<TableMemory>,
    openings: Openings,
    before_batch: impl FnMut(usize) + Send,
) -> Vec<Report> {
    let stop = CancellationToken::new();
    let store = Sqlite::new(database.path(), Access::Write, Duration::from_secs(5), stop.clone());
    let mut store = Meddled { store: store.sharing(openings), before_batch, batches: 0 };
    let order = Order {
        database: &DatabaseName::new("app").unwrap(),
        now: UnixTime::new(100.0).unwrap(),
        budget: None,
        enabled: true,
        guards: Guards::default(),
        mode: Mode::Delete,
        stop: &stop,
    };
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    runtime.block_on(tick(&order, &mut store, &mut tables, &|_| {}))
}

fn keys() -> Rule {
    Rule::key_table(Duration::ZERO)
}

fn other() -> Rule {
    let (table, label) = (Identifier::new("other").unwrap(), TableLabel::new("other").unwrap());
    Rule { table, label, ..keys() }
}

/// Before the third batch.
fn assert_goes_on(change: &str) {
    for (journal, index) in JOURNALS.into_iter().flat_map(|journal| [(journal, ""), (journal, INDEX)]) {
        let database = expired(journal, 300, index);
        database.shell("INSERT INTO keys VALUES ('open', 'v1', 'pending', NULL, 1)");
        let change =
            change.replace("{index}", if index.is_empty() { "SELECT 1" } else { "DROP INDEX by_expiry" });
        let reports = sweep(&database, vec![keys()], |batches| {
            if batches == 2 {
                database.shell(&change);
            }
        });
        let report = &reports[0];
        assert_eq!((report.stop, report.deleted), (Stop::Drained, 300), "{change} {index}: {report:?}");
        assert_eq!(database.ids(), ["open"], "{change} {journal:?}");
    }
}

#[test]
fn a_migration_in_the_middle_of_a_sweep_costs_it_nothing() {
    assert_goes_on("ALTER TABLE keys ADD COLUMN note TEXT");
    assert_goes_on("CREATE TABLE another(a)");
    assert_goes_on("CREATE INDEX another ON keys(status, expires)");
    assert_goes_on("{index}; CREATE TABLE another(a)");
}

#[test]
fn a_vacuum_in_the_middle_of_a_sweep_costs_it_nothing() {
    assert_goes_on("VACUUM");
}

#[test]
fn a_reference_that_appears_in_the_middle_of_a_sweep_holds_the_rest() {
    let database = expired(Journal::Wal, 300, "");
    let reports = sweep(&database, vec![keys()], |batches| {
        if batches == 2 {
            database.shell("CREATE TABLE child(key TEXT REFERENCES keys(id) ON DELETE CASCADE)");
        }
    });
    assert_eq!(reports[0].held, Some(HoldReason::References), "{reports:?}");
    assert!(reports[0].deleted > 0 && database.ids().len() == 300 - reports[0].deleted as usize);
}

#[test]
fn a_table_that_fits_no_more_is_held_alone() {
    let second = "CREATE TABLE other AS SELECT * FROM keys; CREATE UNIQUE INDEX by_id ON other(id);";
    let database = expired(Journal::Wal, 300, second);
    let reports = sweep(&database, vec![keys(), other()], |batches| {
        if batches == 2 {
            database.shell("ALTER TABLE keys RENAME COLUMN status TO state");
        }
    });
    let (first, second) = (&reports[0], &reports[1]);
    assert_eq!((first.stop, first.held), (Stop::Held, Some(HoldReason::Schema)), "{first:?}");
    assert!(first.error.as_ref().unwrap().what().contains("no column `status`"), "{first:?}");
    assert_eq!((second.stop, second.deleted), (Stop::Drained, 300), "{second:?}");
}

#[test]
fn a_schema_that_never_rests_ends_the_sweep_and_not_the_daemon() {
    let database = expired(Journal::Wal, 300, "");
    let reports = sweep(&database, vec![keys()], |batches| {
        database.shell(&format!("CREATE TABLE t{batches}(a)"));
    });
    assert_eq!((reports[0].held, reports[0].deleted), (Some(HoldReason::Schema), 0), "{reports:?}");
    assert!(reports[0].error.as_ref().unwrap().what().contains("schema changed"), "{reports:?}");
}

#[test]
fn a_file_that_takes_the_place_of_the_database_is_swept_in_the_same_tick() {
    for (journal, index) in JOURNALS.into_iter().flat_map(|journal| [(journal, ""), (journal, INDEX)]) {
        assert_follows(journal, index, |database, rules, before_batch| sweep(database, rules, before_batch));
    }
}

#[test]
fn a_file_that_takes_the_place_of_the_database_while_its_connection_is_let_go_is_noticed() {
    for journal in JOURNALS {
        assert_follows(journal, "", |database, rules, before_batch| {
            let memory = |rule| {
                let mut table = TableMemory::new(rule, Limit::MAX, Share::DEFAULT);
                table.aim(1.0);
                table
            };
            let tables = rules.into_iter().map(memory).collect();
            sweep_at_pace(database, tables, Openings::new(1), before_batch)
        });
    }
}

/// Another file takes the place of the database before the third batch.
fn assert_follows(
    journal: Journal,
    index: &str,
    sweep: impl Fn(&Database, Vec<Rule>, &mut (dyn FnMut(usize) + Send)) -> Vec<Report>,
) {
    let (database, restored) = (expired(journal, 300, index), expired(journal, 20, ""));
    // Behind the place where the walk was.
    restored.shell("UPDATE keys SET id = '!' || id");
    let unlinked = database.folder().join("unlinked.db");
    let mut left = String::new();
    let reports = sweep(&database, vec![keys()], &mut |batches| {
        if batches == 2 {
            left = database.shell("PRAGMA wal_checkpoint(TRUNCATE); SELECT count(*) FROM keys");
            std::fs::rename(database.path(), &unlinked).unwrap();
            for end in ["-wal", "-shm", "-journal"] {
                std::fs::remove_file(database.folder().join(format!("app.db{end}"))).ok();
            }
            std::fs::rename(restored.path(), database.path()).unwrap();
        }
    });
    assert_eq!(reports[0].stop, Stop::Drained, "{journal:?} {index}: {reports:?}");
    assert_eq!(database.ids(), [""; 0]);
    let kept = crate::support::database::shell(&unlinked, "SELECT count(*) FROM keys");
    assert_eq!(left.lines().last(), kept.lines().next(), "the unlinked file was written");
}
