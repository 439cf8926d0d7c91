//! The log lines of sweeps and censuses. What goes on is logged when it starts and when it ends.
//!
//! Names and texts are recorded as strings, which every format escapes: none can forge a line.

use std::collections::HashMap;

use tracing::{debug, error, info, warn};

use super::is_fault;
use crate::plan::{DatabaseName, Event, Failure, FailureKind, HoldReason, Report, Stop, TableLabel};

/// What is wrong at present, so that it is logged once.
#[derive(Default)]
pub(super) struct SweepLog {
    troubles: HashMap<Subject, Trouble>,
    /// News of the tables, by the database's own subject: only the end of the tick or the census
    /// tells whether the database is to blame, which is then logged in place of each table.
    waiting: HashMap<Subject, Vec<(Subject, Option<Trouble>)>>,
}

/// What can be well or not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Subject {
    database: DatabaseName,
    table: Option<TableLabel>,
    work: Work,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Work {
    Sweep,
    Census,
}

/// A failure, or a hold with its cause.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Trouble {
    hold: Option<HoldReason>,
    failure: Option<Failure>,
}

impl SweepLog {
    pub(super) fn tell(&mut self, event: &Event) {
        match event {
            Event::Swept(report) => {
                log_work(report);
                self.swept(report);
            }
            Event::Ticked { database, failed } => {
                self.ended(Subject::whole(database, Work::Sweep), failed.as_ref());
            }
            Event::Counted { database, table, counts } => {
                let subject =
                    Subject { table: Some(table.clone()), ..Subject::whole(database, Work::Census) };
                self.wait(subject, counts.as_ref().err().map(Trouble::failed));
            }
            Event::CensusTaken { database, space } => {
                self.ended(Subject::whole(database, Work::Census), space.as_ref().err());
            }
            Event::RowSkipped { database, table, key, reason } => {
                let (database, table) = (database.as_str(), table.as_str());
                debug!(
                    database,
                    table,
                    key = key.to_string().as_str(),
                    reason = reason.name(),
                    "row skipped"
                );
            }
            Event::BatchCommitted { .. } | Event::WouldDelete { .. } | Event::Flowed { .. } => {}
        }
    }

    /// Of this database only these tables are there from now on.
    pub(super) fn keep(&mut self, database: &DatabaseName, is_there: impl Fn(&TableLabel) -> bool) {
        self.troubles.retain(|subject, _| {
            subject.database != *database || subject.table.as_ref().is_none_or(&is_there)
        });
    }

    /// This database is there no longer. Nothing ends by that: nothing is said.
    pub(super) fn forget(&mut self, database: &DatabaseName) {
        self.troubles.retain(|subject, _| subject.database != *database);
        self.waiting.retain(|subject, _| subject.database != *database);
    }

    /// A sweep that was stopped or switched off says nothing of how the table is.
    fn swept(&mut self, report: &Report) {
        let trouble = match report.stop {
            Stop::Shutdown => return,
            Stop::Disabled if !report.judged => return,
            Stop::Drained | Stop::Budget | Stop::Disabled => report.error.as_ref().map(Trouble::failed),
            Stop::Held | Stop::Failed => Some(Trouble { hold: report.held, failure: report.error.clone() }),
        };
        let whole = Subject::whole(&report.database, Work::Sweep);
        self.wait(Subject { table: Some(report.table.clone()), ..whole }, trouble);
    }

    fn wait(&mut self, subject: Subject, trouble: Option<Trouble>) {
        let whole = Subject::whole(&subject.database, subject.work);
        self.waiting.entry(whole).or_default().push((subject, trouble));
    }

    fn ended(&mut self, whole: Subject, failed: Option<&Failure>) {
        let waiting = self.waiting.remove(&whole).unwrap_or_default();
        let held = |(_, trouble): &(Subject, Option<Trouble>)| {
            trouble
                .as_ref()
                .is_some_and(|trouble| trouble.hold.is_some() && trouble.failure.as_ref() == failed)
        };
        // A hold has a reason and a start and an end of its own, also where it holds all that there is.
        let failed = failed.filter(|_| !waiting.iter().any(held));
        self.turn(whole, failed.map(Trouble::failed));
        for (subject, trouble) in waiting {
            let of_the_whole = failed.is_some()
                && trouble.as_ref().is_some_and(|trouble| trouble.failure.as_ref() == failed);
            if !of_the_whole {
                self.turn(subject, trouble);
            }
        }
    }

