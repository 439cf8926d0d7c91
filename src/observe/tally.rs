//! What moves when something is told.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::is_fault;
use super::metrics::{Database, DatabaseMetrics, Metrics, TableMetrics};
use super::series::of;
use crate::plan::{
    AbandonedCounts, Counts, DatabaseName, Event, Failure, FailureKind, Flow, HoldReason, Report, SkipReason,
    Skips, SpaceUsed, Stop, TableLabel, UnixTime, rows_per_second,
};

impl Metrics {
    /// A database or table that is not watched has no series, and gets none.
    pub(super) fn tell(&self, event: &Event) {
        match event {
            Event::BatchCommitted { database, table, deleted, skipped, held, waited, rest } => {
                self.in_database(database, |place| place.lock_taken(*held, *waited));
                let pace = rows_per_second(*deleted, *held, *rest);
                self.in_table(database, table, |place| place.batch_committed(*deleted, *skipped, pace));
            }
            Event::Swept(report) => self.swept(report),
            Event::Ticked { database, failed } => {
                self.in_database(database, |place| place.ticked(failed.as_ref()));
            }
            Event::Counted { database, table, counts } => self.counted(database, table, counts),
            Event::CensusTaken { database, space } => {
                self.in_database(database, |place| place.census_taken(space));
            }
            Event::Flowed { database, table, flow } => {
                self.in_table(database, table, |place| place.flowed(flow));
            }
            Event::RowSkipped { .. } | Event::WouldDelete { .. } => {}
        }
    }

    pub(super) fn next_tick(&self, database: &DatabaseName, at: Option<UnixTime>) {
        self.in_database(database, |place| place.next_tick.set(at.map(UnixTime::seconds)));
    }

    pub(super) fn tick_interval(&self, database: &DatabaseName, interval: Option<Duration>) {
        let seconds = interval.map(|interval| interval.as_secs_f64());
        self.in_database(database, |place| place.tick_interval.set(seconds));
    }

    pub(super) fn census_interval(&self, database: &DatabaseName, interval: Duration) {
        self.find(database, |database| {
            let tables = database.tables.values();
            tables.for_each(|table| table.values.census_interval.set(interval.as_secs_f64()));
        });
    }

    fn swept(&self, report: &Report) {
        self.in_table(&report.database, &report.table, |place| place.swept(report));
        if report.held.is_none()
            && let Some(error) = &report.error
        {
            self.in_database(&report.database, |place| place.failed(error));
        }
    }

    fn counted(&self, database: &DatabaseName, table: &TableLabel, counts: &Result<Counts, Failure>) {
        match counts {
            Ok(counts) => self.in_table(database, table, |place| place.counted(counts)),
            Err(failure) if is_fault(failure) => {
                self.in_database(database, |place| place.failed(failure));
            }
            Err(_) => {}
        }
    }

    fn in_database(&self, database: &DatabaseName, act: impl FnOnce(&DatabaseMetrics)) {
        self.find(database, |database| act(&database.place.values));
    }

    fn in_table(&self, database: &DatabaseName, table: &TableLabel, act: impl FnOnce(&TableMetrics)) {
        self.find(database, |database| {
            if let Some(place) = database.tables.get(table) {
                act(&place.values);
            }
        });
    }

    fn find(&self, database: &DatabaseName, act: impl FnOnce(&Database)) {
        if let Some(database) = self.databases.read().unwrap_or_else(PoisonError::into_inner).get(database) {
            act(database);
        }
    }
}

impl DatabaseMetrics {
    fn lock_taken(&self, held: Duration, waited: Duration) {
        self.batch_duration.observe(held);
        self.lock_wait.observe(waited);
    }

    fn failed(&self, failure: &Failure) {
        if let Some(errors) = of(&FailureKind::ALL, &self.errors, &failure.kind()) {
            errors.add(1);
        }
    }

    fn ticked(&self, failed: Option<&Failure>) {
        if failed.is_none_or(is_fault) {
            self.tick_failed.store(failed.is_some(), Ordering::Relaxed);
            self.judge();
        }
    }

