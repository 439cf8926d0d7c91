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

/// Learns the size of a batch from what the last ones cost.
///
/// Rows of one table cost alike, so the size falls at once to what would have fitted, and grows
/// by a quarter at a time while batches end early.
#[derive(Debug, Clone)]
pub struct Pace {
    limit: Limit,
    share: Share,
    rows: usize,
}

impl Pace {
    /// A pace that has seen no batch yet begins with a tenth of the limit: the first rows may be large.
    #[must_use]
    pub fn new(limit: Limit, share: Share) -> Self {
        Self { limit, share, rows: limit.rows().div_ceil(10) }
    }

    /// The next batch.
    #[must_use]
    pub fn bound(&self) -> BatchBound {
        BatchBound { rows: self.rows, hold: AIM / 2 }
    }

    /// Learn from a batch that looked at `rows` rows and held the lock for `held`.
    pub fn learn(&mut self, rows: usize, held: Duration) {
        let fitting = rows as f64 * AIM.as_secs_f64() / held.as_secs_f64().max(1e-6);
        if held > AIM {
            self.rows = (fitting as usize).clamp(1, self.rows);
        } else if rows >= self.rows && fitting > self.rows as f64 * 1.25 {
            self.rows = (self.rows + self.rows.div_ceil(4)).min(self.limit.rows());
        }
    }

    /// How long to rest after a lock was held for `held`, so that it is held `share` of the time.
    #[must_use]
    pub fn rest(&self, held: Duration) -> Duration {
        held.mul_f64((1.0 / self.share.get() - 1.0).min(1e6)).min(LONGEST_REST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn small_rows_lead_to_full_batches_and_no_further() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        for _ in 0..50 {
            pace.learn(pace.bound().rows, MS(1));
        }
        assert_eq!(pace.bound().rows, 100);
    }

    #[test]
    fn rows_too_large_for_the_hold_are_taken_one_at_a_time() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        let row = MS(20);
        pace.learn(pace.bound().rows, row * 10);
        assert_eq!(pace.bound().rows, 1);
        pace.learn(1, row);
        assert_eq!(pace.bound().rows, 1);
    }

    #[test]
    fn a_learnt_batch_stays_within_the_hold() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        let row = Duration::from_micros(350);
        for _ in 0..50 {
            let rows = u32::try_from(pace.bound().rows).unwrap();
            pace.learn(rows as usize, row * rows);
        }
        let held = row * u32::try_from(pace.bound().rows).unwrap();
        assert!(held <= BATCH_HOLD && held > AIM / 2, "{held:?}");
    }

    #[test]
    fn a_short_batch_teaches_nothing_about_growth() {
        let mut pace = Pace::new(Limit::MAX, Share::DEFAULT);
        let before = pace.bound().rows;
        pace.learn(1, MS(0));
        assert_eq!(pace.bound().rows, before);
    }

    #[test]
    fn a_rest_keeps_the_lock_to_its_share_of_the_time() {
        let rest = |share, held| Pace::new(Limit::MAX, Share::new(share).unwrap()).rest(held);
        assert_eq!(rest(0.25, MS(10)), MS(30));
        assert_eq!(rest(1.0, MS(10)), MS(0));
        assert_eq!(rest(1e-300, MS(10)), LONGEST_REST);
    }
}
