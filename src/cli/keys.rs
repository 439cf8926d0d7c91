//! `keys`: the contract of the key table, one operation a call. Prints JSON.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use serde_json::{Value as Json, json};

use super::print::{Printer, key_json};
use super::{Exit, Outcome, help};
use crate::clock;
use crate::plan::{Limit, UnixTime};
use crate::record::{Keys, KeysError, RecordError, Response};

/// The longest wait for a lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    operation: Operation,
}

#[derive(Debug, Subcommand)]
enum Operation {
    /// Create file and table if they are missing; prints true
    #[command(after_help = help::INIT)]
    Init(File),
    /// Reserve a key as pending: true, or false when it is there already
    #[command(after_help = help::RESERVE)]
    Reserve {
        #[command(flatten)]
        file: File,
        #[command(flatten)]
        key: KeyArg,
        /// Identifies the request, so that another one cannot finish it
        #[arg(long, allow_hyphen_values = true)]
        fingerprint: String,
        /// When the response ends to be replayed, in unix seconds
        #[arg(long, value_parser = parse_time, allow_negative_numbers = true)]
        expires: UnixTime,
    },
    /// Finish a pending key with its response: true, or false when there is nothing to finish
    #[command(after_help = help::FINISH)]
    Finish {
        #[command(flatten)]
        file: File,
        #[command(flatten)]
        key: KeyArg,
        /// The fingerprint that it was reserved with
        #[arg(long, allow_hyphen_values = true)]
        fingerprint: String,
        /// The response, JSON; replayed byte for byte
        #[arg(long, allow_negative_numbers = true)]
        response: Response,
    },
    /// Print the response of a finished key; prints nothing, exit status 1, when there is none to replay
    #[command(after_help = help::FETCH)]
    Fetch {
        #[command(flatten)]
        file: File,
        #[command(flatten)]
        key: KeyArg,
        #[command(flatten)]
        now: Now,
    },
    /// The keys that are done and expired, ascending
    #[command(after_help = help::EXPIRED)]
    Expired(Selection),
    /// Delete these same keys in one transaction, and print the ids that are gone
    #[command(after_help = help::PURGE)]
    Purge(Selection),
    /// The number of pending and of done keys
    #[command(after_help = help::COUNTS)]
    Counts(File),
    /// Show on an empty database that deleting a key ends its guarantee
    #[command(after_help = help::RETENTION_CYCLE)]
    RetentionCycle {
        #[command(flatten)]
        file: File,
        #[command(flatten)]
        key: KeyArg,
    },
}

#[derive(Debug, clap::Args)]
struct File {
    /// The SQLite file
    #[arg(long)]
    db: PathBuf,
}

#[derive(Debug, clap::Args)]
struct KeyArg {
    /// The idempotency key: any text but the empty one
    #[arg(long, value_parser = NonEmptyStringValueParser::new(), allow_hyphen_values = true)]
    key: String,
}

#[derive(Debug, clap::Args)]
struct Now {
    /// The instant, in unix seconds [default: the wall clock]
    #[arg(long, value_parser = parse_time, allow_negative_numbers = true)]
    now: Option<UnixTime>,
}

#[derive(Debug, clap::Args)]
struct Selection {
    #[command(flatten)]
    file: File,
    #[command(flatten)]
    now: Now,
    /// The most keys, 1 to 100
    #[arg(long, default_value_t = Limit::DEFAULT)]
    limit: Limit,
}

impl Now {
    fn get(&self) -> UnixTime {
        self.now.unwrap_or_else(clock::now)
    }
}

pub(super) fn run(args: Args, printer: &Printer) -> Result<Outcome, Exit> {
    let open = |file: &File| Keys::open(&file.db, BUSY_TIMEOUT);
    let answer = |answer: bool| printed(printer, answer, &json!(answer));
    match args.operation {
        Operation::Init(file) => {
            Keys::create(&file.db, BUSY_TIMEOUT)?;
            answer(true)
        }
        Operation::Reserve { file, key, fingerprint, expires } => {
            answer(open(&file)?.reserve(&key.key, &fingerprint, expires)?)
        }
        Operation::Finish { file, key, fingerprint, response } => {
            answer(open(&file)?.finish(&key.key, &fingerprint, &response)?)
        }
        Operation::Fetch { file, key, now } => match open(&file)?.fetch(&key.key, now.get())? {
            Some(response) => {
                printer.line(response)?;
                Ok(Outcome::Yes)
            }
            None => Ok(Outcome::No),
        },
        Operation::Expired(some) => {
            let keys = open(&some.file)?.expired(some.now.get(), some.limit)?;
            printed(printer, true, &keys.iter().map(key_json).collect())
        }
        Operation::Purge(some) => {
            let keys = open(&some.file)?.purge(some.now.get(), some.limit)?;
            printed(printer, true, &keys.iter().map(key_json).collect())
        }
        Operation::Counts(file) => {
            let counts = open(&file)?.counts()?;
            // Written out, because the order of the two is part of the contract.
            printer.line(format_args!(r#"{{"pending":{},"done":{}}}"#, counts.pending, counts.done))?;
            Ok(Outcome::Yes)
        }
        Operation::RetentionCycle { file, key } => {
            answer(Keys::create(&file.db, BUSY_TIMEOUT)?.retention_cycle(&key.key)?)
        }
    }
}

fn printed(printer: &Printer, yes: bool, answer: &Json) -> Result<Outcome, Exit> {
    printer.line(answer)?;
    Ok(if yes { Outcome::Yes } else { Outcome::No })
}

fn parse_time(text: &str) -> Result<UnixTime, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of unix seconds"))?;
    UnixTime::new(seconds).map_err(|error| error.to_string())
}

impl From<KeysError> for Exit {
    fn from(error: KeysError) -> Self {
        match error {
            KeysError::InvalidArgument(_) => Self::wrong(error),
            KeysError::Record(error) => error.into(),
        }
    }
}

impl From<RecordError> for Exit {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::NotOurTable(_) => Self::wrong(error),
            RecordError::Busy(_) | RecordError::Storage(_) | RecordError::OutcomeUnknown(_) => {
                Self::unknown(error)
            }
        }
    }
}
