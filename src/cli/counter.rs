//! `counter add`: the durable operation. Prints the counter as it was right after the addition.

use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use super::print::Printer;
use super::{Exit, Outcome, help};
use crate::record::{DurableCounter, OperationError, Overflow};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    operation: Operation,
}

#[derive(Debug, Subcommand)]
enum Operation {
    /// Add an amount once for each scope and key; file and tables are made if they are missing
    #[command(after_help = help::COUNTER)]
    Add {
        /// The SQLite file
        #[arg(long)]
        db: PathBuf,
        /// Whose key it is
        #[arg(long, allow_hyphen_values = true, value_parser = NonEmptyStringValueParser::new())]
        scope: String,
        /// The idempotency key
        #[arg(long, allow_hyphen_values = true, value_parser = NonEmptyStringValueParser::new())]
        key: String,
        /// The amount, from 1 to 2^63 - 1
        #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(i64).range(1..))]
        amount: i64,
    },
}

pub(super) fn run(args: &Args, printer: &Printer) -> Result<Outcome, Exit> {
    let Operation::Add { db, scope, key, amount } = &args.operation;
    let value = DurableCounter::open(db)?.add(scope, key, *amount)?;
    printer.line(value)?;
    Ok(Outcome::Yes)
}

impl From<OperationError<Overflow>> for Exit {
    fn from(error: OperationError<Overflow>) -> Self {
        match error {
            OperationError::InvalidArgument(_) => Self::wrong(error),
            OperationError::KeyConflict => Self { outcome: Outcome::No, message: error.to_string() },
            OperationError::Refused(Overflow) => Self::unknown(error),
            OperationError::Record(error) => error.into(),
        }
    }
}
