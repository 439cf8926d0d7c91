//! What `check` says of one table: how it is retained, what its schema and its rows show.

use super::line::Line;
use crate::config::Database;
use crate::plan::{
    Counts, Failure, Rule, Survey, TableFacts, Unfinished, UnixTime, Workload, count_findings,
    index_candidates, length, survey_findings, table_findings,
};
use crate::store::Examine;
use crate::store::sqlite::Sqlite;

pub(super) fn look_at_table(rule: &Rule, facts: &TableFacts, now: UnixTime) -> Vec<Line> {
    let findings = table_findings(rule, facts).into_iter().map(|finding| Line::finding(Some(rule), finding));
    std::iter::once(Line::fine(Some(rule), retained(rule, now))).chain(findings).collect()
}

pub(super) async fn look_at_rows(
    database: &Database,
    rule: &Rule,
    now: UnixTime,
    counts: Option<&Result<Counts, Failure>>,
    reader: &mut Sqlite,
) -> Vec<Line> {
    let counts = match counts {
        Some(Ok(counts)) => counts,
        Some(Err(failure)) => return vec![Line::failure(Some(rule), failure)],
        None => return Vec::new(),
    };
    let survey = match reader.survey(rule, now, &index_candidates(rule)).await {
        Ok(survey) => survey,
        Err(failure) => {
            return vec![Line::fine(Some(rule), counted(counts, 0)), Line::failure(Some(rule), &failure)];
        }
    };
    let Survey { undated, due_in_an_hour, .. } = survey;
    let mut findings = survey_findings(rule, &survey, &workload(database, now), now);
    findings.extend(count_findings(counts, undated));
    let findings = findings.into_iter().map(|finding| Line::finding(Some(rule), finding));
    let coming = format!("{}; {due_in_an_hour} more become due within an hour", counted(counts, undated));
    std::iter::once(Line::fine(Some(rule), coming)).chain(findings).collect()
}

fn workload(database: &Database, now: UnixTime) -> Workload {
    let work_an_hour = database.timing.work_an_hour(database.budget, database.window, now);
    Workload { batch: database.batch, share: database.share, work_an_hour }
}

fn retained(rule: &Rule, now: UnixTime) -> String {
    let Some(clock) = &rule.clock else {
        return "no clock column: its rows are counted, and never deleted".into();
    };
    let kind = if clock.is_expiry() { "expires" } else { "since" };
    let (retention, column, unit) = (length(clock.retention()), clock.column(), clock.unit().name());
    format!(
        "retention {retention} past {kind} column `{column}` ({unit}): the cutoff is {} now",
        clock.cutoff(now)
    )
}

fn counted(counts: &Counts, undated: u64) -> String {
    let Counts { unfinished, done, expired, unreadable, .. } = counts;
    let done = format!("{done} done ({expired} expired)");
    let undated = format!("{unreadable} unreadable ({undated} undated)");
    match unfinished {
        Some(Unfinished { pending, unknown }) => {
            format!("{pending} pending, {done}, {unknown} unknown, {undated}")
        }
        None => format!("{done}, {undated}"),
    }
}
