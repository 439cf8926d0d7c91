//! How many rows become due, how many are left, and how fast a sweep should therefore work.

use std::time::Duration;

/// A backlog is meant to be worked off within this time: faster, the application would feel it.
const DRAIN: Duration = Duration::from_secs(30 * 60);
/// So much more than what becomes due is taken, so that what an estimate lacks does not pile up.
const MARGIN: f64 = 1.25;
/// Rows a second that no application feels; also while nothing is known yet.
const GENTLE: f64 = 250.0;
/// How much a new measurement counts beside the ones before.
const NEW: f64 = 0.5;

/// What flows into and out of the expired rows of one table.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Flow {
    counted: Option<Counted>,
    /// Rows that a sweep deleted since it was first told of one.
    deleted: u64,
    inflow: Option<f64>,
    outflow: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Counted {
    at: Duration,
    expired: u64,
    deleted: u64,
}

impl Flow {
    /// A sweep deleted so many rows.
    pub fn deleted(&mut self, rows: u64) {
        self.deleted = self.deleted.saturating_add(rows);
    }

    /// A census found so many expired rows, at this time since some fixed instant.
    pub fn counted(&mut self, at: Duration, expired: u64) {
        let now = Counted { at, expired, deleted: self.deleted };
        if let Some(before) = self.counted.replace(now) {
            self.learn(before, now);
        }
    }

    fn learn(&mut self, before: Counted, now: Counted) {
        let Some(time) = now.at.checked_sub(before.at).filter(|time| !time.is_zero()) else { return };
        let out = now.deleted.saturating_sub(before.deleted) as f64;
        let inward = (now.expired as f64 - before.expired as f64 + out).max(0.0);
        let (inflow, outflow) = (inward / time.as_secs_f64(), out / time.as_secs_f64());
        self.inflow = Some(self.inflow.map_or(inflow, |known| known + (inflow - known) * NEW));
        self.outflow = outflow;
    }

    /// Rows that become due a second, once two censuses told.
    #[must_use]
    pub fn inflow(&self) -> Option<f64> {
        self.inflow
    }

    /// How long until no expired row is left, at the pace of the time between the last two censuses.
    /// Nothing while that is not known, or the rows grow more.
    #[must_use]
    pub fn drained_in(&self) -> Option<Duration> {
        let (expired, inflow) = (self.counted?.expired as f64, self.inflow?);
        if expired == 0.0 {
            return Some(Duration::ZERO);
        }
        Duration::try_from_secs_f64(expired / (self.outflow - inflow)).ok().filter(|_| self.outflow > inflow)
    }

    /// Rows a second that keep up with what becomes due and drain the backlog within half an hour.
    #[must_use]
    pub fn wanted(&self) -> f64 {
        let backlog = self.counted.map_or(0.0, |counted| counted.expired as f64);
        (self.inflow.unwrap_or(0.0) * MARGIN + backlog / DRAIN.as_secs_f64()).max(GENTLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_becomes_due_is_what_is_left_more_and_what_was_deleted() {
        let mut flow = Flow::default();
        assert_eq!((flow.inflow(), flow.drained_in(), flow.wanted()), (None, None, GENTLE));
        flow.counted(seconds(0), 1_000);
        flow.deleted(11_000);
        flow.counted(seconds(60), 2_000);
        assert_eq!(flow.inflow(), Some(200.0));
        assert_eq!(flow.drained_in(), None, "it grows");
    }

    #[test]
    fn a_backlog_that_falls_says_when_it_will_be_gone() {
        let mut flow = Flow::default();
        flow.counted(seconds(0), 500_000);
        flow.deleted(30_000);
        flow.counted(seconds(60), 482_000);
        assert_eq!(flow.inflow(), Some(200.0));
        // 500 a second go, 200 come.
        assert_eq!(flow.drained_in(), Some(Duration::from_secs_f64(482_000.0 / 300.0)));
        flow.counted(seconds(120), 0);
        assert_eq!(flow.drained_in(), Some(Duration::ZERO));
    }

    #[test]
    fn a_sweep_keeps_up_and_drains_a_backlog_slowly() {
        let mut flow = Flow::default();
        flow.counted(seconds(0), 540_000);
        assert_eq!(flow.wanted(), 300.0);
        flow.counted(seconds(60), 540_000 + 60_000);
        assert_eq!(flow.wanted(), 1_000.0 * MARGIN + 600_000.0 / 1_800.0);
    }

    #[test]
    fn a_clock_that_stands_still_teaches_nothing() {
        let mut flow = Flow::default();
        flow.counted(seconds(60), 5);
        flow.counted(seconds(60), 9);
        flow.counted(seconds(30), 9);
        assert_eq!(flow.inflow(), None);
    }
}
