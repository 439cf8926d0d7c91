//! Whether a row in memory may be deleted: the last word before a COMMIT.

use super::{Identifier, Predicate, Value};

/// Says it of many rows under one rule and cutoff. That a row is finished is asked apart from the guards that
/// became SQL, so that a slip in those is seen.
#[derive(Debug, Clone)]
pub struct Judge {
    pending: Predicate,
    done: Predicate,
    guards: Predicate,
}

impl Judge {
    pub(super) fn new(pending: Predicate, done: Predicate, guards: Predicate) -> Self {
        Self { pending, done, guards }
    }

    /// Finished, expired, and kept by nothing. `read` gives a column's value; a column it does not know reads
    /// as NULL.
    pub fn allows<'a>(&self, read: &impl Fn(&Identifier) -> &'a Value) -> bool {
        let finished = !self.pending.holds(read) && self.done.holds(read);
        finished && self.guards.holds(read)
    }
}
