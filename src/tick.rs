//! One tick of one database: the clock once, facts, findings, the tables in turn, a report each.
//!
//! The worker of the daemon and the command `sweep` call the same function.

mod course;
mod guard;
mod memory;
mod sweep;

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::plan::{
    DatabaseName, Event, Failure, FailureKind, Finding, Guards, HoldReason, LAST_BATCH, Report, Rule,
    Severity, Stop, TableFacts, UnixTime, table_findings,
};
use crate::store::{Store, Walk};
pub use memory::TableMemory;
use sweep::Sweep;

/// What a tick is told. It reads no clock of its own but the monotonic one.
#[derive(Debug)]
pub struct Order<'a> {
    /// The database.
    pub database: &'a DatabaseName,
    /// The one clock reading.
    pub now: UnixTime,
    /// The longest that the tick may work; nothing is no bound.
    pub budget: Option<Duration>,
    /// `false`: nothing is deleted.
    pub enabled: bool,
    /// What keeps it from deleting, as whoever remembers judged it at `now`.
    pub guards: Guards,
    /// Whether rows are deleted, or only named.
    pub mode: Mode,
    /// Ends the tick between two batches.
    pub stop: &'a CancellationToken,
}

/// What a sweep does with the rows that it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It deletes them.
    Delete,
    /// It tells of them, and takes no write lock.
    DryRun,
}

/// Run one tick, and tell of everything as it happens. Gives the report of each table, in their order.
pub async fn tick<S: Store>(
    order: &Order<'_>,
    store: &mut S,
    tables: &mut [TableMemory],
    tell: &(dyn Fn(&Event) + Sync),
) -> Vec<Report> {
    let begun = Instant::now();
    let mut sweeps: Vec<Sweep<'_>> = tables.iter_mut().map(|table| Sweep::new(order, table)).collect();
    if order.enabled || order.mode == Mode::DryRun {
        guard::hold_all(order, &mut sweeps, tell);
        if sweeps.iter().any(Sweep::is_running) {
            inspect(store, &mut sweeps, |_, sweep, walk| sweep.begin(walk), tell).await;
            guard::hold_each(order, store, &mut sweeps, tell).await;
        }
        take_turns(order, begun, store, &mut sweeps, tell).await;
    } else {
        sweeps.iter_mut().for_each(|sweep| sweep.end(Stop::Disabled, tell));
    }
    let reports: Vec<Report> = sweeps.into_iter().map(Sweep::into_report).collect();
    let failed = failed_as_a_whole(&reports);
    tell(&Event::Ticked { database: order.database.clone(), failed });
    reports
}

