//! An open connection, and what becomes of a piece of work on it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::access::{Access, Admitted, Identity, Open, admit, check_identity, open, replaced};
use super::failure::{explain, is_busy, is_cut_off};
use crate::plan::Failure;

/// An open connection and the file that it was opened for.
#[derive(Debug)]
pub(super) struct Working {
    pub file: Admitted,
    pub open: Open,
    /// When it was opened.
    pub since: Instant,
    /// Given back once the connection is closed.
    _opening: Option<OwnedSemaphorePermit>,
}

/// What it takes to open a connection.
pub(super) struct Opening {
    pub path: PathBuf,
    pub access: Access,
    pub stop: CancellationToken,
    pub permit: Option<OwnedSemaphorePermit>,
    /// Only this file, where one was open before.
    pub expected: Option<Identity>,
}

/// Why a piece of work did not give an answer.
pub(super) enum Trouble {
    /// Another connection was in the way. What to say when that does not end, if not that it held a lock.
    Busy(Option<Failure>),
    /// Trying again would not help.
    Failed(Failure),
}

impl Working {
    pub fn open(opening: Opening) -> Result<Self, Trouble> {
        let Opening { path, access, stop, permit, expected } = opening;
        let file = admit(&path, access).map_err(Trouble::Failed)?;
        if expected.is_some_and(|expected| expected != file.identity) {
            return Err(Trouble::Failed(replaced(&file)));
        }
        let mut open = open(&file, access, stop).map_err(Trouble::Failed)?;
        match open.learn_journal() {
            Ok(()) => Ok(Self { file, open, since: Instant::now(), _opening: permit }),
            Err(error) => Err(Trouble::of(&file.path, "read the database", &error)),
        }
    }

    pub fn read<T>(
        &self,
        action: &str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Trouble> {
        check_identity(&self.file).map_err(Trouble::Failed)?;
        work(&self.open.connection).map_err(|error| Trouble::of(&self.file.path, action, &error))
    }
}

impl Trouble {
    pub fn of(path: &Path, action: &str, error: &rusqlite::Error) -> Self {
        match error {
            error if is_cut_off(error) => Self::Busy(Some(explain(path, action, error))),
            error if is_busy(error) => Self::Busy(None),
            error => Self::Failed(explain(path, action, error)),
        }
    }
}
