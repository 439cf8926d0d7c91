//! One batch: nominated keys selected again with every guard and deleted, in one transaction.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::access::{Admitted, check_identity};
use super::failure::{explain, is_busy, is_certain, is_constraint, remedy};
use super::guarded::{Guarded, Outcome};
use super::inspect::schema_version;
use crate::plan::{
    BatchBound, Cutoff, Failure, FailureKind, Identifier, Key, Limit, References, Rule, SkipReason,
};
use crate::store::Batch;

/// How an attempt ended when it did not fail.
pub(crate) enum Attempt {
    /// COMMIT succeeded.
    Committed(Batch),
    /// Another connection was in the way: nothing changed, try again. The lock was held so long in vain.
    Busy(Duration),
}

/// What a batch needs to know beside its keys.
pub(crate) struct Order<'a> {
    pub file: &'a Admitted,
    pub rule: &'a Rule,
    pub cutoff: Cutoff,
    pub bound: BatchBound,
    /// The schema for which the table was found to be as configured.
    pub schema_version: i64,
    /// The condition under which a row stays because another one refers to it.
    pub referenced: Option<&'a str>,
    /// The other tables of the database that have a rule: their rows go by that rule alone.
    pub ruled: &'a [Identifier],
}

/// How much of the keys one transaction tries.
#[derive(Clone, Copy)]
struct Try {
    /// The most keys that are looked at.
    keys: usize,
    /// The last of them is left for this reason: deleting it ended the transaction before.
    last_is_left: Option<SkipReason>,
}

/// How one transaction ended when it did not fail.
enum Tried {
    Ended(Attempt),
    /// Nothing changed, because of one row. The lock was held so long in vain.
    Again(Try, Duration),
}

/// One transaction, and another one where a row ended it: without that row, and with the rows before
/// it. A lock is waited for as the connection is set: the sweep's not at all.
pub(crate) fn attempt(connection: &Connection, order: &Order<'_>, keys: &[Key]) -> Result<Attempt, Failure> {
    let mut next = Try { keys: keys.len(), last_is_left: None };
    let mut in_vain = Duration::ZERO;
    loop {
        match once(connection, order, keys, next)? {
            Tried::Ended(Attempt::Committed(mut batch)) => {
                batch.held_in_vain += in_vain;
                return Ok(Attempt::Committed(batch));
            }
            Tried::Ended(Attempt::Busy(held)) => return Ok(Attempt::Busy(in_vain + held)),
            Tried::Again(fewer, held) => {
                next = fewer;
                in_vain += held;
            }
        }
    }
}

fn once(connection: &Connection, order: &Order<'_>, keys: &[Key], tried: Try) -> Result<Tried, Failure> {
    check_identity(order.file)?;
    if let Err(error) = run(connection, "BEGIN IMMEDIATE") {
        return busy_or(order, "begin a batch", error).map(Tried::Ended);
    }
    let begun = Instant::now();
    match delete_all(connection, order, keys, tried, begun) {
        Ok(Ok(batch)) => commit(connection, order, batch, keys, begun),
        Ok(Err(at)) => {
            let fewer = Try { keys: at + 1, last_is_left: Some(SkipReason::Constraint) };
            Ok(Tried::Again(fewer, begun.elapsed()))
        }
        Err(failure) => {
            roll_back(connection);
            Err(failure)
        }
    }
}

/// A statement that every batch runs is prepared once.
fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

fn busy_or(order: &Order<'_>, action: &str, error: rusqlite::Error) -> Result<Attempt, Failure> {
    if is_busy(&error) { Ok(Attempt::Busy(Duration::ZERO)) } else { Err(failed(order, action, &error)) }
}

pub(super) fn failed(order: &Order<'_>, action: &str, error: &rusqlite::Error) -> Failure {
    let action = format!("{action} (table `{}`)", order.rule.table);
    explain(&order.file.path, &action, error)
}

