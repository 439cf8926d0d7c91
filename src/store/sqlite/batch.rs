//! One batch: nominated keys selected again with every guard and deleted, in one transaction.

use std::time::{Duration, Instant};

use rusqlite::{CachedStatement, Connection, params_from_iter};

use super::access::{Admitted, check_identity};
use super::failure::{explain, is_busy, is_certain, is_constraint, remedy};
use super::inspect::schema_version;
use super::render::{Sql, column, key_is, read, storage_class, table};
use crate::plan::{
    BatchBound, Cutoff, Failure, FailureKind, Identifier, Key, Limit, Rule, SkipReason, State, Value,
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
}

/// What became of one key.
enum Outcome {
    Deleted,
    Skipped(SkipReason),
    /// A guard does not hold any more: the row is the application's again, or gone.
    Spared,
}

/// One transaction. A lock is waited for as the connection is set: the sweep's not at all.
pub(crate) fn attempt(connection: &Connection, order: &Order<'_>, keys: &[Key]) -> Result<Attempt, Failure> {
    check_identity(order.file)?;
    if let Err(error) = connection.execute_batch("BEGIN IMMEDIATE") {
        return busy_or(order, "begin a batch", error);
    }
    let begun = Instant::now();
    match delete_all(connection, order, keys, begun) {
        Ok(batch) => commit(connection, order, batch, begun),
        Err(failure) => {
            roll_back(connection);
            Err(failure)
        }
    }
}

fn busy_or(order: &Order<'_>, action: &str, error: rusqlite::Error) -> Result<Attempt, Failure> {
    if is_busy(&error) { Ok(Attempt::Busy(Duration::ZERO)) } else { Err(failed(order, action, &error)) }
}

fn failed(order: &Order<'_>, action: &str, error: &rusqlite::Error) -> Failure {
    let action = format!("{action} (table `{}`)", order.rule.table);
    explain(&order.file.path, &action, error)
}

fn delete_all(
    connection: &Connection,
    order: &Order<'_>,
    keys: &[Key],
    begun: Instant,
) -> Result<Batch, Failure> {
    let sql_failed = |error: rusqlite::Error| failed(order, "delete a batch", &error);
    let now = schema_version(connection).map_err(sql_failed)?;
    if now != order.schema_version {
        return Err(refuse(order, FailureKind::Schema, "the schema changed while it was swept"));
    }
    let mut guarded = Guarded::prepare(connection, order.rule, order.cutoff).map_err(sql_failed)?;
    let mut batch = Batch::default();
    let changes_before = connection.total_changes();
    for key in keys.iter().take(order.bound.rows) {
        if batch.cost.rows > 0 && begun.elapsed() >= order.bound.hold {
            break;
        }
        batch.cost.rows += 1;
        match guarded.delete(connection, order, key)? {
            Outcome::Deleted => batch.deleted.push(key.clone()),
            Outcome::Skipped(reason) => batch.skipped.push((key.clone(), reason)),
            Outcome::Spared => {}
        }
    }
    let changed = connection.total_changes() - changes_before;
    if changed != batch.deleted.len() as u64 || batch.deleted.len() > Limit::MAX.rows() {
        // Triggers and cascades count, here and in any other table.
        return Err(refuse(order, FailureKind::Invariant, "a batch would change more rows than it names"));
    }
    Ok(batch)
}

fn refuse(order: &Order<'_>, kind: FailureKind, why: &str) -> Failure {
    let what = format!("table `{}` of {}: {why}", order.rule.table, order.file.path.display());
    Failure::new(kind, what, remedy(kind))
}

/// The two statements of a batch. Both carry every guard, so that a row that changed after it was
/// nominated survives; between them the row is read once more in memory, so that neither a slip in
/// the SQL nor a fault of the engine can commit the deletion of a row that is not finished.
struct Guarded<'a> {
    select: CachedStatement<'a>,
    delete: CachedStatement<'a>,
    guards: Vec<Value>,
    columns: Vec<Identifier>,
}

