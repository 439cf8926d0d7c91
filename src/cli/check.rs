//! `check`: what a careful colleague would look at before letting a deleter near a database.

mod guards;

use std::path::Path;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::print::Printer;
use super::sweep::store;
use super::{Chosen, Exit, Outcome, chosen, runtime};
use crate::census::census;
use crate::clock;
use crate::config::{Block, Database, Settings};
use crate::discover::Member;
use crate::memory::Memory;
use crate::plan::{
    Counts, DatabaseName, Event, Failure, FailureKind, Guards, HoldReason, Rule, Severity, TableFacts,
    TableLabel, Unfinished, UnixTime, length, schema_failure, table_findings,
};
use crate::store::Store;
use crate::store::sqlite::{Access, Sqlite};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this database, or those of the block of this name
    #[arg(long)]
    database: Option<String>,
}

/// One line of the answer.
struct Line {
    table: Option<String>,
    verdict: Verdict,
    what: String,
    remedy: Option<String>,
}

#[derive(Debug, Clone, Copy)]
enum Verdict {
    Fine,
    Advice,
    Hold(HoldReason),
    Down(FailureKind),
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Advice => "advice",
            Self::Hold(_) => "hold",
            Self::Down(_) => "down",
        }
    }

    fn reason(self) -> Option<&'static str> {
        match self {
            Self::Fine | Self::Advice => None,
            Self::Hold(reason) => Some(reason.name()),
            Self::Down(kind) => Some(kind.name()),
        }
    }

    fn outcome(self) -> Outcome {
        match self {
            Self::Fine | Self::Advice => Outcome::Yes,
            Self::Down(
                FailureKind::Busy
                | FailureKind::Io
                | FailureKind::Corrupt
                | FailureKind::Full
                | FailureKind::Interrupted
                | FailureKind::Internal,
            ) => Outcome::Unknown,
            // It is shown before it is acted on, and ends by itself: no fault of the config.
            Self::Hold(HoldReason::Horizon) => Outcome::Yes,
            Self::Hold(_) | Self::Down(_) => Outcome::No,
        }
    }
}

impl Line {
    fn fine(table: Option<&Rule>, what: String) -> Self {
        Self { table: table.map(|rule| rule.label.to_string()), verdict: Verdict::Fine, what, remedy: None }
    }

    fn hold(table: Option<&Rule>, reason: HoldReason, why: &Failure) -> Self {
        Self { verdict: Verdict::Hold(reason), ..Self::failure(table, why) }
    }

    fn failure(table: Option<&Rule>, failure: &Failure) -> Self {
        let verdict = HoldReason::of(failure.kind()).map_or(Verdict::Down(failure.kind()), Verdict::Hold);
        let table = table.map(|rule| rule.label.to_string());
        Self { table, verdict, what: failure.what().into(), remedy: Some(failure.remedy().into()) }
    }
}

pub(super) fn run(args: &Args, settings: Settings, printer: &Printer) -> Result<Outcome, Exit> {
    let folder = settings.state_dir.clone();
    let (memory, faulty) = guards::memory(folder.as_deref());
    let Chosen { members, troubles, empty } = chosen(settings, args.database.as_deref())?;
    let mut outcome = Outcome::Yes;
    runtime()?.block_on(async {
        for Member { database, taken, .. } in &members {
            let mut lines = match taken {
                Some(failure) => vec![Line::failure(None, failure)],
                None => look(database, &memory, folder.as_deref()).await,
            };
            lines.extend(faulty.as_ref().map(|failure| Line::failure(None, failure)));
            outcome = lines.iter().map(|line| line.verdict.outcome()).fold(outcome, Ord::max);
            print(&database.name, &lines, printer)?;
        }
        for block in &empty {
            print(block.name(), &[nothing_found(block)], printer)?;
        }
        for (block, failure) in &troubles {
            outcome = outcome.max(Outcome::No);
            print(block, &[Line::failure(None, failure)], printer)?;
        }
        Ok(outcome)
    })
}

fn nothing_found(block: &Block) -> Line {
    let path = block.template.path.display();
    let what = format!("no file matches {path} at present; one that comes is swept from then on");
    let remedy = "correct `glob` if there should be one; a wildcard matches no dot at the start of a name";
    Line { table: None, verdict: Verdict::Advice, what, remedy: Some(remedy.into()) }
}

