//! Whether a sweep keeps up with what becomes due.

use std::time::Duration;

use super::super::{BATCH_HOLD, Finding, Limit, Share};

/// How much of its time a database is swept, and how.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Workload {
    /// The most rows in a transaction.
    pub batch: Limit,
    /// The largest share of the time for which the write lock is held.
    pub share: Share,
    /// Of an hour, how long ticks may work.
    pub work_an_hour: Duration,
}

impl Workload {
    /// The rows that can be deleted in an hour: `work_an_hour * share / 10 ms * batch`. A full batch holds
    /// the lock for [`BATCH_HOLD`], and rests until that was `share` of the time. Rows that are small and a
    /// disk that is fast do better; rows that are large do worse, because a batch then takes fewer.
    #[must_use]
    pub fn rows_an_hour(&self) -> f64 {
        let batches = self.work_an_hour.as_secs_f64() * self.share.get() / BATCH_HOLD.as_secs_f64();
        batches * self.batch.rows() as f64
    }
}

/// More becomes due within the next hour than an hour's ticks can delete.
pub(super) fn inflow_finding(due_in_an_hour: u64, workload: &Workload) -> Option<Finding> {
    let most = workload.rows_an_hour();
    if due_in_an_hour as f64 <= most {
        return None;
    }
    let what = format!(
        "{due_in_an_hour} rows become due within the next hour, and about {most:.0} can be deleted in one: the table grows"
    );
    let ring = "ring more often (`every`, `schedule`), let a tick work longer (`budget`)";
    let batch = if workload.batch < Limit::MAX { ", raise `batch`" } else { "" };
    let share = if workload.share.get() < 1.0 { ", raise `share`" } else { "" };
    Some(Finding::advice(&what, &format!("{ring}{batch}{share}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_deleted_is_work_by_share_by_batch() {
        let workload =
            Workload { batch: Limit::MAX, share: Share::DEFAULT, work_an_hour: Duration::from_secs(60) };
        assert_eq!(workload.rows_an_hour(), 60.0 * 0.25 / 0.01 * 100.0);
        assert_eq!(inflow_finding(150_000, &workload), None);
        let finding = inflow_finding(150_001, &workload).unwrap();
        assert!(finding.remedy.contains("`share`") && !finding.remedy.contains("`batch`"), "{finding:?}");
    }
}
