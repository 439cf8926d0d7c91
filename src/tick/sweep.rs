//! What a tick does to one table: one walk of the keys, batch by batch.

use std::collections::VecDeque;
use std::time::Duration;

use super::guard::Standing;
use super::{Mode, Order, TableMemory, stop_of};
use crate::plan::{Cutoff, Event, Failure, FailureKind, HoldReason, Key, Report, Rule, Skips, Stop};
use crate::store::{Batch, Leg, Step, Store};

/// A sweep in hand.
pub(super) struct Sweep<'a> {
    table: &'a mut TableMemory,
    mode: Mode,
    leg: Leg,
    /// Where the walk began, when the last one was cut short; it goes round once and ends there.
    began_at: Option<Key>,
    searching: bool,
    /// Nominated and not yet in a batch, ascending: at most one step's worth and one batch more.
    queue: VecDeque<Key>,
    /// Everything up to here is dealt with.
    position: Option<Key>,
    report: Report,
    running: bool,
}

/// What a turn asks for next.
pub(super) enum Turn {
    /// Rest so long, then go on.
    Rest(Duration),
    /// The sweep has ended.
    Ended,
}

impl<'a> Sweep<'a> {
    pub fn new(order: &Order<'_>, table: &'a mut TableMemory) -> Self {
        let cutoff = table.rule.cutoff(order.now);
        let report = Report::new(order.database.clone(), table.rule.label.clone(), order.now, cutoff);
        let began_at = table.position.clone();
        Self {
            mode: order.mode,
            leg: Leg { after: began_at.clone(), until: None },
            position: began_at.clone(),
            began_at,
            searching: true,
            queue: VecDeque::new(),
            report,
            running: true,
            table,
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
            self.table.position = if stop == Stop::Drained { None } else { self.position.clone() };
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

    /// The time is used up. What was nominated goes in one last batch: where little is due, a tick
    /// may read for all its time and never fill a batch, and the next one would only do the same.
    pub async fn cut<S: Store>(&mut self, store: &mut S, tell: &(dyn Fn(&Event) + Sync)) {
        if let Some(cutoff) = self.report.cutoff.filter(|_| !self.queue.is_empty())
            && let Err(failure) = self.batch(store, cutoff, tell).await
        {
            self.fail(failure, tell);
        }
        if self.queue.is_empty() {
            self.position.clone_from(&self.leg.after);
        }
        self.end(Stop::Budget, tell);
    }

    /// One step of the search, or one batch once enough keys are nominated.
    pub async fn turn<S: Store>(&mut self, store: &mut S, tell: &(dyn Fn(&Event) + Sync)) -> Turn {
        let Some(cutoff) = self.report.cutoff else {
            // Without a clock column nothing is ever due: the table is only counted.
            self.end(Stop::Disabled, tell);
            return Turn::Ended;
        };
        let enough = self.queue.len() >= self.table.pace.bound().rows;
        let done = if self.searching && !enough {
            self.search(store, cutoff, tell).await
        } else if !self.queue.is_empty() {
            self.batch(store, cutoff, tell).await
        } else {
            self.end(Stop::Drained, tell);
            return Turn::Ended;
        };
        match done {
            Ok(held) => Turn::Rest(self.table.pace.rest(held)),
            Err(failure) => {
                self.fail(failure, tell);
                Turn::Ended
            }
        }
    }

    async fn search<S: Store>(
        &mut self,
        store: &mut S,
        cutoff: Cutoff,
        tell: &(dyn Fn(&Event) + Sync),
    ) -> Result<Duration, Failure> {
        let Step { nominated, read_to, held } = store.search(&self.table.rule, cutoff, &self.leg).await?;
        match self.mode {
            Mode::Delete => self.queue.extend(nominated),
            Mode::DryRun => nominated.into_iter().for_each(|key| self.name(key, tell)),
        }
        if read_to.is_none() {
            self.next_leg();
        } else {
            self.leg.after = read_to;
        }
        if self.queue.is_empty() {
            self.position.clone_from(&self.leg.after);
        }
        Ok(held)
    }

    fn name(&mut self, key: Key, tell: &(dyn Fn(&Event) + Sync)) {
        self.report.would_delete += 1;
        let (database, table) = (self.report.database.clone(), self.report.table.clone());
        tell(&Event::WouldDelete { database, table, key });
    }

    /// A walk that began in the middle goes on from the lowest key to where it began.
    fn next_leg(&mut self) {
        match self.began_at.take() {
            Some(began_at) => self.leg = Leg { after: None, until: Some(began_at) },
            None => self.searching = false,
        }
    }

    async fn batch<S: Store>(
        &mut self,
        store: &mut S,
        cutoff: Cutoff,
        tell: &(dyn Fn(&Event) + Sync),
    ) -> Result<Duration, Failure> {
        let bound = self.table.pace.bound();
        let keys: Vec<Key> = self.queue.iter().take(bound.rows).cloned().collect();
        let batch = store.delete_batch(&self.table.rule, cutoff, &keys, bound).await?;
        self.table.pace.learn(batch.cost);
        self.position = self.queue.drain(..batch.cost.rows).next_back();
        let held = batch.held() + batch.held_in_vain;
        self.count(batch, tell);
        Ok(held)
    }

    fn count(&mut self, batch: Batch, tell: &(dyn Fn(&Event) + Sync)) {
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
        tell(&Event::BatchCommitted { database, table, deleted, skipped, held, waited });
    }
}
