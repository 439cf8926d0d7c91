//! `check`: what a careful colleague would look at before letting a deleter near a database.

mod guards;
mod line;
mod listener;
mod table;

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::print::Printer;
use super::sweep::store;
use super::{Chosen, Exit, Outcome, chosen, runtime};
use crate::census::census;
use crate::clock;
use crate::config::{Block, Database, Settings, Timing};
use crate::discover::Member;
use crate::memory::Memory;
use crate::plan::{
    Counts, Event, Failure, Finding, Guards, Rule, TableFacts, TableLabel, TablePattern, UnixTime,
    file_findings, length, schema_failure,
};
use crate::store::sqlite::{Access, Sqlite};
use crate::store::{Examine, Store};
use line::Line;
use listener::look_at_listener;
use table::{look_at_rows, look_at_table};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this database, or those of the block of this name
    #[arg(long)]
    database: Option<String>,
}

pub(super) fn run(args: &Args, settings: Settings, printer: &Printer) -> Result<Outcome, Exit> {
    let folder = settings.state_dir.clone();
    let of_listener = look_at_listener(&settings.http);
    let (memory, faulty) = guards::memory(folder.as_deref());
    let Chosen { members, troubles, empty } = chosen(settings, args.database.as_deref())?;
    let mut outcome = of_listener.iter().map(Line::outcome).fold(Outcome::Yes, Ord::max);
    of_listener.iter().try_for_each(|line| line.print_of_listener(printer))?;
    runtime()?.block_on(async {
        for Member { database, taken, .. } in &members {
            let mut lines = match taken {
                Some(failure) => vec![Line::failure(None, failure)],
                None => look(database, &memory, folder.as_deref()).await,
            };
            lines.extend(faulty.as_ref().map(|failure| Line::failure(None, failure)));
            outcome = lines.iter().map(Line::outcome).fold(outcome, Ord::max);
            lines.iter().try_for_each(|line| line.print(&database.name, printer))?;
        }
        for block in &empty {
            nothing_found(block).print(block.name(), printer)?;
        }
        for (block, failure) in &troubles {
            outcome = outcome.max(Outcome::No);
            Line::failure(None, failure).print(block, printer)?;
        }
        Ok(outcome)
    })
}

fn nothing_found(block: &Block) -> Line {
    let path = block.template.path.display();
    let what = format!("no file matches {path} at present; one that comes is swept from then on");
    Line::advice(
        what,
        "correct `glob` if there should be one; a wildcard matches no dot at the start of a name",
    )
}

async fn look(database: &Database, memory: &Memory, folder: Option<&Path>) -> Vec<Line> {
    let reading = clock::reading();
    let mut lines = vec![Line::fine(None, configured(database))];
    // As a sweep would be admitted, though it only reads: a file that could not be swept is a fault.
    let mut swept = store(database, Access::Write, &CancellationToken::new());
    let looked = swept.look(&database.rules).await;
    drop(swept);
    let rules = match &looked {
        Ok(looked) => looked.iter().map(|(rule, _)| rule.clone()).collect(),
        Err(_) => database.rules.as_written(),
    };
    let guards = memory.guards(database, &rules, &reading).await;
    lines.extend(guards::of_database(database, folder, &guards));
    match looked {
        Ok(looked) => lines.extend(look_inside(database, &looked, &guards, reading.wall).await),
        Err(failure) => lines.push(Line::failure(None, &failure)),
    }
    lines
}

async fn look_inside(
    database: &Database,
    looked: &[(Rule, TableFacts)],
    guards: &Guards,
    now: UnixTime,
) -> Vec<Line> {
    let mut lines = unmatched(database, looked);
    let schema = || looked.iter().flat_map(|(rule, facts)| look_at_table(rule, facts, now));
    if looked.iter().all(|(rule, facts)| schema_failure(rule, facts).is_some()) {
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
    for (rule, facts) in looked {
        lines.extend(look_at_table(rule, facts, now));
        if schema_failure(rule, facts).is_none() {
            let counts = counts.iter().find(|(label, _)| *label == rule.label).map(|(_, counts)| counts);
            lines.extend(look_at_rows(database, rule, now, counts, &mut reader).await);
            if let Some(Ok(counts)) = counts {
                lines.extend(guards::of_table(rule, counts, guards));
            }
        }
    }
    lines
}

/// Patterns that no table matches yet.
fn unmatched(database: &Database, looked: &[(Rule, TableFacts)]) -> Vec<Line> {
    let is_unmatched = |pattern: &&TablePattern| !looked.iter().any(|(rule, _)| pattern.matches(&rule.table));
    let advice = |pattern: &TablePattern| {
        let what = format!(
            "no table matches `{}` at present; one that comes is swept from then on",
            pattern.as_str()
        );
        Line::advice(
            what,
            "correct `table` if there should be one; a table that another block names is not matched",
        )
    };
    database.rules.patterns().filter(is_unmatched).map(advice).collect()
}

async fn surroundings(database: &Database, reader: &mut Sqlite) -> Result<Vec<Finding>, Failure> {
    reader.look(&database.rules).await?;
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
