//! `sweep`: one tick of every database in the foreground.

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::dry_run;
use super::print::{Printer, complain};
use super::run::stop_on_signals;
use super::{Exit, Outcome, chosen, runtime};
use crate::census::census;
use crate::clock;
use crate::config::{Database, Settings};
use crate::memory::{Memory, Role};
use crate::plan::{Event, Report, Rule, Stop};
use crate::store::Store;
use crate::store::sqlite::{Access, Sqlite};
use crate::tick::{Mode, Order, TableMemory, tick};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this database, or those of the block of this name
    #[arg(long)]
    database: Option<String>,
    /// Change no row, take no write lock, and name exactly what a sweep at this moment would take (or
    /// would if it were enabled, its window open and no guard held it, which is said)
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, settings: Settings, printer: &Printer) -> Result<Outcome, Exit> {
    let role = if args.dry_run { Role::Onlooker } else { Role::Command };
    let memory = Memory::open(settings.state_dir.as_deref(), role).map_err(Exit::wrong)?;
    let members = chosen(settings, args.database.as_deref())?.told();
    runtime()?.block_on(async {
        let stop = stop_on_signals()?;
        let mut reports = Vec::new();
        for member in &members {
            let database = &member.database;
            reports.extend(match (member.held(clock::now()), args.dry_run) {
                (Some(held), _) => held,
                (None, false) => sweep(database, &memory, &stop, printer).await,
                (None, true) => dry_run::sweep(database, &memory, &stop, printer).await?,
            });
        }
        memory.close();
        if printer.is_json() {
            reports.iter().try_for_each(|report| printer.line(summary(report, args.dry_run)))?;
        } else {
            print_table(&reports, args.dry_run, printer)?;
        }
        Ok(reports.iter().map(outcome).max().unwrap_or(Outcome::Yes))
    })
}

/// One tick of one database in the foreground.
pub(super) async fn tick_once(
    database: &Database,
    memory: &Memory,
    mode: Mode,
    stop: &CancellationToken,
    tell: &(dyn Fn(&Event) + Sync),
) -> Vec<Report> {
    let reading = clock::reading();
    let access = match mode {
        Mode::Delete => Access::Write,
        Mode::DryRun => Access::Read,
    };
    let mut store = store(database, access, stop);
    // Where the tables cannot be listed the tick fails for the same cause, and reports it.
    let rules = store.rules(&database.rules).await.unwrap_or_else(|_| database.rules.as_written());
    let order = Order {
        database: &database.name,
        now: reading.wall,
        budget: database.budget,
        enabled: database.enabled,
        guards: memory.guards(database, &rules, &reading).await,
        mode,
        stop,
    };
    let table = |rule: &Rule| TableMemory::new(rule.clone(), database.batch, database.share);
    let mut tables: Vec<TableMemory> = rules.iter().map(table).collect();
    tick(&order, &mut store, &mut tables, tell).await
}

pub(super) fn store(database: &Database, access: Access, stop: &CancellationToken) -> Sqlite {
    // A wait for a lock counts as time that the tick works.
    let longest_wait = database.busy_timeout.min(database.budget.unwrap_or(std::time::Duration::MAX));
    Sqlite::new(database.path.clone(), access, longest_wait, stop.clone()).with_wal(database.wal)
}

async fn sweep(
    database: &Database,
    memory: &Memory,
    stop: &CancellationToken,
    printer: &Printer,
) -> Vec<Report> {
    let bar = if printer.is_watched() { Some(bar(database, stop).await) } else { None };
    let tell = |event: &Event| match event {
        Event::BatchCommitted { deleted, .. } => bar.iter().for_each(|bar| bar.inc(*deleted)),
        Event::RowSkipped { database, table, key, reason } => {
            let key = key.to_string();
            tracing::debug!(%database, %table, key, reason = reason.name(), "a row was left where it is");
        }
        _ => {}
    };
    let reports = tick_once(database, memory, Mode::Delete, stop, &tell).await;
    bar.iter().for_each(ProgressBar::finish_and_clear);
    reports
}

/// As long as there are expired rows, which takes a census first.
async fn bar(database: &Database, stop: &CancellationToken) -> ProgressBar {
    let expired = std::sync::atomic::AtomicU64::new(0);
    let tell = |event: &Event| {
        if let Event::Counted { counts: Ok(counts), .. } = event {
            expired.fetch_add(counts.expired, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let mut store = store(database, Access::Read, stop);
    census(&database.name, clock::now(), &mut store, &database.rules, &tell).await;
    let bar = ProgressBar::new(expired.into_inner()).with_message(database.name.to_string());
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} rows, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn summary(report: &Report, dry_run: bool) -> Json {
    let mut summary = json!({
        "database": report.database.as_str(),
        "table": report.table.as_str(),
        "now": report.now.seconds(),
        "cutoff": report.cutoff.map(|cutoff| cutoff.instant().seconds()),
        "deleted": report.deleted,
        "batches": report.batches,
        "skipped": report.skipped.total(),
        "stop": report.stop.name(),
        "held": report.held.map(|reason| reason.name()),
        "error": report.error.as_ref().map(ToString::to_string),
    });
    if dry_run {
        summary["would_delete"] = json!(report.would_delete);
    }
    summary
}

fn print_table(reports: &[Report], dry_run: bool, printer: &Printer) -> Result<(), Exit> {
    let rows: Vec<Vec<String>> = reports
        .iter()
        .map(|report| {
            vec![
                report.database.to_string(),
                report.table.to_string(),
                report.cutoff.map_or("-".into(), |cutoff| cutoff.to_string()),
                if dry_run { report.would_delete } else { report.deleted }.to_string(),
                report.skipped.total().to_string(),
                report.stop.name().into(),
            ]
        })
        .collect();
    let count = if dry_run { "WOULD DELETE" } else { "DELETED" };
    printer.table(&["DATABASE", "TABLE", "CUTOFF", count, "SKIPPED", "STOP"], &rows)?;
    for report in reports {
        if let Some(error) = &report.error {
            let held = match (report.held, report.stop) {
                (None, Stop::Budget) => "stopped early",
                (None, _) => "failed",
                (Some(_), Stop::Held) => "held",
                (Some(_), _) => "would be held",
            };
            complain(format_args!("{}/{} {held}: {error}", report.database, report.table));
        }
    }
    Ok(())
}

fn outcome(report: &Report) -> Outcome {
    match report.stop {
        Stop::Budget if report.error.is_some() => Outcome::No,
        Stop::Drained | Stop::Budget | Stop::Disabled => Outcome::Yes,
        Stop::Shutdown | Stop::Held => Outcome::No,
        Stop::Failed => Outcome::Unknown,
    }
}
