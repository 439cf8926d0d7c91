//! `status`: what a running daemon says, as a table.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::print::Printer;
use super::{Exit, Outcome, runtime};
use crate::observe::{DatabaseStatus, Status, TableStatus};
use crate::plan::UnixTime;

/// The longest that a daemon may take to answer; it answers from memory.
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest answer that is read, in bytes.
const LARGEST: usize = 64 << 20;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where the daemon listens [default: as the config says, else http://127.0.0.1:9925]
    #[arg(long)]
    url: Option<Uri>,
}

pub(super) fn run(args: &Args, configured: Option<SocketAddr>, printer: &Printer) -> Result<Outcome, Exit> {
    let address = configured.unwrap_or(SocketAddr::from(([127, 0, 0, 1], 9925)));
    let url = match &args.url {
        Some(url) => url.clone(),
        None => format!("http://{address}").parse().map_err(Exit::wrong)?,
    };
    let status = runtime()?.block_on(ask(&url))?;
    if printer.is_json() {
        let json = serde_json::to_string(&status).map_err(Exit::unknown)?;
        printer.line(json)?;
    } else {
        print(&status, printer)?;
    }
    Ok(Outcome::Yes)
}

/// `GET /status.json` of the daemon at this address.
pub(super) async fn ask(url: &Uri) -> Result<Status, Exit> {
    let no = |why: String| {
        Exit::unknown(format!(
            "no answer from a daemon at {url}: {why}; does it run, and does it listen there?"
        ))
    };
    match tokio::time::timeout(PATIENCE, get(url)).await {
        Err(_) => Err(no(format!("nothing came within {PATIENCE:?}"))),
        Ok(Err(GetError::Url(why))) => Err(Exit::wrong(format!("--url {url}: {why}"))),
        Ok(Err(GetError::Answer(why))) => Err(no(why)),
        Ok(Ok(body)) => {
            serde_json::from_slice(&body).map_err(|error| no(format!("it is no keysweep status: {error}")))
        }
    }
}

enum GetError {
    Url(&'static str),
    Answer(String),
}

impl<E: std::error::Error> From<E> for GetError {
    fn from(error: E) -> Self {
        Self::Answer(error.to_string())
    }
}

async fn get(url: &Uri) -> Result<Bytes, GetError> {
    if url.scheme_str().is_some_and(|scheme| scheme != "http") {
        return Err(GetError::Url("this version speaks http only"));
    }
    let authority = url.authority().ok_or(GetError::Url("expected http://HOST:PORT"))?;
    let address = (authority.host().trim_matches(['[', ']']), authority.port_u16().unwrap_or(80));
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request =
        Request::get("/status.json").header("host", authority.as_str()).body(Empty::<Bytes>::new())?;
    let answer = sender.send_request(request).await?;
    if !answer.status().is_success() {
        return Err(GetError::Answer(format!("it says {}", answer.status())));
    }
    match Limited::new(answer.into_body(), LARGEST).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) => Err(GetError::Answer(error.to_string())),
    }
}

fn print(status: &Status, printer: &Printer) -> Result<(), Exit> {
    let rows: Vec<Vec<String>> = status
        .databases
        .iter()
        .flat_map(|(name, database)| {
            database.tables.iter().map(move |(label, table)| row(name, database, label, table))
        })
        .collect();
    let head = [
        "DATABASE",
        "TABLE",
        "UP",
        "PENDING",
        "DONE",
        "UNKNOWN",
        "EXPIRED",
        "DUE/S",
        "PACE/S",
        "DRAINED IN",
        "ABANDONED",
        "DELETED",
        "LAST SWEEP",
        "STOP",
        "NEXT TICK",
    ];
    printer.table(&head, &rows)?;
    for (name, database) in &status.databases {
        for problem in problems(database) {
            printer.line(format_args!("{name}: {problem}"))?;
        }
    }
    Ok(())
}

fn row(name: &str, database: &DatabaseStatus, label: &str, table: &TableStatus) -> Vec<String> {
    let census = table.census.as_ref();
    let count = |count: fn(&crate::observe::CensusStatus) -> Option<u64>| or_dash(census.and_then(count));
    let abandoned = census.and_then(|census| census.abandoned.as_ref()?.older_than.get("0s").copied());
    let sweep = table.last_sweep.as_ref();
    let stop =
        sweep.map(|sweep| sweep.held.as_ref().map_or(sweep.stop.clone(), |held| format!("held: {held}")));
    vec![
        name.into(),
        label.into(),
        or_dash(database.up.map(|up| if up { "yes" } else { "no" })),
        count(|census| census.pending),
        count(|census| Some(census.done)),
        count(|census| census.unknown),
        count(|census| Some(census.expired)),
        or_dash(table.inflow.map(|rows| format!("{rows:.1}"))),
        or_dash(table.pace.map(|rows| format!("{rows:.0}"))),
        or_dash(table.drained_in.map(|seconds| format!("{seconds:.0}s"))),
        or_dash(abandoned),
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
