//! How many rows a batch takes and how long a sweep rests, so that the application does not feel it.

use std::time::{Duration, Instant};

use super::{Limit, Share};

/// The longest that a batch should hold the write lock.
pub const BATCH_HOLD: Duration = Duration::from_millis(10);
/// What a batch aims at: the rest is for a COMMIT that is slower than the last one.
const AIM: Duration = Duration::from_millis(6);
/// A rest never grows beyond this, whatever a lock cost.
const LONGEST_REST: Duration = Duration::from_secs(10);
/// A wait for the lock that shows that others are at work, and a COMMIT of which one is longer than usual.
const NOTICED: Duration = Duration::from_millis(5);
/// A COMMIT that is so many times as long as usual shows that the disk is busy.
const SLOW: f64 = 3.0;
/// How far it backs off while others are at work, and how quickly it comes back when they are not.
const FURTHEST: f64 = 16.0;
const BACK: f64 = 0.9;

/// What one batch may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchBound {
    /// The most rows.
    pub rows: usize,
    /// No further row is begun after this time, though one row is always taken.
    pub hold: Duration,
    /// No batch is begun after this instant, whatever it had to wait for.
    pub until: Option<Instant>,
}

/// What one batch cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BatchCost {
    /// Rows that it looked at.
    pub rows: usize,
    /// From BEGIN to the COMMIT.
    pub work: Duration,
    /// The COMMIT itself.
    pub commit: Duration,
}

/// How long to rest after a lock was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// During which nothing of the database is locked.
    pub all: Duration,
    /// During which this table is left alone, because no more rows a second are wanted. At least as long.
    pub table: Duration,
}

impl Rest {
    /// Nothing was locked.
    pub const NONE: Self = Self { all: Duration::ZERO, table: Duration::ZERO };
}

/// Learns the size of a batch from what the last ones cost.
///
/// Rows of one table cost alike, so the size falls at once to what would have fitted, and grows by
/// a quarter at a time while batches end early. A COMMIT costs something however few rows it has,
/// a sync of the disk above all: smaller batches would not make that shorter, only more frequent,
/// so only what a COMMIT costs more for each row is held against the rows.
#[derive(Debug, Clone)]
pub struct Pace {
    limit: Limit,
    share: Share,
    /// Rows a second that are enough; nothing where as many as the share allows are wanted.
    rate: Option<f64>,
    rows: usize,
    commits: Line,
    /// How many times longer it rests than its share asks for, because others were at work: 1 to 16.
    back_off: f64,
}

impl Pace {
    /// A pace that has seen no batch yet begins with a tenth of the limit: the first rows may be large.
    #[must_use]
    pub fn new(limit: Limit, share: Share) -> Self {
        Self {
            limit,
            share,
            rate: None,
            rows: limit.rows().div_ceil(10),
            commits: Line::default(),
            back_off: 1.0,
        }
    }

    /// The next batch.
    #[must_use]
    pub fn bound(&self) -> BatchBound {
        BatchBound { rows: self.rows, hold: AIM / 2, until: None }
    }

    /// Learn from a batch that waited so long for the lock.
    pub fn learn(&mut self, cost: BatchCost, waited: Duration) {
        let slow = self.commits.mean().is_some_and(|usual| cost.commit.as_secs_f64() > usual * SLOW);
        let others = waited > NOTICED || (slow && cost.commit > NOTICED);
        self.back_off = if others { self.back_off * 2.0 } else { self.back_off * BACK }.clamp(1.0, FURTHEST);
        let rows = cost.rows as f64;
        self.commits.add(rows, cost.commit.as_secs_f64());
        let of_rows = cost.work.as_secs_f64() + self.commits.slope() * rows;
        let longest = AIM.as_secs_f64();
        let aim = (longest - self.commits.at_zero()).clamp(longest / 2.0, longest);
        let fitting = rows * aim / of_rows.max(1e-6);
        if of_rows > aim {
            self.rows = (fitting as usize).clamp(1, self.rows);
        } else if cost.rows >= self.rows && fitting > self.rows as f64 * 1.25 {
            self.rows = (self.rows + self.rows.div_ceil(4)).min(self.limit.rows());
        }
    }

