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

    /// Outside any lock of ours. Passive: it waits for nobody, and what it cannot move now it moves later.
    fn checkpoint(&self) -> rusqlite::Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
    }

    /// Refuse to go on while more of the log than the policy allows is not moved into the database.
    pub fn check_log(&self, file: &Admitted, policy: WalPolicy) -> Result<(), Failure> {
        // The file never shrinks: one that is small says enough, one that is large says nothing.
        let is_small = beside(&file.path, "-wal").metadata().map_or(0, |wal| wal.size()) <= policy.max;
        if is_small || self.unmoved().is_ok_and(|size| size <= policy.max) {
            return Ok(());
        }
        if policy.checkpoint != Checkpoint::Never {
            // Whatever hinders it is what we wait for.
            let _ = self.checkpoint();
        }
        match self.unmoved() {
            Ok(size) if size > policy.max => Err(too_large(file, size, policy)),
            // A log that cannot be asked is busy, and the batch finds that out.
            _ => Ok(()),
        }
    }

    /// Bytes in the log that are not in the database yet.
    fn unmoved(&self) -> rusqlite::Result<u64> {
        let pages: i64 = self.connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| {
            Ok(row.get::<_, i64>("log")? - row.get::<_, i64>("checkpointed")?)
        })?;
        let size: i64 = self.connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        Ok(u64::try_from(pages.saturating_mul(size)).unwrap_or(0))
    }
}

fn too_large(file: &Admitted, size: u64, policy: WalPolicy) -> Failure {
    let what = format!(
        "the -wal of {} holds {size} bytes that are not moved into the database, more than max_wal = {} bytes",
        file.path.display(),
        policy.max
    );
    Failure::new(FailureKind::WalTooLarge, what, remedy(FailureKind::WalTooLarge))
}
