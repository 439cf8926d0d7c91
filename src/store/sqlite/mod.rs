//! SQLite: one file, one connection, one call at a time.
//!
//! A call moves the connection through tokio's blocking pool and back (`lane`), so that a rest, a
//! wait for a lock and an idle database cost no thread. The connection is opened at the first call
//! that needs it and closed when the store is dropped.

mod abandoned;
mod access;
mod around;
mod atoms;
mod batch;
mod census;
mod examine;
mod failure;
mod guarded;
mod inspect;
mod known;
mod lane;
mod learnt;
mod openings;
mod references;
mod render;
mod rights;
mod sample;
mod search;
mod terms;
mod trial;
mod wal;
mod walked;
mod witness;
mod working;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use self::abandoned::Oldest;
pub use self::access::Access;
pub(crate) use self::access::{Admitted, admit, check_identity};
pub(crate) use self::batch::{Attempt, Order, attempt};
use self::census::Pass;
pub(crate) use self::failure::{explain, is_certain, remedy};
pub(crate) use self::inspect::schema_version;
use self::inspect::{Looked, look_untouched, table_names, tables_untouched};
use self::known::Known;
use self::lane::{Lane, blocking};
pub use self::learnt::Learnt;
pub use self::openings::Openings;
pub(crate) use self::search::expired_keys;
use self::working::{Trouble, Working};
use super::{Batch, Leg, Step, Store};
use crate::plan::{
    BatchBound, Counts, Cutoff, Failure, FailureKind, Identifier, Journal, Key, Rule, RuleBook, SpaceUsed,
    TableFacts, UnixTime, WalPolicy,
};

/// A database file at work.
#[derive(Debug)]
pub struct Sqlite {
    lane: Lane,
    wal: WalPolicy,
    /// What earlier looks found.
    learnt: Learnt,
    /// The schema for which the tables were last inspected.
    inspected: Option<i64>,
    /// How transactions are kept, where the file was opened to inspect them.
    journal: Option<Journal>,
    /// What is known of each inspected table.
    known: Vec<(Rule, Known)>,
}

impl Sqlite {
    /// A store that has opened nothing yet. `stop` ends a wait and interrupts a read.
    #[must_use]
    pub fn new(path: PathBuf, access: Access, busy_timeout: Duration, stop: CancellationToken) -> Self {
        let (lane, wal) = (Lane::new(path, access, busy_timeout, stop), WalPolicy::default());
        Self { lane, wal, learnt: Learnt::default(), inspected: None, journal: None, known: Vec::new() }
    }

    /// The same, with a bound on open databases that it shares with others.
    #[must_use]
    pub fn sharing(mut self, openings: Openings) -> Self {
        self.lane.share(openings);
        self
    }

    /// The same with another policy for the write-ahead log.
    #[must_use]
    pub fn with_wal(self, wal: WalPolicy) -> Self {
        Self { wal, ..self }
    }

    /// The same, and what was learnt of this database before is believed while its schema stays the same.
    #[must_use]
    pub fn with_learnt(self, learnt: Learnt) -> Self {
        Self { learnt, ..self }
    }

    /// For how long it worked so far, without waiting for locks or for others.
    #[must_use]
    pub fn worked(&self) -> Duration {
        self.lane.worked
    }

    async fn look(&mut self, rules: &[Rule]) -> Result<Looked, Failure> {
        if !self.learnt.was_used()
            && let Some(looked) = self.look_untouched(rules).await?
        {
            return Ok(looked);
        }
        let (path, rules, learnt) = (self.lane.path.clone(), rules.to_vec(), self.learnt.clone());
        let look = move |working: &Working| {
            let looked =
                working.read("read the schema", |connection| learnt.look(connection, &path, &rules))?;
            Ok((looked, working.open.journal))
        };
        let (looked, journal) = self.lane.call("read the schema", look).await?.0;
        self.journal = Some(journal);
        Ok(looked)
    }

    async fn look_untouched(&mut self, rules: &[Rule]) -> Result<Option<Looked>, Failure> {
        let (path, access, learnt) = (self.lane.path.clone(), self.lane.access, self.learnt.clone());
        let rules = rules.to_vec();
        blocking(&self.lane.path, move || look_untouched(&path, access, &rules, &learnt)).await?
    }

    /// The other tables that have a rule, each once.
    fn ruled_beside(&self, rule: &Rule) -> Vec<Identifier> {
        let mut ruled: Vec<Identifier> = Vec::new();
        for (other, known) in self.known.iter().filter(|(other, _)| other.table != rule.table) {
            if known.is_table && !ruled.contains(&other.table) {
                ruled.push(other.table.clone());
            }
        }
        ruled
    }

