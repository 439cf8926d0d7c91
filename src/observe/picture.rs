//! How the status changes when something is told.

use std::collections::BTreeMap;
use std::time::Duration;

use super::status::{
    AbandonedStatus, CensusStatus, DatabaseStatus, Problem, SpaceStatus, Status, SweepStatus, TableStatus,
};
use super::{Watched, WatchedTable, is_fault};
use crate::plan::{
    ABANDONED_CLASSES, AbandonedCounts, Counts, DatabaseName, Event, Failure, Flow, Report, SpaceUsed,
    TableLabel, UnixTime, rows_per_second,
};

impl Status {
    pub(super) fn new(watched: &[Watched], now: UnixTime) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let mut status =
            Self { version, started: now.seconds(), config_refused: false, databases: BTreeMap::new() };
        watched.iter().for_each(|watched| status.watch(watched));
        status
    }

    pub(super) fn watch(&mut self, watched: &Watched) {
        let name = watched.database.as_str().to_owned();
        self.databases.entry(name).or_insert_with(|| DatabaseStatus::new(watched)).watch(watched);
    }

    pub(super) fn unwatch(&mut self, database: &DatabaseName) {
        self.databases.remove(database.as_str());
    }

    /// Whether the database is watched; of another nothing is shown.
    pub(super) fn tell(&mut self, event: &Event) -> bool {
        match event {
            Event::BatchCommitted { database, table, deleted, held, rest, .. } => {
                self.in_table(database, table, |place| {
                    place.deleted_total += deleted;
                    place.pace = rows_per_second(*deleted, *held, *rest).or(place.pace);
                });
            }
            Event::Swept(report) => {
                self.in_table(&report.database, &report.table, |place| place.swept(report));
            }
            Event::Ticked { database, failed } => {
                self.in_database(database, |place| place.ticked(failed.as_ref()));
            }
            Event::Counted { database, table, counts } => {
                self.in_table(database, table, |place| place.counted(counts));
            }
            Event::CensusTaken { database, space } => {
                self.in_database(database, |place| place.census_taken(space));
            }
            Event::Flowed { database, table, flow } => {
                self.in_table(database, table, |place| place.flowed(flow));
            }
            Event::RowSkipped { .. } | Event::WouldDelete { .. } => {}
        }
        self.databases.contains_key(event.database().as_str())
    }

    pub(super) fn next_tick(&mut self, database: &DatabaseName, at: Option<UnixTime>) {
        self.in_database(database, |place| place.next_tick = at.map(UnixTime::seconds));
    }

    pub(super) fn census_interval(&mut self, database: &DatabaseName, interval: Duration) {
        self.in_database(database, |place| place.census_interval = interval.as_secs_f64());
    }

    fn in_database(&mut self, database: &DatabaseName, act: impl FnOnce(&mut DatabaseStatus)) {
        if let Some(place) = self.databases.get_mut(database.as_str()) {
            act(place);
        }
    }

    fn in_table(&mut self, database: &DatabaseName, table: &TableLabel, act: impl FnOnce(&mut TableStatus)) {
        let place = self.databases.get_mut(database.as_str());
        if let Some(place) = place.and_then(|place| place.tables.get_mut(table.as_str())) {
            act(place);
        }
    }
}

impl DatabaseStatus {
    fn new(watched: &Watched) -> Self {
        Self {
            up: None,
            tick_failure: None,
            census_failure: None,
            next_tick: None,
            census_interval: watched.census.as_secs_f64(),
            space: None,
            tables: BTreeMap::new(),
        }
    }

    fn watch(&mut self, watched: &Watched) {
        self.census_interval = watched.census.as_secs_f64();
        self.tables.retain(|known, _| watched.tables.iter().any(|table| table.table.as_str() == known));
        for table in &watched.tables {
            let name = table.table.as_str().to_owned();
            let place = self.tables.entry(name).or_insert_with(|| TableStatus::new(table));
            place.retention = table.retention.map(|retention| retention.as_secs_f64());
        }
    }

    fn ticked(&mut self, failed: Option<&Failure>) {
        if failed.is_none_or(is_fault) {
            self.tick_failure = failed.map(Problem::of);
            self.judge();
        }
    }

    fn census_taken(&mut self, space: &Result<SpaceUsed, Failure>) {
        match space {
            Ok(space) => {
                self.space = Some(SpaceStatus::of(*space));
                self.census_failure = None;
            }
            Err(failure) if is_fault(failure) => self.census_failure = Some(Problem::of(failure)),
            Err(_) => return,
        }
        self.judge();
    }

    fn judge(&mut self) {
        self.up = Some(self.tick_failure.is_none() && self.census_failure.is_none());
    }
}

impl TableStatus {
    fn new(watched: &WatchedTable) -> Self {
        Self {
            retention: watched.retention.map(|retention| retention.as_secs_f64()),
            cutoff: None,
            census: None,
            census_failure: None,
            last_sweep: None,
            last_success: None,
            deleted_total: 0,
            pace: None,
            inflow: None,
            drained_in: None,
        }
    }

