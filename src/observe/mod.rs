//! What people and Prometheus see. Told of each committed batch, each sweep's report and each
//! census; asks nobody. Whoever reads, reads memory: a locked database cannot slow a scrape.
//!
//! ```text
//! Event -> Observer::tell -> metrics (tally)   -> /metrics
//!                         -> status  (picture) -> /status.json, /
//!                         -> history            -> / (plots)
//!                         -> sweep_log         -> standard error
//! ```

mod condition;
mod exposition;
mod families;
mod history;
mod http;
pub mod log;
mod metrics;
mod page;
mod picture;
mod pieces;
#[cfg(test)]
mod sample;
mod sentence;
mod series;
mod status;
mod sweep_log;
mod tally;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use condition::Condition;
pub use http::serve;
pub use status::{
    AbandonedStatus, CensusStatus, DatabaseStatus, Problem, SpaceStatus, Status, SweepStatus, TableStatus,
};

use crate::plan::{DatabaseName, Event, Failure, FailureKind, TableLabel, UnixTime};
use exposition::Exposition;
use history::Histories;
use metrics::Metrics;
use page::{Page, Query};
use sweep_log::SweepLog;

/// A database whose series exist from now on.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The label `database`.
    pub database: DatabaseName,
    /// How often its rows are meant to be counted.
    pub census: Duration,
    /// Its tables.
    pub tables: Vec<WatchedTable>,
}

/// A table whose series exist from now on.
#[derive(Debug, Clone)]
pub struct WatchedTable {
    /// The label `table`.
    pub table: TableLabel,
    /// How long a finished row is kept past its clock column; nothing where the table is only counted.
    pub retention: Option<Duration>,
}

/// The metrics could not be set up, or not be written: two databases or tables of one name, or a fault of ours.
#[derive(Debug, thiserror::Error)]
#[error("metrics: {0}")]
pub struct MetricsError(#[from] prometheus::Error);

/// Everything that is shown of this process, in memory. A clone shows the same.
#[derive(Clone)]
pub struct Observer(Arc<Shown>);

struct Shown {
    metrics: Metrics,
    status: Mutex<Status>,
    histories: Mutex<Histories>,
    log: Mutex<SweepLog>,
    ready: AtomicBool,
}

impl Observer {
    /// Every counter is there at 0, every gauge that must be measured first is absent.
    ///
    /// # Errors
    /// [`MetricsError`] when two databases, or two tables of one database, have the same name.
    pub fn new(watched: &[Watched], now: UnixTime) -> Result<Self, MetricsError> {
        Ok(Self(Arc::new(Shown {
            metrics: Metrics::new(watched, now)?,
            status: Mutex::new(Status::new(watched, now)),
            histories: Mutex::new(Histories::new()),
            log: Mutex::default(),
            ready: AtomicBool::new(false),
        })))
    }

    /// Watch this database and these tables of it, and no others of it. What stays goes on counting.
    ///
    /// # Errors
    /// [`MetricsError`] when two tables have the same name.
    pub fn watch(&self, watched: &Watched) -> Result<(), MetricsError> {
        self.0.metrics.watch(watched)?;
        locked(&self.0.status).watch(watched);
        let keep = |table: &TableLabel| watched.tables.iter().any(|watched| watched.table == *table);
        locked(&self.0.histories).keep(&watched.database, keep);
        locked(&self.0.log).keep(&watched.database, keep);
        Ok(())
    }

    /// Its series vanish. What is still told of it is dropped.
    pub fn unwatch(&self, database: &DatabaseName) {
        self.0.metrics.unwatch(database);
        locked(&self.0.status).unwatch(database);
        locked(&self.0.histories).forget(database);
        locked(&self.0.log).forget(database);
    }

    /// A config was read: at this time it came into use; nothing where it was refused.
    pub fn config_read(&self, at: Option<UnixTime>) {
        self.0.metrics.config_read(at);
        locked(&self.0.status).config_refused = at.is_none();
    }

    /// Something happened. The log comes last: a standard error that nobody reads delays no scrape.
    pub fn tell(&self, event: &Event) {
        self.0.metrics.tell(event);
        let known = locked(&self.0.status).tell(event);
        if known {
            locked(&self.0.histories).tell(event);
            locked(&self.0.log).tell(event);
        }
    }

    /// When the database's next tick is due; nothing while that is not known.
    pub fn next_tick(&self, database: &DatabaseName, at: Option<UnixTime>) {
        self.0.metrics.next_tick(database, at);
        locked(&self.0.status).next_tick(database, at);
    }

    /// From the database's next tick to the one after it; nothing while that is not known. An alert on ticks that
    /// are missing needs it, because schedules range from a second to a month.
    pub fn tick_interval(&self, database: &DatabaseName, interval: Option<Duration>) {
        self.0.metrics.tick_interval(database, interval);
    }

    /// How often the database's rows are counted from now on.
    pub fn census_interval(&self, database: &DatabaseName, interval: Duration) {
        self.0.metrics.census_interval(database, interval);
        locked(&self.0.status).census_interval(database, interval);
    }

    /// Config is loaded, the listener bound, the bells set: `/readyz` says so from now on.
    pub fn set_ready(&self) {
        self.0.ready.store(true, Ordering::Relaxed);
    }

    /// Whether [`Observer::set_ready`] was called.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.0.ready.load(Ordering::Relaxed)
    }

    /// All series in Prometheus' text format, in pieces that are written when they are asked for.
    ///
    /// # Errors
    /// [`MetricsError`] for a fault of ours; a scrape must fail then, not show that nothing is there.
    fn exposition(&self) -> Result<Exposition, MetricsError> {
        Ok(self.0.metrics.exposition()?)
    }

    /// How things stand, in one line for people.
    #[must_use]
    pub fn sentence(&self) -> String {
        locked(&self.0.status).sentence()
    }

    /// The status page, of what the query asks for.
    fn page(&self, query: &Query, now: UnixTime) -> String {
        let past = |database: &str| locked(&self.0.histories).past(database);
        Page { status: &self.status(), query, past: &past, now }.to_string()
    }

    /// The picture as of now.
    #[must_use]
    pub fn status(&self) -> Status {
        locked(&self.0.status).clone()
    }
}

/// A panic elsewhere must not make the rest of the process blind.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// To be told to stop is no fault of a database.
fn is_fault(failure: &Failure) -> bool {
    failure.kind() != FailureKind::Interrupted
}