    fn turn(&mut self, subject: Subject, now: Option<Trouble>) {
        if now.as_ref().is_some_and(|now| now.is_interruption() || self.troubles.get(&subject) == Some(now)) {
            return;
        }
        match now {
            Some(trouble) => {
                trouble.log_start(&subject);
                self.troubles.insert(subject, trouble);
            }
            None => {
                if let Some(trouble) = self.troubles.remove(&subject) {
                    trouble.log_end(&subject);
                }
            }
        }
    }
}

fn log_work(report: &Report) {
    if report.deleted == 0 && report.skipped.total() == 0 {
        return;
    }
    info!(
        database = report.database.as_str(),
        table = report.table.as_str(),
        cutoff = report.cutoff.map(|cutoff| cutoff.to_string()),
        deleted = report.deleted,
        batches = report.batches,
        skipped = report.skipped.total(),
        stop = report.stop.name(),
        "swept"
    );
}

impl Subject {
    fn whole(database: &DatabaseName, work: Work) -> Self {
        Self { database: database.clone(), table: None, work }
    }

    fn table(&self) -> Option<&str> {
        self.table.as_ref().map(TableLabel::as_str)
    }
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Self::Sweep => "sweep",
            Self::Census => "census",
        }
    }
}

impl Trouble {
    fn failed(failure: &Failure) -> Self {
        Self { hold: None, failure: Some(failure.clone()) }
    }

