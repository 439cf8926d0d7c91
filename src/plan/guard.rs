//! What keeps a whole tick, or one of its tables, from deleting though the schema is as it should be.

use std::fmt::Debug;
use std::sync::Arc;

use super::{Counts, Failure, FailureKind, HoldReason, Rule, Share, TableLabel, Unsettled, Window};

/// Whoever knows whether a person wants nothing to be deleted. Asked between two batches.
pub trait Pause: Debug + Send + Sync {
    /// Why nothing is to be deleted at this moment, and how that ends.
    fn pause(&self) -> Option<Failure>;
}

/// What a tick is told of the guards, judged at its one clock reading. By default nothing is guarded.
#[derive(Debug, Clone, Default)]
pub struct Guards {
    /// Where nobody can pause, nothing.
    pub pause: Option<Arc<dyn Pause>>,
    /// Why the wall clock is not to be trusted.
    pub clock: Option<Failure>,
    /// The tables whose horizon is shown before it is acted on.
    pub horizons: Vec<(TableLabel, Unsettled)>,
    /// The largest share of the finished rows that a sweep may take.
    pub max_share: Option<Share>,
    /// When rows may be deleted; without it, always.
    pub window: Option<Window>,
}

impl Guards {
    /// Why nothing is to be deleted at this moment, asked anew.
    #[must_use]
    pub fn paused(&self) -> Option<Failure> {
        self.pause.as_ref().and_then(|pause| pause.pause())
    }

    /// What holds every table alike.
    #[must_use]
    pub fn hold(&self) -> Option<(HoldReason, Failure)> {
        let paused = self.paused().map(|failure| (HoldReason::Paused, failure));
        paused.or_else(|| self.clock.clone().map(|failure| (HoldReason::Clock, failure)))
    }

    /// What is shown of this table's horizon before it is acted on.
    #[must_use]
    pub fn unsettled(&self, table: &TableLabel) -> Option<&Unsettled> {
        self.horizons.iter().find(|(label, _)| label == table).map(|(_, unsettled)| unsettled)
    }
}

/// The hold of a table of which a sweep would take more than this share of the finished rows.
#[must_use]
pub fn share_failure(rule: &Rule, counts: &Counts, most: Share) -> Option<Failure> {
    let Counts { expired, done, taken_at, .. } = counts;
    if *expired as f64 <= most.get() * *done as f64 {
        return None;
    }
    let what = format!(
        "table `{}`: at {taken_at} {expired} of its {done} finished rows were due, which is more than max_share = {}",
        rule.table,
        most.get()
    );
    let remedy =
        "look at them with `keysweep sweep --dry-run`; if they are to go, raise max_share or leave it out";
    Some(Failure::new(FailureKind::Guard, what, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::UnixTime;
    use std::time::Duration;

    fn held(expired: u64, done: u64, most: f64) -> bool {
        let counts = Counts {
            unfinished: None,
            done,
            expired,
            unreadable: 0,
            abandoned: None,
            taken_at: UnixTime::from_millis(0),
        };
        share_failure(&Rule::key_table(Duration::ZERO), &counts, Share::new(most).unwrap()).is_some()
    }

    #[test]
    fn a_sweep_may_take_its_share_of_the_finished_rows_and_not_one_more() {
        for (expired, done, most, expected) in [
            (0, 0, 0.5, false),
            (0, 10, 0.5, false),
            (5, 10, 0.5, false),
            (6, 10, 0.5, true),
            (1, 1, 0.99, true),
            (10, 10, 1.0, false),
            (u64::MAX, u64::MAX, 0.25, true),
        ] {
            assert_eq!(held(expired, done, most), expected, "{expired} of {done} at {most}");
        }
    }
}
