//! What a tick does to one table: one walk of the keys, batch by batch.

use std::cmp::Reverse;
use std::time::Duration;

use tokio::time::Instant;

use super::course::Course;
use super::guard::Standing;
use super::{Mode, Order, TableMemory};
use crate::plan::{
    BatchBound, Cutoff, Event, Failure, FailureKind, HoldReason, Key, Report, Rest, Rule, Skips, Stop,
};
use crate::store::{Batch, Store, Walk};

/// A sweep in hand.
pub(super) struct Sweep<'a> {
    table: &'a mut TableMemory,
    mode: Mode,
    course: Course,
    report: Report,
    running: bool,
}

/// What a turn did.
pub(super) struct Turn {
    /// For how long nothing of the database may be locked now.
    pub rest: Duration,
    /// Whether rows went.
    pub deleted: bool,
}

impl<'a> Sweep<'a> {
    pub fn new(order: &Order<'_>, table: &'a mut TableMemory) -> Self {
        let cutoff = table.rule.cutoff(order.now);
        let report = Report::new(order.database.clone(), table.rule.label.clone(), order.now, cutoff);
        let walk = table.position.as_ref().map_or(Walk::Keys, |(walk, _)| *walk);
        let course = Course::new(walk, table.position.as_ref(), false);
        Self { mode: order.mode, course, report, running: true, table }
    }

    /// Walk in this order, on from where the last walk in the same order was cut.
    pub fn begin(&mut self, walk: Walk) {
        self.course = Course::new(walk, self.table.position.as_ref(), self.mode == Mode::DryRun);
    }

    /// The table is not as it was when the walk began: walk anew.
    pub fn begin_anew(&mut self, walk: Walk) {
        self.course = Course::new(walk, None, self.mode == Mode::DryRun);
    }

    /// Only the schema changed, and not for this table's walk: it goes on.
    pub fn go_on(&mut self, walk: Walk) {
        if !self.course.is_in(walk) {
            self.begin_anew(walk);
        }
    }

    pub fn rule(&self) -> &Rule {
        &self.table.rule
    }

    pub fn invariant(&self) -> Option<Failure> {
        self.table.invariant.clone()
    }

    /// What a guard said when it began to hold the table; here it may be said anew.
    pub fn standing(&mut self) -> &mut Option<Standing> {
        &mut self.table.standing
    }

    pub fn is_running(&self) -> bool {
        self.running
    }

    /// Whether the rest that its last batch asked for is over.
    pub fn is_rested(&self) -> bool {
        Instant::now() >= self.table.ready_at
    }

    /// When that rest is over, for a sweep that runs.
    pub fn rests_until(&self) -> Option<Instant> {
        self.running.then_some(self.table.ready_at)
    }

    pub fn into_report(self) -> Report {
        self.report
    }

    pub fn end(&mut self, stop: Stop, tell: &(dyn Fn(&Event) + Sync)) {
        if !self.running {
            return;
        }
        self.running = false;
        self.report.stop = stop;
        if self.mode == Mode::Delete {
            self.table.position = if stop == Stop::Drained { None } else { self.course.position() };
        }
        tell(&Event::Swept(self.report.clone()));
    }

    /// Nothing holds the table.
    pub fn pass(&mut self) {
        self.report.judged = true;
    }

    /// A guard holds the table. A dry run says so, and goes on to show what is due.
    pub fn guard(&mut self, reason: HoldReason, why: Failure, tell: &(dyn Fn(&Event) + Sync)) {
        if self.mode == Mode::Delete {
            self.hold(reason, why, tell);
        } else if self.report.held.is_none() {
            self.report.held = Some(reason);
            self.report.error = Some(why);
        }
    }

    pub fn hold(&mut self, reason: HoldReason, why: Failure, tell: &(dyn Fn(&Event) + Sync)) {
        self.report.held = Some(reason);
        self.report.error = Some(why);
        self.end(Stop::Held, tell);
    }

    pub fn fail(&mut self, failure: Failure, tell: &(dyn Fn(&Event) + Sync)) {
        if failure.kind() == FailureKind::Invariant {
            self.table.invariant = Some(failure.clone());
        }
        match stop_of(&failure) {
            (Stop::Shutdown, _) => self.end(Stop::Shutdown, tell),
            (_, Some(reason)) => self.hold(reason, failure, tell),
            (stop, None) => {
                self.report.error = Some(failure);
                self.end(stop, tell);
            }
        }
    }

    /// The time is used up. What was nominated goes in one last batch, unless the table rests: where little is
    /// due, a tick may read for all its time and never fill a batch, and the next one would do the same.
    pub async fn cut<S: Store>(
        &mut self,
        store: &mut S,
        until: Option<Instant>,
        tell: &(dyn Fn(&Event) + Sync),
    ) {
        let is_due = !self.course.is_empty() && self.is_rested();
        if let Some(cutoff) = self.report.cutoff.filter(|_| is_due) {
            match self.deal(store, cutoff, until, tell).await {
                Ok((rest, _)) => self.rest(rest),
                Err(failure) => self.fail(failure, tell),
            }
        }
        self.course.cut();
        self.table.waited = self.table.waited.saturating_add(1);
        self.end(Stop::Budget, tell);
    }

