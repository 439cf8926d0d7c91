//! `pending`: the abandoned rows of a database, oldest first. It changes nothing.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::print::{Printer, complain, key_json};
use super::sweep::store;
use super::{Exit, Outcome, chosen, runtime};
use crate::clock;
use crate::config::{Database, Settings};
use crate::discover::Member;
use crate::plan::{Failure, Key, TableLabel, UnixTime, schema_failure};
use crate::store::Store;
use crate::store::sqlite::Access;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this database, or those of the block of this name
    #[arg(long)]
    database: Option<String>,
    /// The most rows of a table, 1 to 100000
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
}

/// An abandoned row, and the instant at which it became one.
type Row = (TableLabel, Key, UnixTime);

pub(super) fn run(args: &Args, settings: Settings, printer: &Printer) -> Result<Outcome, Exit> {
    let members = chosen(settings, args.database.as_deref())?.told();
    let mut outcome = Outcome::Yes;
    runtime()?.block_on(async {
        for Member { database, taken, .. } in &members {
            if let Some(failure) = taken {
                complain(format_args!("{}: {failure}", database.name));
                outcome = outcome.max(Outcome::No);
                continue;
            }
            let (rows, failures) = abandoned(database, args.limit as usize).await;
            print(database, &rows, printer)?;
            for failure in failures {
                complain(format_args!("{}: {failure}", database.name));
                outcome = Outcome::Unknown;
            }
        }
        Ok(outcome)
    })
}

/// The rows of every table that can be read, and why the others cannot.
async fn abandoned(database: &Database, most: usize) -> (Vec<Row>, Vec<Failure>) {
    let mut store = store(database, Access::Read, &CancellationToken::new());
    let looked = match store.look(&database.rules).await {
        Ok(looked) => looked,
        Err(failure) => return (Vec::new(), vec![failure]),
    };
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    for (rule, facts) in &looked {
        let rows = match schema_failure(rule, facts) {
            Some(failure) => Err(failure),
            None => store.abandoned(rule, clock::now(), most).await,
        };
        match rows {
            Ok(rows) => found.extend(rows.into_iter().map(|(key, since)| (rule.label.clone(), key, since))),
            Err(failure) => failures.push(failure),
        }
    }
    (found, failures)
}

fn print(database: &Database, rows: &[Row], printer: &Printer) -> Result<(), Exit> {
    if printer.is_json() {
        for (table, key, since) in rows {
            printer.line(json!({
                "database": database.name.as_str(),
                "table": table.as_str(),
                "key": key_json(key),
                "abandoned_since": since.seconds(),
            }))?;
        }
        return Ok(());
    }
    let name = database.name.to_string();
    let cells =
        |(table, key, since): &Row| vec![name.clone(), table.to_string(), since.to_string(), key.to_string()];
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    printer.table(&["DATABASE", "TABLE", "ABANDONED SINCE", "KEY"], &rows)?;
    Ok(())
}
