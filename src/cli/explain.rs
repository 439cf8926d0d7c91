//! `explain`: one row, and why it is kept or due. It changes nothing.

use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::print::{Printer, complain, key_json};
use super::sweep::store;
use super::{Exit, Outcome, chosen, runtime};
use crate::clock;
use crate::config::{Database, Settings};
use crate::discover::Member;
use crate::plan::{
    Explanation, Failure, Fate, Key, Rule, State, TableFacts, UnixTime, explain, key_candidates, length,
    schema_failure,
};
use crate::store::sqlite::{Access, Sqlite};
use crate::store::{Examine, Row, Store};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// This database, or those of the block of this name
    #[arg(long)]
    database: String,
    /// The key, once for each key column: text, a number, the bytes x'6162', or text
    /// x'6162' for text that is no UTF-8 or holds NUL; each is tried
    #[arg(long, required = true, allow_hyphen_values = true)]
    key: Vec<String>,
    /// Only this table, by its label
    #[arg(long)]
    table: Option<String>,
}

pub(super) fn run(args: &Args, settings: Settings, printer: &Printer) -> Result<Outcome, Exit> {
    let members = chosen(settings, Some(&args.database))?.told();
    let now = clock::now();
    runtime()?.block_on(async {
        let (mut found, mut failed) = (false, false);
        for Member { database, taken, .. } in &members {
            let mut reader = store(database, Access::Read, &CancellationToken::new());
            let rules = match taken {
                Some(failure) => Err(failure.clone()),
                None => reader.rules(&database.rules).await,
            };
            let rules = match rules {
                Ok(rules) => asked(args, database, &rules)?,
                Err(failure) => {
                    failed = true;
                    complain(format_args!("{}: {failure}", database.name));
                    continue;
                }
            };
            for (rule, rows) in look(&rules, args, &mut reader).await {
                match rows {
                    Ok(rows) if rows.is_empty() => print_missing(database, rule, args, printer)?,
                    Ok(rows) => {
                        found = true;
                        for (key, row) in rows {
                            print(database, rule, &key, &row, now, printer)?;
                        }
                    }
                    Err(failure) => {
                        failed = true;
                        complain(format_args!("{}/{}: {failure}", database.name, rule.label));
                    }
                }
            }
        }
        Ok(match (failed, found) {
            (true, _) => Outcome::Unknown,
            (false, true) => Outcome::Yes,
            (false, false) => Outcome::No,
        })
    })
}

/// The rules that the call is about: those of the table, whose key has as many columns as were given.
fn asked(args: &Args, database: &Database, rules: &[Rule]) -> Result<Vec<Rule>, Exit> {
    let of_table = |rule: &&Rule| args.table.as_ref().is_none_or(|label| rule.label.as_str() == label);
    let named: Vec<&Rule> = rules.iter().filter(of_table).collect();
    if named.is_empty() {
        let labels: Vec<String> = rules.iter().map(|rule| format!("`{}`", rule.label)).collect();
        let table = args.table.as_deref().unwrap_or_default();
        return Err(Exit::wrong(format!(
            "there is no table `{table}` under database `{}`; there is {}",
            database.name,
            labels.join(", ")
        )));
    }
    let fitting = named.iter().filter(|rule| rule.key.columns().len() == args.key.len());
    let fitting: Vec<Rule> = fitting.map(|rule| (*rule).clone()).collect();
    if fitting.is_empty() {
        let keys = |rule: &&Rule| {
            let columns: Vec<&str> = rule.key.columns().iter().map(|column| column.as_str()).collect();
            format!("{} ({})", rule.label, columns.join(", "))
        };
        let keys: Vec<String> = named.iter().map(keys).collect();
        return Err(Exit::wrong(format!(
            "--key must be given once for each key column, and was given {} times: {}",
            args.key.len(),
            keys.join(", ")
        )));
    }
    Ok(fitting)
}

type Found = Result<Vec<(Key, Row)>, Failure>;

/// The rows with the key under each rule, or why they cannot be read.
async fn look<'a>(rules: &'a [Rule], args: &Args, reader: &mut Sqlite) -> Vec<(&'a Rule, Found)> {
    let facts: Vec<TableFacts> = match reader.inspect(rules).await {
        Ok(facts) => facts,
        Err(failure) => return rules.iter().map(|rule| (rule, Err(failure.clone()))).collect(),
    };
    let keys = key_candidates(&args.key);
    let mut found = Vec::new();
    for (rule, facts) in rules.iter().zip(&facts) {
        let rows = match schema_failure(rule, facts) {
            Some(failure) => Err(failure),
            None => reader.rows(rule, &keys).await,
        };
        found.push((rule, rows));
    }
    found
}

fn print_missing(database: &Database, rule: &Rule, args: &Args, printer: &Printer) -> Result<(), Exit> {
    let (name, label) = (&database.name, &rule.label);
    if printer.is_json() {
        let line =
            json!({ "database": name.as_str(), "table": label.as_str(), "key": args.key, "found": false });
        printer.line(line)?;
    } else {
        let key = args.key.join(", ");
        printer.line(format_args!("{name}/{label}: there is no row with key {}", key.escape_debug()))?;
    }
    Ok(())
}

fn print(
    database: &Database,
    rule: &Rule,
    key: &Key,
    row: &Row,
    now: UnixTime,
    printer: &Printer,
) -> Result<(), Exit> {
    let explained = explain(rule, now, row.is_referenced, &|column| row.value(column));
    if printer.is_json() {
        printer.line(as_json(database, rule, key, &explained, now))?;
        return Ok(());
    }
    printer.line(format_args!("{}/{}: {key}", database.name, rule.label))?;
    printer.line(format_args!("  state   {}", word(explained.state)))?;
    if let (Some(clock), Some(value)) = (&rule.clock, &explained.clock) {
        let stored = Key::new(vec![value.clone()]);
        let instant = explained.instant.map_or_else(|| "no instant".into(), |instant| instant.to_string());
        printer.line(format_args!(
            "  clock   {} = {stored} ({}): {instant}",
            clock.column(),
            clock.unit().name()
        ))?;
        let (cutoff, retention) = (clock.cutoff(now), length(clock.retention()));
        printer.line(format_args!("  cutoff  {cutoff}, retention {retention}"))?;
    }
    printer.line(format_args!("  {}", explained.fate))?;
    Ok(())
}

fn as_json(database: &Database, rule: &Rule, key: &Key, explained: &Explanation, now: UnixTime) -> Json {
    let due = match explained.fate {
        Fate::NotYet(due) => Some(due.seconds()),
        _ => None,
    };
    json!({
        "database": database.name.as_str(),
        "table": rule.label.as_str(),
        "key": key_json(key),
        "found": true,
        "state": word(explained.state),
        "clock": explained.clock.as_ref().map(|value| key_json(&Key::new(vec![value.clone()]))),
        "unit": rule.clock.as_ref().map(|clock| clock.unit().name()),
        "instant": explained.instant.map(UnixTime::seconds),
        "cutoff": rule.cutoff(now).map(|cutoff| cutoff.instant().seconds()),
        "fate": explained.fate.name(),
        "due": due,
        "why": explained.fate.to_string(),
    })
}

fn word(state: State) -> &'static str {
    match state {
        State::Pending => "pending",
        State::Done => "done",
        State::Unknown => "unknown",
    }
}
