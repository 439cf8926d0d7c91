//! What is done to one database: a tick at each ring, a census at each interval.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::flows::Flows;
use crate::census::census;
use crate::clock;
use crate::config::{Database, Timing};
use crate::memory::Memory;
use crate::observe::{Observer, Watched, WatchedTable};
use crate::plan::{
    Clock, Duty, Event, Failure, FailureKind, Identifier, Rule, RuleBook, UnixTime, census_interval,
};
use crate::schedule::Bell;
use crate::store::Store;
use crate::store::sqlite::{Access, Learnt, Openings, Sqlite};
use crate::tick::{Mode, Order, TableMemory, tick};

/// A tick never works longer than this, unless its config says so.
const LONGEST_TICK: Duration = Duration::from_secs(15 * 60);
/// Databases that are open at once: they have three files each, and there are eight threads to work on them.
const OPEN: usize = 16;
/// Databases that are counted at once: a long count must leave threads to the sweeps of the others.
const CENSUSES: usize = 4;

/// How many may work at once.
#[derive(Debug)]
pub(super) struct Turns {
    openings: Openings,
    censuses: Semaphore,
}

impl Default for Turns {
    fn default() -> Self {
        Self { openings: Openings::new(OPEN), censuses: Semaphore::new(CENSUSES) }
    }
}

/// What is known of the tables of a database. It outlives a worker whose config changes: what holds
/// until a restart, and where a walk was cut.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables(Arc<Mutex<Vec<TableMemory>>>);

impl Tables {
    fn locked(&self) -> MutexGuard<'_, Vec<TableMemory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy for the tables of these rules, with what is known of those that stay: what holds until a
    /// restart must outlive a panic.
    fn of(&self, rules: &[Rule], database: &Database) -> Vec<TableMemory> {
        let before = self.locked();
        let table = |rule: &Rule| {
            let new = TableMemory::new(rule.clone(), database.batch, database.share);
            match before.iter().find(|table| *table.label() == rule.label) {
                Some(before) => new.after(before),
                None => new,
            }
        };
        rules.iter().map(table).collect()
    }

    /// The rules of this book for the tables that are known; nothing before the first tick.
    fn rules(&self, book: &RuleBook) -> Option<Vec<Rule>> {
        let known: Vec<Identifier> = self.locked().iter().map(|table| table.rule().table.clone()).collect();
        let rules = if known.is_empty() { Vec::new() } else { book.rules(&known) };
        (!rules.is_empty()).then_some(rules)
    }

    /// What is shown of the database before its schema is looked at.
    pub fn watched(&self, database: &Database) -> Watched {
        watched(database, &self.rules(&database.rules).unwrap_or_else(|| database.rules.rules(&[])))
    }
}

/// One database at work.
#[derive(Clone)]
pub(super) struct Worker {
    pub database: Arc<Database>,
    pub memory: Memory,
    pub tables: Tables,
    pub flows: Flows,
    pub learnt: Learnt,
    pub turns: Arc<Turns>,
    /// So long after a ring of the calendar does a tick begin, so that not all begin together.
    pub late: Duration,
    pub observer: Observer,
    /// Ends it between two batches.
    pub stop: CancellationToken,
}

impl Worker {
    /// One tick a ring. A panic in a tick is that database's failure, and the next ring tries again.
    pub async fn work(self, bell: Arc<Bell>) {
        while let Some(()) = self.stop.run_until_cancelled(bell.heard()).await {
            if self.stop.run_until_cancelled(sleep(self.late)).await.is_none() {
                return;
            }
            if let Err(error) = tokio::spawn(self.clone().one_tick()).await {
                let failed = Some(self.broke_off("a tick", &error));
                self.observer.tell(&Event::Ticked { database: self.database.name.clone(), failed });
            }
        }
    }