    fn swept(&mut self, report: &Report) {
        self.cutoff = report.cutoff.map(|cutoff| cutoff.instant().seconds());
        if report.stop.is_success() {
            self.last_success = Some(report.now.seconds());
        }
        self.last_sweep = Some(SweepStatus::of(report));
    }

    fn flowed(&mut self, flow: &Flow) {
        self.inflow = flow.inflow();
        self.drained_in = flow.drained_in().map(|time| time.as_secs_f64());
    }

    fn counted(&mut self, counts: &Result<Counts, Failure>) {
        match counts {
            Ok(counts) => {
                self.census = Some(CensusStatus::of(counts));
                self.census_failure = None;
            }
            Err(failure) if is_fault(failure) => self.census_failure = Some(Problem::of(failure)),
            Err(_) => {}
        }
    }
}

impl SweepStatus {
    fn of(report: &Report) -> Self {
        Self {
            at: report.now.seconds(),
            stop: report.stop.name().to_owned(),
            deleted: report.deleted,
            batches: report.batches,
            skipped: report.skipped.total(),
            held: report.held.map(|reason| reason.name().to_owned()),
            error: report.error.as_ref().map(Problem::of),
        }
    }
}

impl CensusStatus {
    fn of(counts: &Counts) -> Self {
        Self {
            taken_at: counts.taken_at.seconds(),
            pending: counts.unfinished.map(|rows| rows.pending),
            done: counts.done,
            unknown: counts.unfinished.map(|rows| rows.unknown),
            expired: counts.expired,
            unreadable: counts.unreadable,
            abandoned: counts.abandoned.as_ref().map(AbandonedStatus::of),
        }
    }
}

impl AbandonedStatus {
    fn of(counts: &AbandonedCounts) -> Self {
        let names = ABANDONED_CLASSES.iter().map(|(name, _)| (*name).to_owned());
        let older_than: BTreeMap<_, _> = names.zip(counts.older_than).collect();
        Self { older_than, oldest: counts.oldest.map(UnixTime::seconds) }
    }
}

impl SpaceStatus {
    fn of(space: SpaceUsed) -> Self {
        Self { database: space.database, wal: space.wal, free: space.free }
    }
}

impl Problem {
    fn of(failure: &Failure) -> Self {
        Self {
            kind: failure.kind().name().to_owned(),
            what: failure.what().to_owned(),
            remedy: failure.remedy().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::observe::Status;
    use crate::observe::sample::*;
    use crate::plan::{Event, HoldReason, Report, Skips, Stop};

    #[test]
    fn the_picture_is_read_back_as_it_was_written() {
        let observer = observer();
        let empty = observer.status();
        observer.next_tick(&database("app"), Some(now()));
        observer.tell(&batch(40, Skips::default()));
        observer.tell(&held(HoldReason::References));
        observer.tell(&counted(Ok(counts(3))));
        observer.tell(&ticked(Some(failure("locked"))));
        observer.tell(&census_taken(None));
        for status in [empty, observer.status()] {
            let json = serde_json::to_string(&status).unwrap();
            assert_eq!(serde_json::from_str::<Status>(&json).unwrap(), status);
        }
    }

    #[test]
    fn what_was_not_measured_is_null() {
        let status = serde_json::to_value(observer().status()).unwrap();
        let app = &status["databases"]["app"];
        for name in ["up", "next_tick", "space", "tick_failure", "census_failure"] {
            assert!(app[name].is_null(), "{name}");
        }
        for name in ["census", "cutoff", "last_sweep", "last_success"] {
            assert!(app["tables"]["keys"][name].is_null(), "{name}");
        }
    }

    #[test]
    fn the_picture_holds_the_last_sweep_and_what_was_deleted_since_the_start() {
        let observer = observer();
        observer.tell(&batch(40, Skips::default()));
        observer.tell(&batch(2, Skips::default()));
        observer.tell(&Event::Swept(Report { deleted: 42, batches: 2, ..report(Stop::Drained) }));
        observer.tell(&held(HoldReason::Schema));
        let status = observer.status();
        let keys = &status.databases["app"].tables["keys"];
        let sweep = keys.last_sweep.as_ref().unwrap();
        assert_eq!((keys.deleted_total, keys.last_success), (42, Some(NOW as f64)));
        assert_eq!((sweep.stop.as_str(), sweep.held.as_deref(), sweep.deleted), ("held", Some("schema"), 0));
        assert_eq!(sweep.error.as_ref().unwrap().remedy, "correct the config");
    }

    #[test]
    fn a_failed_census_shows_its_cause_beside_the_last_counts_until_one_works() {
        let observer = observer();
        let keys = || observer.status().databases["app"].tables["keys"].clone();
        observer.tell(&counted(Ok(counts(3))));
        observer.tell(&counted(Err(failure("locked"))));
        assert_eq!(keys().census_failure.unwrap().what, "locked");
        assert_eq!(keys().census.unwrap().done, 20);
        observer.tell(&counted(Ok(counts(3))));
        assert_eq!(keys().census_failure, None);
    }
}