/// Look at the schema, and begin every sweep that it does not hold.
async fn inspect<'a, S: Store>(
    store: &mut S,
    sweeps: &mut [Sweep<'a>],
    mut begin: impl FnMut(usize, &mut Sweep<'a>, Walk),
    tell: &(dyn Fn(&Event) + Sync),
) {
    let rules: Vec<Rule> = sweeps.iter().map(|sweep| sweep.rule().clone()).collect();
    let facts = match store.inspect(&rules).await {
        Ok(facts) => facts,
        Err(failure) => return sweeps.iter_mut().for_each(|sweep| sweep.fail(failure.clone(), tell)),
    };
    hold(sweeps, &facts, tell);
    let running = sweeps.iter_mut().zip(&facts).enumerate().filter(|(_, (sweep, _))| sweep.is_running());
    for (at, (sweep, facts)) in running {
        begin(at, sweep, if facts.in_clock_order { Walk::Clock } else { Walk::Keys });
    }
}

/// Keep every table still of which a finding is severe.
fn hold(sweeps: &mut [Sweep<'_>], facts: &[TableFacts], tell: &(dyn Fn(&Event) + Sync)) {
    for (sweep, facts) in sweeps.iter_mut().zip(facts).filter(|(sweep, _)| sweep.is_running()) {
        let findings = table_findings(sweep.rule(), facts);
        if let Some((reason, finding)) = findings.iter().find_map(severe) {
            sweep.hold(reason, finding.failure(), tell);
        } else if let Some(failure) = sweep.invariant() {
            sweep.hold(HoldReason::Invariant, failure, tell);
        }
    }
}

fn severe(finding: &Finding) -> Option<(HoldReason, &Finding)> {
    match finding.severity {
        Severity::Hold(reason) => Some((reason, finding)),
        Severity::Fault | Severity::Advice => None,
    }
}

/// One step of each table's sweep after the other, with a rest after each that held a lock.
async fn take_turns<S: Store>(
    order: &Order<'_>,
    begun: Instant,
    store: &mut S,
    sweeps: &mut [Sweep<'_>],
    tell: &(dyn Fn(&Event) + Sync),
) {
    // From here on: an open that took long must not leave a tick without a turn.
    let budget = order.budget.and_then(|budget| Instant::now().checked_add(budget));
    let deadline = earlier(budget, guard::window_ends(order, begun));
    // A batch that had to wait beyond this is not begun: the window may have closed.
    let until = deadline.and_then(|deadline| deadline.checked_add(LAST_BATCH));
    let mut looks_left = MORE_LOOKS;
    let turns = sweep::longest_waiting_first(sweeps);
    while sweeps.iter().any(Sweep::is_running) {
        for &at in &turns {
            let sweep = &mut sweeps[at];
            if !sweep.is_running() {
                continue;
            } else if order.stop.is_cancelled() {
                sweep.end(Stop::Shutdown, tell);
            } else if let Some(why) = guard::paused(order) {
                sweep.hold(HoldReason::Paused, why, tell);
            } else if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                sweep.cut(store, until, tell).await;
            } else if sweep.is_rested() {
                match sweep.turn(store, until, tell).await {
                    Ok(turn) => {
                        if turn.deleted {
                            looks_left = MORE_LOOKS;
                        }
                        rest(Instant::now() + turn.rest, deadline, order.stop, store).await;
                    }
                    Err(failure) if looks_left > 0 && is_changed(&failure) => {
                        looks_left -= 1;
                        look_again(store, sweeps, at, &failure, tell).await;
                    }
                    Err(failure) => sweep.fail(failure, tell),
                }
            }
        }
        if let Some(until) = sweeps.iter().filter_map(Sweep::rests_until).min() {
            rest(until, deadline, order.stop, store).await;
        }
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

/// One table met a change. A migration or a VACUUM leaves the other walks their places; another file
/// leaves none of them.
async fn look_again<S: Store>(
    store: &mut S,
    sweeps: &mut [Sweep<'_>],
    met_by: usize,
    change: &Failure,
    tell: &(dyn Fn(&Event) + Sync),
) {
    let is_replaced = change.kind() == FailureKind::Replaced;
    let begin = |at, sweep: &mut Sweep<'_>, walk| {
        if is_replaced || at == met_by { sweep.begin_anew(walk) } else { sweep.go_on(walk) }
    };
    inspect(store, sweeps, begin, tell).await;
}

/// The most further looks at the schema without a batch in between, after a migration, a VACUUM or another file.
const MORE_LOOKS: usize = 3;

/// Whether the database is not any more what was looked at, so that another look tells more.
fn is_changed(failure: &Failure) -> bool {
    matches!(failure.kind(), FailureKind::Schema | FailureKind::Replaced)
}

async fn rest<S: Store>(until: Instant, deadline: Option<Instant>, stop: &CancellationToken, store: &mut S) {
    let until = deadline.map_or(until, |deadline| deadline.min(until));
    let length = until.saturating_duration_since(Instant::now());
    if length.is_zero() {
        return;
    }
    store.rest(length).await;
    tokio::select! {
        () = tokio::time::sleep_until(until) => {}
        () = stop.cancelled() => {}
    }
}

/// The database is down when no table could be worked on for a reason that a caller cannot have wanted.
fn failed_as_a_whole(reports: &[Report]) -> Option<Failure> {
    let is_down = |report: &Report| match report.stop {
        Stop::Failed => true,
        Stop::Held => matches!(report.held, Some(HoldReason::Schema | HoldReason::Ownership)),
        _ => false,
    };
    if reports.iter().all(is_down) { reports.iter().find_map(|report| report.error.clone()) } else { None }
}