    async fn one_tick(self) {
        let database = &self.database;
        let reading = clock::reading();
        let interval = interval(&database.timing, reading.wall);
        let budget = database.budget.unwrap_or(interval.min(LONGEST_TICK));
        let longest_wait = database.busy_timeout.min(budget);
        let mut store = Sqlite::new(database.path.clone(), Access::Write, longest_wait, self.stop.clone())
            .sharing(self.turns.openings.clone())
            .with_wal(database.wal)
            .with_learnt(self.learnt.clone());
        // Where the tables cannot be listed the tick fails for the same cause, and reports it.
        let rules = match store.rules(&database.rules).await {
            Ok(rules) => {
                self.watch(&rules);
                rules
            }
            Err(_) => self.tables.rules(&database.rules).unwrap_or_else(|| database.rules.as_written()),
        };
        let mut tables = self.tables.of(&rules, database);
        let duty = Duty::new(interval, budget, database.window);
        tables.iter_mut().for_each(|table| table.aim(self.flows.of(table.label()).wanted(duty)));
        // Known from here on: a reload in the middle of the first tick leaves their series as they are.
        self.tables.locked().clone_from(&tables);
        let order = Order {
            database: &database.name,
            now: reading.wall,
            budget: Some(budget),
            enabled: database.enabled,
            guards: self.memory.guards(database, &rules, &reading).await,
            mode: Mode::Delete,
            stop: &self.stop,
        };
        tick(&order, &mut store, &mut tables, &|event| self.tell(event)).await;
        *self.tables.locked() = tables;
    }

    fn tell(&self, event: &Event) {
        self.observer.tell(event);
        if let Some(follows) = self.flows.hear(event) {
            self.observer.tell(&follows);
        }
    }

    /// Tables that a pattern means come and go.
    fn watch(&self, rules: &[Rule]) {
        if self.database.rules.patterns().next().is_none() {
            return;
        }
        if let Err(error) = self.observer.watch(&watched(&self.database, rules)) {
            tracing::error!(%error, "the tables of a database cannot be shown");
        }
    }

    /// A census at once, and then one an interval, which is stretched where counting takes long.
    pub async fn count(self) {
        let configured = self.database.census;
        let (mut every, mut next, mut last) = (configured, Instant::now(), Duration::ZERO);
        while self.stop.run_until_cancelled(sleep_until(next)).await.is_some() {
            let turn = self.stop.run_until_cancelled(self.turns.censuses.acquire()).await;
            let Some(Ok(_turn)) = turn else { return };
            let begun = Instant::now();
            if let Err(error) = tokio::spawn(self.clone().one_census()).await {
                let (database, space) = (self.database.name.clone(), Err(self.broke_off("a census", &error)));
                self.observer.tell(&Event::CensusTaken { database, space });
            }
            // One that took long by chance stretches nothing.
            let took = begun.elapsed();
            let wanted = census_interval(configured, took.min(std::mem::replace(&mut last, took)));
            if wanted != every {
                self.stretch(every == configured, wanted);
            }
            every = wanted;
            next = begun.checked_add(every).unwrap_or(begun);
        }
    }

    fn stretch(&self, is_first: bool, interval: Duration) {
        self.observer.census_interval(&self.database.name, interval);
        if is_first {
            let (database, seconds) = (self.database.name.as_str(), interval.as_secs());
            tracing::info!(database, seconds, "counting takes long, so rows are counted less often");
        }
    }

    async fn one_census(self) {
        let Database { name, path, busy_timeout, rules, .. } = &*self.database;
        let mut store = Sqlite::new(path.clone(), Access::Read, *busy_timeout, self.stop.clone())
            .sharing(self.turns.openings.clone())
            .with_learnt(self.learnt.clone());
        census(name, clock::now(), &mut store, rules, &|event| self.tell(event)).await;
    }

    fn broke_off(&self, what: &str, error: &tokio::task::JoinError) -> Failure {
        let what = format!("{what} of {} broke off: {error}", self.database.path.display());
        Failure::new(FailureKind::Internal, what, "report this; the next one tries again")
    }
}

/// What is shown of a database under these rules.
fn watched(database: &Database, rules: &[Rule]) -> Watched {
    let table = |rule: &Rule| WatchedTable {
        table: rule.label.clone(),
        retention: rule.clock.as_ref().map(Clock::retention),
    };
    Watched {
        database: database.name.clone(),
        census: database.census,
        tables: rules.iter().map(table).collect(),
    }
}

/// From one ring to the next.
pub(super) fn interval(timing: &Timing, now: UnixTime) -> Duration {
    let length = match timing {
        Timing::Every(every) => Some(*every),
        Timing::Cron(schedule) => schedule
            .next_after(now)
            .and_then(|next| Duration::try_from_secs_f64(next.seconds() - now.seconds()).ok()),
    };
    length.unwrap_or(LONGEST_TICK)
}
