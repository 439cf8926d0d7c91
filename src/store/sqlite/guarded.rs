//! One row of a batch: selected again with every guard, checked in memory, and deleted.

use rusqlite::{CachedStatement, Connection, Statement};

use super::batch::{Order, failed, refuse};
use super::failure::{is_constraint, is_statement_error};
use super::render::{Sql, column, key_is, read, storage_class, table};
use super::witness::Witness;
use crate::plan::{Failure, FailureKind, Identifier, Judge, Key, References, SkipReason, Value};

const UNDO: &str = "ROLLBACK TO keysweep_row; RELEASE keysweep_row";

/// What became of one key.
pub(super) enum Outcome {
    /// It is gone, and so are these, which triggers and declared actions took along.
    Deleted(Vec<Key>),
    /// It is still there; these are gone.
    Skipped(SkipReason, Vec<Key>),
    /// A guard does not hold any more: the row is the application's again, or gone.
    Spared,
    /// It is still there: with what goes along with it, the transaction would delete too many rows.
    NoRoom,
    /// A trigger rolled the whole transaction back.
    RolledBack,
}

/// The two statements of a batch. Both carry every guard, so that a row that changed after it was
/// nominated survives; between them the row is read once more in memory, so that neither a slip in
/// the SQL nor a fault of the engine can commit the deletion of a row that is not finished.
pub(super) struct Guarded<'a> {
    connection: &'a Connection,
    order: &'a Order<'a>,
    select: CachedStatement<'a>,
    delete: CachedStatement<'a>,
    columns: Vec<Identifier>,
    judge: Judge,
    /// Where something else may happen by a deletion.
    witness: Option<Witness>,
}

impl<'a> Guarded<'a> {
    pub fn prepare(connection: &'a Connection, order: &'a Order<'a>) -> rusqlite::Result<Self> {
        let rule = order.rule;
        let predicate = rule.is_deletable(order.cutoff);
        let columns = predicate.columns();
        let witness = match rule.references {
            References::Refuse => None,
            References::Skip | References::Cascade => {
                Some(Witness::call(connection, rule, order.ruled, &columns)?)
            }
        };
        let list = columns.iter().map(column).collect::<Vec<_>>().join(", ");
        let table = table(&rule.table);
        let referenced = order.referenced.unwrap_or("0");
        let guards = Sql::new(&format!("{} AND ", key_is(&rule.key))).predicate(&predicate);
        let mut select = connection
            .prepare_cached(&format!("SELECT {list}, {referenced} FROM {table} WHERE {}", guards.text))?;
        let mut delete = connection
            .prepare_cached(&format!("DELETE FROM {table} WHERE {} AND NOT {referenced}", guards.text))?;
        // The guards stay bound from row to row; only the key is bound anew.
        for statement in [&mut select, &mut delete] {
            for (at, value) in guards.bound.iter().enumerate() {
                statement.raw_bind_parameter(2 * rule.key.columns().len() + 1 + at, value)?;
            }
        }
        Ok(Self { select, delete, columns, judge: rule.judge(order.cutoff), connection, order, witness })
    }

    /// Delete the row of this key, where the transaction has room for so many more.
    pub fn delete(&mut self, key: &Key, room: usize) -> Result<Outcome, Failure> {
        let order = self.order;
        let sql_failed = |error: rusqlite::Error| failed(order, "delete a row", &error);
        match self.select(key).map_err(sql_failed)? {
            None => return Ok(Outcome::Spared),
            Some((row, is_referenced)) => {
                self.check(&row)?;
                if is_referenced {
                    return Ok(Outcome::Skipped(SkipReason::Referenced, Vec::new()));
                }
            }
        }
        bind(&mut self.delete, key).map_err(sql_failed)?;
        if self.witness.is_none() {
            return match self.delete.raw_execute() {
                Ok(count) => self.outcome(count, Vec::new()),
                Err(error) => self.refused(error),
            };
        }
        self.connection.execute_batch("SAVEPOINT keysweep_row").map_err(sql_failed)?;
        match self.delete.raw_execute() {
            Ok(count) => {
                let others = self.others(key)?;
                if count + others.len() > room {
                    self.connection.execute_batch(UNDO).map_err(sql_failed)?;
                    return Ok(Outcome::NoRoom);
                }
                self.connection.execute_batch("RELEASE keysweep_row").map_err(sql_failed)?;
                self.outcome(count, others)
            }
            Err(error) => {
                let outcome = self.refused(error)?;
                if !self.connection.is_autocommit() {
                    // RAISE(FAIL) leaves what was done before it.
                    self.connection.execute_batch(UNDO).map_err(sql_failed)?;
                }
                Ok(outcome)
            }
        }
    }

