//! What the tests of this room tell an observer.

use std::time::Duration;

use super::{Observer, Watched, WatchedTable};
use crate::plan::{
    AbandonedCounts, Counts, Cutoff, DatabaseName, Event, Failure, FailureKind, HoldReason, Report, Skips,
    SpaceUsed, Stop, TableLabel, Unfinished, UnixTime,
};

pub(super) const NOW: i64 = 1_790_000_000;

pub(super) fn now() -> UnixTime {
    UnixTime::from_millis(NOW * 1000)
}

pub(super) fn database(name: &str) -> DatabaseName {
    DatabaseName::new(name).unwrap()
}

pub(super) fn table(name: &str) -> TableLabel {
    TableLabel::new(name).unwrap()
}

pub(super) fn watched(name: &str, tables: &[&str]) -> Watched {
    let tables = tables
        .iter()
        .map(|name| WatchedTable { table: table(name), retention: Some(Duration::from_secs(3_600)) });
    Watched { database: database(name), census: Duration::from_secs(60), tables: tables.collect() }
}

/// Watches database `app` with tables `keys` and `inbox`.
pub(super) fn observer() -> Observer {
    Observer::new(&[watched("app", &["keys", "inbox"])], now()).unwrap()
}

/// All series, in one piece.
pub(super) fn text(observer: &Observer) -> String {
    String::from_utf8(observer.exposition().unwrap().flatten().collect()).unwrap()
}

pub(super) fn failure(what: &str) -> Failure {
    Failure::new(FailureKind::Busy, what, "wait for the other writer")
}

pub(super) fn report(stop: Stop) -> Report {
    let cutoff = Cutoff::new(now(), Duration::from_secs(3_600));
    Report { stop, ..Report::new(database("app"), table("keys"), now(), Some(cutoff)) }
}

pub(super) fn failed(what: &str) -> Event {
    Event::Swept(Report { error: Some(failure(what)), ..report(Stop::Failed) })
}

pub(super) fn held(reason: HoldReason) -> Event {
    let cause = Failure::new(FailureKind::Schema, "no column `expires`", "correct the config");
    Event::Swept(Report { held: Some(reason), error: Some(cause), ..report(Stop::Held) })
}

pub(super) fn batch(deleted: u64, skipped: Skips) -> Event {
    Event::BatchCommitted {
        database: database("app"),
        table: table("keys"),
        deleted,
        skipped,
        held: Duration::from_millis(3),
        waited: Duration::from_micros(40),
        rest: Duration::from_millis(97),
    }
}

pub(super) fn ticked(failed: Option<Failure>) -> Event {
    Event::Ticked { database: database("app"), failed }
}

pub(super) fn counted(counts: Result<Counts, Failure>) -> Event {
    Event::Counted { database: database("app"), table: table("keys"), counts }
}

pub(super) fn census_taken(failed: Option<Failure>) -> Event {
    let space = SpaceUsed { database: 8192, wal: 4096, free: 0 };
    let space = failed.map_or(Ok(space), Err);
    Event::CensusTaken { database: database("app"), space }
}

/// `abandoned` rows, the oldest for two hours.
pub(super) fn counts(abandoned: u64) -> Counts {
    Counts {
        unfinished: Some(Unfinished { pending: 5, unknown: 1 }),
        done: 20,
        expired: 7,
        unreadable: 2,
        abandoned: Some(AbandonedCounts {
            older_than: [abandoned, abandoned, 0, 0],
            oldest: (abandoned > 0).then(|| UnixTime::from_millis((NOW - 7_200) * 1000)),
        }),
        taken_at: now(),
    }
}
