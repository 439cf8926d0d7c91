//! What is done to one database: a tick at each ring, a census at each interval.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::flows::Flows;
use crate::census::census;
use crate::clock;
use crate::config::{Database, Timing};
use crate::memory::Memory;
use crate::observe::{Observer, Watched, WatchedTable};
use crate::plan::{
    Clock, Duty, Event, Failure, FailureKind, Identifier, Rule, RuleBook, TableLabel, UnixTime,
    census_interval,
};
use crate::schedule::Bell;
use crate::store::Store;
use crate::store::sqlite::{Access, Learnt, Openings, Sqlite};
use crate::tick::{Mode, Order, TableMemory, tick};

/// A tick never works longer than this, unless its config says so.
const LONGEST_TICK: Duration = Duration::from_secs(15 * 60);
/// Databases that are open at once: they have three files each, and there are eight threads to work on them.
const OPEN: usize = 16;

/// How many may be open at once, for all workers together.
pub(super) fn openings() -> Openings {
    Openings::new(OPEN)
}

/// What is known of the tables of a database. It outlives a worker whose config changes: what holds
/// until a restart, where a walk was cut, and how rows come and go.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables {
    known: Arc<Mutex<Vec<TableMemory>>>,
    flows: Flows,
}

impl Tables {
    fn locked(&self) -> MutexGuard<'_, Vec<TableMemory>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub learnt: Learnt,
    pub openings: Openings,
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
            .sharing(self.openings.clone())
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
        let count = tables.len();
        let wanted = |label: &TableLabel| self.tables.flows.of(label).wanted(duty, count);
        tables.iter_mut().for_each(|table| table.aim(wanted(table.label())));
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
        if let Some(follows) = self.tables.flows.hear(event) {
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
        let (mut every, mut next) = (configured, Instant::now());
        while self.stop.run_until_cancelled(sleep_until(next)).await.is_some() {
            let begun = Instant::now();
            let took = match tokio::spawn(self.clone().one_census()).await {
                Ok(took) => took,
                Err(error) => {
                    let database = self.database.name.clone();
                    let space = Err(self.broke_off("a census", &error));
                    self.observer.tell(&Event::CensusTaken { database, space });
                    None
                }
            };
            // To wait for a lock or for others is not to count: one that failed is tried again in time.
            let wanted = took.map_or(configured, |took| census_interval(configured, took));
            if wanted != every {
                self.stretch(every == configured, wanted);
            }
            every = wanted;
            let Some(time) = begun.checked_add(every) else { return };
            next = time;
        }
    }

    fn stretch(&self, is_first: bool, interval: Duration) {
        self.observer.census_interval(&self.database.name, interval);
        if is_first {
            let (database, seconds) = (self.database.name.as_str(), interval.as_secs_f64());
            tracing::info!(database, seconds, "counting takes long, so rows are counted less often");
        }
    }

    /// Gives how long it worked, where it counted.
    async fn one_census(self) -> Option<Duration> {
        let Database { name, path, busy_timeout, rules, .. } = &*self.database;
        let mut store = Sqlite::new(path.clone(), Access::Read, *busy_timeout, self.stop.clone())
            .sharing(self.openings.clone())
            .with_learnt(self.learnt.clone());
        let failed = census(name, clock::now(), &mut store, rules, &|event| self.tell(event)).await;
        failed.is_none().then(|| store.worked())
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
