//! SQLite's errors in words for the person on call.

use std::os::fd::AsFd;
use std::path::Path;

use rusqlite::ffi::SQLITE_READONLY_ROLLBACK;
use rusqlite::{Error, ErrorCode};

use crate::plan::{Failure, FailureKind};

/// Whether another connection held the lock.
pub(crate) fn is_busy(error: &Error) -> bool {
    use ErrorCode::{DatabaseBusy, DatabaseLocked, FileLockingProtocolFailed};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked | FileLockingProtocolFailed))
}

/// Whether a transaction that was cut off by a crash has yet to be rolled back: a read-only
/// connection cannot, and the next writer, ours among them, does it with its first look.
pub(super) fn is_cut_off(error: &Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == SQLITE_READONLY_ROLLBACK)
}

/// Whether a COMMIT that failed so is certain to have changed nothing.
pub(crate) fn is_certain(error: &Error) -> bool {
    is_busy(error) || is_constraint(error)
}

/// Whether a constraint of the schema refused the statement.
pub(super) fn is_constraint(error: &Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

/// An answer or what the engine has against the statement, where that follows from the schema. A lock, a disk or
/// the word to stop says nothing of the schema, and is an error.
pub(super) fn by_the_schema<T>(answer: rusqlite::Result<T>) -> rusqlite::Result<Result<T, Error>> {
    use ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseLocked, FileLockingProtocolFailed, OperationInterrupted,
        OutOfMemory, SchemaChanged, SystemIoFailure,
    };
    match answer {
        Err(error) => match code_of(&error) {
            Some(
                CannotOpen
                | DatabaseBusy
                | DatabaseLocked
                | FileLockingProtocolFailed
                | OperationInterrupted
                | OutOfMemory
                | SchemaChanged
                | SystemIoFailure,
            ) => Err(error),
            _ => Ok(Err(error)),
        },
        Ok(answer) => Ok(Ok(answer)),
    }
}

/// Whether a statement failed by what it met in a row, and not by the engine or its files.
pub(super) fn is_statement_error(error: &Error) -> bool {
    use ErrorCode::{TooBig, TypeMismatch, Unknown};
    matches!(error.sqlite_error_code(), Some(Unknown | TooBig | TypeMismatch))
}

/// `action` completes the sentence "cannot …", for example `search table keys`.
pub(crate) fn explain(path: &Path, action: &str, error: &Error) -> Failure {
    if is_cut_off(error) {
        return cut_off(path, action);
    }
    if code_of(error) == Some(ErrorCode::CannotOpen) && is_out_of_files() {
        return out_of_files(path, action);
    }
    let kind = kind_of(error);
    let what = format!("cannot {action} in {}: {}", path.display(), one_line(error));
    Failure::new(kind, what, remedy(kind))
}

/// The engine's code, also of a statement that it did not understand.
fn code_of(error: &Error) -> Option<ErrorCode> {
    match error {
        Error::SqlInputError { error, .. } => Some(error.code),
        error => error.sqlite_error_code(),
    }
}

/// A reader that may not write meets the journal of a process that ended in the middle of a transaction.
fn cut_off(path: &Path, action: &str) -> Failure {
    let what = format!(
        "cannot {action} in {}: a transaction that was cut off must be rolled back first",
        path.display()
    );
    let remedy =
        "start the application, or run `keysweep sweep`: whoever opens the database to write rolls it back";
    Failure::new(FailureKind::Busy, what, remedy)
}

/// Whether this process may open no further file. SQLite's code does not tell that from a file that
/// it may not open, so that we try, with a copy of a descriptor that we have.
fn is_out_of_files() -> bool {
    const TOO_MANY_OPEN_FILES: i32 = rustix::io::Errno::MFILE.raw_os_error();
    let copied = std::io::stderr().as_fd().try_clone_to_owned();
    copied.is_err_and(|error| error.raw_os_error() == Some(TOO_MANY_OPEN_FILES))
}

fn out_of_files(path: &Path, action: &str) -> Failure {
    let what = format!("cannot {action} in {}: too many open files in this process", path.display());
    let remedy =
        "raise its limit (LimitNOFILE= under systemd, `ulimit -n` in a shell); the next tick tries again";
    Failure::new(FailureKind::Io, what, remedy)
}

fn kind_of(error: &Error) -> FailureKind {
    if matches!(
        error,
        Error::InvalidColumnType(..) | Error::FromSqlConversionFailure(..) | Error::Utf8Error(..)
    ) {
        return FailureKind::Schema;
    }
    let Some(code) = code_of(error) else {
        return FailureKind::Internal;
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            FailureKind::Busy
        }
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => FailureKind::Permission,
        ErrorCode::NotADatabase => FailureKind::NotADatabase,
        ErrorCode::DatabaseCorrupt => FailureKind::Corrupt,
        ErrorCode::DiskFull => FailureKind::Full,
        ErrorCode::SystemIoFailure => FailureKind::Io,
        ErrorCode::OperationInterrupted => FailureKind::Interrupted,
        // SQLITE_ERROR: a name that is not there, a function or collation that only the application has.
        ErrorCode::Unknown | ErrorCode::SchemaChanged | ErrorCode::ConstraintViolation => FailureKind::Schema,
        _ => FailureKind::Internal,
    }
}

fn one_line(error: &Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What to do about a failure of this kind.
pub(crate) fn remedy(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Missing => "correct `path`, or let the application create the file first",
        FailureKind::Permission => {
            "give keysweep's user read and write access to the file and to its folder (under systemd also ReadWritePaths=)"
        }
        FailureKind::Ownership => "share the folder with the application's group, or run as its user",
        FailureKind::NotADatabase => "set `path` to an SQLite database",
        FailureKind::Corrupt => {
            "stop the application, run `sqlite3 FILE 'PRAGMA integrity_check'`, restore a backup if it complains"
        }
        FailureKind::Busy => {
            "find what holds the lock (a long transaction, a backup), or raise `busy_timeout`; the next tick tries again"
        }
        FailureKind::Full => "free space on the file system: a DELETE needs room for its journal",
        FailureKind::Io => "look at the kernel log and the disk; the next tick tries again",
        FailureKind::Schema => "compare the config with the table, `keysweep check` helps",
        FailureKind::References => "drop what hangs on the table, or clean it in the application",
        FailureKind::Replaced => "nothing: the next tick opens the new file",
        FailureKind::CommitUnknown => "nothing: the next tick looks again, and what is gone was due",
        FailureKind::Invariant => {
            "nothing was deleted; report this with the table's schema and config, then restart"
        }
        FailureKind::WalTooLarge => {
            "end the long reader (a backup, a forgotten transaction); with `checkpoint = \"never\"` let its owner move the log; or raise `max_wal`; the next tick tries again"
        }
        FailureKind::Interrupted => "start keysweep again: the next sweep goes on",
        FailureKind::Guard => "see what is held, and why",
        FailureKind::Internal => "report this; the next tick tries again",
    }
}