    /// So many rows a second are enough. A share of 1 asks for all that the time allows.
    pub fn aim(&mut self, rate: f64) {
        self.rate = (self.share.get() < 1.0).then_some(rate);
    }

    /// How long to rest after a lock was held for `held` and so many rows were dealt with. Nothing is locked
    /// for longer than `share` of the time, and less while others are at work. No more rows a second of a
    /// table are dealt with than are enough: the pages that they touch are felt more than the lock.
    #[must_use]
    pub fn rest(&self, held: Duration, rows: usize) -> Rest {
        // A search that backed off beside a busy application would never come to its batches.
        let back_off = if rows > 0 { self.back_off } else { 1.0 };
        let for_share = held.mul_f64(((1.0 / self.share.get() - 1.0) * back_off).min(1e6));
        let for_rate = self.rate.map_or(Duration::ZERO, |rate| {
            let due = Duration::try_from_secs_f64(rows as f64 / rate).unwrap_or(LONGEST_REST);
            due.saturating_sub(held)
        });
        let all = for_share.min(LONGEST_REST);
        Rest { all, table: all.max(for_rate.min(LONGEST_REST)) }
    }
}

/// Rows a second, where so many took so long and a rest follows; nothing where there were none.
#[must_use]
pub fn rows_per_second(rows: u64, held: Duration, rest: Duration) -> Option<f64> {
    let seconds = (held + rest).as_secs_f64();
    (rows > 0 && seconds > 0.0).then(|| rows as f64 / seconds)
}

/// The largest part of the time that counting may take, as a divisor: 1 %.
const CENSUS_PART: u32 = 100;

/// From one census to the next, where the last one took so long: as configured, or longer, so that
/// counting never takes more than 1 % of the time.
#[must_use]
pub fn census_interval(configured: Duration, took: Duration) -> Duration {
    configured.max(took.saturating_mul(CENSUS_PART))
}

