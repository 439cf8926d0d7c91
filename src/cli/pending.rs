//! `pending`: the abandoned rows of a database, oldest first. It changes nothing.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::print::{Printer, key_json};
use super::sweep::store;
use super::{Exit, Outcome, chosen, runtime};
use crate::clock;
use crate::config::{Database, Settings};
use crate::plan::{Failure, Key, TableLabel, UnixTime, schema_failure};
use crate::store::Store;
use crate::store::sqlite::Access;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this database
    #[arg(long)]
    database: Option<String>,
    /// The most rows of a table, 1 to 100000
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
}

/// An abandoned row, and the instant at which it became one.
type Row = (TableLabel, Key, UnixTime);

pub(super) fn run(args: &Args, settings: Settings, printer: &Printer) -> Result<Outcome, Exit> {
    let databases = chosen(settings, args.database.as_deref())?;
    let mut outcome = Outcome::Yes;
    runtime()?.block_on(async {
        for database in &databases {
            match abandoned(database, args.limit as usize).await {
                Ok(rows) => print(database, &rows, printer)?,
                Err(failure) => {
                    eprintln!("keysweep: {}: {failure}", database.name);
                    outcome = Outcome::Unknown;
                }
            }
        }
        Ok(outcome)
    })
}

async fn abandoned(database: &Database, most: usize) -> Result<Vec<Row>, Failure> {
    let mut store = store(database, Access::Read, &CancellationToken::new());
    let facts = store.inspect(&database.rules).await?;
    let mut found = Vec::new();
    for (rule, facts) in database.rules.iter().zip(&facts) {
        if let Some(failure) = schema_failure(rule, facts) {
            return Err(failure);
        }
        let rows = store.abandoned(rule, clock::now(), most).await?;
        found.extend(rows.into_iter().map(|(key, since)| (rule.label.clone(), key, since)));
    }
    Ok(found)
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
