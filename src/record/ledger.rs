//! The file that is recorded in: one connection, used by one thread at a time, and its transactions.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::RecordError;
use crate::plan::{Failure, FailureKind};
use crate::store::sqlite::{Access, Admitted, admit, check_identity, explain, is_certain};

/// An open file. Threads share it; each call has the connection for itself.
#[derive(Debug)]
pub(super) struct Ledger {
    pub file: Admitted,
    connection: Mutex<Connection>,
    /// While a change runs, no COMMIT takes effect on the connection.
    changing: Arc<AtomicBool>,
}

impl Ledger {
    /// Open a file that is there and holds something.
    pub fn open(path: &Path, busy_timeout: Duration) -> Result<Self, RecordError> {
        let file = admit(path, Access::Write)?;
        let mut connection = connect(&file.path, OpenFlags::empty(), busy_timeout)?;
        let changing = Arc::new(AtomicBool::new(false));
        let refused = Arc::clone(&changing);
        connection
            .commit_hook(Some(move || refused.load(Ordering::Relaxed)))
            .map_err(|error| explain(path, "open the database", &error))?;
        Ok(Self { file, connection: Mutex::new(connection), changing })
    }

    /// Open the file, made if it is missing, and run this SQL in one transaction: it must change nothing the second time.
    pub fn create(path: &Path, busy_timeout: Duration, tables: &str) -> Result<Self, RecordError> {
        if !path.metadata().is_ok_and(|file| file.len() > 0) {
            let new = connect(&absolute(path), OpenFlags::SQLITE_OPEN_CREATE, busy_timeout)?;
            new.execute_batch(tables).map_err(|error| explain(path, "create the tables", &error))?;
        }
        let ledger = Self::open(path, busy_timeout)?;
        ledger.create_tables(tables)?;
        Ok(ledger)
    }

    pub fn create_tables(&self, tables: &str) -> Result<(), RecordError> {
        self.transact("create the tables", |transaction| {
            transaction.execute_batch(tables).map_err(|error| self.failed("create the tables", &error))
        })
    }

    /// Run one immediate transaction. What `work` refuses is rolled back, and so is what panics.
    pub fn transact<T, E: From<RecordError>>(
        &self,
        action: &str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let _inside = Inside::enter(self)?;
        let mut connection = self.connection()?;
        let failed = |error: rusqlite::Error| E::from(self.failed(action, &error));
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let answer = work(&transaction)?;
        transaction.commit().map_err(|error| self.commit_failed(action, &error))?;
        Ok(answer)
    }

    /// Run somebody's change inside a transaction. It may end the transaction all the same: by a
    /// COMMIT of its own, or by a statement after which SQLite rolls everything back (a full disk, an
    /// `ON CONFLICT ROLLBACK`). What it did is then undone, and what it said must not be recorded.
    pub fn change<T>(
        &self,
        transaction: &Transaction<'_>,
        change: impl FnOnce(&Transaction<'_>) -> T,
    ) -> Result<T, RecordError> {
        let run = |sql| transaction.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
        run("SAVEPOINT keysweep_change").map_err(|error| self.failed("begin a change", &error))?;
        let said = {
            let _no_commit = NoCommit::begin(&self.changing);
            change(transaction)
        };
        if run("RELEASE keysweep_change").is_ok() {
            return Ok(said);
        }
        let what =
            format!("the change ended its own transaction in {}, and was undone", self.file.path.display());
        let remedy = "a change must neither commit nor roll back, nor go on after an error that rolls back";
        Err(RecordError::Storage(Failure::new(FailureKind::Internal, what, remedy)))
    }

    /// The connection, for a statement that is a transaction of its own. A file that was restored
    /// or deployed over ours must be opened anew: in WAL mode SQLite would go on with the unlinked one.
    pub fn connection(&self) -> Result<MutexGuard<'_, Connection>, RecordError> {
        check_identity(&self.file)?;
        // A thread that panicked with it has rolled back.
        Ok(self.connection.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What a failed read or an uncommitted write means.
    pub fn failed(&self, action: &str, error: &rusqlite::Error) -> RecordError {
        let cause = explain(&self.file.path, action, error);
        match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => RecordError::Storage(cause),
            _ => cause.into(),
        }
    }

    /// What a failed COMMIT means, or the failure of a statement that commits by itself. Busy and a
    /// refused constraint are certain to have changed nothing. After anything else, what was written
    /// may still come back at the next opening, so nothing is certain.
    pub fn commit_failed(&self, action: &str, error: &rusqlite::Error) -> RecordError {
        if is_certain(error) {
            return self.failed(action, error);
        }
        let cause = explain(&self.file.path, action, error);
        let what = format!("{}; whether it took effect is not known", cause.what());
        let kind = FailureKind::CommitUnknown;
        RecordError::OutcomeUnknown(Failure::new(kind, what, "open the file again and ask with the same key"))
    }
}

/// Until it is dropped, also by a panic, every COMMIT becomes a ROLLBACK.
struct NoCommit<'a>(&'a AtomicBool);

impl<'a> NoCommit<'a> {
    fn begin(changing: &'a AtomicBool) -> Self {
        changing.store(true, Ordering::Relaxed);
        Self(changing)
    }
}

impl Drop for NoCommit<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

thread_local! {
    /// Which ledger this thread is changing: its own lock would wait for itself for ever.
    static CHANGING: Cell<Option<usize>> = const { Cell::new(None) };
}

/// A transaction of this thread, which must not begin another one on the same ledger.
struct Inside(Option<usize>);

impl Inside {
    fn enter(ledger: &Ledger) -> Result<Self, RecordError> {
        let place = std::ptr::from_ref(ledger).addr();
        if CHANGING.get() == Some(place) {
            let what = format!("a change in {} began another on the same value", ledger.file.path.display());
            let remedy = "do both in one change, on the transaction that it is given";
            return Err(RecordError::Storage(Failure::new(FailureKind::Internal, what, remedy)));
        }
        Ok(Self(CHANGING.replace(Some(place))))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        CHANGING.set(self.0);
    }
}

fn connect(path: &Path, create: OpenFlags, busy_timeout: Duration) -> Result<Connection, RecordError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        // SQLite counts whole milliseconds in 31 bits.
        let longest = Duration::from_millis(i32::MAX.unsigned_abs().into());
        connection.busy_timeout(busy_timeout.min(longest))?;
        // FULL, and the folder of a rollback journal too: an answer that was given survives a power cut.
        connection.execute_batch("PRAGMA synchronous = EXTRA")?;
        Ok(connection)
    });
    opened.map_err(|error| explain(path, "open the database", &error).into())
}

/// A path that begins with `file:` would be read as a URI.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}