    /// One step of the search, or one batch once enough keys are nominated. A failure ends nothing yet.
    pub async fn turn<S: Store>(
        &mut self,
        store: &mut S,
        until: Option<Instant>,
        tell: &(dyn Fn(&Event) + Sync),
    ) -> Result<Turn, Failure> {
        self.table.waited = 0;
        let Some(cutoff) = self.report.cutoff else {
            // Without a clock column nothing is ever due: the table is only counted.
            self.end(Stop::Disabled, tell);
            return Ok(Turn { rest: Duration::ZERO, deleted: false });
        };
        let (rest, deleted) = if let Some(leg) = self.course.wanted(self.table.pace.bound().rows) {
            let step = store.search(&self.table.rule, cutoff, leg).await?;
            let held = step.held;
            self.course.found(step);
            (self.table.pace.rest(held, 0), false)
        } else if self.course.is_over() {
            (Rest::NONE, false)
        } else {
            self.deal(store, cutoff, until, tell).await?
        };
        if self.course.is_over() {
            self.end(Stop::Drained, tell);
        }
        self.rest(rest);
        Ok(Turn { rest: rest.all, deleted })
    }

    /// The next tick keeps to it too.
    fn rest(&mut self, rest: Rest) {
        self.table.ready_at = Instant::now() + rest.table;
    }

    /// Delete the next nominated rows, or name them. Gives the rest that this asks for, and whether rows went.
    async fn deal<S: Store>(
        &mut self,
        store: &mut S,
        cutoff: Cutoff,
        until: Option<Instant>,
        tell: &(dyn Fn(&Event) + Sync),
    ) -> Result<(Rest, bool), Failure> {
        let bound = BatchBound { until: until.map(Instant::into_std), ..self.table.pace.bound() };
        let keys = self.course.first(bound.rows);
        if self.mode == Mode::DryRun {
            self.course.dealt_with(keys.len());
            keys.into_iter().for_each(|key| self.name(key, tell));
            return Ok((Rest::NONE, false));
        }
        let batch = store.delete_batch(&self.table.rule, cutoff, &keys, bound).await?;
        if batch.cost.rows == 0 {
            // It came too late.
            return Ok((Rest::NONE, false));
        }
        self.table.pace.learn(batch.cost, batch.waited);
        self.course.dealt_with(batch.cost.rows);
        // A row that stays costs no pages, and keeps none behind it waiting.
        let deleted = batch.deleted.len();
        let rest = self.table.pace.rest(batch.held() + batch.held_in_vain, deleted);
        self.count(batch, rest, tell);
        Ok((rest, deleted > 0))
    }

    fn name(&mut self, key: Key, tell: &(dyn Fn(&Event) + Sync)) {
        self.report.would_delete += 1;
        let (database, table) = (self.report.database.clone(), self.report.table.clone());
        tell(&Event::WouldDelete { database, table, key });
    }

    fn count(&mut self, batch: Batch, rest: Rest, tell: &(dyn Fn(&Event) + Sync)) {
        let (database, table) = (self.report.database.clone(), self.report.table.clone());
        let (held, waited) = (batch.held(), batch.waited);
        let mut skipped = Skips::default();
        for (key, reason) in batch.skipped {
            skipped.add(reason);
            tell(&Event::RowSkipped { database: database.clone(), table: table.clone(), key, reason });
        }
        let deleted = batch.deleted.len() as u64;
        self.report.deleted += deleted;
        self.report.batches += u64::from(deleted > 0);
        self.report.skipped.merge(skipped);
        let rest = rest.table;
        tell(&Event::BatchCommitted { database, table, deleted, skipped, held, waited, rest });
    }
}

/// The order of turns. Where a tick is over before each table had one, the same tables would have them all for ever.
pub(super) fn longest_waiting_first(sweeps: &[Sweep<'_>]) -> Vec<usize> {
    let mut turns: Vec<usize> = (0..sweeps.len()).collect();
    turns.sort_by_key(|at| Reverse(sweeps[*at].table.waited));
    turns
}

/// What a failure makes of a sweep.
fn stop_of(failure: &Failure) -> (Stop, Option<HoldReason>) {
    match (failure.kind(), HoldReason::of(failure.kind())) {
        (FailureKind::Interrupted, _) => (Stop::Shutdown, None),
        // It is somebody else's to end, and the next tick goes on.
        (FailureKind::WalTooLarge, _) => (Stop::Budget, None),
        (_, Some(reason)) => (Stop::Held, Some(reason)),
        (_, None) => (Stop::Failed, None),
    }
}
