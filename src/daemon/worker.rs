//! What is done to one database: a tick at each ring, a census at each interval.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::census::census;
use crate::clock;
use crate::config::{Database, Timing};
use crate::observe::Observer;
use crate::plan::{Event, Failure, FailureKind, Rule, UnixTime};
use crate::schedule::Bell;
use crate::store::sqlite::{Access, Sqlite};
use crate::tick::{Mode, Order, TableMemory, tick};

/// A tick never works longer than this, unless its config says so.
const LONGEST_TICK: Duration = Duration::from_secs(15 * 60);
/// Databases that are swept at once. Each has three files open, and a process often may open 1,024.
const TICKS: usize = 64;
/// Databases that are counted at once: a long count must leave threads to the sweeps of the others.
const CENSUSES: usize = 4;

/// How many may work at once.
#[derive(Debug)]
pub(super) struct Turns {
    ticks: Semaphore,
    censuses: Semaphore,
}

impl Default for Turns {
    fn default() -> Self {
        Self { ticks: Semaphore::new(TICKS), censuses: Semaphore::new(CENSUSES) }
    }
}

/// What outlives a worker when its config changes: what holds until a restart, and where a walk was cut.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory(Arc<Mutex<Vec<TableMemory>>>);

impl Memory {
    fn locked(&self) -> MutexGuard<'_, Vec<TableMemory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the tables of this config, with what is known of those that stay.
    fn tables(&self, database: &Database) -> Vec<TableMemory> {
        let before = self.locked();
        let table = |rule: &Rule| {
            let new = TableMemory::new(rule.clone(), database.batch, database.share);
            match before.iter().find(|table| *table.label() == rule.label) {
                Some(before) => new.after(before),
                None => new,
            }
        };
        database.rules.iter().map(table).collect()
    }
}

/// One database at work.
#[derive(Clone)]
pub(super) struct Worker {
    pub database: Arc<Database>,
    pub memory: Memory,
    pub turns: Arc<Turns>,
    pub observer: Observer,
    /// Ends it between two batches.
    pub stop: CancellationToken,
}

impl Worker {
    /// One tick a ring. A panic in a tick is that database's failure, and the next ring tries again.
    pub async fn work(self, bell: Arc<Bell>) {
        let mut tables = self.memory.tables(&self.database);
        while let Some(()) = self.stop.run_until_cancelled(bell.heard()).await {
            let turn = self.stop.run_until_cancelled(self.turns.ticks.acquire()).await;
            let Some(Ok(_turn)) = turn else { return };
            // A copy goes in: what holds until a restart must outlive a panic.
            match tokio::spawn(self.clone().one_tick(tables.clone())).await {
                Ok(after) => {
                    self.memory.locked().clone_from(&after);
                    tables = after;
                }
                Err(error) => {
                    let failed = Some(self.broke_off("a tick", &error));
                    self.observer.tell(&Event::Ticked { database: self.database.name.clone(), failed });
                }
            }
        }
    }

    async fn one_tick(self, mut tables: Vec<TableMemory>) -> Vec<TableMemory> {
        let database = &self.database;
        let now = clock::now();
        let budget = database.budget.unwrap_or_else(|| until_next(&database.timing, now));
        let order = Order {
            database: &database.name,
            now,
            budget: Some(budget),
            enabled: database.enabled,
            mode: Mode::Delete,
            stop: &self.stop,
        };
        let longest_wait = database.busy_timeout.min(budget);
        let mut store = Sqlite::new(database.path.clone(), Access::Write, longest_wait, self.stop.clone());
        tick(&order, &mut store, &mut tables, &|event| self.observer.tell(event)).await;
        tables
    }

    /// A census at once, and then one an interval.
    pub async fn count(self) {
        let mut timer = interval(self.database.census);
        timer.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while self.stop.run_until_cancelled(timer.tick()).await.is_some() {
            let turn = self.stop.run_until_cancelled(self.turns.censuses.acquire()).await;
            let Some(Ok(_turn)) = turn else { return };
            if let Err(error) = tokio::spawn(self.clone().one_census()).await {
                let (database, space) = (self.database.name.clone(), Err(self.broke_off("a census", &error)));
                self.observer.tell(&Event::CensusTaken { database, at: clock::now(), space });
            }
        }
    }

    async fn one_census(self) {
        let Database { name, path, busy_timeout, rules, .. } = &*self.database;
        let mut store = Sqlite::new(path.clone(), Access::Read, *busy_timeout, self.stop.clone());
        census(name, clock::now(), &mut store, rules, &|event| self.observer.tell(event)).await;
    }

    fn broke_off(&self, what: &str, error: &tokio::task::JoinError) -> Failure {
        let what = format!("{what} of {} broke off: {error}", self.database.path.display());
        Failure::new(FailureKind::Internal, what, "report this; the next one tries again")
    }
}

fn until_next(timing: &Timing, now: UnixTime) -> Duration {
    let length = match timing {
        Timing::Every(every) => Some(*every),
        Timing::Cron(schedule) => schedule
            .next_after(now)
            .and_then(|next| Duration::try_from_secs_f64(next.seconds() - now.seconds()).ok()),
    };
    length.unwrap_or(LONGEST_TICK).min(LONGEST_TICK)
}