    fn census_taken(&self, space: &Result<SpaceUsed, Failure>) {
        match space {
            Ok(space) => self.measured(*space),
            Err(failure) if is_fault(failure) => self.failed(failure),
            Err(_) => return,
        }
        self.census_failed.store(space.is_err(), Ordering::Relaxed);
        self.judge();
    }

    fn measured(&self, space: SpaceUsed) {
        self.database_bytes.set(Some(space.database as f64));
        self.wal_bytes.set(Some(space.wal as f64));
        self.free_bytes.set(Some(space.free as f64));
    }

    /// A tick that works does not hide that the rows cannot be counted, nor the other way round.
    fn judge(&self) {
        let failed = self.tick_failed.load(Ordering::Relaxed) || self.census_failed.load(Ordering::Relaxed);
        self.up.set(Some(f64::from(u8::from(!failed))));
    }
}

impl TableMetrics {
    fn batch_committed(&self, deleted: u64, skipped: Skips, pace: Option<f64>) {
        if pace.is_some() {
            self.pace.set(pace);
        }
        self.deleted.add(deleted);
        self.batches.add(u64::from(deleted > 0));
        for (reason, rows) in SkipReason::ALL.into_iter().zip(&self.skipped) {
            rows.add(skipped.of(reason));
        }
    }

    fn swept(&self, report: &Report) {
        if let Some(sweeps) = of(&Stop::ALL, &self.sweeps, &report.stop) {
            sweeps.add(1);
        }
        self.cutoff.set(report.cutoff.map(|cutoff| cutoff.instant().seconds()));
        self.last_attempt.set(report.now.seconds());
        if report.stop.is_success() {
            self.last_success.set(report.now.seconds());
        }
        // A sweep that failed or never looked does not say that a hold has ended.
        if report.held.is_some() || report.judged || report.stop.is_success() {
            self.held_for(report.held);
        }
    }

    fn held_for(&self, held: Option<HoldReason>) {
        for (reason, gauge) in HoldReason::ALL.into_iter().zip(&self.held) {
            gauge.set(f64::from(u8::from(held == Some(reason))));
        }
    }

    fn flowed(&self, flow: &Flow) {
        self.inflow.set(flow.inflow());
        self.drained_in.set(flow.drained_in().map(|time| time.as_secs_f64()));
    }

    fn counted(&self, counts: &Counts) {
        let of_the_table = counts.unfinished;
        let [pending, done, unknown] = &self.rows;
        pending.set(of_the_table.map(|rows| rows.pending as f64));
        done.set(Some(counts.done as f64));
        unknown.set(of_the_table.map(|rows| rows.unknown as f64));
        self.expired.set(Some(counts.expired as f64));
        self.unreadable.set(Some(counts.unreadable as f64));
        self.abandoned(counts.abandoned.as_ref());
        self.census.set(Some(counts.taken_at.seconds()));
    }

    fn abandoned(&self, counts: Option<&AbandonedCounts>) {
        for (class, gauge) in self.abandoned.iter().enumerate() {
            let rows = counts.and_then(|counts| counts.older_than.get(class));
            gauge.set(rows.map(|rows| *rows as f64));
        }
        let oldest = counts.and_then(|counts| counts.oldest);
        self.oldest_abandoned.set(oldest.map(UnixTime::seconds));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Observer;
    use crate::observe::sample::*;

    const KEYS: &str = "{database=\"app\",table=\"keys\"}";
    const APP: &str = "{database=\"app\"}";

    /// The value of the series that is spelt so after the prefix, or nothing where it is absent.
    fn value(observer: &Observer, series: &str) -> Option<f64> {
        let text = text(observer);
        let start = format!("keysweep_{series} ");
        text.lines().find_map(|line| line.strip_prefix(&start)).map(|value| value.parse().unwrap())
    }

    fn of_keys(name: &str, label: &str, known: &str) -> String {
        let mut labels = [("database", "app"), ("table", "keys"), (label, known)];
        labels.sort_unstable();
        let labels = labels.map(|(name, value)| format!("{name}=\"{value}\"")).join(",");
        format!("{name}{{{labels}}}")
    }

    fn holds(observer: &Observer) -> Vec<&'static str> {
        let is_held = |reason: &&str| value(observer, &of_keys("held", "reason", reason)) == Some(1.0);
        HoldReason::ALL.map(HoldReason::name).into_iter().filter(is_held).collect()
    }

