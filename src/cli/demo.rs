//! `demo`: the real daemon on a database of its own, beside a simulated application.

mod application;

use std::path::Path;
use std::time::Duration;

use hyper::Uri;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::print::Printer;
use super::run::stop_on_signals;
use super::status::Asking;
use super::{Exit, Outcome, runtime};
use crate::config::{self, Settings};
use crate::daemon::{self, Entrance, Reload};
use crate::listener::Terms;
use crate::memory::{Memory, Role};
use crate::observe::Status;
use application::Application;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// End by itself after this time, such as 20s; without it, Ctrl-C ends it
    #[arg(long = "for", value_parser = config::parse_duration)]
    length: Option<Duration>,
    /// Where the daemon listens; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: std::net::SocketAddr,
}

pub(super) fn run(args: &Args, printer: &Printer) -> Result<Outcome, Exit> {
    let folder =
        tempfile::tempdir().map_err(|error| Exit::unknown(format!("cannot make a folder: {error}")))?;
    let runtime = runtime()?;
    let done = runtime.block_on(show(args, printer, folder.path()));
    runtime.shutdown_timeout(Duration::from_millis(200));
    done
}

async fn show(args: &Args, printer: &Printer, folder: &Path) -> Result<Outcome, Exit> {
    let path = folder.join("app.db");
    let application = Application::start(&path).map_err(Exit::unknown)?;
    let stop = stop_on_signals()?;
    let listener = TcpListener::bind(args.listen)
        .await
        .map_err(|error| Exit::wrong(format!("cannot listen on {}: {error}", args.listen)))?;
    let url = format!("http://{}", listener.local_addr()?);
    explain(printer, &path, &url)?;
    let settings = settings(&path)?;
    let same = settings.clone();
    // Nobody asks.
    let never = Reload::new(move || Ok(same.clone()));
    let memory = Memory::of_this_process(Role::Daemon);
    let daemon = tokio::spawn(daemon::run(
        settings,
        memory,
        never,
        Some(Entrance { listener, terms: Terms::default() }),
        stop.clone(),
    ));
    let told = tell(printer, &url, &application, args.length, &stop).await;
    stop.cancel();
    let ended = daemon.await.map_err(Exit::unknown)?;
    ended.map_err(Exit::unknown)?;
    told?;
    let left = application.stop().map_err(Exit::unknown)?;
    printer.line(format_args!(
        "The end. Left in the table: {} pending (never deleted), {} done (not expired yet, or not swept yet).",
        left.pending, left.done
    ))?;
    Ok(Outcome::Yes)
}

/// Through the same door as an operator's config.
fn settings(path: &Path) -> Result<Settings, Exit> {
    let path = path.display();
    let text = format!(
        "[[database]]\nname = \"demo\"\npath = {:?}\nevery = \"2s\"\ncensus = \"1s\"\n",
        path.to_string()
    );
    config::parse("demo", text.as_bytes(), []).map_err(Exit::wrong)
}

fn explain(printer: &Printer, path: &Path, url: &str) -> Result<(), Exit> {
    let path = path.display();
    printer.line(format_args!(
        "A simulated application records a request every 20 ms in {path}:\n\
         it reserves a key, finishes it with a response that expires after 5 s, and abandons one in fifty.\n\
         keysweep looks every 2 s and deletes what is done and expired. It never deletes a pending row.\n\
         \n  status page   {url}/\n  metrics       {url}/metrics\n  as a table    keysweep status --url {url}\n  \
         the file      sqlite3 -cmd '.timeout 5000' {path} 'SELECT status, count(*) FROM keys GROUP BY status'\n"
    ))?;
    Ok(())
}

/// A line every two seconds, from what the daemon says over HTTP.
async fn tell(
    printer: &Printer,
    url: &str,
    application: &Application,
    length: Option<Duration>,
    stop: &CancellationToken,
) -> Result<(), Exit> {
    let uri: Uri = url.parse().map_err(Exit::unknown)?;
    let asking = Asking { url: uri, ..Asking::default() };
    let end = async {
        match length {
            Some(length) => tokio::time::sleep(length).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(end);
    let mut timer = tokio::time::interval(Duration::from_secs(2));
    timer.tick().await;
    loop {
        tokio::select! {
            _ = timer.tick() => printer.line(line(application, &asking.ask().await?))?,
            () = &mut end => return Ok(()),
            () = stop.cancelled() => return Ok(()),
        }
    }
}

fn line(application: &Application, status: &Status) -> String {
    let table = status.databases.get("demo").and_then(|database| database.tables.get("keys"));
    let census = table.and_then(|table| table.census.as_ref());
    let shown = |number: Option<u64>| number.map_or("-".into(), |number| number.to_string());
    format!(
        "application: {} reserved, {} finished | table: {} pending, {} done | keysweep: {} deleted, {} abandoned rows seen",
        application.reserved(),
        application.finished(),
        shown(census.and_then(|census| census.pending)),
        shown(census.map(|census| census.done)),
        shown(table.map(|table| table.deleted_total)),
        shown(census.and_then(|census| census.abandoned.as_ref()?.older_than.get("0s").copied())),
    )
}
