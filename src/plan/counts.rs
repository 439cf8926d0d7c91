//! The census: a table's rows by state. The counts of a table's rules add up to its rows.

use std::time::Duration;

use super::UnixTime;

/// The state of a row. A table's states add up to its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Reserved and not finished.
    Pending,
    /// Finished.
    Done,
    /// Claimed by no rule of the table.
    Unknown,
}

/// The ages by which abandoned rows are counted, with their names: each counts the older ones too.
pub const ABANDONED_CLASSES: [(&str, Duration); 4] = [
    ("0s", Duration::ZERO),
    ("1h", Duration::from_secs(3_600)),
    ("1d", Duration::from_secs(86_400)),
    ("7d", Duration::from_secs(604_800)),
];

/// What a census found in one table.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// The rows that belong to no one rule, counted under the first rule of their table.
    pub unfinished: Option<Unfinished>,
    /// Finished, and not counted under an earlier rule of the table.
    pub done: u64,
    /// Done, their time has come, and they have a key to be deleted by.
    pub expired: u64,
    /// Rows whose clock column cannot be read, and which therefore never expire.
    pub unreadable: u64,
    /// Abandoned rows, where a column tells.
    pub abandoned: Option<AbandonedCounts>,
    /// The one clock reading that `expired` and `abandoned` count from.
    pub taken_at: UnixTime,
}

/// The rows that no rule of the table calls done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfinished {
    /// Reserved and not finished.
    pub pending: u64,
    /// Claimed by no rule.
    pub unknown: u64,
}

/// Pending rows past their time.
#[derive(Debug, Clone, PartialEq)]
pub struct AbandonedCounts {
    /// How many are at least as old as each of [`ABANDONED_CLASSES`].
    pub older_than: [u64; ABANDONED_CLASSES.len()],
    /// The instant at which the oldest one became abandoned.
    pub oldest: Option<UnixTime>,
}