    #[test]
    fn rows_are_counted_as_deleted_when_their_batch_is_committed_and_not_again_by_the_report() {
        let observer = observer();
        let mut skipped = Skips::default();
        skipped.add(SkipReason::Ignored);
        observer.tell(&batch(40, skipped));
        observer.tell(&batch(0, skipped));
        observer.tell(&Event::Swept(Report { deleted: 40, batches: 1, skipped, ..report(Stop::Drained) }));
        assert_eq!(value(&observer, &format!("deleted_rows_total{KEYS}")), Some(40.0));
        assert_eq!(value(&observer, &format!("batches_total{KEYS}")), Some(1.0));
        assert_eq!(value(&observer, &of_keys("skipped_rows_total", "reason", "ignored")), Some(2.0));
        assert_eq!(value(&observer, &of_keys("skipped_rows_total", "reason", "constraint")), Some(0.0));
        assert_eq!(value(&observer, &format!("batch_duration_seconds_count{APP}")), Some(2.0));
        assert_eq!(value(&observer, &format!("lock_wait_seconds_sum{APP}")), Some(0.00008));
    }

    #[test]
    fn a_sweep_leaves_when_it_was_its_cutoff_and_why_it_stopped() {
        let observer = observer();
        observer.tell(&failed("locked"));
        assert_eq!(value(&observer, &format!("last_attempt_timestamp_seconds{KEYS}")), Some(NOW as f64));
        assert_eq!(value(&observer, &format!("last_success_timestamp_seconds{KEYS}")), Some(0.0));
        observer.tell(&Event::Swept(report(Stop::Budget)));
        assert_eq!(value(&observer, &format!("last_success_timestamp_seconds{KEYS}")), Some(NOW as f64));
        assert_eq!(value(&observer, &format!("cutoff_timestamp_seconds{KEYS}")), Some((NOW - 3_600) as f64));
        assert_eq!(value(&observer, &of_keys("sweeps_total", "stop", "budget")), Some(1.0));
        assert_eq!(value(&observer, &of_keys("sweeps_total", "stop", "failed")), Some(1.0));
    }

    #[test]
    fn a_failure_counts_one_error_and_a_hold_none() {
        let observer = observer();
        observer.tell(&failed("locked"));
        observer.tell(&held(HoldReason::Schema));
        observer.tell(&counted(Err(Failure::new(FailureKind::Io, "read", "look at the disk"))));
        let errors = |kind| value(&observer, &format!("errors_total{{database=\"app\",kind=\"{kind}\"}}"));
        assert_eq!((errors("busy"), errors("schema"), errors("io")), (Some(1.0), Some(0.0), Some(1.0)));
    }

    #[test]
    fn a_hold_is_exactly_its_reason_and_ends_when_a_sweep_could_look() {
        let observer = observer();
        observer.tell(&held(HoldReason::Schema));
        assert_eq!(holds(&observer), ["schema"]);
        observer.tell(&held(HoldReason::References));
        assert_eq!(holds(&observer), ["references"]);
        for stop in [Stop::Failed, Stop::Shutdown, Stop::Disabled] {
            observer.tell(&Event::Swept(report(stop)));
            assert_eq!(holds(&observer), ["references"], "{stop:?} did not look");
        }
        observer.tell(&Event::Swept(report(Stop::Drained)));
        assert_eq!(holds(&observer), [""; 0]);
        observer.tell(&held(HoldReason::Paused));
        observer.tell(&Event::Swept(Report { judged: true, ..report(Stop::Disabled) }));
        assert_eq!(holds(&observer), [""; 0], "outside its window a table is looked at");
    }

