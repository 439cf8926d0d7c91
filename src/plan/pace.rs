//! How many rows a batch takes and how long a sweep rests, so that the application does not feel it.

use std::time::Duration;

use super::{Limit, Share};

/// The longest that a batch should hold the write lock.
pub const BATCH_HOLD: Duration = Duration::from_millis(10);
/// What a batch aims at: the rest is for a COMMIT that is slower than the last one.
const AIM: Duration = Duration::from_millis(6);
/// A rest never grows beyond this, whatever a lock cost.
const LONGEST_REST: Duration = Duration::from_secs(10);

/// What one batch may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchBound {
    /// The most rows.
    pub rows: usize,
    /// No further row is begun after this time, though one row is always taken.
    pub hold: Duration,
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
}

impl Pace {
    /// A pace that has seen no batch yet begins with a tenth of the limit: the first rows may be large.
    #[must_use]
    pub fn new(limit: Limit, share: Share) -> Self {
        Self { limit, share, rate: None, rows: limit.rows().div_ceil(10), commits: Line::default() }
    }

    /// The next batch.
    #[must_use]
    pub fn bound(&self) -> BatchBound {
        BatchBound { rows: self.rows, hold: AIM / 2 }
    }

    /// Learn from a batch.
    pub fn learn(&mut self, cost: BatchCost) {
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

    /// How long to rest after a lock was held for `held` and so many rows were dealt with, so that it
    /// is held `share` of the time at most, and no more rows a second are dealt with than are enough:
    /// the pages that they touch are felt more than the lock.
    #[must_use]
    pub fn rest(&self, held: Duration, rows: usize) -> Duration {
        let for_share = held.mul_f64((1.0 / self.share.get() - 1.0).min(1e6));
        let due =
            self.rate.map(|rate| Duration::try_from_secs_f64(rows as f64 / rate).unwrap_or(LONGEST_REST));
        let for_rate = due.map_or(Duration::ZERO, |due| due.saturating_sub(held));
        for_share.max(for_rate).min(LONGEST_REST)
    }
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
            pace.learn(small_rows(&pace, MS(1), MS(0)));
        }
        assert_eq!(pace.bound().rows, 100);
    }

    #[test]
    fn a_commit_that_is_slow_whatever_its_size_does_not_make_batches_small() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        for round in 0..50 {
            pace.learn(small_rows(&pace, MS(1), MS(15 + round % 2)));
        }
        assert_eq!(pace.bound().rows, 100);
    }

    #[test]
    fn a_commit_that_grows_with_its_rows_makes_batches_smaller() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        for _ in 0..50 {
            let rows = u32::try_from(pace.bound().rows).unwrap();
            pace.learn(small_rows(&pace, MS(0), MS(1) + Duration::from_micros(500) * rows));
        }
        assert!((2..25).contains(&pace.bound().rows), "{:?}", pace.bound());
    }

    #[test]
    fn rows_too_large_for_the_hold_are_taken_one_at_a_time() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        pace.learn(BatchCost { rows: 10, work: MS(200), commit: MS(1) });
        assert_eq!(pace.bound().rows, 1);
        pace.learn(BatchCost { rows: 1, work: MS(20), commit: MS(1) });
        assert_eq!(pace.bound().rows, 1);
    }

    #[test]
    fn a_learnt_batch_stays_within_the_hold() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        let row = Duration::from_micros(350);
        let held = |pace: &Pace| row * u32::try_from(pace.bound().rows).unwrap();
        for _ in 0..50 {
            pace.learn(small_rows(&pace, held(&pace), MS(1)));
        }
        let held = held(&pace);
        assert!(held + MS(1) <= BATCH_HOLD && held > AIM / 3, "{held:?}");
    }

    #[test]
    fn a_short_batch_teaches_nothing_about_growth() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        let before = pace.bound().rows;
        pace.learn(BatchCost { rows: 1, work: MS(0), commit: MS(0) });
        assert_eq!(pace.bound().rows, before);
    }

    #[test]
    fn a_rest_keeps_the_lock_to_its_share_of_the_time() {
        let rest = |share, held| Pace::new(Limit::MAX, Share::new(share).unwrap()).rest(held, 100);
        assert_eq!(rest(0.25, MS(10)), MS(30));
        assert_eq!(rest(1.0, MS(10)), MS(0));
        assert_eq!(rest(1e-300, MS(10)), LONGEST_REST);
    }
}