/// The inner error is the place of the key whose deletion rolled the transaction back.
fn delete_all(
    connection: &Connection,
    order: &Order<'_>,
    keys: &[Key],
    tried: Try,
    begun: Instant,
) -> Result<Result<Batch, usize>, Failure> {
    let sql_failed = |error: rusqlite::Error| failed(order, "delete a batch", &error);
    let now = schema_version(connection).map_err(sql_failed)?;
    if now != order.schema_version {
        return Err(refuse(order, FailureKind::Schema, "the schema changed while it was swept"));
    }
    let mut guarded = Guarded::prepare(connection, order).map_err(sql_failed)?;
    let mut batch = Batch::default();
    let changes_before = connection.total_changes();
    for (at, key) in keys.iter().take(order.bound.rows.min(tried.keys)).enumerate() {
        if batch.cost.rows > 0 && begun.elapsed() >= order.bound.hold {
            break;
        }
        batch.cost.rows += 1;
        if let Some(reason) = tried.last_is_left.filter(|_| at + 1 == tried.keys) {
            batch.skipped.push((key.clone(), reason));
            continue;
        }
        match guarded.delete(key, Limit::MAX.rows() - batch.deleted.len())? {
            Outcome::Deleted(others) => {
                batch.deleted.push(key.clone());
                batch.deleted.extend(others);
            }
            Outcome::Skipped(reason, others) => {
                batch.skipped.push((key.clone(), reason));
                batch.deleted.extend(others);
            }
            Outcome::Spared => {}
            Outcome::NoRoom if batch.deleted.is_empty() => {
                batch.skipped.push((key.clone(), SkipReason::TooMany));
            }
            Outcome::NoRoom => {
                batch.cost.rows -= 1;
                break;
            }
            Outcome::RolledBack => return Ok(Err(at)),
        }
    }
    let changed = connection.total_changes() - changes_before;
    let strict = order.rule.references == References::Refuse;
    if strict && changed != batch.deleted.len() as u64 || batch.deleted.len() > Limit::MAX.rows() {
        // Triggers and cascades count, here and in any other table.
        return Err(refuse(order, FailureKind::Invariant, "a batch would change more rows than it names"));
    }
    guarded.finish().map_err(sql_failed)?;
    Ok(Ok(batch))
}

pub(super) fn refuse(order: &Order<'_>, kind: FailureKind, why: &str) -> Failure {
    let what = format!("table `{}` of {}: {why}", order.rule.table, order.file.path.display());
    Failure::new(kind, what, remedy(kind))
}

/// A COMMIT that finds a reader in its way (rollback journal) is taken back at once: while it
/// waited, new readers would queue behind us.
fn commit(
    connection: &Connection,
    order: &Order<'_>,
    mut batch: Batch,
    keys: &[Key],
    begun: Instant,
) -> Result<Tried, Failure> {
    batch.cost.work = begun.elapsed();
    let Err(error) = run(connection, "COMMIT") else {
        batch.cost.commit = begun.elapsed().saturating_sub(batch.cost.work);
        return Ok(Tried::Ended(Attempt::Committed(batch)));
    };
    roll_back(connection);
    if is_busy(&error) {
        return Ok(Tried::Ended(Attempt::Busy(begun.elapsed())));
    }
    if let Some(fewer) = without_the_refused(&error, &batch, keys) {
        return Ok(Tried::Again(fewer, begun.elapsed()));
    }
    if is_certain(&error) {
        return Err(failed(order, "commit a batch", &error));
    }
    let cause = failed(order, "commit a batch", &error);
    let what = format!("{}; whether it took effect is not known", cause.what());
    Err(Failure::new(FailureKind::CommitUnknown, what, remedy(FailureKind::CommitUnknown)))
}

/// A deferred constraint speaks only at the COMMIT, and of no row: the first one that was deleted is
/// tried alone, and left when it is the one.
fn without_the_refused(error: &rusqlite::Error, batch: &Batch, keys: &[Key]) -> Option<Try> {
    if !is_constraint(error) {
        return None;
    }
    let first = keys.iter().position(|key| batch.deleted.contains(key))?;
    let is_alone = batch.deleted.len() == 1 || batch.cost.rows == first + 1;
    Some(Try { keys: first + 1, last_is_left: is_alone.then_some(SkipReason::Constraint) })
}

/// After a failure the engine may have rolled back by itself; then there is nothing to do.
fn roll_back(connection: &Connection) {
    if !connection.is_autocommit() {
        // Its own failure changes nothing: the transaction ends with the connection at the latest.
        let _ = connection.execute_batch("ROLLBACK");
    }
}
