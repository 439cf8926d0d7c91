//! What `check` says of the guards. It changes nothing in `state_dir`.

use std::path::Path;

use super::line::Line;
use crate::config::Database;
use crate::memory::{Memory, Role};
use crate::plan::{Counts, Failure, FailureKind, Guards, HoldReason, Rule, length, share_failure};

/// What is remembered, and why `run` and `sweep` would refuse to start with that.
pub(super) fn memory(folder: Option<&Path>) -> (Memory, Option<Failure>) {
    let memory = Memory::open(folder, Role::Onlooker);
    match memory.and_then(|memory| memory.may_be_written().map(|()| memory)) {
        Ok(memory) => (memory, None),
        Err(error) => {
            let failure = Failure::new(FailureKind::Permission, error.what(), error.remedy());
            (Memory::of_this_process(Role::Onlooker), Some(failure))
        }
    }
}

/// Which guards are set, and what holds every table alike.
pub(super) fn of_database(database: &Database, folder: Option<&Path>, guards: &Guards) -> Vec<Line> {
    let set = Line::fine(None, guarded(database, folder));
    let held = guards.hold().map(|(reason, why)| Line::hold(None, reason, &why));
    [set].into_iter().chain(held).collect()
}

/// What a sweep at this moment would hold the table for, by its counts.
pub(super) fn of_table(rule: &Rule, counts: &Counts, guards: &Guards) -> Vec<Line> {
    let horizon = guards.unsettled(&rule.label).map(|unsettled| unsettled.failure(rule, counts.expired));
    let share = guards.max_share.and_then(|most| share_failure(rule, counts, most));
    let holds = [(HoldReason::Horizon, horizon), (HoldReason::Share, share)];
    holds.into_iter().filter_map(|(reason, why)| Some(Line::hold(Some(rule), reason, &why?))).collect()
}

/// Which guards are set, in one line.
fn guarded(database: &Database, folder: Option<&Path>) -> String {
    let horizons = match folder {
        Some(folder) => {
            format!("a new horizon is shown for {} (state_dir {})", length(database.settle), folder.display())
        }
        None => "no state_dir: no horizon is guarded, no clock across a restart".into(),
    };
    let window = database.window.map_or("at any time".into(), |window| format!("from {window} UTC"));
    let share = database.max_share.map_or("any share".into(), |most| format!("up to {}", most.get()));
    format!("guards: deleting {window}; a sweep may take {share} of the finished rows; {horizons}")
}