    /// Remove what watched this batch.
    pub fn finish(self) -> rusqlite::Result<()> {
        drop((self.select, self.delete));
        self.witness.map_or(Ok(()), |witness| witness.dismiss(self.connection))
    }

    fn outcome(&self, count: usize, others: Vec<Key>) -> Result<Outcome, Failure> {
        match count {
            0 => Ok(Outcome::Skipped(SkipReason::Ignored, others)),
            1 => Ok(Outcome::Deleted(others)),
            _ => Err(refuse(self.order, FailureKind::Invariant, "one key would delete more than one row")),
        }
    }

    /// One row is no reason to stop: unless the engine itself fails, it stays and the others go.
    fn refused(&self, error: rusqlite::Error) -> Result<Outcome, Failure> {
        match (self.connection.is_autocommit(), is_constraint(&error), is_statement_error(&error)) {
            (true, true, _) => Ok(Outcome::RolledBack),
            (false, true, _) => Ok(Outcome::Skipped(SkipReason::Constraint, Vec::new())),
            (false, false, true) => Ok(Outcome::Skipped(SkipReason::Error, Vec::new())),
            _ => Err(failed(self.order, "delete a row", &error)),
        }
    }

    /// Rows of this table that went along with the one of this key. Each must have been due itself.
    fn others(&self, key: &Key) -> Result<Vec<Key>, Failure> {
        let Some(witness) = &self.witness else { return Ok(Vec::new()) };
        let seen =
            witness.seen(self.connection).map_err(|error| failed(self.order, "delete a row", &error))?;
        let mut others = Vec::new();
        for row in seen {
            self.check(&row)?;
            let value = |column| self.value(&row, column).clone();
            let deleted = Key::new(self.order.rule.key.columns().iter().map(value).collect());
            if deleted != *key {
                others.push(deleted);
            }
        }
        Ok(others)
    }

    fn select(&mut self, key: &Key) -> rusqlite::Result<Option<(Vec<Value>, bool)>> {
        let (given, wanted) = (key.values().len(), self.order.rule.key.columns().len());
        if given != wanted {
            // One that is longer would be bound over the guards.
            return Err(rusqlite::Error::InvalidParameterCount(given, wanted));
        }
        bind(&mut self.select, key)?;
        let mut rows = self.select.raw_query();
        let Some(row) = rows.next()? else { return Ok(None) };
        let count = self.columns.len();
        let values =
            (0..count).map(|index| Ok(read(row.get_ref(index)?))).collect::<rusqlite::Result<_>>()?;
        Ok(Some((values, row.get(count)?)))
    }

    fn value<'r>(&self, row: &'r [Value], column: &Identifier) -> &'r Value {
        let index = self.columns.iter().position(|known| known == column);
        index.and_then(|index| row.get(index)).unwrap_or(&Value::Null)
    }

    fn check(&self, row: &[Value]) -> Result<(), Failure> {
        if self.judge.allows(&|column| self.value(row, column)) {
            return Ok(());
        }
        let why = "a batch would delete a row that is not finished and expired";
        Err(refuse(self.order, FailureKind::Invariant, why))
    }
}

/// Bind the key as [`key_is`] wants it.
fn bind(statement: &mut Statement<'_>, key: &Key) -> rusqlite::Result<()> {
    for (at, value) in key.values().iter().enumerate() {
        statement.raw_bind_parameter(2 * at + 1, value)?;
        statement.raw_bind_parameter(2 * at + 2, storage_class(value))?;
    }
    Ok(())
}
