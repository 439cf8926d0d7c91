//! Your change and its response, recorded in one transaction.

use std::path::Path;
use std::time::Duration;

use rusqlite::{OptionalExtension, Transaction};

use super::ledger::Ledger;
use super::once::{Answer, Request, Retained, once};
use super::{Fingerprint, OperationError, Response};
use crate::clock;

const CREATE: &str = "CREATE TABLE IF NOT EXISTS operations(\
    scope TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, response TEXT NOT NULL, \
    recorded REAL NOT NULL, PRIMARY KEY(scope, key))";
const FIND: &str = "SELECT fingerprint, response FROM operations WHERE scope = ?1 AND key = ?2";
const RETAIN: &str =
    "INSERT INTO operations(scope, key, fingerprint, response, recorded) VALUES (?1, ?2, ?3, ?4, ?5)";

/// Operations that take effect once: the general form of the durable operation.
///
/// The table `operations(scope, key, fingerprint, response, recorded)` lies in the same file as what
/// the operation changes. One immediate transaction looks up (scope, key); a retained request with
/// the same fingerprint gives its response again, with another one it is a conflict, and one that is
/// not there runs the change and is retained with its response. All of it commits, or nothing.
///
/// `recorded` is the instant of the recording in unix seconds: the sweeper retains from it
/// (`since = { column = "recorded", unit = "unix_s" }`).
///
/// ```
/// use keysweep::record::{Answer, Fingerprint, Operations, Request, Response};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.db");
/// let operations = Operations::create(&path, std::time::Duration::from_secs(5))?;
/// let fingerprint = Fingerprint::new("order", 1, [("item", "book")]);
/// let request = Request::new("customer-1", "key-1", fingerprint)?;
/// let order = || operations.once(&request, |transaction| {
///     transaction.execute_batch("CREATE TABLE IF NOT EXISTS orders(item TEXT)")?;
///     transaction.execute("INSERT INTO orders VALUES ('book')", [])?;
///     Ok::<_, rusqlite::Error>(r#"{"order":1}"#.parse().expect("this is JSON"))
/// });
/// assert!(matches!(order()?, Answer::Fresh(_)));
/// assert!(matches!(order()?, Answer::Retained(_))); // a retry: nothing happens again
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Operations {
    ledger: Ledger,
}

impl Operations {
    /// Open the file, made if it is missing, with the table, made if it is missing. `busy_timeout` is
    /// the longest wait for a lock, for each call.
    ///
    /// # Errors
    /// As [`RecordError`](super::RecordError) says.
    pub fn create(path: &Path, busy_timeout: Duration) -> Result<Self, super::RecordError> {
        Ok(Self { ledger: Ledger::create(path, busy_timeout, CREATE)? })
    }

    /// Open a file that is there.
    ///
    /// # Errors
    /// [`RecordError::NotOurTable`](super::RecordError::NotOurTable) when it is missing or not ours to open.
    pub fn open(path: &Path, busy_timeout: Duration) -> Result<Self, super::RecordError> {
        Ok(Self { ledger: Ledger::open(path, busy_timeout)? })
    }

    /// Run `change` inside the transaction that records its response, unless this request already did.
    ///
    /// `change` works on the given transaction and must neither commit nor roll back. What it does
    /// elsewhere, such as a call to a payment provider, is not covered: record the intent here, and
    /// let that call carry a key of its own.
    ///
    /// # Errors
    /// [`OperationError::KeyConflict`] when the key is retained for another request;
    /// [`OperationError::Refused`] with the error of `change`, and nothing changed.
    pub fn once<E: std::error::Error + 'static>(
        &self,
        request: &Request,
        change: impl FnOnce(&Transaction<'_>) -> Result<Response, E>,
    ) -> Result<Answer<Response>, OperationError<E>> {
        once(&self.ledger, &ByFingerprint, request, change)
    }
}

/// Retained in the table `operations`, compared by fingerprint.
struct ByFingerprint;

impl Retained for ByFingerprint {
    type Fingerprint = Fingerprint;
    type Response = Response;

    fn find(
        &self,
        transaction: &Transaction<'_>,
        request: &Request,
    ) -> rusqlite::Result<Option<(Fingerprint, Response)>> {
        let mut find = transaction.prepare_cached(FIND)?;
        let row =
            |row: &rusqlite::Row<'_>| Ok((Fingerprint::stored(row.get(0)?), Response::stored(row.get(1)?)));
        find.query_row((request.scope(), request.key()), row).optional()
    }

    fn retain(
        &self,
        transaction: &Transaction<'_>,
        request: &Request,
        response: &Response,
    ) -> rusqlite::Result<()> {
        let mut retain = transaction.prepare_cached(RETAIN)?;
        // Read under the write lock: an instant from before the wait for it would end retention early.
        let (fingerprint, recorded) = (request.fingerprint().as_str(), clock::now().seconds());
        retain.execute((request.scope(), request.key(), fingerprint, response.as_str(), recorded))?;
        Ok(())
    }
}
