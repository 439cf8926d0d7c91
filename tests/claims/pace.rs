//! How fast a sweep works, by a clock that goes on by itself while all rest.

use std::sync::Mutex;
use std::time::Duration;

use keysweep::plan::{
    BatchBound, DatabaseName, Event, Guards, Identifier, Key, Limit, Report, Rule, Share, Stop, TableLabel,
    UnixTime, Value,
};
use keysweep::store::Store;
use keysweep::store::sqlite::{Access, Openings, Sqlite};
use keysweep::tick::{Mode, Order, TableMemory, tick};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::support::{Database, Journal};

/// A tick of these tables, of which so many rows a second are wanted. Gives the reports, and when the
/// sweep of each table ended.
fn sweep(
    database: &Database,
    tables: &[&str],
    rate: f64,
    budget: u64,
) -> (Vec<Report>, Vec<(String, Duration)>) {
    let stop = CancellationToken::new();
    let store = Sqlite::new(database.path(), Access::Write, Duration::from_secs(5), stop.clone());
    let mut store = store.sharing(Openings::new(1));
    let memory = |name: &&str| {
        let (table, label) = (Identifier::new(name).unwrap(), TableLabel::new(name).unwrap());
        let rule = Rule { table, label, ..Rule::key_table(Duration::ZERO) };
        let mut memory = TableMemory::new(rule, Limit::MAX, Share::new(0.9).unwrap());
        memory.aim(rate);
        memory
    };
    let mut tables: Vec<TableMemory> = tables.iter().map(memory).collect();
    let order = Order {
        database: &DatabaseName::new("app").unwrap(),
        now: UnixTime::new(100.0).unwrap(),
        budget: Some(Duration::from_secs(budget)),
        enabled: true,
        guards: Guards::default(),
        mode: Mode::Delete,
        stop: &stop,
    };
    let ended = Mutex::new(vec![]);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    let reports = runtime.block_on(async {
        let begun = Instant::now();
        let tell = |event: &Event| {
            if let Event::Swept(report) = event {
                ended.lock().unwrap().push((report.table.to_string(), begun.elapsed()));
            }
        };
        tick(&order, &mut store, &mut tables, &tell).await
    });
    (reports, ended.into_inner().unwrap())
}

/// A table of this name with so many expired rows.
fn table(name: &str, rows: u32) -> String {
    format!(
        "CREATE TABLE {name}(id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, status TEXT NOT NULL, response TEXT,
            expires REAL NOT NULL);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
         INSERT INTO {name} SELECT printf('%05d', i), 'v1', 'done', '{{}}', 1 FROM n;"
    )
}

#[test]
fn a_sweep_is_no_faster_than_is_wanted() {
    let database = Database::new(Journal::Wal, &table("keys", 1_000));
    let (reports, ended) = sweep(&database, &["keys"], 100.0, 3_600);
    assert_eq!((reports[0].stop, reports[0].deleted), (Stop::Drained, 1_000));
    // Ten seconds, but for the rest after the last batch.
    let (_, took) = ended[0];
    assert!((8..=11).contains(&took.as_secs()), "{took:?}");
}

#[test]
fn each_table_has_a_pace_of_its_own() {
    let tables = table("many", 1_000) + &table("few", 100) + &table("more", 1_000);
    let database = Database::new(Journal::Wal, &tables);
    let (reports, ended) = sweep(&database, &["many", "few", "more"], 100.0, 3_600);
    assert!(reports.iter().all(|report| report.stop == Stop::Drained), "{reports:?}");
    let when = |name: &str| ended.iter().find(|(table, _)| table == name).unwrap().1.as_secs();
    assert!(when("few") <= 1 && (8..=11).contains(&when("many")), "{ended:?}");
    assert!((8..=11).contains(&when("more")), "{ended:?}");
}

#[test]
fn a_batch_that_had_to_wait_for_too_long_is_not_begun() {
    let database = Database::new(Journal::Wal, &table("keys", 10));
    let mut store =
        Sqlite::new(database.path(), Access::Write, Duration::from_secs(5), CancellationToken::new());
    let rule = Rule::key_table(Duration::ZERO);
    let cutoff = rule.cutoff(UnixTime::new(100.0).unwrap()).unwrap();
    let keys = [Key::new(vec![Value::Text("00001".into())])];
    let mut delete = |until| {
        let bound = BatchBound { rows: 100, hold: Duration::MAX, until };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            store.inspect(std::slice::from_ref(&rule)).await.unwrap();
            store.delete_batch(&rule, cutoff, &keys, bound).await.unwrap().deleted.len()
        })
    };
    let now = std::time::Instant::now();
    assert_eq!(delete(Some(now)), 0);
    assert_eq!(delete(Some(now + Duration::from_secs(600))), 1);
}

#[test]
fn a_tick_that_rests_ends_with_its_time() {
    let database = Database::new(Journal::Wal, &table("keys", 1_000));
    let (reports, ended) = sweep(&database, &["keys"], 10.0, 30);
    assert_eq!(reports[0].stop, Stop::Budget);
    assert!((250..=400).contains(&reports[0].deleted), "{reports:?}");
    assert_eq!(ended[0].1.as_secs(), 30);
}
