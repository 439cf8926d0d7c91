//! SQLite: one file, one connection, one call at a time.
//!
//! A call moves the connection through tokio's blocking pool and back, so that a rest, a wait for
//! a lock and an idle database cost no thread. The connection is opened at the first call that
//! needs it and closed when the store is dropped.

mod abandoned;
mod access;
mod batch;
mod census;
mod failure;
mod inspect;
mod render;
mod search;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use abandoned::Oldest;
pub use access::Access;
pub(crate) use access::{Admitted, admit};
use access::{Open, check_identity, open, open_untouched};
pub(crate) use batch::{Attempt, Order, attempt};
use census::Pass;
pub(crate) use failure::{explain, is_busy, remedy};
pub(crate) use inspect::schema_version;
use inspect::table_facts;
use rusqlite::Connection;

use super::{Batch, Leg, Step, Store};
use crate::plan::{
    BatchBound, Counts, Cutoff, Failure, FailureKind, Journal, Key, Limit, Rule, SpaceUsed, TableFacts,
    UnixTime,
};

/// The first and the longest wait between two tries for a lock.
const FIRST_WAIT: Duration = Duration::from_millis(2);
const LONGEST_WAIT: Duration = Duration::from_millis(25);

/// A database file at work.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    access: Access,
    busy_timeout: Duration,
    stop: CancellationToken,
    /// Nothing before the first call that needs it, and while a call has it.
    open: Option<Working>,
    /// The schema for which the tables were last inspected.
    inspected: Option<i64>,
    /// The names by which the rows of each inspected table are numbered.
    rowids: Vec<(Rule, Option<String>)>,
}

#[derive(Debug)]
struct Working {
    file: Arc<Admitted>,
    open: Open,
}

/// Why a call on the connection did not give an answer.
enum Trouble {
    Busy,
    Failed(Failure),
}

impl Sqlite {
    /// A store that has opened nothing yet. `stop` ends a wait and interrupts a read.
    #[must_use]
    pub fn new(path: PathBuf, access: Access, busy_timeout: Duration, stop: CancellationToken) -> Self {
        Self { path, access, busy_timeout, stop, open: None, inspected: None, rowids: Vec::new() }
    }

