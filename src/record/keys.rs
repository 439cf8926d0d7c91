//! The key table of the contract: reserve, finish, fetch, and the end of the guarantee.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Params};

use super::ledger::Ledger;
use super::recorded::{Recorded, StateCounts};
use super::{KeysError, RecordError, Response};
use crate::plan::{BatchBound, Cutoff, Failure, FailureKind, Key, Limit, Rule, UnixTime};
use crate::store::Batch;
use crate::store::sqlite::{Attempt, Order, attempt, expired_keys, remedy, schema_version};

const CREATE: &str = "CREATE TABLE IF NOT EXISTS keys(\
    id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, status TEXT NOT NULL, response TEXT, expires REAL NOT NULL)";
const RESERVE: &str = "INSERT INTO keys(id, fingerprint, status, response, expires) \
    VALUES (?1, ?2, 'pending', NULL, ?3) ON CONFLICT(id) DO NOTHING";
const FINISH: &str = "UPDATE keys SET status = 'done', response = ?3 \
    WHERE id = ?1 AND fingerprint = ?2 AND status = 'pending'";
const FETCH: &str = "SELECT response FROM keys WHERE id = ?1 AND status = 'done' AND expires > ?2";
const LOOK: &str = "SELECT fingerprint, status, expires FROM keys WHERE id = ?1";
const COUNTS: &str =
    "SELECT coalesce(sum(status = 'pending'), 0), coalesce(sum(status = 'done'), 0) FROM keys";

/// The key table `keys` in one SQLite file. Threads share one value, processes share the file.
///
/// Every `bool` is an answer, and every error says what is known: see [`KeysError`].
///
/// ```
/// use keysweep::plan::{Limit, UnixTime};
/// use keysweep::record::Keys;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.db");
/// let keys = Keys::create(&path, std::time::Duration::from_secs(5))?;
/// let (now, expires) = (UnixTime::new(10.0)?, UnixTime::new(20.0)?);
/// assert!(keys.reserve("k", "v1", expires)?); // ours: act, then
/// assert!(keys.finish("k", "v1", &r#"{"receipt":1}"#.parse()?)?);
/// assert!(!keys.reserve("k", "v1", expires)?); // a retry: replay
/// assert_eq!(keys.fetch("k", now)?.unwrap().as_str(), r#"{"receipt":1}"#);
/// assert_eq!(keys.purge(expires, Limit::DEFAULT)?[0].to_string(), "k"); // the guarantee has ended
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Keys {
    ledger: Ledger,
    rule: Rule,
}

impl Keys {
    /// Open the file, which must be there and hold something; `busy_timeout` is the longest wait for
    /// a lock, for each call.
    ///
    /// # Errors
    /// [`RecordError::NotOurTable`] when the file is missing, no database, or not ours to open.
    pub fn open(path: &Path, busy_timeout: Duration) -> Result<Self, KeysError> {
        Ok(Self { ledger: Ledger::open(path, busy_timeout)?, rule: Rule::key_table(Duration::ZERO) })
    }

    /// Create the file if it is missing, and in it the table if it is missing.
    ///
    /// # Errors
    /// As for [`Keys::open`], and as [`RecordError`] says.
    pub fn create(path: &Path, busy_timeout: Duration) -> Result<Self, KeysError> {
        Ok(Self {
            ledger: Ledger::create(path, busy_timeout, CREATE)?,
            rule: Rule::key_table(Duration::ZERO),
        })
    }

    /// Create the table if it is missing. Running it again changes nothing.
    ///
    /// # Errors
    /// As [`RecordError`] says.
    pub fn init(&self) -> Result<(), KeysError> {
        Ok(self.ledger.create_tables(CREATE)?)
    }

    /// Put a key that is not there in as pending: `true`. An existing row, expired or not, is not changed: `false`.
    ///
    /// # Errors
    /// [`KeysError::InvalidArgument`] for an empty key; else as [`RecordError`] says.
    pub fn reserve(&self, key: &str, fingerprint: &str, expires: UnixTime) -> Result<bool, KeysError> {
        check_key(key)?;
        self.write("reserve a key", RESERVE, (key, fingerprint, expires.seconds()))
    }

    /// Turn the pending row with this key and this fingerprint into a done one: `true`.
    /// Anything else changes nothing: `false`.
    ///
    /// # Errors
    /// [`KeysError::InvalidArgument`] for an empty key; else as [`RecordError`] says.
    pub fn finish(&self, key: &str, fingerprint: &str, response: &Response) -> Result<bool, KeysError> {
        check_key(key)?;
        self.write("finish a key", FINISH, (key, fingerprint, response.as_str()))
    }

    /// The response of a done row that expires later than `now`; otherwise nothing.
    ///
    /// # Errors
    /// [`KeysError::InvalidArgument`] for an empty key; else as [`RecordError`] says.
    pub fn fetch(&self, key: &str, now: UnixTime) -> Result<Option<Response>, KeysError> {
        check_key(key)?;
        let connection = self.ledger.connection()?;
        let found = connection.prepare_cached(FETCH).and_then(|mut statement| {
            statement.query_row((key, now.seconds()), |row| row.get::<_, Option<String>>(0)).optional()
        });
        let found = found.map_err(|error| self.ledger.failed("fetch a key", &error))?;
        Ok(found.flatten().map(Response::stored))
    }

