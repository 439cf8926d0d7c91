//! The library at work on a real file, at an instant that the test chooses.

use std::time::Duration;

use keysweep::plan::{Counts, DatabaseName, Guards, Limit, Report, Rule, Share, UnixTime};
use keysweep::store::Store;
use keysweep::store::sqlite::{Access, Sqlite};
use keysweep::tick::{Mode, Order, TableMemory, tick};
use tokio_util::sync::CancellationToken;

use super::Database;

fn store(database: &Database, access: Access) -> Sqlite {
    Sqlite::new(database.path(), access, Duration::from_secs(10), CancellationToken::new())
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// One tick of one table, as if it were this instant.
pub fn sweep_at(database: &Database, rule: &Rule, now: f64) -> Report {
    let order = Order {
        database: &DatabaseName::new("app").unwrap(),
        now: UnixTime::new(now).unwrap(),
        budget: None,
        enabled: true,
        guards: Guards::default(),
        mode: Mode::Delete,
        stop: &CancellationToken::new(),
    };
    let mut tables = [TableMemory::new(rule.clone(), Limit::MAX, Share::new(1.0).unwrap())];
    let reports = block_on(tick(&order, &mut store(database, Access::Write), &mut tables, &|_| {}));
    reports.into_iter().next().unwrap()
}

/// What a census finds, as if it were this instant.
pub fn census_at(database: &Database, rule: &Rule, now: f64) -> Counts {
    let mut store = store(database, Access::Read);
    block_on(async {
        store.inspect(std::slice::from_ref(rule)).await.unwrap();
        let rules = std::slice::from_ref(rule);
        store.count(rules, UnixTime::new(now).unwrap()).await.unwrap().remove(0)
    })
}
