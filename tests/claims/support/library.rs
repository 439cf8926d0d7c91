//! The library at work on a real file, at an instant that the test chooses.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use keysweep::plan::{
    Counts, DatabaseName, Event, Failure, Guards, Key, Limit, Report, Rule, Share, TableLabel, UnixTime,
};
use keysweep::store::Store;
use keysweep::store::sqlite::{Access, Sqlite};
use keysweep::tick::{Mode, Order, TableMemory, tick};
use tokio_util::sync::CancellationToken;

use super::Database;

fn store(path: &Path, access: Access) -> Sqlite {
    Sqlite::new(path.into(), access, Duration::from_secs(10), CancellationToken::new())
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// What a tick did or, as a dry run, named.
#[derive(Debug)]
pub struct Ticked {
    pub reports: Vec<Report>,
    pub named: Vec<(TableLabel, Key)>,
}

/// One tick of one file, as if it were this instant.
pub fn tick_at(path: &Path, rules: &[Rule], batch: Limit, mode: Mode, now: f64) -> Ticked {
    let order = Order {
        database: &DatabaseName::new("app").unwrap(),
        now: UnixTime::new(now).unwrap(),
        budget: None,
        enabled: true,
        guards: Guards::default(),
        mode,
        stop: &CancellationToken::new(),
    };
    let memory = |rule: &Rule| TableMemory::new(rule.clone(), batch, Share::new(1.0).unwrap());
    let mut tables: Vec<TableMemory> = rules.iter().map(memory).collect();
    let access = if mode == Mode::Delete { Access::Write } else { Access::Read };
    let named = Mutex::new(Vec::new());
    let tell = |event: &Event| {
        if let Event::WouldDelete { table, key, .. } = event {
            named.lock().unwrap().push((table.clone(), key.clone()));
        }
    };
    let reports = block_on(tick(&order, &mut store(path, access), &mut tables, &tell));
    Ticked { reports, named: named.into_inner().unwrap() }
}

/// What a census finds of the rules of one table, as if it were this instant.
pub fn count_at(path: &Path, rules: &[Rule], now: f64) -> Result<Vec<Counts>, Failure> {
    let mut store = store(path, Access::Read);
    block_on(async {
        store.inspect(rules).await?;
        store.count(rules, UnixTime::new(now).unwrap()).await
    })
}

/// One tick of one table, as if it were this instant.
pub fn sweep_at(database: &Database, rule: &Rule, now: f64) -> Report {
    tick_at(&database.path(), std::slice::from_ref(rule), Limit::MAX, Mode::Delete, now).reports.remove(0)
}

/// What a census finds, as if it were this instant.
pub fn census_at(database: &Database, rule: &Rule, now: f64) -> Counts {
    count_at(&database.path(), std::slice::from_ref(rule), now).unwrap().remove(0)
}
