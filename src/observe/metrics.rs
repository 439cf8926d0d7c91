//! What is kept of each database and table for Prometheus, and of the process itself.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};

use prometheus::process_collector::ProcessCollector;
use prometheus::{Error, Gauge, Opts, Registry, Result, TextEncoder};

use super::exposition::{Exposition, Labels, Place};
use super::families::STATES;
use super::series::{self, Counter, Histogram, Measured};
use super::{Watched, WatchedTable};
use crate::plan::{
    ABANDONED_CLASSES, DatabaseName, FailureKind, HoldReason, SkipReason, Stop, TableLabel, UnixTime,
};

/// All series of this process. Those of the process are in a registry; those of databases and tables are not,
/// because there a series takes a kilobyte, and a thousand databases have ninety thousand.
pub(super) struct Metrics {
    registry: Registry,
    pub(super) databases: RwLock<BTreeMap<DatabaseName, Database>>,
    config_in_use: Gauge,
    config_read: Gauge,
}

/// A database that is watched.
pub(super) struct Database {
    pub(super) place: Arc<Place<DatabaseMetrics>>,
    pub(super) tables: BTreeMap<TableLabel, Arc<Place<TableMetrics>>>,
}

/// The series of one database.
#[derive(Default)]
pub(super) struct DatabaseMetrics {
    pub(super) up: Measured,
    pub(super) tick_failed: AtomicBool,
    pub(super) census_failed: AtomicBool,
    /// By [`FailureKind::ALL`].
    pub(super) errors: [Counter; FailureKind::ALL.len()],
    pub(super) batch_duration: Histogram,
    pub(super) lock_wait: Histogram,
    pub(super) database_bytes: Measured,
    pub(super) wal_bytes: Measured,
    pub(super) free_bytes: Measured,
    pub(super) next_tick: Measured,
    pub(super) tick_interval: Measured,
}

/// The series of one table.
#[derive(Default)]
pub(super) struct TableMetrics {
    pub(super) deleted: Counter,
    pub(super) batches: Counter,
    /// By [`Stop::ALL`].
    pub(super) sweeps: [Counter; Stop::ALL.len()],
    /// By [`SkipReason::ALL`].
    pub(super) skipped: [Counter; SkipReason::ALL.len()],
    /// By [`HoldReason::ALL`].
    pub(super) held: [series::Gauge; HoldReason::ALL.len()],
    pub(super) cutoff: Measured,
    pub(super) last_attempt: series::Gauge,
    pub(super) last_success: series::Gauge,
    /// By [`STATES`].
    pub(super) rows: [Measured; STATES.len()],
    pub(super) expired: Measured,
    pub(super) pace: Measured,
    pub(super) inflow: Measured,
    pub(super) drained_in: Measured,
    pub(super) unreadable: Measured,
    /// By [`ABANDONED_CLASSES`].
    pub(super) abandoned: [Measured; ABANDONED_CLASSES.len()],
    pub(super) oldest_abandoned: Measured,
    pub(super) census: Measured,
    pub(super) retention: Measured,
    pub(super) census_interval: series::Gauge,
}

impl Metrics {
    pub(super) fn new(watched: &[Watched], now: UnixTime) -> Result<Self> {
        let registry = Registry::new();
        registry.register(Box::new(ProcessCollector::for_self()))?;
        let gauge = |opts: Opts, value: f64| {
            let gauge = Gauge::with_opts(opts.namespace("keysweep"))?;
            gauge.set(value);
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, Error>(gauge)
        };
        let build = Opts::new("build_info", "The running version of keysweep; always 1.");
        gauge(build.const_label("version", env!("CARGO_PKG_VERSION")), 1.0)?;
        let config_in_use =
            Opts::new("config_last_reload_successful", "Whether the latest config that was read is in use.");
        let config_read =
            Opts::new("config_last_reload_success_timestamp_seconds", "When the config in use was read.");
        let (config_in_use, config_read) = (gauge(config_in_use, 1.0)?, gauge(config_read, now.seconds())?);
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
        let mut labels = HashSet::new();
        if !watched.tables.iter().all(|table| labels.insert(&table.table)) {
            return Err(Error::AlreadyReg);
        }
        let mut databases = self.databases.write().unwrap_or_else(PoisonError::into_inner);
        let is_new = !databases.contains_key(&watched.database);
        databases
            .entry(watched.database.clone())
            .or_insert_with(|| Database::new(&watched.database))
            .watch(watched, &labels);
        Ok(is_new)
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

    /// Everything, in Prometheus' text format.
    pub(super) fn exposition(&self) -> Result<Exposition> {
        let process = TextEncoder::new().encode_to_string(&self.registry.gather())?;
        let databases = self.databases.read().unwrap_or_else(PoisonError::into_inner);
        let tables = databases.values().flat_map(|database| database.tables.values().map(Arc::clone));
        let tables = tables.collect();
        let databases = databases.values().map(|database| Arc::clone(&database.place)).collect();
        Ok(Exposition::new(process, databases, tables))
    }
}

impl Database {
    fn new(name: &DatabaseName) -> Self {
        let labels = Labels::of_a_database(name.as_str());
        Self { place: Arc::new(Place::new(labels)), tables: BTreeMap::new() }
    }

    /// `labels` are those of the watched tables.
    fn watch(&mut self, watched: &Watched, labels: &HashSet<&TableLabel>) {
        self.tables.retain(|known, _| labels.contains(known));
        for table in &watched.tables {
            let labels = || Labels::of_a_table(watched.database.as_str(), table.table.as_str());
            let place = self.tables.entry(table.table.clone());
            place.or_insert_with(|| Arc::new(Place::new(labels()))).values.meant(watched, table);
        }
    }
}

impl TableMetrics {
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
        let text = text(&observer());
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
        let text = text(&observer);
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
        let text = text(&observer());
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
            let text = text(observer);
            series(&text, "keysweep_deleted_rows_total").into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let sample = |labels: &str, value: u64| format!("keysweep_deleted_rows_total{{{labels}}} {value}");
        let kept = sample(r#"database="app",table="keys""#, 3);
        let more = sample(r#"database="app",table="more""#, 0);
        let other = sample(r#"database="other",table="keys""#, 0);
        assert_eq!(deleted(&observer), [kept.clone(), more, other.clone()]);
        observer.unwatch(&database("app"));
        assert!(!text(&observer).contains("\"app\""));
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
        let text = text(&observer);
        assert_eq!(series(&text, "keysweep_retention_seconds").len(), 0);
        let interval = r#"keysweep_census_interval_seconds{database="app",table="keys"} 120"#;
        assert_eq!(series(&text, "keysweep_census_interval_seconds"), [interval]);
        assert_eq!(observer.status().databases["app"].census_interval, 120.0);
    }
}
