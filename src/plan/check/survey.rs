//! What a closer look at a table's rows shows.

use super::super::{Cutoff, Finding, Predicate, Rule, UnixTime, Value};
use super::Workload;
use super::index::index_finding;
use super::inflow::inflow_finding;
use super::unit::unit_findings;

/// The rows that become due within this time are compared with what a sweep can delete in it.
const HOUR: std::time::Duration = std::time::Duration::from_secs(3_600);

/// The clock column of a sampled row.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    /// Whether the row is done.
    pub is_done: bool,
    /// The value as it is stored.
    pub clock: Value,
}

/// What a closer look at a table gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Survey {
    /// All rows.
    pub rows: u64,
    /// Rows of which a key column is NULL.
    pub keyless: u64,
    /// Rows that retention should count from and that have NULL in the clock column.
    pub undated: u64,
    /// Done rows that become due within the next hour.
    pub due_in_an_hour: u64,
    /// Some hundred rows that retention should count from, from both ends and the middle of the table.
    pub sample: Vec<Sampled>,
    /// The key is the number of the row, and the engine may give the number of a deleted row to a new one.
    pub reuses_numbers: bool,
    /// Whether an index finds the expired rows.
    pub has_index: bool,
    /// The first of [`index_candidates`](super::index_candidates) with which one would.
    pub fitting_index: Option<String>,
}

impl Rule {
    /// Retention counts from this row, or will: a done row, or any row with an expiry of its own.
    #[must_use]
    pub fn is_dated(&self) -> Predicate {
        match &self.clock {
            Some(clock) if clock.is_expiry() => {
                Predicate::Any(vec![self.done.predicate(), self.is_pending()])
            }
            Some(_) => self.is_done(),
            None => Predicate::Any(Vec::new()),
        }
    }

    /// The clock column should date this row, and is NULL.
    #[must_use]
    pub fn is_undated(&self) -> Predicate {
        let Some(clock) = &self.clock else { return Predicate::Any(Vec::new()) };
        self.is_unreadable().and(Predicate::Present { column: clock.column().clone() }.negated())
    }

    /// The row becomes due within the hour after a tick at `now`.
    #[must_use]
    pub fn is_due_in_an_hour(&self, now: UnixTime) -> Predicate {
        let later = now.after(HOUR).unwrap_or(now);
        let expired = |cutoff: Option<Cutoff>| {
            cutoff.map_or(Predicate::Any(Vec::new()), |cutoff| self.is_deletable(cutoff))
        };
        expired(self.cutoff(later)).and(expired(self.cutoff(now)).negated())
    }
}

/// Everything that is worth saying of a table after a closer look, the severe first.
#[must_use]
pub fn survey_findings(rule: &Rule, survey: &Survey, workload: &Workload, now: UnixTime) -> Vec<Finding> {
    let mut findings = unit_findings(rule, &survey.sample, now);
    // What is true of the table whatever the rule is said once.
    if rule.is_first() {
        findings.extend(keyless(survey));
        findings.extend(reused(rule, survey));
    }
    findings.extend(index_finding(rule, survey));
    findings.extend(inflow_finding(survey.due_in_an_hour, workload));
    findings
}

fn keyless(survey: &Survey) -> Option<Finding> {
    let what = format!("{} rows have NULL in a key column", survey.keyless);
    let remedy = "a row is deleted by its key, so they stay for ever: let the application give them one, or settle them itself";
    (survey.keyless > 0).then(|| Finding::advice(&what, remedy))
}

fn reused(rule: &Rule, survey: &Survey) -> Option<Finding> {
    let column = rule.key.columns().first()?;
    let what = format!(
        "key `{column}` is an INTEGER PRIMARY KEY without AUTOINCREMENT: a new row may get the number of a deleted one"
    );
    let remedy = "where the application remembers these numbers, create the table with AUTOINCREMENT; otherwise nothing";
    survey.reuses_numbers.then(|| Finding::advice(&what, remedy))
}
