//! How many rows become due, how many are left, and how fast a sweep should therefore work.

use std::time::Duration;

use super::{Stop, Window};

/// So much more than what becomes due is taken, so that what an estimate lacks does not pile up.
const MARGIN: f64 = 1.25;
/// Rows a second that no application feels (measured: README, "A good guest"); also while nothing is known yet.
const GENTLE: f64 = 250.0;
/// A backlog is worked off in half an hour where that is gentle, else gently, but within a day.
const SOON: f64 = 30.0 * 60.0;
const DAY: f64 = 86_400.0;

/// The part of the time in which ticks work: above 0 and at most 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duty(f64);

impl Duty {
    /// Of ticks that are so far apart, work for so long each, and only while the window is open.
    #[must_use]
    pub fn new(interval: Duration, budget: Duration, window: Option<Window>) -> Self {
        let of_interval = (budget.as_secs_f64() / interval.as_secs_f64()).min(1.0);
        let open = window.map_or(DAY, |window| window.length().as_secs_f64());
        // Ticks that are further apart than the window is long all fall into it.
        let of_day = if interval.as_secs_f64() < open { open / DAY } else { 1.0 };
        Self((of_interval * of_day).clamp(1e-6, 1.0))
    }
}
/// A census this old tells nothing of what is left.
const STALE: Duration = Duration::from_secs(10 * 60);
const MOST_URGENT: f64 = 100.0;
/// How much a new measurement counts beside the ones before.
const NEW: f64 = 0.5;

/// What flows into and out of the expired rows of one table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    counted: Option<Counted>,
    /// Rows that a sweep deleted since it was first told of one.
    deleted: u64,
    inflow: Option<f64>,
    outflow: f64,
    urgency: f64,
}

impl Default for Flow {
    fn default() -> Self {
        Self { counted: None, deleted: 0, inflow: None, outflow: 0.0, urgency: 1.0 }
    }
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
        self.urgency = 1.0;
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
        let learn = |known: f64, new: f64| known + (new - known) * NEW;
        self.outflow = self.inflow.map_or(outflow, |_| learn(self.outflow, outflow));
        self.inflow = Some(self.inflow.map_or(inflow, |known| learn(known, inflow)));
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

    /// A sweep that a bound cut is not drained. While no census tells how much is left, so that it must be
    /// guessed, each such sweep makes the next a little faster.
    pub fn swept(&mut self, at: Duration, stop: Stop) {
        match stop {
            Stop::Budget if self.counted.is_none_or(|counted| at.saturating_sub(counted.at) > STALE) => {
                self.urgency = (self.urgency * 1.1).min(MOST_URGENT);
            }
            Stop::Drained => self.urgency = 1.0,
            _ => {}
        }
    }

    /// Rows a second, while a tick works, that keep up with what becomes due and work off the backlog: gently,
    /// in a database of so many tables.
    #[must_use]
    pub fn wanted(&self, duty: Duty, tables: usize) -> f64 {
        let gentle = GENTLE / tables.max(1) as f64;
        let backlog = self.counted.map_or(0.0, |counted| counted.expired as f64);
        let of_backlog = (backlog / SOON).min(gentle).max(backlog / DAY / duty.0);
        (self.inflow.unwrap_or(0.0) * MARGIN / duty.0 + of_backlog).max(gentle) * self.urgency
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
        assert_eq!((flow.inflow(), flow.drained_in(), flow.wanted(ALWAYS, 1)), (None, None, GENTLE));
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

    const ALWAYS: Duty = Duty(1.0);

    #[test]
    fn a_sweep_keeps_up_and_drains_a_backlog_slowly() {
        let mut flow = Flow::default();
        flow.counted(seconds(0), 90_000);
        assert_eq!(flow.wanted(ALWAYS, 1), GENTLE);
        flow.counted(seconds(60), 90_000 + 60_000);
        assert_eq!(flow.wanted(ALWAYS, 1), 1_000.0 * MARGIN + 150_000.0 / SOON);
        flow.counted(seconds(120), 500_000);
        let inflow = flow.inflow().unwrap();
        assert_eq!(flow.wanted(ALWAYS, 1), inflow * MARGIN + GENTLE);
    }

    #[test]
    fn a_large_backlog_goes_at_a_rate_that_would_clear_it_in_a_day() {
        let mut flow = Flow::default();
        flow.counted(seconds(0), 100_000_000);
        assert_eq!(flow.wanted(ALWAYS, 1), 100_000_000.0 / DAY);
    }

    #[test]
    fn ticks_that_work_a_part_of_the_time_work_the_faster() {
        let minutes = |minutes: u64| seconds(minutes * 60);
        let daily = Duty::new(minutes(24 * 60), minutes(15), None);
        let mut flow = Flow::default();
        flow.counted(seconds(0), 1_000_000);
        // All of it in the fifteen minutes.
        assert_eq!(flow.wanted(daily, 1), 1_000_000.0 / DAY / (900.0 / DAY));
        assert_eq!(
            Duty::new(minutes(24 * 60), minutes(15), Some(Window::parse("01:00-05:00").unwrap())),
            daily
        );
        assert_eq!(Duty::new(seconds(30), seconds(30), None), ALWAYS);
        assert_eq!(Duty::new(seconds(30), minutes(15), None), ALWAYS);
        let night = Window::parse("22:00-04:00").unwrap();
        assert_eq!(Duty::new(seconds(30), seconds(15), Some(night)), Duty(0.125));
        assert_eq!(Duty::new(seconds(30), Duration::ZERO, None), Duty(1e-6));
    }

    #[test]
    fn what_is_gentle_is_shared_by_the_tables_of_a_database() {
        assert_eq!(Flow::default().wanted(ALWAYS, 10), GENTLE / 10.0);
    }

    #[test]
    fn a_sweep_that_is_cut_again_and_again_grows_faster_while_nobody_counts() {
        let mut flow = Flow::default();
        flow.counted(seconds(0), 0);
        flow.swept(seconds(30), Stop::Budget);
        assert_eq!(flow.wanted(ALWAYS, 1), GENTLE, "the census is fresh");
        (0..8).for_each(|tick| flow.swept(seconds(700 + tick), Stop::Budget));
        assert!(flow.wanted(ALWAYS, 1) > 2.0 * GENTLE);
        (0..999).for_each(|tick| flow.swept(seconds(900 + tick), Stop::Budget));
        assert_eq!(flow.wanted(ALWAYS, 1), MOST_URGENT * GENTLE);
        flow.swept(seconds(3_000), Stop::Drained);
        assert_eq!(flow.wanted(ALWAYS, 1), GENTLE);
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
