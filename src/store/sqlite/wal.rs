//! The write-ahead log, which the application shares.

use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering;

use super::access::{Admitted, Open, beside};
use super::failure::remedy;
use crate::plan::{Checkpoint, Failure, FailureKind, WalPolicy};

impl Open {
    /// Move the log into the database once it has grown to the policy's threshold.
    pub fn checkpoint_if_due(&self, policy: WalPolicy) -> rusqlite::Result<()> {
        match policy.checkpoint.threshold() {
            Some(pages) if self.wal_pages.load(Ordering::Relaxed) >= pages => self.checkpoint().map(drop),
            _ => Ok(()),
        }
    }

    /// Outside any lock of ours. Passive: it waits for nobody, and what it cannot move now it moves
    /// later. Whether all of the log is moved.
    fn checkpoint(&self) -> rusqlite::Result<bool> {
        self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
            Ok(row.get::<_, i64>("log")? == row.get::<_, i64>("checkpointed")?)
        })
    }

    /// Refuse to go on while the log is larger than the policy allows. What is moved already will be
    /// written over, however large the file.
    pub fn check_log(&self, file: &Admitted, policy: WalPolicy) -> Result<(), Failure> {
        let size = beside(&file.path, "-wal").metadata().map_or(0, |wal| wal.size());
        let is_moved = || policy.checkpoint != Checkpoint::Never && self.checkpoint().unwrap_or(false);
        if size <= policy.max || is_moved() {
            return Ok(());
        }
        let what = format!(
            "the -wal of {} has {size} bytes, more than max_wal = {} bytes, and is not moved into the database",
            file.path.display(),
            policy.max
        );
        Err(Failure::new(FailureKind::WalTooLarge, what, remedy(FailureKind::WalTooLarge)))
    }
}
