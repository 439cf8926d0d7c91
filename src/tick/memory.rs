//! What is known of a table from one tick to the next.

use tokio::time::Instant;

use super::guard::Standing;
use crate::plan::{Failure, Limit, Pace, Rule, Share, TableLabel};
use crate::store::{Place, Walk};

/// What a table's next sweep should know of the last one.
#[derive(Debug, Clone)]
pub struct TableMemory {
    pub(super) rule: Rule,
    batch: Limit,
    share: Share,
    /// Where a bound cut the last walk.
    pub(super) position: Option<(Walk, Place)>,
    pub(super) pace: Pace,
    /// Until a restart.
    pub(super) invariant: Option<Failure>,
    /// What a guard said when it began to hold the table.
    pub(super) standing: Option<Standing>,
    /// Ticks that were over since it had a turn.
    pub(super) waited: u32,
    /// No batch before this.
    pub(super) ready_at: Instant,
}

impl TableMemory {
    /// A table that was never swept.
    #[must_use]
    pub fn new(rule: Rule, batch: Limit, share: Share) -> Self {
        Self {
            rule,
            batch,
            share,
            position: None,
            pace: Pace::new(batch, share),
            invariant: None,
            standing: None,
            waited: 0,
            ready_at: Instant::now(),
        }
    }

    /// This table as it is known. Under a changed config: what holds until a restart does, and under the same rule a
    /// walk that was cut goes on where it was.
    #[must_use]
    pub fn after(self, before: &Self) -> Self {
        if (&self.rule, self.batch, self.share) == (&before.rule, before.batch, before.share) {
            return before.clone();
        }
        let position = if self.rule == before.rule { before.position.clone() } else { None };
        Self { position, invariant: before.invariant.clone(), ..self }
    }

    /// So many rows a second are enough while a tick works, unless the share asks for all that the time allows.
    pub fn aim(&mut self, rate: f64) {
        self.pace.aim(rate);
    }

    /// The table's rule.
    #[must_use]
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The table's label.
    #[must_use]
    pub fn label(&self) -> &TableLabel {
        &self.rule.label
    }
}
