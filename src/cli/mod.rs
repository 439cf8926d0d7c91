//! The commands, one file each. They print, and decide nothing.

mod check;
mod chosen;
mod counter;
mod demo;
mod dry_run;
mod explain;
mod help;
mod keys;
mod package;
mod pending;
mod print;
mod run;
mod status;
mod sweep;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing::level_filters::LevelFilter;

use crate::config::{self, Settings};
use crate::observe::log::{self, LogFormat};
use chosen::{Chosen, chosen};
use print::{Printer, complain};

/// Deletes idempotency keys and other finished records once their retention has passed, and never
/// one that is not finished.
#[derive(Debug, Parser)]
#[command(name = "keysweep", version, after_help = help::KEYSWEEP)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Args)]
struct Global {
    /// The config file
    #[arg(long, global = true, env = "KEYSWEEP_CONFIG", default_value = "/etc/keysweep/keysweep.toml")]
    config: PathBuf,
    /// Print one JSON value a line, for machines
    #[arg(long, global = true)]
    json: bool,
    /// How the log is written to standard error; auto: text on a terminal, JSON elsewhere
    #[arg(long, global = true, value_enum, default_value = "auto")]
    log_format: Format,
    /// The least severe level in the log: error, warn, info, debug, trace, off
    #[arg(long, global = true, default_value = "info", value_parser = parse_level)]
    log_level: LevelFilter,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    Auto,
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the daemon: sweep every database on its schedule until a signal comes
    #[command(after_help = help::RUN)]
    Run,
    /// One tick of every database in the foreground, then exit: for cron and CronJob
    #[command(after_help = help::SWEEP)]
    Sweep(sweep::Args),
    /// Look at config, files, schema and counts before letting a deleter near them
    #[command(after_help = help::CHECK)]
    Check(check::Args),
    /// What a running daemon says, as a table
    #[command(after_help = help::STATUS)]
    Status(status::Args),
    /// The abandoned rows of a database, oldest first
    #[command(after_help = help::PENDING)]
    Pending(pending::Args),
    /// One row: its state, its clock column, and why it is kept or due
    #[command(after_help = help::EXPLAIN)]
    Explain(explain::Args),
    /// The key table's contract, for scripts and tests
    #[command(after_help = help::KEYS)]
    Keys(keys::Args),
    /// The durable operation: a counter that applies each key once
    #[command(after_help = help::COUNTER)]
    Counter(counter::Args),
    /// The whole thing on a database of its own, with a simulated application
    #[command(after_help = help::DEMO)]
    Demo(demo::Args),
    /// Print shell completions
    #[command(after_help = help::COMPLETIONS)]
    Completions(package::Args),
    /// Print the man page
    #[command(after_help = help::MAN)]
    Man,
}

/// What a command has to say to the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Yes = 0,
    No = 1,
    Wrong = 2,
    Unknown = 3,
}

/// Why a command ended early: one line for standard error, and the exit status.
#[derive(Debug)]
struct Exit {
    outcome: Outcome,
    message: String,
}

impl Exit {
    fn wrong(message: impl ToString) -> Self {
        Self { outcome: Outcome::Wrong, message: message.to_string() }
    }

    fn unknown(message: impl ToString) -> Self {
        Self { outcome: Outcome::Unknown, message: message.to_string() }
    }
}

impl From<std::io::Error> for Exit {
    fn from(error: std::io::Error) -> Self {
        // Whoever reads the answer, such as `head`, has enough of it: nothing to complain of.
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::unknown("");
        }
        Self::unknown(format!("cannot write the answer to standard output: {error}"))
    }
}

/// Run the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let format = match cli.global.log_format {
        Format::Auto => LogFormat::Auto,
        Format::Text => LogFormat::Text,
        Format::Json => LogFormat::Json,
    };
    let outcome = run(cli, format).unwrap_or_else(|exit| {
        if !exit.message.is_empty() {
            complain(exit.message);
        }
        exit.outcome
    });
    ExitCode::from(outcome as u8)
}

fn run(cli: Cli, format: LogFormat) -> Result<Outcome, Exit> {
    let log = log::init(format, cli.global.log_level);
    let _end = log.map_err(|error| Exit::unknown(format!("cannot set up the log: {error}")))?;
    dispatch(&cli.global, cli.command)
}

fn dispatch(global: &Global, command: Command) -> Result<Outcome, Exit> {
    let printer = Printer::new(global.json);
    match command {
        Command::Run => run::run(settings(&global.config)?, &global.config),
        Command::Sweep(args) => sweep::run(&args, settings(&global.config)?, &printer),
        Command::Check(args) => check::run(&args, settings(&global.config)?, &printer),
        Command::Status(args) => status::run(&args, &global.config, &printer),
        Command::Pending(args) => pending::run(&args, settings(&global.config)?, &printer),
        Command::Explain(args) => explain::run(&args, settings(&global.config)?, &printer),
        Command::Keys(args) => keys::run(args, &printer),
        Command::Counter(args) => counter::run(&args, &printer),
        Command::Demo(args) => demo::run(&args, &printer),
        Command::Completions(args) => package::completions(&args, &printer),
        Command::Man => package::man(&printer),
    }
}

fn settings(path: &Path) -> Result<Settings, Exit> {
    config::load(path).map_err(Exit::wrong)
}

/// A runtime for a command that works on databases in the foreground.
fn runtime() -> Result<tokio::runtime::Runtime, Exit> {
    let built = room_for_files().and_then(|()| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(8)
            .enable_all()
            .build()
    });
    built.map_err(|error| {
        let remedy =
            "raise the limits of this process (LimitNOFILE=, TasksMax= under systemd, `ulimit` in a shell)";
        Exit::unknown(format!("cannot start the runtime: {error}; {remedy}"))
    })
}

/// Whether the runtime's own files can be opened: with too few it panics instead of saying so.
fn room_for_files() -> std::io::Result<()> {
    const FILES_OF_THE_RUNTIME: usize = 8;
    let opened: std::io::Result<Vec<_>> =
        (0..FILES_OF_THE_RUNTIME).map(|_| std::fs::File::open("/dev/null")).collect();
    opened.map(drop)
}

fn parse_level(text: &str) -> Result<LevelFilter, String> {
    // The library reads an empty text, such as a variable that is not set, as `error`.
    let level = if text.is_empty() { None } else { text.parse().ok() };
    level.ok_or_else(|| "expected error, warn, info, debug, trace or off".into())
}
