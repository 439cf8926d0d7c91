//! What is decided, without touching anything: no I/O, no clock, no async.
//!
//! A [`Rule`] says what a table means. From it, one clock reading and the facts
//! that `tick` gathered come the [`Predicate`]s that a store renders, the
//! [`Finding`]s that hold a table, and the [`Pace`] of the batches. Reports,
//! counts and failures are values of this room too, because every other room
//! speaks of them.

mod book;
mod check;
mod clock;
mod clock_guard;
mod counts;
mod event;
mod explain;
mod failure;
mod finding;
mod flow;
mod guard;
mod hold;
mod horizon;
pub(crate) mod iso8601;
mod judge;
mod limit;
mod name;
mod ownership;
mod pace;
mod predicate;
mod references;
mod report;
mod rule;
mod state;
mod time;
mod unit;
mod value;
mod wal;
mod window;

pub use book::{RuleBlock, RuleBook, TableName, TablePattern, TablePatternError};
pub use check::{
    FileSystem, Sampled, Surroundings, Survey, Workload, count_findings, file_findings, index_candidates,
    survey_findings,
};
pub use clock::{Clock, ClockColumn, ClockError};
pub use clock_guard::{BootTime, ClockJump, Reading};
pub use counts::{ABANDONED_CLASSES, AbandonedCounts, Counts, State, Unfinished};
pub use event::{Event, Journal, SpaceUsed};
pub use explain::{Explanation, Fate, explain, key_candidates};
pub use failure::{Failure, FailureKind, shell_word};
pub use finding::{Finding, Severity, TableFacts, TableKind, schema_failure, table_findings};
pub use flow::{Duty, Flow};
pub use guard::{Guards, Pause, share_failure};
pub use hold::HoldReason;
pub use horizon::{Horizon, Seen, Unsettled, Waiting};
pub use judge::Judge;
pub use limit::{Limit, LimitError, Share, ShareError};
pub use name::{DatabaseName, Identifier, KeyColumns, KeyColumnsError, NameError, TableLabel};
pub use ownership::{FileFacts, Us, may_share_files};
pub use pace::{BATCH_HOLD, BatchBound, BatchCost, Pace, Rest, census_interval, rows_per_second};
pub use predicate::{Literal, Predicate};
pub use references::{ForeignKey, References};
pub use report::{Report, SkipReason, Skips, Stop};
pub use rule::{Abandoned, Beside, Rule, side_by_side};
pub use state::{Done, StateTest};
pub use time::{Cutoff, TimeError, UnixTime, length};
pub use unit::{Encoded, Unit};
pub(crate) use value::hex;
pub use value::{Key, Value};
pub use wal::{Checkpoint, WalPolicy};
pub use window::{LAST_BATCH, Window, WindowError};
