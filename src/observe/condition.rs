//! What a database needs most, in one word: the order in which people read.

use std::fmt;

use super::status::{CensusStatus, DatabaseStatus, TableStatus};
use crate::plan::{ABANDONED_CLASSES, Stop};

/// The condition of a database or a table, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// The latest tick or the latest census failed as a whole.
    Down,
    /// Nothing is deleted, for a reason that says what ends it.
    Held,
    /// The latest sweep or the latest census of a table ended by an error.
    Failing,
    /// Pending rows are past their time.
    Abandoned,
    /// The latest sweep was cut by a bound, and its expired rows do not become fewer.
    Behind,
    /// Rows that no rule claims, or whose clock column cannot be read: they stay for ever.
    Unclear,
    /// Nothing is deleted now, as configured.
    Disabled,
    /// Neither swept nor counted yet.
    Waiting,
    /// None of all that.
    Well,
}

impl Condition {
    /// Every condition, the worst first.
    pub const ALL: [Self; 9] = [
        Self::Down,
        Self::Held,
        Self::Failing,
        Self::Abandoned,
        Self::Behind,
        Self::Unclear,
        Self::Disabled,
        Self::Waiting,
        Self::Well,
    ];

    /// The word on the status page and in `status`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Held => "held",
            Self::Failing => "failing",
            Self::Abandoned => "abandoned",
            Self::Behind => "behind",
            Self::Unclear => "unclear",
            Self::Disabled => "disabled",
            Self::Waiting => "waiting",
            Self::Well => "well",
        }
    }

    /// The condition of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|condition| condition.name() == name)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl DatabaseStatus {
    /// What it needs most: the worst of itself and its tables.
    #[must_use]
    pub fn condition(&self) -> Condition {
        let own = match self.up {
            Some(false) => Condition::Down,
            Some(true) => Condition::Well,
            None => Condition::Waiting,
        };
        self.tables.values().map(TableStatus::condition).min().map_or(own, |worst| own.min(worst))
    }
}

impl TableStatus {
    /// What it needs most.
    #[must_use]
    pub fn condition(&self) -> Condition {
        let found = [
            (self.is_held(), Condition::Held),
            (self.is_failing(), Condition::Failing),
            (self.abandoned().is_some_and(|rows| rows > 0), Condition::Abandoned),
            (self.is_behind(), Condition::Behind),
            (self.has_unclear_rows(), Condition::Unclear),
            (self.stopped_as(Stop::Disabled), Condition::Disabled),
            (self.last_sweep.is_none() && self.census.is_none(), Condition::Waiting),
        ];
        found.into_iter().find_map(|(is, condition)| is.then_some(condition)).unwrap_or(Condition::Well)
    }

    /// Pending rows past their time, of whatever age.
    #[must_use]
    pub fn abandoned(&self) -> Option<u64> {
        self.census.as_ref()?.abandoned()
    }

    /// Whether its expired rows do not become fewer although sweeps work as long as they may.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        let expired = self.census.as_ref().is_some_and(|census| census.expired > 0);
        expired && self.stopped_as(Stop::Budget) && self.inflow.is_some() && self.drained_in.is_none()
    }

    /// Whether its latest sweep was held.
    pub(super) fn is_held(&self) -> bool {
        self.last_sweep.as_ref().is_some_and(|sweep| sweep.held.is_some())
    }

    fn is_failing(&self) -> bool {
        self.census_failure.is_some() || self.last_sweep.as_ref().is_some_and(|sweep| sweep.error.is_some())
    }

    fn has_unclear_rows(&self) -> bool {
        let unclear = |census: &super::CensusStatus| census.unreadable + census.unknown.unwrap_or(0);
        self.census.as_ref().is_some_and(|census| unclear(census) > 0)
    }

    fn stopped_as(&self, stop: Stop) -> bool {
        self.last_sweep.as_ref().is_some_and(|sweep| sweep.stop == stop.name())
    }
}

impl CensusStatus {
    /// Pending rows past their time, of whatever age.
    pub(super) fn abandoned(&self) -> Option<u64> {
        let [(all, _), ..] = ABANDONED_CLASSES;
        self.abandoned.as_ref()?.older_than.get(all).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::Condition;
    use crate::observe::Observer;
    use crate::observe::sample::*;
    use crate::plan::{Counts, Event, Flow, HoldReason, Report, Stop, Unfinished};
    use std::time::Duration;

    fn condition(observer: &Observer) -> Condition {
        observer.status().databases["app"].condition()
    }

    fn clean() -> Counts {
        Counts { unfinished: Some(Unfinished { pending: 1, unknown: 0 }), unreadable: 0, ..counts(0) }
    }

    #[test]
    fn a_database_that_nobody_looked_at_waits_and_one_where_all_is_well_is_well() {
        let observer = Observer::new(&[watched("app", &["keys"])], now()).unwrap();
        assert_eq!(condition(&observer), Condition::Waiting);
        observer.tell(&ticked(None));
        assert_eq!(condition(&observer), Condition::Waiting, "its table was not looked at");
        observer.tell(&counted(Ok(clean())));
        assert_eq!(condition(&observer), Condition::Well);
    }

    #[test]
    fn each_ill_is_outdone_by_the_worse() {
        let observer = Observer::new(&[watched("app", &["keys"])], now()).unwrap();
        observer.tell(&ticked(None));
        observer.tell(&counted(Ok(clean())));
        observer.tell(&Event::Swept(report(Stop::Disabled)));
        assert_eq!(condition(&observer), Condition::Disabled);
        observer.tell(&counted(Ok(counts(0))));
        assert_eq!(condition(&observer), Condition::Unclear);
        observer.tell(&counted(Ok(counts(1))));
        assert_eq!(condition(&observer), Condition::Abandoned);
        observer.tell(&failed("locked"));
        assert_eq!(condition(&observer), Condition::Failing);
        observer.tell(&held(HoldReason::Paused));
        assert_eq!(condition(&observer), Condition::Held);
        observer.tell(&ticked(Some(failure("gone"))));
        assert_eq!(condition(&observer), Condition::Down);
    }

    #[test]
    fn only_a_sweep_that_was_cut_while_rows_do_not_become_fewer_is_behind() {
        let observer = Observer::new(&[watched("app", &["keys"])], now()).unwrap();
        observer.tell(&ticked(None));
        observer.tell(&counted(Ok(clean())));
        let mut flow = Flow::default();
        flow.counted(Duration::ZERO, 10);
        flow.counted(Duration::from_secs(60), 20);
        observer.tell(&Event::Flowed { database: database("app"), table: table("keys"), flow });
        observer.tell(&Event::Swept(Report { deleted: 5, ..report(Stop::Drained) }));
        assert_eq!(condition(&observer), Condition::Well);
        observer.tell(&Event::Swept(Report { deleted: 5, ..report(Stop::Budget) }));
        assert_eq!(condition(&observer), Condition::Behind);
    }

    #[test]
    fn the_worst_comes_first_and_each_has_a_name_of_its_own() {
        assert!(Condition::ALL.is_sorted());
        assert!(Condition::ALL.iter().all(|one| Condition::named(one.name()) == Some(*one)));
    }
}
