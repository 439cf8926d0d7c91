//! Every metric, declared once: its name, its help text, and whether it is there from the start.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{PoisonError, RwLock};

use prometheus::process_collector::ProcessCollector;
use prometheus::{Error, Gauge, Histogram, IntCounter, Registry, Result, TextEncoder};

use super::series::{Counters, Maker, Measured, MeasuredBy, Series};
use super::{Watched, WatchedTable};
use crate::plan::{DatabaseName, FailureKind, HoldReason, SkipReason, Stop, TableLabel, UnixTime};

/// All series of this process, in a registry of their own.
pub(super) struct Metrics {
    registry: Registry,
    pub(super) databases: RwLock<HashMap<DatabaseName, DatabaseMetrics>>,
    config_in_use: Gauge,
    config_read: Gauge,
}

/// The series of one database.
pub(super) struct DatabaseMetrics {
    pub(super) tables: HashMap<TableLabel, TableMetrics>,
    pub(super) up: Measured,
    pub(super) tick_failed: AtomicBool,
    pub(super) census_failed: AtomicBool,
    pub(super) errors: Counters,
    pub(super) batch_duration: Histogram,
    pub(super) lock_wait: Histogram,
    pub(super) database_bytes: Measured,
    pub(super) wal_bytes: Measured,
    pub(super) free_bytes: Measured,
    pub(super) next_tick: Measured,
    _series: Series,
}

/// The series of one table.
pub(super) struct TableMetrics {
    pub(super) deleted: IntCounter,
    pub(super) batches: IntCounter,
    pub(super) sweeps: Counters,
    pub(super) skipped: Counters,
    pub(super) held: MeasuredBy,
    pub(super) cutoff: Measured,
    pub(super) last_attempt: Gauge,
    pub(super) last_success: Gauge,
    pub(super) rows: MeasuredBy,
    pub(super) expired: Measured,
    pub(super) pace: Measured,
    pub(super) inflow: Measured,
    pub(super) drained_in: Measured,
    pub(super) unreadable: Measured,
    pub(super) abandoned: MeasuredBy,
    pub(super) oldest_abandoned: Measured,
    pub(super) census: Measured,
    retention: Measured,
    pub(super) census_interval: Gauge,
    _series: Series,
}

impl Metrics {
    pub(super) fn new(watched: &[Watched], now: UnixTime) -> Result<Self> {
        let registry = Registry::new();
        registry.register(Box::new(ProcessCollector::for_self()))?;
        let make = Maker::new(&registry, &[]);
        let config_in_use = make.gauge(
            "config_last_reload_successful",
            "Whether the latest config that was read is in use.",
            1.0,
        )?;
        let config_read = make.gauge(
            "config_last_reload_success_timestamp_seconds",
            "When the config in use was read.",
            now.seconds(),
        )?;
        let build = Maker::new(&registry, &[("version", env!("CARGO_PKG_VERSION"))]);
        build.gauge("build_info", "The running version of keysweep; always 1.", 1.0)?;
        let metrics = Self { registry, databases: RwLock::default(), config_in_use, config_read };
        for database in watched {
            if !metrics.watch(database)? {
                return Err(Error::AlreadyReg);
            }
        }
        Ok(metrics)
    }

    /// Series for this database and its tables, and for no other table of it. Those that stay go on.
    /// Whether the database is new.
    pub(super) fn watch(&self, watched: &Watched) -> Result<bool> {
        let mut databases = self.databases.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(database) = databases.get_mut(&watched.database) {
            database.watch(&self.registry, watched)?;
            return Ok(false);
        }
        let database = DatabaseMetrics::new(&self.registry, watched)?;
        databases.insert(watched.database.clone(), database);
        Ok(true)
    }

    pub(super) fn unwatch(&self, database: &DatabaseName) {
        self.databases.write().unwrap_or_else(PoisonError::into_inner).remove(database);
    }

    /// A config was read: at this time it came into use; or it was refused.
    pub(super) fn config_read(&self, at: Option<UnixTime>) {
        self.config_in_use.set(f64::from(u8::from(at.is_some())));
        if let Some(at) = at {
            self.config_read.set(at.seconds());
        }
    }

