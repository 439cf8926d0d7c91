//! `sweep --dry-run`: name every key that a sweep at this moment would take.

use std::sync::Mutex;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Exit;
use super::print::{Printer, key_json};
use super::sweep::tick_once;
use crate::config::Database;
use crate::memory::Memory;
use crate::plan::{Event, Report};
use crate::tick::Mode;

/// The keys are printed while they are found, so that a table of any size needs no memory.
pub(super) async fn sweep(
    database: &Database,
    memory: &Memory,
    stop: &CancellationToken,
    printer: &Printer,
) -> Result<Vec<Report>, Exit> {
    let failed = Mutex::new(None);
    let tell = |event: &Event| {
        if let Err(error) = print(event, printer) {
            // Nobody reads on: end the search.
            if let Ok(mut failed) = failed.lock() {
                *failed = Some(error);
            }
            stop.cancel();
        }
    };
    let reports = tick_once(database, memory, Mode::DryRun, stop, &tell).await;
    match failed.into_inner().ok().flatten() {
        Some(error) => Err(error.into()),
        None => Ok(reports),
    }
}

fn print(event: &Event, printer: &Printer) -> std::io::Result<()> {
    let Event::WouldDelete { database, table, key } = event else {
        return Ok(());
    };
    if printer.is_json() {
        let line = json!({ "database": database.as_str(), "table": table.as_str(), "key": key_json(key) });
        printer.line(line)
    } else {
        printer.line(format_args!("{database}/{table}: {key}"))
    }
}
