//! What a sweep did: one value, complete even when it failed half-way.

use super::{Cutoff, DatabaseName, Failure, HoldReason, TableLabel, UnixTime};

/// Why a sweep ended: the label `stop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// The walk went round: nothing expired is left, as of its cutoff.
    Drained,
    /// The tick's time was used up; the next one goes on here.
    Budget,
    /// We were told to stop; the next sweep goes on.
    Shutdown,
    /// A finding is severe enough that nothing is deleted.
    Held,
    /// `enabled = false`, or outside the window.
    Disabled,
    /// It could not go on; the report's error says why.
    Failed,
}

impl Stop {
    /// Every reason.
    pub const ALL: [Self; 6] =
        [Self::Drained, Self::Budget, Self::Shutdown, Self::Held, Self::Disabled, Self::Failed];

    /// The word in reports, metrics and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Drained => "drained",
            Self::Budget => "budget",
            Self::Shutdown => "shutdown",
            Self::Held => "held",
            Self::Disabled => "disabled",
            Self::Failed => "failed",
        }
    }

    /// Whether the sweep did what it could: `drained` or `budget`.
    #[must_use]
    pub fn is_success(self) -> bool {
        matches!(self, Self::Drained | Self::Budget)
    }
}

/// Why an expired row was left where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// A constraint of the schema refused its deletion.
    Constraint,
    /// The delete succeeded and the row is still there: a trigger ignored it.
    Ignored,
    /// A row of this or another table refers to it.
    Referenced,
    /// A trigger failed on it.
    Error,
    /// More rows would go along with it than a transaction may delete.
    TooMany,
}

impl SkipReason {
    /// Every reason.
    pub const ALL: [Self; 5] =
        [Self::Constraint, Self::Ignored, Self::Referenced, Self::Error, Self::TooMany];

    /// The word in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Constraint => "constraint",
            Self::Ignored => "ignored",
            Self::Referenced => "referenced",
            Self::Error => "error",
            Self::TooMany => "too_many",
        }
    }
}

/// Rows left where they are, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skips([u64; SkipReason::ALL.len()]);

impl Skips {
    /// One more row.
    pub fn add(&mut self, reason: SkipReason) {
        self.0[reason as usize] += 1;
    }

    /// All of another count.
    pub fn merge(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Rows left for this reason.
    #[must_use]
    pub fn of(self, reason: SkipReason) -> u64 {
        self.0[reason as usize]
    }

    /// Rows left, for whatever reason.
    #[must_use]
    pub fn total(self) -> u64 {
        self.0.iter().sum()
    }
}

/// What a sweep did to one table.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The database.
    pub database: DatabaseName,
    /// The table.
    pub table: TableLabel,
    /// The tick's one clock reading.
    pub now: UnixTime,
    /// `now - retention`, where a clock column tells.
    pub cutoff: Option<Cutoff>,
    /// Rows deleted, in transactions whose COMMIT succeeded.
    pub deleted: u64,
    /// In a dry run: rows that a sweep would have deleted.
    pub would_delete: u64,
    /// Transactions that committed and deleted something.
    pub batches: u64,
    /// Expired rows that were left.
    pub skipped: Skips,
    /// Whether everything that could hold the table was looked at, and nothing did.
    pub judged: bool,
    /// Why it ended.
    pub stop: Stop,
    /// The hold, when it ended by one; in a dry run, the hold by which a sweep would have ended.
    pub held: Option<HoldReason>,
    /// What went wrong, or why it is held.
    pub error: Option<Failure>,
}

impl Report {
    /// A sweep that has done nothing yet.
    #[must_use]
    pub fn new(database: DatabaseName, table: TableLabel, now: UnixTime, cutoff: Option<Cutoff>) -> Self {
        Self {
            database,
            table,
            now,
            cutoff,
            deleted: 0,
            would_delete: 0,
            batches: 0,
            skipped: Skips::default(),
            judged: false,
            stop: Stop::Drained,
            held: None,
            error: None,
        }
    }
}
