//! The daemon: one worker and one census a database, the schedule, the listener, and the end of them all.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::census::census;
use crate::clock;
use crate::config::{Database, Settings, Timing};
use crate::memory::Memory;
use crate::observe::{self, Observer, Watched, WatchedTable};
use crate::plan::{Clock, Event, Failure, FailureKind, Rule, UnixTime};
use crate::schedule::{self, Bell, Rope};
use crate::store::sqlite::{Access, Sqlite};
use crate::tick::{Mode, Order, TableMemory, tick};

/// A tick never works longer than this, unless its config says so.
const LONGEST_TICK: Duration = Duration::from_secs(15 * 60);
/// Databases that are counted at once: a long count must leave threads to the sweeps of the others.
const CENSUSES: usize = 4;
/// After the word to stop: a batch is finished or rolled back within a part of this.
const LONGEST_STOP: Duration = Duration::from_millis(1_500);

/// Why the daemon could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A metric could not be registered.
    #[error("cannot set up the metrics: {0}")]
    Metrics(#[from] observe::MetricsError),
    /// The scheduler refused a job.
    #[error("cannot start the scheduler: {0}")]
    Scheduler(#[from] tokio_cron_scheduler::JobSchedulerError),
}

/// Run until told to stop. The caller brings the bound listener, so that an address in use is
/// known before any database is touched.
///
/// # Errors
/// [`StartError`] before anything was swept. A database that fails later is down, and the daemon runs on.
pub async fn run(
    settings: Settings,
    memory: Memory,
    listener: Option<TcpListener>,
    stop: CancellationToken,
) -> Result<(), StartError> {
    let watched: Vec<Watched> = settings.databases.iter().map(watched).collect();
    let observer = Observer::new(&watched, clock::now())?;
    let tasks = TaskTracker::new();
    let mut ropes = Vec::new();
    let censuses = Arc::new(Semaphore::new(CENSUSES));
    for database in settings.databases.into_iter().map(Arc::new) {
        let bell = Arc::new(Bell::default());
        ropes.push((database.timing.clone(), rope(&database, &bell, &observer)));
        tasks.spawn(work(Arc::clone(&database), memory.clone(), bell, observer.clone(), stop.clone()));
        tasks.spawn(count(database, Arc::clone(&censuses), observer.clone(), stop.clone()));
    }
    let pulse = schedule::start(ropes, &tasks, stop.clone()).await?;
    if let Some(listener) = listener {
        let alive = Arc::new(move || pulse.is_alive());
        tasks.spawn(observe::serve(listener, observer.clone(), alive, clock::now, stop.clone()));
    }
    observer.set_ready();
    stop.cancelled().await;
    tasks.close();
    if timeout(LONGEST_STOP, tasks.wait()).await.is_err() {
        tracing::warn!("a task did not end in time; its transaction is rolled back with its connection");
    }
    memory.close();
    Ok(())
}

fn watched(database: &Database) -> Watched {
    let table = |rule: &Rule| WatchedTable {
        table: rule.label.clone(),
        retention: rule.clock.as_ref().map(Clock::retention),
    };
    Watched {
        database: database.name.clone(),
        census: database.census,
        tables: database.rules.rules(&[]).iter().map(table).collect(),
    }
}

fn rope(database: &Arc<Database>, bell: &Arc<Bell>, observer: &Observer) -> Rope {
    let (database, observer) = (Arc::clone(database), observer.clone());
    Rope { bell: Arc::clone(bell), announce: Arc::new(move |next| observer.next_tick(&database.name, next)) }
}

/// One tick a ring. A panic in a tick is that database's failure, and the next ring tries again.
async fn work(
    database: Arc<Database>,
    memory: Memory,
    bell: Arc<Bell>,
    observer: Observer,
    stop: CancellationToken,
) {
    let table = |rule: &Rule| TableMemory::new(rule.clone(), database.batch, database.share);
    let mut tables: Vec<TableMemory> = database.rules.rules(&[]).iter().map(table).collect();
    loop {
        tokio::select! {
            () = bell.heard() => {}
            () = stop.cancelled() => return,
        }
        // A copy goes in: what holds until a restart must outlive a panic.
        let one =
            one_tick(Arc::clone(&database), memory.clone(), tables.clone(), observer.clone(), stop.clone());
        match tokio::spawn(one).await {
            Ok(after) => tables = after,
            Err(error) => {
                let failed = Some(broke_off(&database, "a tick", &error));
                observer.tell(&Event::Ticked { database: database.name.clone(), failed });
            }
        }
    }
}

async fn one_tick(
    database: Arc<Database>,
    memory: Memory,
    mut tables: Vec<TableMemory>,
    observer: Observer,
    stop: CancellationToken,
) -> Vec<TableMemory> {
    let reading = clock::reading();
    let now = reading.wall;
    let budget = database.budget.unwrap_or_else(|| until_next(&database.timing, now));
    let order = Order {
        database: &database.name,
        now,
        budget: Some(budget),
        enabled: database.enabled,
        guards: memory.guards(&database, &database.rules.rules(&[]), &reading).await,
        mode: Mode::Delete,
        stop: &stop,
    };
    let mut store =
        Sqlite::new(database.path.clone(), Access::Write, database.busy_timeout.min(budget), stop.clone());
    tick(&order, &mut store, &mut tables, &|event| observer.tell(event)).await;
    tables
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

/// A census at once, and then one an interval.
async fn count(
    database: Arc<Database>,
    censuses: Arc<Semaphore>,
    observer: Observer,
    stop: CancellationToken,
) {
    let mut timer = interval(database.census);
    timer.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = timer.tick() => {}
            () = stop.cancelled() => return,
        }
        let Ok(_turn) = censuses.acquire().await else { return };
        let one = one_census(Arc::clone(&database), observer.clone(), stop.clone());
        if let Err(error) = tokio::spawn(one).await {
            let space = Err(broke_off(&database, "a census", &error));
            observer.tell(&Event::CensusTaken { database: database.name.clone(), at: clock::now(), space });
        }
    }
}

async fn one_census(database: Arc<Database>, observer: Observer, stop: CancellationToken) {
    let mut store = Sqlite::new(database.path.clone(), Access::Read, database.busy_timeout, stop);
    let tell = |event: &Event| observer.tell(event);
    census(&database.name, clock::now(), &mut store, &database.rules, &tell).await;
}

fn broke_off(database: &Database, what: &str, error: &tokio::task::JoinError) -> Failure {
    let what = format!("{what} of {} broke off: {error}", database.path.display());
    Failure::new(FailureKind::Internal, what, "report this; the next one tries again")
}