async fn look(database: &Database, memory: &Memory, folder: Option<&Path>) -> Vec<Line> {
    let reading = clock::reading();
    let now = reading.wall;
    let mut lines = vec![Line::fine(None, configured(database))];
    // As a sweep would be admitted, though it only reads: a file that could not be swept is a fault.
    let mut swept = store(database, Access::Write, &CancellationToken::new());
    let looked = swept.look(&database.rules).await;
    let rules = match &looked {
        Ok(looked) => looked.iter().map(|(rule, _)| rule.clone()).collect(),
        Err(_) => database.rules.rules(&[]),
    };
    let guards = &memory.guards(database, &rules, &reading).await;
    lines.extend(guards::of_database(database, folder, guards));
    let looked = match looked {
        Ok(looked) => looked,
        Err(failure) => {
            lines.push(Line::failure(None, &failure));
            return lines;
        }
    };
    drop(swept);
    let mut reader = store(database, Access::Read, &CancellationToken::new());
    if let Err(failure) = reader.look(&database.rules).await {
        lines.push(Line::failure(None, &failure));
    }
    let counts = count(database, now, &mut reader).await;
    for (rule, facts) in &looked {
        let counts = counts.iter().find(|(label, _)| *label == rule.label).map(|(_, counts)| counts);
        lines.extend(look_at_table(rule, facts, guards, now, counts));
    }
    lines
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
        crate::config::Timing::Every(every) => format!("every {}", length(*every)),
        crate::config::Timing::Cron(schedule) => format!("on schedule `{}` (UTC)", schedule.text()),
    };
    let off = if database.enabled { "" } else { "; deleting is off (enabled = false)" };
    format!(
        "{}: swept {when}, batches of up to {} rows, locked at most {:.1} % of the time{off}",
        database.path.display(),
        database.batch,
        database.share.get() * 100.0
    )
}

fn look_at_table(
    rule: &Rule,
    facts: &TableFacts,
    guards: &Guards,
    now: UnixTime,
    counts: Option<&Result<Counts, Failure>>,
) -> Vec<Line> {
    let mut lines = vec![Line::fine(Some(rule), retained(rule, now))];
    for finding in table_findings(rule, facts) {
        let verdict = match finding.severity {
            Severity::Hold(reason) => Verdict::Hold(reason),
            Severity::Advice => Verdict::Advice,
        };
        let (what, remedy) = (finding.what, Some(finding.remedy));
        lines.push(Line { table: Some(rule.label.to_string()), verdict, what, remedy });
    }
    if schema_failure(rule, facts).is_none() {
        match counts {
            Some(Ok(counts)) => {
                lines.extend(counted(rule, counts));
                lines.extend(guards::of_table(rule, counts, guards));
            }
            Some(Err(failure)) => lines.push(Line::failure(Some(rule), failure)),
            None => {}
        }
    }
    lines
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

fn counted(rule: &Rule, counts: &Counts) -> Vec<Line> {
    let Counts { unfinished, done, expired, unreadable, .. } = counts;
    let what = match unfinished {
        Some(Unfinished { pending, unknown }) => {
            format!("{pending} pending, {done} done ({expired} expired), {unknown} unknown")
        }
        None => format!("{done} done ({expired} expired)"),
    };
    let unknown = unfinished.map_or(0, |rows| rows.unknown);
    let mut lines = vec![Line::fine(Some(rule), what)];
    let mut advise = |what: String, remedy: &str| {
        let table = Some(rule.label.to_string());
        lines.push(Line { table, verdict: Verdict::Advice, what, remedy: Some(remedy.into()) });
    };
    if unknown > 0 {
        advise(
            format!("{unknown} rows are in a state that neither `done` nor `pending` names"),
            "they are never deleted; if they are finished, add their value to `done`",
        );
    }
    if *unreadable > 0 {
        advise(
            format!("the clock column of {unreadable} rows cannot be read in its unit"),
            "they never expire; check `unit`, and whether the application writes NULL or text there",
        );
    }
    let abandoned = counts.abandoned.as_ref().map_or(0, |abandoned| abandoned.older_than[0]);
    if abandoned > 0 {
        advise(
            format!("{abandoned} pending rows are abandoned"),
            "keysweep never deletes them; `keysweep pending` lists them for whoever must settle them",
        );
    }
    lines
}

fn print(database: &DatabaseName, lines: &[Line], printer: &Printer) -> Result<(), Exit> {
    for Line { table, verdict, what, remedy } in lines {
        if printer.is_json() {
            printer.line(json!({
                "database": database.as_str(),
                "table": table,
                "severity": verdict.name(),
                "reason": verdict.reason(),
                "what": what,
                "remedy": remedy,
            }))?;
        } else {
            let place = table.as_ref().map_or(String::new(), |table| format!("/{table}"));
            printer.line(format_args!("{:6} {}{place}: {what}", verdict.name(), database))?;
            if let Some(remedy) = remedy {
                printer.line(format_args!("       -> {remedy}"))?;
            }
        }
    }
    Ok(())
}
