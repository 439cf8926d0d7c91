//! What is decided, without touching anything: no I/O, no clock, no async.
//!
//! A [`Rule`] says what a table means. From it, one clock reading and the facts
//! that `tick` gathered come the [`Predicate`]s that a store renders, the
//! [`Finding`]s that hold a table, and the [`Pace`] of the batches. Reports,
//! counts and failures are values of this room too, because every other room
//! speaks of them.

mod clock;
mod counts;
mod event;
mod failure;
mod finding;
mod limit;
mod name;
mod ownership;
mod pace;
mod predicate;
mod references;
mod report;
mod rule;
mod time;
mod value;

pub use clock::{Clock, ClockError, Encoded, Unit};
pub use counts::{ABANDONED_CLASSES, AbandonedCounts, Counts, State};
pub use event::{Event, Journal, SpaceUsed};
pub use failure::{Failure, FailureKind};
pub use finding::{Finding, HoldReason, Severity, TableFacts, TableKind, schema_failure, table_findings};
pub use limit::{Limit, LimitError, Share, ShareError};
pub use name::{DatabaseName, Identifier, NameError, TableLabel};
pub use ownership::{FileFacts, Us, may_share_files};
pub use pace::{BATCH_HOLD, BatchBound, BatchCost, Pace};
pub use predicate::{Literal, Predicate};
pub use references::{ForeignKey, References};
pub use report::{Report, SkipReason, Skips, Stop};
pub use rule::{Abandoned, Done, KeyColumns, KeyColumnsError, Rule, StateTest};
pub use time::{Cutoff, TimeError, UnixTime};
pub(crate) use value::hex;
pub use value::{Key, Value};
