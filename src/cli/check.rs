//! `check`: what a careful colleague would look at before letting a deleter near a database.

mod line;

use tokio_util::sync::CancellationToken;

use super::print::{Printer, length};
use super::sweep::store;
use super::{Exit, Outcome, chosen, runtime};
use crate::census::census;
use crate::clock;
use crate::config::{Database, Settings, Timing};
use crate::plan::{
    Counts, Event, Failure, Finding, Rule, Survey, TableFacts, TableLabel, Unfinished, UnixTime, Workload,
    count_findings, file_findings, index_candidates, schema_failure, survey_findings, table_findings,
};
use crate::store::sqlite::{Access, Sqlite};
use crate::store::{Examine, Store};
use line::Line;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this database
    #[arg(long)]
    database: Option<String>,
}

pub(super) fn run(args: &Args, settings: Settings, printer: &Printer) -> Result<Outcome, Exit> {
    let databases = chosen(settings, args.database.as_deref())?;
    let mut outcome = Outcome::Yes;
    runtime()?.block_on(async {
        for database in &databases {
            let lines = look(database, clock::now()).await;
            outcome = lines.iter().map(Line::outcome).fold(outcome, Ord::max);
            lines.iter().try_for_each(|line| line.print(database, printer))?;
        }
        Ok(outcome)
    })
}

async fn look(database: &Database, now: UnixTime) -> Vec<Line> {
    let mut lines = vec![Line::fine(None, configured(database))];
    // As a sweep would be admitted, though it only reads: a file that could not be swept is a fault.
    let mut swept = store(database, Access::Write, &CancellationToken::new());
    let facts = match swept.inspect(&database.rules).await {
        Ok(facts) => facts,
        Err(failure) => {
            lines.push(Line::failure(None, &failure));
            return lines;
        }
    };
    drop(swept);
    let tables = || database.rules.iter().zip(&facts);
    let schema = || tables().flat_map(|(rule, facts)| look_at_table(rule, facts, now));
    if tables().all(|(rule, facts)| schema_failure(rule, facts).is_some()) {
        // Nothing will be swept, so nothing is opened for more than its schema.
        lines.extend(schema());
        return lines;
    }
    let mut reader = store(database, Access::Read, &CancellationToken::new());
    match surroundings(database, &mut reader).await {
        Ok(findings) => lines.extend(findings.into_iter().map(|finding| Line::finding(None, finding))),
        Err(failure) => {
            lines.extend(schema());
            lines.push(Line::failure(None, &failure));
            return lines;
        }
    }
    let counts = count(database, now, &mut reader).await;
    for (rule, facts) in tables() {
        lines.extend(look_at_table(rule, facts, now));
        if schema_failure(rule, facts).is_none() {
            let counts = counts.iter().find(|(label, _)| *label == rule.label).map(|(_, counts)| counts);
            lines.extend(look_at_rows(database, rule, now, counts, &mut reader).await);
        }
    }
    lines
}

async fn surroundings(database: &Database, reader: &mut Sqlite) -> Result<Vec<Finding>, Failure> {
    reader.inspect(&database.rules).await?;
    Ok(file_findings(&reader.surroundings().await?))
}

/// The counts of every table that can be counted.
async fn count(
    database: &Database,
    now: UnixTime,
    reader: &mut Sqlite,
) -> Vec<(TableLabel, Result<Counts, Failure>)> {
    let counted = std::sync::Mutex::new(Vec::new());
    let tell = |event: &Event| {
        if let (Event::Counted { table, counts, .. }, Ok(mut counted)) = (event, counted.lock()) {
            counted.push((table.clone(), counts.clone()));
        }
    };
    census(&database.name, now, reader, &database.rules, &tell).await;
    counted.into_inner().unwrap_or_default()
}

fn configured(database: &Database) -> String {
    let when = match &database.timing {
        Timing::Every(every) => format!("every {}", length(*every)),
        Timing::Cron(schedule) => format!("on schedule `{}` (UTC)", schedule.text()),
    };
    let budget = database
        .budget
        .map_or_else(|| "until the next tick".into(), |budget| format!("for {}", length(budget)));
    let off = if database.enabled { "" } else { "; deleting is off (enabled = false)" };
    format!(
        "{}: swept {when}, at most {budget}, batches of up to {} rows, locked at most {:.1} % of the time, waits {} for a \
         lock, counted every {}{off}",
        database.path.display(),
        database.batch,
        database.share.get() * 100.0,
        length(database.busy_timeout),
        length(database.census),
    )
}

fn look_at_table(rule: &Rule, facts: &TableFacts, now: UnixTime) -> Vec<Line> {
    let findings = table_findings(rule, facts).into_iter().map(|finding| Line::finding(Some(rule), finding));
    std::iter::once(Line::fine(Some(rule), retained(rule, now))).chain(findings).collect()
}

async fn look_at_rows(
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
    let Survey { undated, .. } = survey;
    let mut findings = survey_findings(rule, &survey, &workload(database, now), now);
    findings.extend(count_findings(counts, undated));
    let findings = findings.into_iter().map(|finding| Line::finding(Some(rule), finding));
    std::iter::once(Line::fine(Some(rule), counted(counts, undated))).chain(findings).collect()
}

fn workload(database: &Database, now: UnixTime) -> Workload {
    let work_an_hour = database.timing.work_an_hour(database.budget, now);
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
