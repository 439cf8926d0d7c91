//! Every metric of a database and of a table, declared once: its name, its type, its help text, its samples.

use super::exposition::Samples;
use super::metrics::{DatabaseMetrics, TableMetrics};
use super::series::{Counter, Measured};
use crate::plan::{ABANDONED_CLASSES, FailureKind, HoldReason, SkipReason, Stop};

/// A metric that every place of one kind has.
pub(super) struct Family<V: 'static> {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) help: &'static str,
    /// Writes the samples of one place; none where nothing is known.
    pub(super) samples: fn(&V, &mut Samples<'_>),
}

/// The type of a metric.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// The states in the label `state`, in the order of [`TableMetrics::rows`].
pub(super) const STATES: [&str; 3] = ["pending", "done", "unknown"];

/// The metrics with the label `database`.
pub(super) const OF_A_DATABASE: &[Family<DatabaseMetrics>] = &[
    Family {
        name: "keysweep_batch_duration_seconds",
        kind: Kind::Histogram,
        help: "How long a committed batch held the write lock.",
        samples: |place, out| out.histogram(&place.batch_duration),
    },
    Family {
        name: "keysweep_database_bytes",
        kind: Kind::Gauge,
        help: "Size of the database, without its WAL.",
        samples: |place, out| out.measured(&place.database_bytes),
    },
    Family {
        name: "keysweep_database_up",
        kind: Kind::Gauge,
        help: "0 while the latest tick or the latest census failed as a whole.",
        samples: |place, out| out.measured(&place.up),
    },
    Family {
        name: "keysweep_errors_total",
        kind: Kind::Counter,
        help: "Sweeps, counts of a table and whole censuses that failed. A hold is no error.",
        samples: |place, out| counters(out, "kind", FailureKind::ALL.map(FailureKind::name), &place.errors),
    },
    Family {
        name: "keysweep_free_bytes",
        kind: Kind::Gauge,
        help: "Pages inside the database that hold nothing.",
        samples: |place, out| out.measured(&place.free_bytes),
    },
    Family {
        name: "keysweep_lock_wait_seconds",
        kind: Kind::Histogram,
        help: "How long a committed batch waited for the write lock.",
        samples: |place, out| out.histogram(&place.lock_wait),
    },
    Family {
        name: "keysweep_next_tick_timestamp_seconds",
        kind: Kind::Gauge,
        help: "When the next tick is due.",
        samples: |place, out| out.measured(&place.next_tick),
    },
    Family {
        name: "keysweep_tick_interval_seconds",
        kind: Kind::Gauge,
        help: "From the next tick to the one after it, by schedule and budget.",
        samples: |place, out| out.measured(&place.tick_interval),
    },
    Family {
        name: "keysweep_wal_bytes",
        kind: Kind::Gauge,
        help: "Size of the write-ahead log.",
        samples: |place, out| out.measured(&place.wal_bytes),
    },
];