    /// What a key is taken by, after [`Keys::reserve`] said `false`: the same request still in
    /// progress, the same one done, or another one.
    ///
    /// # Errors
    /// [`KeysError::InvalidArgument`] for an empty key; else as [`RecordError`] says.
    pub fn look(&self, key: &str) -> Result<Option<Recorded>, KeysError> {
        check_key(key)?;
        let connection = self.ledger.connection()?;
        let found = connection
            .prepare_cached(LOOK)
            .and_then(|mut look| look.query_row([key], Recorded::read).optional());
        Ok(found.map_err(|error| self.ledger.failed("look at a key", &error))?)
    }

    /// The first `limit` keys, ascending, that are done and expire at `now` or before.
    ///
    /// # Errors
    /// As [`RecordError`] says.
    pub fn expired(&self, now: UnixTime, limit: Limit) -> Result<Vec<Key>, KeysError> {
        self.candidates(&*self.ledger.connection()?, now, limit)
    }

    /// Delete these same candidates in one transaction, and give the keys that are gone, ascending.
    /// Never a pending row.
    ///
    /// # Errors
    /// As [`RecordError`] says.
    pub fn purge(&self, now: UnixTime, limit: Limit) -> Result<Vec<Key>, KeysError> {
        let connection = self.ledger.connection()?;
        loop {
            // Outside the write lock, because the search may walk the whole table; the batch selects again.
            let keys = self.candidates(&connection, now, limit)?;
            let batch = self.delete(&connection, now, limit, &keys)?;
            if keys.is_empty() || !batch.deleted.is_empty() || !batch.skipped.is_empty() {
                return Ok(batch.deleted);
            }
            // Another purge took every one of them first.
        }
    }

    fn delete(
        &self,
        connection: &Connection,
        now: UnixTime,
        limit: Limit,
        keys: &[Key],
    ) -> Result<Batch, KeysError> {
        let version = schema_version(connection);
        let order = Order {
            file: &self.ledger.file,
            rule: &self.rule,
            cutoff: Cutoff::new(now, Duration::ZERO),
            bound: BatchBound { rows: limit.rows(), hold: Duration::MAX },
            schema_version: version.map_err(|error| self.ledger.failed("purge keys", &error))?,
        };
        match attempt(connection, &order, keys).map_err(RecordError::from)? {
            Attempt::Committed(batch) => Ok(batch),
            Attempt::Busy(_) => Err(self.busy().into()),
        }
    }

    /// The number of pending and of done rows.
    ///
    /// # Errors
    /// As [`RecordError`] says.
    pub fn counts(&self) -> Result<StateCounts, KeysError> {
        let connection = self.ledger.connection()?;
        let counts = connection
            .prepare_cached(COUNTS)
            .and_then(|mut statement| statement.query_row([], StateCounts::read));
        Ok(counts.map_err(|error| self.ledger.failed("count keys", &error))?)
    }

    /// Show on an empty table that deleting a key ends its guarantee: reserve, finish, purge at the
    /// expiry, and reserve again. Gives that last answer.
    ///
    /// # Errors
    /// As [`RecordError`] says.
    pub fn retention_cycle(&self, key: &str) -> Result<bool, KeysError> {
        let at = |seconds: i64| UnixTime::from_millis(seconds * 1000);
        let receipt = Response::stored(r#"{"receipt":1}"#.into());
        self.reserve(key, "v1", at(10))?;
        self.finish(key, "v1", &receipt)?;
        self.purge(at(10), Limit::DEFAULT)?;
        self.reserve(key, "v2", at(20))
    }

    fn candidates(
        &self,
        connection: &Connection,
        now: UnixTime,
        limit: Limit,
    ) -> Result<Vec<Key>, KeysError> {
        let cutoff = Cutoff::new(now, Duration::ZERO);
        let keys = expired_keys(connection, &self.rule, cutoff, limit);
        Ok(keys.map_err(|error| self.ledger.failed("search for expired keys", &error))?)
    }

    /// One statement that is a transaction of its own: immediate, because it begins with a write.
    fn write(&self, action: &str, sql: &str, values: impl Params) -> Result<bool, KeysError> {
        let connection = self.ledger.connection()?;
        let prepared = connection.prepare_cached(sql);
        let mut statement = prepared.map_err(|error| self.ledger.failed(action, &error))?;
        let changed = statement.execute(values);
        Ok(changed.map_err(|error| self.ledger.commit_failed(action, &error))? == 1)
    }

    fn busy(&self) -> RecordError {
        let what = format!(
            "cannot purge keys in {}: its lock was held for too long",
            self.ledger.file.path.display()
        );
        RecordError::Busy(Failure::new(FailureKind::Busy, what, remedy(FailureKind::Busy)))
    }
}

fn check_key(key: &str) -> Result<(), KeysError> {
    if key.is_empty() { Err(KeysError::InvalidArgument("a key cannot be empty")) } else { Ok(()) }
}