    /// Prometheus' text format, version 0.0.4.
    pub(super) fn text(&self) -> Result<String> {
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

impl DatabaseMetrics {
    fn new(registry: &Registry, watched: &Watched) -> Result<Self> {
        let make = Maker::new(registry, &[("database", watched.database.as_str())]);
        let mut database = Self {
            tables: HashMap::new(),
            up: make
                .measured("database_up", "0 while the latest tick or the latest census failed as a whole.")?,
            tick_failed: AtomicBool::new(false),
            census_failed: AtomicBool::new(false),
            errors: make.counters(
                "errors_total",
                "Sweeps, counts of a table and whole censuses that failed. A hold is no error.",
                "kind",
                FailureKind::ALL.map(FailureKind::name),
            )?,
            batch_duration: make
                .seconds("batch_duration_seconds", "How long a committed batch held the write lock.")?,
            lock_wait: make
                .seconds("lock_wait_seconds", "How long a committed batch waited for the write lock.")?,
            database_bytes: make.measured("database_bytes", "Size of the database, without its WAL.")?,
            wal_bytes: make.measured("wal_bytes", "Size of the write-ahead log.")?,
            free_bytes: make.measured("free_bytes", "Pages inside the database that hold nothing.")?,
            next_tick: make.measured("next_tick_timestamp_seconds", "When the next tick is due.")?,
            _series: make.made(),
        };
        database.watch(registry, watched)?;
        Ok(database)
    }

    fn watch(&mut self, registry: &Registry, watched: &Watched) -> Result<()> {
        self.tables.retain(|known, _| watched.tables.iter().any(|table| table.table == *known));
        for (index, table) in watched.tables.iter().enumerate() {
            if watched.tables[..index].iter().any(|other| other.table == table.table) {
                return Err(Error::AlreadyReg);
            }
            match self.tables.get(&table.table) {
                Some(known) => known.meant(watched, table),
                None => {
                    let new = TableMetrics::new(registry, watched, table)?;
                    self.tables.insert(table.table.clone(), new);
                }
            }
        }
        Ok(())
    }
}

impl TableMetrics {
    fn new(registry: &Registry, watched: &Watched, table: &WatchedTable) -> Result<Self> {
        let labels = [("database", watched.database.as_str()), ("table", table.table.as_str())];
        let make = Maker::new(registry, &labels);
        let retention =
            make.measured("retention_seconds", "How long a finished row is kept past its clock column.")?;
        let census_interval =
            make.gauge("census_interval_seconds", "How often the rows are meant to be counted.", 0.0)?;
        let held = make.measured_by("held", "1 while nothing is deleted for this reason.", "reason")?;
        HoldReason::ALL.iter().for_each(|reason| held.set(reason.name(), Some(0.0)));
        let metrics = Self {
            held,
            deleted: make
                .counter("deleted_rows_total", "Rows deleted, in transactions whose COMMIT succeeded.")?,
            batches: make.counter("batches_total", "Transactions that committed and deleted something.")?,
            sweeps: make.counters(
                "sweeps_total",
                "Sweeps that ended, by why they stopped.",
                "stop",
                Stop::ALL.map(Stop::name),
            )?,
            skipped: make.counters(
                "skipped_rows_total",
                "Times that an expired row was left, by why it could not be deleted.",
                "reason",
                SkipReason::ALL.map(SkipReason::name),
            )?,
            cutoff: make.measured(
                "cutoff_timestamp_seconds",
                "Cutoff of the latest sweep: finished rows with a clock value up to it are expired.",
            )?,
            last_attempt: make.gauge(
                "last_attempt_timestamp_seconds",
                "When the latest sweep began; 0 is never.",
                0.0,
            )?,
            last_success: make.gauge(
                "last_success_timestamp_seconds",
                "When the latest sweep that stopped as drained or budget began; 0 is never.",
                0.0,
            )?,
            rows: make.measured_by("rows", "Rows by state, as of the latest census.", "state")?,
            pace: make.measured(
                "pace_rows_per_second",
                "Rows a second at the pace of the latest batch, the rest after it included.",
            )?,
            inflow: make.measured("inflow_rows_per_second", "Rows that become due a second.")?,
            drained_in: make.measured(
                "drain_seconds",
                "Until no expired row is left, at the present pace; absent while they grow.",
            )?,
            expired: make
                .measured("expired_rows", "Finished rows whose time has come, as of the latest census.")?,
            unreadable: make
                .measured("unreadable_rows", "Rows whose clock column cannot be read: they never expire.")?,
            abandoned: make.measured_by(
                "abandoned_rows",
                "Pending rows past their time by at least so much; never deleted.",
                "older_than",
            )?,
            oldest_abandoned: make.measured(
                "oldest_abandoned_timestamp_seconds",
                "When the oldest abandoned row became abandoned; absent when there is none.",
            )?,
            census: make
                .measured("census_timestamp_seconds", "Clock reading of the latest count of this table.")?,
            retention,
            census_interval,
            _series: make.made(),
        };
        metrics.meant(watched, table);
        Ok(metrics)
    }

    /// What the config says, which a reload changes.
    fn meant(&self, watched: &Watched, table: &WatchedTable) {
        self.retention.set(table.retention.map(|retention| retention.as_secs_f64()));
        self.census_interval.set(watched.census.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use crate::observe::Observer;
    use crate::observe::sample::*;
    use crate::plan::Skips;

    /// Series that a scrape must find before anything happened, with their values.
    const AT_THE_START: [(&str, usize, f64); 12] = [
        ("keysweep_deleted_rows_total", 2, 0.0),
        ("keysweep_batches_total", 2, 0.0),
        ("keysweep_sweeps_total", 12, 0.0),
        ("keysweep_skipped_rows_total", 10, 0.0),
        ("keysweep_errors_total", 17, 0.0),
        ("keysweep_held", 16, 0.0),
        ("keysweep_batch_duration_seconds_count", 1, 0.0),
        ("keysweep_lock_wait_seconds_count", 1, 0.0),
        ("keysweep_last_attempt_timestamp_seconds", 2, 0.0),
        ("keysweep_last_success_timestamp_seconds", 2, 0.0),
        ("keysweep_retention_seconds", 2, 3_600.0),
        ("keysweep_census_interval_seconds", 2, 60.0),
    ];

    fn series<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
        let named = |line: &&str| line.split(['{', ' ']).next() == Some(name);
        text.lines().filter(named).collect()
    }

    #[test]
    fn a_counter_exists_at_zero_before_anything_happened() {
        let text = observer().metrics().unwrap();
        for (name, count, value) in AT_THE_START {
            let lines = series(&text, name);
            assert_eq!(lines.len(), count, "{name}");
            assert!(lines.iter().all(|line| line.ends_with(&format!(" {value}"))), "{lines:?}");
        }
        assert_eq!(
            series(&text, "keysweep_config_last_reload_successful"),
            ["keysweep_config_last_reload_successful 1"]
        );
        assert_eq!(series(&text, "keysweep_build_info").len(), 1);
    }

    #[test]
    fn a_gauge_that_was_not_measured_is_absent() {
        let observer = observer();
        let text = observer.metrics().unwrap();
        let known = |line: &str| {
            let name = line.split(['{', ' ']).next().unwrap_or_default().to_owned();
            AT_THE_START.iter().any(|(known, ..)| *known == name)
                || ["_seconds_bucket", "_seconds_sum"].iter().any(|end| name.ends_with(end))
                || ["keysweep_config_", "keysweep_build_info", "process_"]
                    .iter()
                    .any(|start| name.starts_with(start))
        };
        let unknown: Vec<_> = text.lines().filter(|line| !line.starts_with('#') && !known(line)).collect();
        assert_eq!(unknown, [""; 0]);
    }

    #[test]
    fn every_name_has_the_prefix_but_those_of_the_process_collector() {
        let text = observer().metrics().unwrap();
        let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        assert!(names.clone().any(|name| name.starts_with("process_cpu_seconds_total ")));
        assert!(names.clone().all(|name| name.starts_with("keysweep_") || name.starts_with("process_")));
    }

    #[test]
    fn two_databases_or_tables_of_one_name_are_refused() {
        let twice = [watched("app", &["keys"]), watched("app", &["inbox"])];
        assert!(Observer::new(&twice, now()).is_err());
        assert!(Observer::new(&[watched("app", &["keys", "keys"])], now()).is_err());
    }

    #[test]
    fn what_is_watched_no_longer_has_no_series_and_what_stays_goes_on_counting() {
        let observer = observer();
        observer.tell(&batch(3, Skips::default()));
        observer.watch(&watched("app", &["keys", "more"])).unwrap();
        observer.watch(&watched("other", &["keys"])).unwrap();
        let deleted = |observer: &Observer| {
            let text = observer.metrics().unwrap();
            series(&text, "keysweep_deleted_rows_total").into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let sample = |labels: &str, value: u64| format!("keysweep_deleted_rows_total{{{labels}}} {value}");
        let kept = sample(r#"database="app",table="keys""#, 3);
        let more = sample(r#"database="app",table="more""#, 0);
        let other = sample(r#"database="other",table="keys""#, 0);
        assert_eq!(deleted(&observer), [kept.clone(), more, other.clone()]);
        observer.unwatch(&database("app"));
        assert!(!observer.metrics().unwrap().contains("\"app\""));
        observer.tell(&batch(3, Skips::default()));
        assert_eq!(deleted(&observer), [other]);
        let names: Vec<_> = observer.status().databases.into_keys().collect();
        assert_eq!(names, ["other"]);
        observer.watch(&watched("app", &["keys"])).unwrap();
        assert!(deleted(&observer).contains(&kept.replace(" 3", " 0")));
    }

    #[test]
    fn a_changed_retention_and_interval_are_shown() {
        let observer = observer();
        let mut changed = watched("app", &["keys"]);
        changed.census *= 2;
        changed.tables[0].retention = None;
        observer.watch(&changed).unwrap();
        let text = observer.metrics().unwrap();
        assert_eq!(series(&text, "keysweep_retention_seconds").len(), 0);
        let interval = r#"keysweep_census_interval_seconds{database="app",table="keys"} 120"#;
        assert_eq!(series(&text, "keysweep_census_interval_seconds"), [interval]);
        assert_eq!(observer.status().databases["app"].census_interval, 120.0);
    }
}