    /// Run `work` on the connection in the blocking pool, again while another connection is in the
    /// way, at most for `busy_timeout`. Gives the answer and how long it had to wait.
    async fn call<T, F>(&mut self, action: &'static str, work: F) -> Result<(T, Duration), Failure>
    where
        T: Send + 'static,
        F: FnMut(&Working) -> Result<T, Trouble> + Send + 'static,
    {
        let begun = Instant::now();
        let mut work = work;
        let mut pause = FIRST_WAIT;
        loop {
            let tried = Instant::now();
            let (back, answer) = self.once(work).await?;
            work = back;
            match answer {
                Ok(answer) => return Ok((answer, tried.duration_since(begun))),
                Err(Trouble::Failed(failure)) => return Err(failure),
                Err(Trouble::Busy) if begun.elapsed() >= self.busy_timeout => return Err(self.locked(action)),
                Err(Trouble::Busy) => {}
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stop.cancelled() => return Err(self.stopped(action)),
            }
            pause = (pause * 2).min(LONGEST_WAIT);
        }
    }

    async fn once<T, F>(&mut self, mut work: F) -> Result<(F, Result<T, Trouble>), Failure>
    where
        T: Send + 'static,
        F: FnMut(&Working) -> Result<T, Trouble> + Send + 'static,
    {
        let (working, path, access) = (self.open.take(), self.path.clone(), self.access);
        let stop = self.stop.clone();
        let call = tokio::task::spawn_blocking(move || {
            let working = match working.map_or_else(|| Working::open(&path, access, stop), Ok) {
                Ok(working) => working,
                Err(trouble) => return (None, work, Err(trouble)),
            };
            let answer = work(&working);
            (Some(working), work, answer)
        });
        let (working, work, answer) = call.await.map_err(|error| {
            let what = format!("work on {} broke off: {error}", self.path.display());
            Failure::new(FailureKind::Internal, what, remedy(FailureKind::Internal))
        })?;
        self.open = working;
        Ok((work, answer))
    }

    fn locked(&self, action: &str) -> Failure {
        let what = format!(
            "cannot {action} in {}: another connection held its lock for longer than busy_timeout = {:?}",
            self.path.display(),
            self.busy_timeout
        );
        Failure::new(FailureKind::Busy, what, remedy(FailureKind::Busy))
    }

    fn stopped(&self, action: &str) -> Failure {
        let what = format!("told to stop before it could {action} in {}", self.path.display());
        Failure::new(FailureKind::Interrupted, what, remedy(FailureKind::Interrupted))
    }

    fn rowid(&self, rule: &Rule) -> Option<String> {
        self.rowids.iter().find(|(known, _)| known == rule).and_then(|(_, rowid)| rowid.clone())
    }

    /// Window by window through a table; between two windows writers get their turn.
    async fn walk<W: Windows>(&mut self, action: &'static str, windows: W) -> Result<W, Failure> {
        let windows = Arc::new(Mutex::new(windows));
        loop {
            let shared = Arc::clone(&windows);
            let window = move |working: &Working| {
                // Poisoned means that a panic left a half-counted window, and that the call failed.
                let mut windows = shared.lock().unwrap_or_else(PoisonError::into_inner);
                working.read(action, |connection| windows.window(connection))
            };
            let Some(took) = self.call(action, window).await?.0 else { break };
            tokio::select! {
                () = tokio::time::sleep(took) => {}
                () = self.stop.cancelled() => return Err(self.stopped(action)),
            }
        }
        let windows = Arc::into_inner(windows).and_then(|windows| windows.into_inner().ok());
        windows.ok_or_else(|| self.stopped(action))
    }

    async fn look(&mut self, rules: &[Rule]) -> Result<Looked, Failure> {
        let (path, access, rules) = (self.path.clone(), self.access, rules.to_vec());
        let untouched = {
            let (path, rules) = (path.clone(), rules.clone());
            tokio::task::spawn_blocking(move || look_untouched(&path, access, &rules))
        };
        let looked = untouched.await.map_err(|error| {
            let what = format!("work on {} broke off: {error}", path.display());
            Failure::new(FailureKind::Internal, what, remedy(FailureKind::Internal))
        })??;
        match looked {
            Some(looked) => Ok(looked),
            None => {
                let look = move |working: &Working| {
                    working.read("read the schema", |connection| Looked::at(connection, &path, &rules))
                };
                Ok(self.call("read the schema", look).await?.0)
            }
        }
    }
}

/// A walk through a table that is cut into windows.
trait Windows: Send + 'static {
    /// One more window. Nothing when the table is at its end, else how long it took.
    fn window(&mut self, connection: &Connection) -> rusqlite::Result<Option<Duration>>;
}

impl Working {
    fn open(path: &Path, access: Access, stop: CancellationToken) -> Result<Self, Trouble> {
        let file = admit(path, access).map_err(Trouble::Failed)?;
        let mut open = open(&file, access, stop).map_err(Trouble::Failed)?;
        match open.learn_journal() {
            Ok(()) => Ok(Self { file: Arc::new(file), open }),
            Err(error) => Err(Trouble::of(&file.path, "read the database", &error)),
        }
    }

    fn read<T>(
        &self,
        action: &str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Trouble> {
        check_identity(&self.file).map_err(Trouble::Failed)?;
        work(&self.open.connection).map_err(|error| Trouble::of(&self.file.path, action, &error))
    }
}

impl Trouble {
    fn of(path: &Path, action: &str, error: &rusqlite::Error) -> Self {
        if is_busy(error) { Self::Busy } else { Self::Failed(explain(path, action, error)) }
    }
}

/// What a look at the schema gave.
struct Looked {
    facts: Vec<TableFacts>,
    version: i64,
}

impl Looked {
    fn at(connection: &Connection, path: &Path, rules: &[Rule]) -> rusqlite::Result<Self> {
        let version = schema_version(connection)?;
        let database = path.display().to_string();
        let facts = rules.iter().map(|rule| table_facts(connection, &database, rule));
        Ok(Self { facts: facts.collect::<rusqlite::Result<_>>()?, version })
    }
}

/// A database that is refused for its schema gets no `-wal` beside it, so look first without opening it for work.
fn look_untouched(path: &Path, access: Access, rules: &[Rule]) -> Result<Option<Looked>, Failure> {
    let file = admit(path, access)?;
    if file.has_journal {
        return Ok(None);
    }
    let connection = open_untouched(&file)?;
    let looked = Looked::at(&connection, path, rules);
    looked.map(Some).map_err(|error| explain(path, "read the schema", &error))
}

impl Store for Sqlite {
    async fn inspect(&mut self, rules: &[Rule]) -> Result<Vec<TableFacts>, Failure> {
        let looked = self.look(rules).await?;
        self.inspected = Some(looked.version);
        let rowids = looked.facts.iter().map(|facts| facts.rowid.clone());
        self.rowids = rules.iter().cloned().zip(rowids).collect();
        Ok(looked.facts)
    }