    #[test]
    fn a_database_is_down_while_its_latest_tick_or_its_latest_census_failed() {
        let observer = observer();
        let up = || (value(&observer, &format!("database_up{APP}")), observer.status().databases["app"].up);
        assert_eq!(up(), (None, None));
        observer.tell(&census_taken(Some(failure("locked"))));
        observer.tell(&ticked(None));
        assert_eq!(up(), (Some(0.0), Some(false)), "the census is still missing");
        observer.tell(&census_taken(None));
        assert_eq!(up(), (Some(1.0), Some(true)));
        observer.tell(&ticked(Some(failure("locked"))));
        assert_eq!(up(), (Some(0.0), Some(false)));
        observer.tell(&ticked(Some(Failure::new(FailureKind::Interrupted, "stopped", "nothing"))));
        assert_eq!(up(), (Some(0.0), Some(false)), "being stopped says nothing of a database");
        observer.tell(&ticked(None));
        assert_eq!(up(), (Some(1.0), Some(true)));
    }

    #[test]
    fn a_census_is_shown_and_one_that_failed_leaves_the_last_with_its_time() {
        let observer = observer();
        observer.tell(&counted(Ok(counts(3))));
        observer.tell(&census_taken(None));
        let found = || {
            (
                value(&observer, &of_keys("rows", "state", "unknown")),
                value(&observer, &of_keys("abandoned_rows", "older_than", "1h")),
                value(&observer, &format!("unreadable_rows{KEYS}")),
                value(&observer, &format!("census_timestamp_seconds{KEYS}")),
                value(&observer, &format!("wal_bytes{APP}")),
            )
        };
        let counted_once = (Some(1.0), Some(3.0), Some(2.0), Some(NOW as f64), Some(4096.0));
        assert_eq!(found(), counted_once);
        observer.tell(&counted(Err(failure("locked"))));
        observer.tell(&census_taken(Some(failure("locked"))));
        assert_eq!(found(), counted_once);
    }

    #[test]
    fn a_gauge_vanishes_when_its_value_does() {
        let observer = observer();
        let oldest = || value(&observer, &format!("oldest_abandoned_timestamp_seconds{KEYS}"));
        let next = || value(&observer, &format!("next_tick_timestamp_seconds{APP}"));
        observer.tell(&counted(Ok(counts(3))));
        observer.next_tick(&database("app"), Some(now()));
        assert_eq!((oldest(), next()), (Some((NOW - 7_200) as f64), Some(NOW as f64)));
        observer.tell(&counted(Ok(counts(0))));
        observer.next_tick(&database("app"), None);
        assert_eq!((oldest(), next()), (None, None));
        assert_eq!(value(&observer, &of_keys("abandoned_rows", "older_than", "0s")), Some(0.0));
        observer.tell(&counted(Ok(Counts { abandoned: None, ..counts(0) })));
        assert_eq!(value(&observer, &of_keys("abandoned_rows", "older_than", "0s")), None);
    }

    #[test]
    fn names_that_read_alike_when_run_together_keep_their_own_series() {
        let alike = [watched("app", &["keys"]), watched("ap", &["pkeys"])];
        let observer = Observer::new(&alike, now()).unwrap();
        observer.tell(&batch(40, Skips::default()));
        assert_eq!(value(&observer, &format!("deleted_rows_total{KEYS}")), Some(40.0));
        let other = "deleted_rows_total{database=\"ap\",table=\"pkeys\"}";
        assert_eq!(value(&observer, other), Some(0.0));
    }

    #[test]
    fn what_is_not_watched_gets_no_series() {
        let observer = Observer::new(&[watched("app", &["inbox"])], now()).unwrap();
        let before = observer.status();
        observer.tell(&batch(40, Skips::default()));
        observer.tell(&counted(Ok(counts(3))));
        observer.next_tick(&database("other"), Some(now()));
        assert!(!text(&observer).contains("\"keys\""));
        assert_eq!(observer.status(), before);
    }
}