/// The metrics with the labels `database` and `table`.
pub(super) const OF_A_TABLE: &[Family<TableMetrics>] = &[
    Family {
        name: "keysweep_abandoned_rows",
        kind: Kind::Gauge,
        help: "Pending rows past their time by at least so much; never deleted.",
        samples: |place, out| {
            measured(out, "older_than", ABANDONED_CLASSES.map(|(name, _)| name), &place.abandoned);
        },
    },
    Family {
        name: "keysweep_batches_total",
        kind: Kind::Counter,
        help: "Transactions that committed and deleted something.",
        samples: |place, out| out.counter(&place.batches),
    },
    Family {
        name: "keysweep_census_interval_seconds",
        kind: Kind::Gauge,
        help: "How often the rows are meant to be counted.",
        samples: |place, out| out.gauge(&place.census_interval),
    },
    Family {
        name: "keysweep_census_timestamp_seconds",
        kind: Kind::Gauge,
        help: "Clock reading of the latest count of this table.",
        samples: |place, out| out.measured(&place.census),
    },
    Family {
        name: "keysweep_cutoff_timestamp_seconds",
        kind: Kind::Gauge,
        help: "Cutoff of the latest sweep: finished rows with a clock value up to it are expired.",
        samples: |place, out| out.measured(&place.cutoff),
    },
    Family {
        name: "keysweep_deleted_rows_total",
        kind: Kind::Counter,
        help: "Rows deleted, in transactions whose COMMIT succeeded.",
        samples: |place, out| out.counter(&place.deleted),
    },
    Family {
        name: "keysweep_drain_seconds",
        kind: Kind::Gauge,
        help: "Until no expired row is left, at the present pace; absent while they grow.",
        samples: |place, out| out.measured(&place.drained_in),
    },
    Family {
        name: "keysweep_expired_rows",
        kind: Kind::Gauge,
        help: "Finished rows whose time has come, as of the latest census.",
        samples: |place, out| out.measured(&place.expired),
    },
    Family {
        name: "keysweep_held",
        kind: Kind::Gauge,
        help: "1 while nothing is deleted for this reason.",
        samples: |place, out| {
            for (reason, held) in HoldReason::ALL.into_iter().zip(&place.held) {
                out.labelled("reason", reason.name(), held.value());
            }
        },
    },
    Family {
        name: "keysweep_inflow_rows_per_second",
        kind: Kind::Gauge,
        help: "Rows that become due a second.",
        samples: |place, out| out.measured(&place.inflow),
    },
    Family {
        name: "keysweep_last_attempt_timestamp_seconds",
        kind: Kind::Gauge,
        help: "When the latest sweep began; 0 is never.",
        samples: |place, out| out.gauge(&place.last_attempt),
    },
    Family {
        name: "keysweep_last_success_timestamp_seconds",
        kind: Kind::Gauge,
        help: "When the latest sweep that stopped as drained or budget began; 0 is never.",
        samples: |place, out| out.gauge(&place.last_success),
    },
    Family {
        name: "keysweep_oldest_abandoned_timestamp_seconds",
        kind: Kind::Gauge,
        help: "When the oldest abandoned row became abandoned; absent when there is none.",
        samples: |place, out| out.measured(&place.oldest_abandoned),
    },
    Family {
        name: "keysweep_pace_rows_per_second",
        kind: Kind::Gauge,
        help: "Rows a second at the pace of the latest batch, the rest after it included.",
        samples: |place, out| out.measured(&place.pace),
    },
    Family {
        name: "keysweep_retention_seconds",
        kind: Kind::Gauge,
        help: "How long a finished row is kept past its clock column.",
        samples: |place, out| out.measured(&place.retention),
    },
    Family {
        name: "keysweep_rows",
        kind: Kind::Gauge,
        help: "Rows by state, as of the latest census.",
        samples: |place, out| measured(out, "state", STATES, &place.rows),
    },
    Family {
        name: "keysweep_skipped_rows_total",
        kind: Kind::Counter,
        help: "Times that an expired row was left, by why it could not be deleted.",
        samples: |place, out| counters(out, "reason", SkipReason::ALL.map(SkipReason::name), &place.skipped),
    },
    Family {
        name: "keysweep_sweeps_total",
        kind: Kind::Counter,
        help: "Sweeps that ended, by why they stopped.",
        samples: |place, out| counters(out, "stop", Stop::ALL.map(Stop::name), &place.sweeps),
    },
    Family {
        name: "keysweep_unreadable_rows",
        kind: Kind::Gauge,
        help: "Rows whose clock column cannot be read: they never expire.",
        samples: |place, out| out.measured(&place.unreadable),
    },
];

fn counters<const N: usize>(out: &mut Samples<'_>, label: &str, words: [&str; N], counters: &[Counter; N]) {
    for (word, counter) in words.into_iter().zip(counters) {
        out.labelled(label, word, counter.value() as f64);
    }
}

fn measured<const N: usize>(out: &mut Samples<'_>, label: &str, words: [&str; N], gauges: &[Measured; N]) {
    for (word, gauge) in words.into_iter().zip(gauges) {
        if let Some(value) = gauge.value() {
            out.labelled(label, word, value);
        }
    }
}