    async fn search(&mut self, rule: &Rule, cutoff: Cutoff, leg: &Leg) -> Result<Step, Failure> {
        let (rule, leg) = (rule.clone(), leg.clone());
        let step = move |working: &Working| {
            let journal = working.open.journal;
            working.read("search", |connection| search::step(connection, journal, &rule, cutoff, &leg))
        };
        Ok(self.call("search", step).await?.0)
    }

    async fn delete_batch(
        &mut self,
        rule: &Rule,
        cutoff: Cutoff,
        keys: &[Key],
        bound: BatchBound,
    ) -> Result<Batch, Failure> {
        let Some(schema_version) = self.inspected else {
            let what = format!("{} was not inspected before a batch", self.path.display());
            return Err(Failure::new(FailureKind::Internal, what, remedy(FailureKind::Internal)));
        };
        let (rule, keys) = (rule.clone(), keys.to_vec());
        let batch = move |working: &Working| {
            let order = Order { file: &working.file, rule: &rule, cutoff, bound, schema_version };
            match attempt(&working.open.connection, &order, &keys) {
                Ok(Attempt::Committed(batch)) => Ok(batch),
                Ok(Attempt::Busy) => Err(Trouble::Busy),
                Err(failure) => Err(Trouble::Failed(failure)),
            }
        };
        let (batch, waited) = self.call("begin a batch", batch).await?;
        let checkpoint = |working: &Working| {
            // Whatever hinders a checkpoint hinders the application's too; nothing of ours depends on it.
            let _ = working.open.checkpoint_if_due();
            Ok(())
        };
        self.call("checkpoint", checkpoint).await?;
        Ok(Batch { waited, ..batch })
    }

    async fn count(&mut self, rule: &Rule, now: UnixTime) -> Result<Counts, Failure> {
        let rowid = self.rowid(rule);
        let journal = self.call("read the database", |working| Ok(working.open.journal)).await?.0;
        let pass = Pass::new(rule, now, rowid.as_deref(), journal);
        Ok(self.walk("count", pass).await?.counts())
    }

    async fn space(&mut self) -> Result<SpaceUsed, Failure> {
        let space = |working: &Working| {
            let file = admit(&working.file.path, Access::Read).map_err(Trouble::Failed)?;
            let number = |pragma: &str| {
                working.read("read the database", |connection| {
                    connection.query_row(pragma, [], |row| row.get::<_, i64>(0))
                })
            };
            let free = number("PRAGMA freelist_count")?.saturating_mul(number("PRAGMA page_size")?);
            Ok(SpaceUsed { database: file.size, wal: file.wal_size, free: u64::try_from(free).unwrap_or(0) })
        };
        Ok(self.call("read the database", space).await?.0)
    }

    async fn abandoned(
        &mut self,
        rule: &Rule,
        now: UnixTime,
        most: usize,
    ) -> Result<Vec<(Key, UnixTime)>, Failure> {
        let oldest = Oldest::new(rule, now, self.rowid(rule).as_deref(), most);
        Ok(self.walk("look for abandoned rows", oldest).await?.rows())
    }
}

/// The first expired keys, ascending: the candidates of the contract's `expired` and `purge`.
pub(crate) fn expired_keys(
    connection: &Connection,
    rule: &Rule,
    cutoff: Cutoff,
    limit: Limit,
) -> rusqlite::Result<Vec<Key>> {
    let (mut keys, mut leg) = (Vec::new(), Leg::default());
    loop {
        let step = search::step(connection, Journal::Wal, rule, cutoff, &leg)?;
        keys.extend(step.nominated);
        if keys.len() >= limit.rows() || step.read_to.is_none() {
            keys.truncate(limit.rows());
            return Ok(keys);
        }
        leg.after = step.read_to;
    }
}