    fn known(&self, rule: &Rule) -> Known {
        let known = self.known.iter().find(|(known, _)| known == rule);
        known.map(|(_, known)| known.clone()).unwrap_or_default()
    }
}

impl Store for Sqlite {
    async fn rules(&mut self, book: &RuleBook) -> Result<Vec<Rule>, Failure> {
        if book.patterns().next().is_none() {
            return Ok(book.rules(&[]));
        }
        let path = self.lane.path.clone();
        let access = self.lane.access;
        let tables = match blocking(&self.lane.path, move || tables_untouched(&path, access)).await?? {
            Some(tables) => tables,
            None => {
                let look = |working: &Working| working.read("read the schema", table_names);
                self.lane.call("read the schema", look).await?.0
            }
        };
        Ok(book.rules(&tables))
    }

    async fn inspect(&mut self, rules: &[Rule]) -> Result<Vec<TableFacts>, Failure> {
        let looked = self.look(rules).await?;
        self.inspected = Some(looked.version);
        self.known = rules.iter().cloned().zip(looked.known).collect();
        Ok(looked.facts)
    }

    async fn search(&mut self, rule: &Rule, cutoff: Cutoff, leg: &Leg) -> Result<Step, Failure> {
        self.learnt.note_use();
        let (known, rule, leg) = (self.known(rule), rule.clone(), leg.clone());
        let step = move |working: &Working| {
            let journal = working.open.journal;
            working
                .read("search", |connection| search::step(connection, journal, &rule, cutoff, &leg, &known))
        };
        Ok(self.lane.call("search", step).await?.0)
    }

    async fn delete_batch(
        &mut self,
        rule: &Rule,
        cutoff: Cutoff,
        keys: &[Key],
        bound: BatchBound,
    ) -> Result<Batch, Failure> {
        let Some(schema_version) = self.inspected else {
            let what = format!("{} was not inspected before a batch", self.lane.path.display());
            return Err(Failure::new(FailureKind::Internal, what, remedy(FailureKind::Internal)));
        };
        let (known, ruled) = (self.known(rule), self.ruled_beside(rule));
        let (rule, keys) = (rule.clone(), keys.to_vec());
        let mut held_in_vain = Duration::ZERO;
        let wal = self.wal;
        let batch = move |working: &Working| {
            if bound.until.is_some_and(|until| Instant::now() > until) {
                return Ok(Batch::default());
            }
            working.open.check_log(&working.file, wal).map_err(Trouble::Failed)?;
            let referenced = known.referenced.as_deref();
            let file = &working.file;
            let order = Order { file, rule: &rule, cutoff, bound, schema_version, referenced, ruled: &ruled };
            match attempt(&working.open.connection, &order, &keys) {
                Ok(Attempt::Committed(batch)) => {
                    // Whatever hinders a checkpoint hinders the application's too; nothing of ours depends on it.
                    let _ = working.open.checkpoint_if_due(wal);
                    Ok(Batch { held_in_vain: held_in_vain + batch.held_in_vain, ..batch })
                }
                Ok(Attempt::Busy(held)) => {
                    held_in_vain += held;
                    Err(Trouble::Busy(None))
                }
                Err(failure) => Err(Trouble::Failed(failure)),
            }
        };
        let (batch, waited) = self.lane.call("begin a batch", batch).await?;
        Ok(Batch { waited, ..batch })
    }

    async fn rest(&mut self, length: Duration) {
        self.lane.rest(length);
    }

    async fn count(&mut self, rules: &[Rule], now: UnixTime) -> Result<Vec<Counts>, Failure> {
        let Some(first) = rules.first() else { return Ok(Vec::new()) };
        self.learnt.note_use();
        let rowid = self.known(first).rowid;
        let journal = match self.journal {
            Some(journal) => journal,
            None => self.lane.call("read the database", |working| Ok(working.open.journal)).await?.0,
        };
        let pass = Pass::new(rules, first, now, rowid.as_deref(), journal);
        Ok(self.lane.walk("count", pass).await?.counts())
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
        Ok(self.lane.call("read the database", space).await?.0)
    }

    async fn abandoned(
        &mut self,
        rule: &Rule,
        now: UnixTime,
        most: usize,
    ) -> Result<Vec<(Key, UnixTime)>, Failure> {
        let oldest = Oldest::new(rule, now, self.known(rule).rowid.as_deref(), most);
        Ok(self.lane.walk("look for abandoned rows", oldest).await?.rows())
    }
}
