//! The picture that `/status.json` carries and the command `status` reads back.
//!
//! Times are unix seconds, lengths are seconds. What was not measured is `null`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A running daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its version.
    pub version: String,
    /// When it began to watch.
    pub started: f64,
    /// Whether the config that was last read was refused, so that the one before it is still in force.
    #[serde(default)]
    pub config_refused: bool,
    /// Every database, by name.
    pub databases: BTreeMap<String, DatabaseStatus>,
}

/// One database.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatabaseStatus {
    /// Whether neither the latest tick nor the latest census failed as a whole.
    pub up: Option<bool>,
    /// Why the latest tick failed as a whole, if it did.
    pub tick_failure: Option<Problem>,
    /// Why the latest census failed as a whole, if it did.
    pub census_failure: Option<Problem>,
    /// When the next tick is due.
    pub next_tick: Option<f64>,
    /// How often the rows are meant to be counted.
    pub census_interval: f64,
    /// What it takes on disk, as of the latest census that worked.
    pub space: Option<SpaceStatus>,
    /// Every table, by label.
    pub tables: BTreeMap<String, TableStatus>,
}

/// One table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableStatus {
    /// How long a finished row is kept past its clock column; nothing where the table is only counted.
    pub retention: Option<f64>,
    /// The cutoff of the latest sweep.
    pub cutoff: Option<f64>,
    /// The latest census that worked.
    pub census: Option<CensusStatus>,
    /// Why the latest census could not count this table, if it could not.
    pub census_failure: Option<Problem>,
    /// The latest sweep.
    pub last_sweep: Option<SweepStatus>,
    /// When the latest sweep that stopped as `drained` or `budget` began.
    pub last_success: Option<f64>,
    /// Rows deleted since the daemon began.
    pub deleted_total: u64,
    /// Rows a second at the pace of the latest batch, the rest after it included.
    pub pace: Option<f64>,
    /// Rows that become due a second, once two censuses told.
    pub inflow: Option<f64>,
    /// Seconds until no expired row is left, at the present pace; nothing while they grow.
    pub drained_in: Option<f64>,
}

/// Bytes on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceStatus {
    /// The main file.
    pub database: u64,
    /// The write-ahead log.
    pub wal: u64,
    /// Pages of the main file that hold nothing.
    pub free: u64,
}

/// The rows of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CensusStatus {
    /// The clock reading that `expired` and `abandoned` count from.
    pub taken_at: f64,
    /// Reserved and not finished.
    pub pending: Option<u64>,
    /// Finished.
    pub done: u64,
    /// Claimed by no rule.
    pub unknown: Option<u64>,
    /// Finished, and their time has come.
    pub expired: u64,
    /// Their clock column cannot be read: they never expire.
    pub unreadable: u64,
    /// Pending rows past their time, where a column tells.
    pub abandoned: Option<AbandonedStatus>,
}

/// Pending rows past their time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AbandonedStatus {
    /// How many, by age: `0s`, `1h`, `1d`, `7d`; each counts the older ones too.
    pub older_than: BTreeMap<String, u64>,
    /// When the oldest one became abandoned.
    pub oldest: Option<f64>,
}

/// The end of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepStatus {
    /// When its tick began.
    pub at: f64,
    /// Why it stopped.
    pub stop: String,
    /// Rows deleted.
    pub deleted: u64,
    /// Transactions that deleted something.
    pub batches: u64,
    /// Expired rows that were left where they are.
    pub skipped: u64,
    /// The reason of the hold, when it ended by one.
    pub held: Option<String>,
    /// What went wrong, or why it is held.
    pub error: Option<Problem>,
}

/// A failure or a hold, in the words of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Its kind, as in `keysweep_errors_total`.
    pub kind: String,
    /// What failed, and why.
    pub what: String,
    /// What to do.
    pub remedy: String,
}