    fn is_interruption(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| !is_fault(failure))
    }

    fn log_start(&self, subject: &Subject) {
        let (database, table, work) = (subject.database.as_str(), subject.table(), subject.work.name());
        let cause = self.failure.as_ref();
        let (kind, error) = (cause.map(|cause| cause.kind().name()), cause.map(Failure::what));
        let remedy = cause.map(Failure::remedy);
        let pauses = cause.is_some_and(|cause| cause.kind() == FailureKind::WalTooLarge);
        match self.hold.map(HoldReason::name) {
            Some(reason) => warn!(database, table, reason, error, remedy, "held: nothing is deleted"),
            None if pauses => warn!(database, table, kind, error, remedy, "{work} pauses"),
            None => error!(database, table, kind, error, remedy, "{work} failed"),
        }
    }

    fn log_end(&self, subject: &Subject) {
        let (database, table, work) = (subject.database.as_str(), subject.table(), subject.work.name());
        match self.hold.map(HoldReason::name) {
            Some(reason) => info!(database, table, reason, "no longer held"),
            None => info!(database, table, "{work} works again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::log::captured;
    use crate::observe::sample::*;
    use crate::plan::{FailureKind, Key, SkipReason, Skips, Value};
    use tracing::level_filters::LevelFilter;

    /// The log of these events, a line each, as level and the rest.
    fn logged_at(level: LevelFilter, events: &[Event]) -> Vec<serde_json::Value> {
        let mut log = SweepLog::default();
        let lines = captured(level, || events.iter().for_each(|event| log.tell(event)));
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn logged(events: &[Event]) -> Vec<String> {
        let text = |line: &serde_json::Value, name: &str| line[name].as_str().unwrap_or("-").to_owned();
        logged_at(LevelFilter::INFO, events)
            .iter()
            .map(|line| ["level", "table", "message", "error"].map(|name| text(line, name)).join(" "))
            .collect()
    }

    fn swept() -> Event {
        Event::Swept(report(Stop::Drained))
    }

    #[test]
    fn a_failure_is_logged_when_it_starts_and_when_it_ends() {
        let tick = |first| [first, ticked(None)];
        let events = [tick(failed("locked")), tick(failed("locked")), tick(swept()), tick(swept())].concat();
        assert_eq!(logged(&events), ["ERROR keys sweep failed locked", "INFO keys sweep works again -"]);
    }

    #[test]
    fn a_failure_that_changes_is_logged_anew_with_its_whole_cause_and_remedy() {
        let events = [failed("locked"), ticked(None), failed("read failed"), ticked(None)];
        assert_eq!(
            logged(&events),
            ["ERROR keys sweep failed locked", "ERROR keys sweep failed read failed"]
        );
        let line = &logged_at(LevelFilter::INFO, &events)[0];
        assert_eq!((&line["kind"], &line["remedy"]), (&"busy".into(), &"wait for the other writer".into()));
        assert_eq!(line["database"], "app");
    }

    #[test]
    fn a_hold_is_a_warning_when_it_starts_and_is_said_to_end() {
        let hold = || held(HoldReason::Schema);
        let events = [hold(), ticked(None), hold(), ticked(None), swept(), ticked(None)];
        let lines = logged(&events);
        assert_eq!(
            lines,
            ["WARN keys held: nothing is deleted no column `expires`", "INFO keys no longer held -"]
        );
    }

    #[test]
    fn a_hold_ends_outside_the_window_too_and_not_by_being_switched_off() {
        let off = |judged| [Event::Swept(Report { judged, ..report(Stop::Disabled) }), ticked(None)];
        let hold = [held(HoldReason::Paused), ticked(None)];
        assert_eq!(logged(&[hold.clone(), off(false)].concat()).len(), 1);
        assert_eq!(logged(&[hold, off(true)].concat())[1], "INFO keys no longer held -");
    }

    #[test]
    fn a_sweep_that_was_stopped_does_not_end_a_failure() {
        let stopped = || [Event::Swept(report(Stop::Shutdown)), ticked(None)];
        let events = [[failed("locked"), ticked(None)], stopped(), [failed("locked"), ticked(None)]].concat();
        assert_eq!(logged(&events).len(), 1);
    }

    #[test]
    fn a_database_that_failed_as_a_whole_is_logged_once_and_not_for_each_table() {
        let down = || [failed("gone"), ticked(Some(failure("gone")))];
        let up = [swept(), ticked(None)];
        assert_eq!(
            logged(&[down(), down(), up].concat()),
            ["ERROR - sweep failed gone", "INFO - sweep works again -"]
        );
    }

    #[test]
    fn a_table_that_fails_by_itself_is_not_logged_again_after_its_database_was_down() {
        let alone = || [failed("locked"), ticked(None)];
        let down = [failed("gone"), ticked(Some(failure("gone")))];
        assert_eq!(
            logged(&[alone(), down, alone()].concat()),
            ["ERROR keys sweep failed locked", "ERROR - sweep failed gone", "INFO - sweep works again -"]
        );
    }

    #[test]
    fn a_census_is_logged_apart_from_the_sweep() {
        let census = |failed: Option<Failure>| {
            let counts = failed.clone().map_or(Ok(counts(0)), Err);
            [counted(counts), census_taken(failed)]
        };
        let gone = || census(Some(failure("gone")));
        let alone = [counted(Err(failure("no column"))), census_taken(None)];
        let sweeps = [swept(), ticked(None)];
        assert_eq!(
            logged(&[gone(), sweeps, gone(), alone, census(None)].concat()),
            [
                "ERROR - census failed gone",
                "INFO - census works again -",
                "ERROR keys census failed no column",
                "INFO keys census works again -"
            ]
        );
    }

    #[test]
    fn a_census_that_was_told_to_stop_is_not_logged() {
        let stopped = || Failure::new(FailureKind::Interrupted, "stopped", "nothing");
        assert_eq!(logged(&[counted(Err(stopped())), census_taken(Some(stopped()))]), [""; 0]);
    }

    #[test]
    fn a_sweep_that_did_something_is_one_line_and_one_that_did_nothing_none() {
        let mut skipped = Skips::default();
        skipped.add(SkipReason::Constraint);
        let did = Report { deleted: 42, batches: 2, skipped, ..report(Stop::Budget) };
        let lines = logged_at(LevelFilter::INFO, &[swept(), Event::Swept(did), ticked(None)]);
        assert_eq!(lines.len(), 1);
        let mut line = lines[0].clone();
        line.as_object_mut().unwrap().remove("timestamp");
        assert_eq!(
            line,
            serde_json::json!({
                "level": "INFO", "target": "keysweep::observe::sweep_log", "message": "swept",
                "database": "app", "table": "keys", "cutoff": "2026-09-21T13:13:20Z",
                "deleted": 42, "batches": 2, "skipped": 1, "stop": "budget"
            })
        );
    }

    #[test]
    fn a_key_is_in_the_log_at_debug_level_only_and_escaped() {
        let key = Key::new(vec![Value::Text(b"k\n1".to_vec())]);
        let skip = Event::RowSkipped {
            database: database("app"),
            table: table("keys"),
            key,
            reason: SkipReason::Ignored,
        };
        assert_eq!(logged_at(LevelFilter::INFO, std::slice::from_ref(&skip)).len(), 0);
        assert_eq!(logged_at(LevelFilter::DEBUG, &[skip])[0]["key"], "k\\n1");
    }
}