/// A straight line through points of which the older ones count less. While all lie at one `x` it
/// is level, so that a larger `x` is tried, which tells.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    weight: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl Line {
    const FORGET: f64 = 0.95;
    /// Keeps the line level until the points are further apart than this, squared.
    const LEVEL: f64 = 1.0;

    fn add(&mut self, x: f64, y: f64) {
        for (sum, point) in [
            (&mut self.weight, 1.0),
            (&mut self.x, x),
            (&mut self.y, y),
            (&mut self.xx, x * x),
            (&mut self.xy, x * y),
        ] {
            *sum = *sum * Self::FORGET + point;
        }
    }

    /// The usual, once there was one.
    fn mean(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.y / self.weight)
    }

    /// Never falling: a COMMIT of more rows is not cheaper.
    fn slope(&self) -> f64 {
        let (x, y) = (self.x / self.weight, self.y / self.weight);
        let spread = self.xx / self.weight - x * x;
        ((self.xy / self.weight - x * y) / (spread + Self::LEVEL)).max(0.0)
    }

    fn at_zero(&self) -> f64 {
        self.y / self.weight - self.slope() * self.x / self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_census_that_takes_long_is_taken_less_often() {
        let interval = |took| census_interval(Duration::from_secs(60), Duration::from_millis(took));
        assert_eq!(interval(600), Duration::from_secs(60));
        assert_eq!(interval(601), Duration::from_millis(60_100));
        assert_eq!(census_interval(Duration::ZERO, Duration::MAX), Duration::MAX);
    }

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn small_rows(pace: &Pace, work: Duration, commit: Duration) -> BatchCost {
        BatchCost { rows: pace.bound().rows, work, commit }
    }

    #[test]
    fn small_rows_lead_to_full_batches_and_no_further() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        for _ in 0..50 {
            pace.learn(small_rows(&pace, MS(1), MS(0)), MS(0));
        }
        assert_eq!(pace.bound().rows, 100);
    }

    #[test]
    fn a_commit_that_is_slow_whatever_its_size_does_not_make_batches_small() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        for round in 0..50 {
            pace.learn(small_rows(&pace, MS(1), MS(15 + round % 2)), MS(0));
        }
        assert_eq!(pace.bound().rows, 100);
    }

    #[test]
    fn a_commit_that_grows_with_its_rows_makes_batches_smaller() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        for _ in 0..50 {
            let rows = u32::try_from(pace.bound().rows).unwrap();
            pace.learn(small_rows(&pace, MS(0), MS(1) + Duration::from_micros(500) * rows), MS(0));
        }
        assert!((2..25).contains(&pace.bound().rows), "{:?}", pace.bound());
    }

    #[test]
    fn rows_too_large_for_the_hold_are_taken_one_at_a_time() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        pace.learn(BatchCost { rows: 10, work: MS(200), commit: MS(1) }, MS(0));
        assert_eq!(pace.bound().rows, 1);
        pace.learn(BatchCost { rows: 1, work: MS(20), commit: MS(1) }, MS(0));
        assert_eq!(pace.bound().rows, 1);
    }

    #[test]
    fn a_learnt_batch_stays_within_the_hold() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        let row = Duration::from_micros(350);
        let held = |pace: &Pace| row * u32::try_from(pace.bound().rows).unwrap();
        for _ in 0..50 {
            pace.learn(small_rows(&pace, held(&pace), MS(1)), MS(0));
        }
        let held = held(&pace);
        assert!(held + MS(1) <= BATCH_HOLD && held > AIM / 3, "{held:?}");
    }

    #[test]
    fn a_short_batch_teaches_nothing_about_growth() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        let before = pace.bound().rows;
        pace.learn(BatchCost { rows: 1, work: MS(0), commit: MS(0) }, MS(0));
        assert_eq!(pace.bound().rows, before);
    }

    #[test]
    fn a_rest_keeps_the_lock_to_its_share_of_the_time() {
        let rest = |share, held| Pace::new(Limit::MAX, Share::new(share).unwrap()).rest(held, 100);
        let both = |time| Rest { all: time, table: time };
        assert_eq!(rest(0.25, MS(10)), both(MS(30)));
        assert_eq!(rest(1.0, MS(10)), both(MS(0)));
        assert_eq!(rest(1e-300, MS(10)), both(LONGEST_REST));
    }

    #[test]
    fn no_more_rows_a_second_go_than_are_wanted_unless_bursts_are_asked_for() {
        let rest = |share| {
            let mut pace = Pace::new(Limit::MAX, Share::new(share).unwrap());
            pace.aim(200.0);
            pace.rest(MS(10), 100)
        };
        assert_eq!(rest(0.25), Rest { all: MS(30), table: MS(490) });
        assert_eq!(rest(0.01), Rest { all: MS(990), table: MS(990) });
        assert_eq!(rest(1.0), Rest { all: MS(0), table: MS(0) });
    }

    #[test]
    fn it_backs_off_while_others_are_at_work_and_comes_back() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        let rest = |pace: &Pace| pace.rest(MS(10), 100).all;
        let quiet = |pace: &mut Pace| pace.learn(small_rows(pace, MS(1), MS(2)), MS(0));
        quiet(&mut pace);
        assert_eq!(rest(&pace), MS(30));
        pace.learn(small_rows(&pace, MS(1), MS(2)), MS(6));
        assert_eq!(rest(&pace), MS(60), "the lock was waited for");
        pace.learn(small_rows(&pace, MS(1), MS(30)), MS(0));
        assert_eq!(rest(&pace), MS(120), "a COMMIT was slow");
        for _ in 0..20 {
            pace.learn(small_rows(&pace, MS(1), MS(2)), MS(900));
        }
        assert_eq!(rest(&pace), MS(480));
        assert_eq!(pace.rest(MS(10), 0).all, MS(30), "a search goes on");
        for _ in 0..30 {
            quiet(&mut pace);
        }
        assert_eq!(rest(&pace), MS(30));
    }
}
