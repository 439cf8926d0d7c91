//! The durable counter: the smallest operation, and the reference for the others.

use std::path::Path;
use std::time::Duration;

use rusqlite::{OptionalExtension, Transaction};

use super::ledger::Ledger;
use super::once::{Answer, Request, Retained, once};
use super::{OperationError, RecordError};

const CREATE: &str = "\
    CREATE TABLE IF NOT EXISTS business(id INTEGER PRIMARY KEY CHECK(id = 1), value INTEGER NOT NULL);\
    CREATE TABLE IF NOT EXISTS requests(scope TEXT, key TEXT, amount INTEGER, response INTEGER, \
        PRIMARY KEY(scope, key));\
    INSERT INTO business(id, value) SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM business);";
const FIND: &str = "SELECT amount, response FROM requests WHERE scope = ?1 AND key = ?2";
const RETAIN: &str = "INSERT INTO requests(scope, key, amount, response) VALUES (?1, ?2, ?3, ?4)";
const READ: &str = "SELECT value FROM business WHERE id = 1";
const WRITE: &str = "UPDATE business SET value = ?1 WHERE id = 1";

/// The longest wait for a lock unless another is chosen.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A counter in the table `business`, and the requests that moved it in the table `requests`.
///
/// ```
/// use keysweep::record::{DurableCounter, OperationError};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.db");
/// let counter = DurableCounter::open(&path)?;
/// assert_eq!(counter.add("u1", "k1", 50)?, 50);
/// assert_eq!(counter.add("u1", "k2", 10)?, 60);
/// assert_eq!(counter.add("u1", "k1", 50)?, 50); // a retry: the retained response
/// assert_eq!(counter.add("u1", "k1", 70), Err(OperationError::KeyConflict));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DurableCounter {
    ledger: Ledger,
}

/// The sum would be past 2^63 - 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the counter would overflow")]
pub struct Overflow;

impl DurableCounter {
    /// Open the file and the tables, made if they are missing. A lock is waited for 5 s at most.
    ///
    /// # Errors
    /// As [`RecordError`] says.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        Self::open_waiting(path, BUSY_TIMEOUT)
    }

    /// The same, with another longest wait for a lock, for each call.
    ///
    /// # Errors
    /// As [`RecordError`] says.
    pub fn open_waiting(path: &Path, busy_timeout: Duration) -> Result<Self, RecordError> {
        Ok(Self { ledger: Ledger::create(path, busy_timeout, CREATE)? })
    }

    /// Add `amount`, from 1 to 2^63 - 1, once for each (scope, key), and give the counter as it was
    /// right after that.
    ///
    /// # Errors
    /// [`OperationError::InvalidArgument`] for an empty scope or key, or an amount below 1;
    /// [`OperationError::KeyConflict`] when (scope, key) added another amount;
    /// [`OperationError::Refused`] on overflow. Neither table is changed by any of them.
    pub fn add(&self, scope: &str, key: &str, amount: i64) -> Result<i64, OperationError<Overflow>> {
        if amount < 1 {
            return Err(OperationError::InvalidArgument("an amount must be at least 1"));
        }
        let request = Request::new(scope, key, amount)?;
        let answer = once(&self.ledger, &Requests, &request, |transaction| increase(transaction, amount));
        answer.map(Answer::into_response).map_err(|error| {
            error.refused(|stop| match stop {
                Stop::Overflow => OperationError::Refused(Overflow),
                Stop::Sql(error) => self.ledger.failed("move the counter", &error).into(),
            })
        })
    }
}

/// Why the counter did not move.
#[derive(Debug, thiserror::Error)]
enum Stop {
    #[error("overflow")]
    Overflow,
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
}

fn increase(transaction: &Transaction<'_>, amount: i64) -> Result<i64, Stop> {
    let value: i64 = transaction.prepare_cached(READ)?.query_row([], |row| row.get(0))?;
    let value = value.checked_add(amount).ok_or(Stop::Overflow)?;
    transaction.prepare_cached(WRITE)?.execute([value])?;
    Ok(value)
}

/// Retained in the table `requests`: the amount is the fingerprint.
struct Requests;

impl Retained for Requests {
    type Fingerprint = i64;
    type Response = i64;

    fn find(
        &self,
        transaction: &Transaction<'_>,
        request: &Request<i64>,
    ) -> rusqlite::Result<Option<(i64, i64)>> {
        let mut find = transaction.prepare_cached(FIND)?;
        find.query_row((request.scope(), request.key()), |row| Ok((row.get(0)?, row.get(1)?))).optional()
    }

    fn retain(
        &self,
        transaction: &Transaction<'_>,
        request: &Request<i64>,
        response: &i64,
    ) -> rusqlite::Result<()> {
        let mut retain = transaction.prepare_cached(RETAIN)?;
        retain.execute((request.scope(), request.key(), request.fingerprint(), response))?;
        Ok(())
    }
}
