//! The key table of the contract: reserve, finish, fetch, and the end of the guarantee.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Params};

use super::ledger::Ledger;
use super::recorded::{Retry, StateCounts};
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
const TAKEN: &str = "SELECT fingerprint, status, response, expires FROM keys WHERE id = ?1";
const COUNTS: &str =
    "SELECT coalesce(sum(status = 'pending'), 0), coalesce(sum(status = 'done'), 0) FROM keys";

/// The key table `keys` in one SQLite file. Threads share one value, processes share the file.
///
/// Every `bool` is an answer, and every error says what is known: see [`KeysError`].
///
/// ```
/// use keysweep::plan::{Limit, UnixTime};
/// use keysweep::record::{Keys, Retry};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.db");
/// let keys = Keys::create(&path, std::time::Duration::from_secs(5))?;
/// let (now, expires) = (UnixTime::new(10.0)?, UnixTime::new(20.0)?);
/// assert!(keys.reserve("k", "v1", expires)?); // ours: act, then
/// assert!(keys.finish("k", "v1", &r#"{"receipt":1}"#.parse()?)?);
/// assert!(!keys.reserve("k", "v1", expires)?); // taken: by this request?
/// assert_eq!(keys.retry("k", "v1", now)?, Retry::Replay(r#"{"receipt":1}"#.parse()?));
/// assert_eq!(keys.retry("k", "v2", now)?, Retry::AnotherRequest);
/// assert_eq!(keys.purge(expires, Limit::DEFAULT)?[0].to_string(), "k"); // the guarantee has ended
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Keys {
    ledger: Ledger,
    rule: Rule,
}

impl Keys {
    /// Open the file, which must be there and hold something. `busy_timeout` is the longest wait for
    /// a lock of another connection, for each call; a thread waits for the calls of the others besides.
    /// Every call blocks: async code makes it on a thread for that.
    ///
    /// # Errors
    /// [`RecordError::NotOurTable`] when the file is missing, no database, or not ours to open.
    pub fn open(path: &Path, busy_timeout: Duration) -> Result<Self, KeysError> {
        Self::of(Ledger::open(path, busy_timeout)?)
    }

    /// Create the file if it is missing, and in it the table if it is missing.
    ///
    /// # Errors
    /// As for [`Keys::open`], and as [`RecordError`] says.
    pub fn create(path: &Path, busy_timeout: Duration) -> Result<Self, KeysError> {
        Self::of(Ledger::create(path, busy_timeout, CREATE)?)
    }

    /// Ill-formed UTF-16 comes back as another text, so that a walk by such a key would never end.
    fn of(ledger: Ledger) -> Result<Self, KeysError> {
        let encoding: rusqlite::Result<String> =
            ledger.connection()?.query_row("PRAGMA encoding", [], |row| row.get(0));
        match encoding {
            Ok(encoding) if encoding == "UTF-8" => Ok(Self { ledger, rule: Rule::callers_key_table() }),
            Ok(encoding) => {
                let what = format!("{} keeps its text as {encoding}", ledger.file.path.display());
                let remedy = "use a database whose encoding is UTF-8";
                Err(RecordError::NotOurTable(Failure::new(FailureKind::NotADatabase, what, remedy)).into())
            }
            Err(error) => Err(ledger.failed("read the database", &error).into()),
        }
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

    /// The response of a done row that expires later than `now`; otherwise nothing. It does not
    /// compare fingerprints: for a request of which it is not certain that the key is its own, ask
    /// [`Keys::retry`].
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

    /// What a request meets after [`Keys::reserve`] said `false`. Unlike [`Keys::fetch`] it compares
    /// the fingerprint, so that no caller is given another request's response.
    ///
    /// # Errors
    /// [`KeysError::InvalidArgument`] for an empty key; else as [`RecordError`] says.
    pub fn retry(&self, key: &str, fingerprint: &str, now: UnixTime) -> Result<Retry, KeysError> {
        check_key(key)?;
        let connection = self.ledger.connection()?;
        let found = connection.prepare_cached(TAKEN).and_then(|mut taken| {
            taken.query_row([key], |row| Retry::read(row, fingerprint, now)).optional()
        });
        let found = found.map_err(|error| self.ledger.failed("look at a key", &error))?;
        Ok(found.unwrap_or(Retry::Free))
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
        let mut taken = Vec::new();
        loop {
            // Outside the write lock, because the search may walk the whole table; the batch selects again.
            let keys = self.candidates(&connection, now, limit)?;
            let batch = self.delete(&connection, now, limit, &keys)?;
            // When another purge took every one of them first, the next candidates are others.
            if !batch.deleted.is_empty() || keys == taken {
                return Ok(batch.deleted);
            }
            taken = keys;
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
            bound: BatchBound { rows: limit.rows(), hold: Duration::MAX, until: None },
            referenced: None,
            ruled: &[],
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