impl<'a> Guarded<'a> {
    fn prepare(connection: &'a Connection, rule: &Rule, cutoff: Cutoff) -> rusqlite::Result<Self> {
        let predicate = rule.is_deletable(cutoff);
        let columns = predicate.columns();
        let list = columns.iter().map(column).collect::<Vec<_>>().join(", ");
        let table = table(&rule.table);
        let guards = Sql::new(&format!("{} AND ", key_is(&rule.key))).predicate(&predicate);
        Ok(Self {
            select: connection
                .prepare_cached(&format!("SELECT {list} FROM {table} WHERE {}", guards.text))?,
            delete: connection.prepare_cached(&format!("DELETE FROM {table} WHERE {}", guards.text))?,
            guards: guards.bound,
            columns,
        })
    }

    fn delete(&mut self, connection: &Connection, order: &Order<'_>, key: &Key) -> Result<Outcome, Failure> {
        let sql_failed = |error: &rusqlite::Error| failed(order, "delete a row", error);
        let bound = bound(key, &self.guards);
        match self.select(&bound).map_err(|error| sql_failed(&error))? {
            None => return Ok(Outcome::Spared),
            Some(row) => self.check(order, &row)?,
        }
        match self.delete.execute(params_from_iter(&bound)) {
            Ok(0) => Ok(Outcome::Skipped(SkipReason::Ignored)),
            Ok(1) => Ok(Outcome::Deleted),
            Ok(_) => Err(refuse(order, FailureKind::Invariant, "one key would delete more than one row")),
            // A trigger may have rolled everything back: then nothing of this batch is left to commit.
            Err(error) if is_constraint(&error) && !connection.is_autocommit() => {
                Ok(Outcome::Skipped(SkipReason::Constraint))
            }
            Err(error) => Err(sql_failed(&error)),
        }
    }

    fn select(&mut self, bound: &[Value]) -> rusqlite::Result<Option<Vec<Value>>> {
        let mut rows = self.select.query(params_from_iter(bound))?;
        let Some(row) = rows.next()? else { return Ok(None) };
        (0..self.columns.len()).map(|index| Ok(read(row.get_ref(index)?))).collect::<Result<_, _>>().map(Some)
    }

    fn check(&self, order: &Order<'_>, row: &[Value]) -> Result<(), Failure> {
        let value = |column: &Identifier| {
            let index = self.columns.iter().position(|known| known == column);
            index.and_then(|index| row.get(index)).unwrap_or(&Value::Null)
        };
        let finished = order.rule.state_of(&value) == State::Done;
        if finished && order.rule.is_deletable(order.cutoff).holds(&value) {
            return Ok(());
        }
        Err(refuse(
            order,
            FailureKind::Invariant,
            "a batch would delete a row that is not finished and expired",
        ))
    }
}

fn bound(key: &Key, guards: &[Value]) -> Vec<Value> {
    let with_class = |value: &Value| [value.clone(), Value::Text(storage_class(value).into())];
    key.values().iter().flat_map(with_class).chain(guards.iter().cloned()).collect()
}

/// A COMMIT that finds a reader in its way (rollback journal) is taken back at once: while it
/// waited, new readers would queue behind us.
fn commit(
    connection: &Connection,
    order: &Order<'_>,
    mut batch: Batch,
    begun: Instant,
) -> Result<Attempt, Failure> {
    batch.cost.work = begun.elapsed();
    let Err(error) = connection.execute_batch("COMMIT") else {
        batch.cost.commit = begun.elapsed().saturating_sub(batch.cost.work);
        return Ok(Attempt::Committed(batch));
    };
    roll_back(connection);
    if is_busy(&error) {
        return Ok(Attempt::Busy(begun.elapsed()));
    }
    if is_certain(&error) {
        return Err(failed(order, "commit a batch", &error));
    }
    let cause = failed(order, "commit a batch", &error);
    let what = format!("{}; whether it took effect is not known", cause.what());
    Err(Failure::new(FailureKind::CommitUnknown, what, remedy(FailureKind::CommitUnknown)))
}

/// After a failure the engine may have rolled back by itself; then there is nothing to do.
fn roll_back(connection: &Connection) {
    if !connection.is_autocommit() {
        // Its own failure changes nothing: the transaction ends with the connection at the latest.
        let _ = connection.execute_batch("ROLLBACK");
    }
}
