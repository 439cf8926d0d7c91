//! `status`: what a running daemon says, as a table.

mod asking;

use std::path::{Path, PathBuf};

use hyper::Uri;

pub(super) use asking::Asking;

use super::print::Printer;
use super::{Exit, Outcome, runtime};
use crate::config::{self, Http, LISTEN};
use crate::observe::{Condition, DatabaseStatus, Status, TableStatus};
use crate::plan::UnixTime;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where the daemon listens, with a user where it asks for one: https://USER@HOST:PORT [default: as the config says,
    /// else http://127.0.0.1:9925]
    #[arg(long)]
    url: Option<Uri>,
    /// Certificates in PEM: those that may have issued the daemon's, or its own [default: the config's http.tls.cert,
    /// else those of the distribution]
    #[arg(long)]
    cacert: Option<PathBuf>,
    /// A file whose first line is the user's password [default: the variable KEYSWEEP_PASSWORD]
    #[arg(long)]
    password_file: Option<PathBuf>,
}

/// The password, where there is no file of it.
const PASSWORD: &str = "KEYSWEEP_PASSWORD";

pub(super) fn run(args: &Args, config: &Path, printer: &Printer) -> Result<Outcome, Exit> {
    let http = listening(config, args.url.is_some())?;
    let url = match &args.url {
        Some(url) => url.clone(),
        None => url_of(&http)?,
    };
    let configured = http.tls.map(|tls| tls.cert().to_owned());
    let trusted = args.cacert.clone().or(configured);
    let password = password(args)?;
    let status = runtime()?.block_on(Asking { url, trusted, password }.ask())?;
    if printer.is_json() {
        let json = serde_json::to_string(&status).map_err(Exit::unknown)?;
        printer.line(json)?;
    } else {
        print(&status, printer)?;
    }
    Ok(Outcome::Yes)
}

/// The listener of a daemon under this config, or the default one. A config that is there and cannot be read tells
/// of none; who names the daemon needs none.
fn listening(path: &Path, is_named: bool) -> Result<Http, Exit> {
    match config::load(path) {
        Ok(settings) => Ok(settings.http),
        Err(error) if path.exists() && !is_named => {
            Err(Exit::wrong(format!("where the daemon listens is not known: {error}; name it with --url")))
        }
        Err(_) => Ok(Http::default()),
    }
}

fn url_of(http: &Http) -> Result<Uri, Exit> {
    let address = http.listen.unwrap_or(LISTEN);
    let scheme = if http.tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{address}").parse().map_err(Exit::wrong)
}

fn password(args: &Args) -> Result<Option<String>, Exit> {
    let Some(path) = &args.password_file else { return Ok(std::env::var(PASSWORD).ok()) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| Exit::wrong(format!("--password-file {}: {error}", path.display())))?;
    Ok(Some(text.lines().next().unwrap_or_default().to_owned()))
}

fn print(status: &Status, printer: &Printer) -> Result<(), Exit> {
    let mut databases: Vec<_> = status.databases.iter().collect();
    databases.sort_by_key(|(_, database)| database.condition());
    let rows: Vec<Vec<String>> = databases
        .iter()
        .flat_map(|(name, database)| {
            database.tables.iter().map(move |(label, table)| row(name, database, label, table))
        })
        .collect();
    let head = [
        "DATABASE",
        "TABLE",
        "CONDITION",
        "PENDING",
        "DONE",
        "UNKNOWN",
        "UNREADABLE",
        "EXPIRED",
        "DUE/S",
        "PACE/S",
        "DRAINED IN",
        "ABANDONED",
        "OLDEST",
        "DELETED",
        "LAST SWEEP",
        "STOP",
        "NEXT TICK",
    ];
    printer.table(&head, &rows)?;
    if status.config_refused {
        printer.line("the config that was last read is refused, the one before stays in force; `keysweep check` says why")?;
    }
    for (name, database) in databases {
        for problem in problems(database) {
            printer.line(format_args!("{name}: {problem}"))?;
        }
    }
    Ok(())
}

fn row(name: &str, database: &DatabaseStatus, label: &str, table: &TableStatus) -> Vec<String> {
    let census = table.census.as_ref();
    let count = |count: fn(&crate::observe::CensusStatus) -> Option<u64>| or_dash(census.and_then(count));
    let oldest = census.and_then(|census| census.abandoned.as_ref()?.oldest);
    // A database that is down says so on each of its lines.
    let condition = if database.up == Some(false) { Condition::Down } else { table.condition() };
    let sweep = table.last_sweep.as_ref();
    let stop =
        sweep.map(|sweep| sweep.held.as_ref().map_or(sweep.stop.clone(), |held| format!("held: {held}")));
    vec![
        name.into(),
        label.into(),
        condition.to_string(),
        count(|census| census.pending),
        count(|census| Some(census.done)),
        count(|census| census.unknown),
        count(|census| Some(census.unreadable)),
        count(|census| Some(census.expired)),
        or_dash(table.inflow.map(|rows| format!("{rows:.1}"))),
        or_dash(table.pace.map(|rows| format!("{rows:.0}"))),
        or_dash(table.drained_in.map(|seconds| format!("{seconds:.0}s"))),
        or_dash(table.abandoned()),
        instant(oldest),
        table.deleted_total.to_string(),
        instant(sweep.map(|sweep| sweep.at)),
        or_dash(stop),
        instant(database.next_tick),
    ]
}

/// Each problem once, however many tables share it.
fn problems(database: &DatabaseStatus) -> Vec<String> {
    let whole = [&database.tick_failure, &database.census_failure];
    let of_tables = database.tables.values().flat_map(|table| {
        [&table.census_failure].into_iter().chain(table.last_sweep.as_ref().map(|sweep| &sweep.error))
    });
    let mut lines = Vec::new();
    for problem in whole.into_iter().chain(of_tables).flatten() {
        let line = format!("{}; {}", problem.what, problem.remedy);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or("-".into(), |value| value.to_string())
}

fn instant(seconds: Option<f64>) -> String {
    or_dash(seconds.and_then(|seconds| UnixTime::new(seconds).ok()))
}
