//! What a tick and a census tell while they work. Told after the fact: a batch when it is committed.

use std::time::Duration;

use super::{Counts, DatabaseName, Failure, Flow, Key, Report, SkipReason, Skips, TableLabel};

/// How a database's engine keeps its transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journal {
    /// A write-ahead log: a reader keeps no writer waiting.
    Wal,
    /// A rollback journal: a writer's COMMIT waits for every reader.
    Rollback,
}

/// What a database takes on disk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceUsed {
    /// The main file.
    pub database: u64,
    /// The write-ahead log beside it, 0 where there is none.
    pub wal: u64,
    /// Pages inside the main file that hold nothing.
    pub free: u64,
}

/// Something that happened in one database.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A batch was committed.
    BatchCommitted {
        /// The database.
        database: DatabaseName,
        /// The table.
        table: TableLabel,
        /// Rows deleted.
        deleted: u64,
        /// Expired rows left where they are.
        skipped: Skips,
        /// How long the write lock was held.
        held: Duration,
        /// How long we waited for it.
        waited: Duration,
        /// How long the table is left alone now.
        rest: Duration,
    },
    /// A row was left where it is.
    RowSkipped {
        /// The database.
        database: DatabaseName,
        /// The table.
        table: TableLabel,
        /// Its key: for the debug log only.
        key: Key,
        /// Why.
        reason: SkipReason,
    },
    /// A dry run reached a row that a sweep would delete.
    WouldDelete {
        /// The database.
        database: DatabaseName,
        /// The table.
        table: TableLabel,
        /// Its key.
        key: Key,
    },
    /// A sweep ended.
    Swept(Report),
    /// A tick ended.
    Ticked {
        /// The database.
        database: DatabaseName,
        /// Why the tick failed as a whole, if it did.
        failed: Option<Failure>,
    },
    /// A table was counted.
    Counted {
        /// The database.
        database: DatabaseName,
        /// The table.
        table: TableLabel,
        /// What was found, or why it could not be counted.
        counts: Result<Counts, Failure>,
    },
    /// It became known how rows come and go.
    Flowed {
        /// The database.
        database: DatabaseName,
        /// The table.
        table: TableLabel,
        /// What is known.
        flow: Flow,
    },
    /// A census ended.
    CensusTaken {
        /// The database.
        database: DatabaseName,
        /// What the database takes on disk, or why the census failed as a whole.
        space: Result<SpaceUsed, Failure>,
    },
}

impl Event {
    /// The database in which it happened.
    #[must_use]
    pub fn database(&self) -> &DatabaseName {
        match self {
            Self::Swept(report) => &report.database,
            Self::BatchCommitted { database, .. }
            | Self::RowSkipped { database, .. }
            | Self::WouldDelete { database, .. }
            | Self::Ticked { database, .. }
            | Self::Counted { database, .. }
            | Self::Flowed { database, .. }
            | Self::CensusTaken { database, .. } => database,
        }
    }
}
