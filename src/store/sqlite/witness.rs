//! What a deletion deletes beside the row that it names: triggers and declared actions may go on.

use rusqlite::Connection;

use super::render::{quoted, read};
use crate::plan::{Identifier, Rule, Value};

/// Made anew inside each transaction and gone before its COMMIT, so that no change of the schema
/// meets it. A trigger of the temporary schema fires before the application's own AFTER triggers, so
/// that none of those can keep a deletion from it.
pub(super) struct Witness {
    /// How many other tables are shielded.
    shields: usize,
}

impl Witness {
    /// Watch every deletion from the rule's table; of each, these columns are kept. A deletion that would
    /// take along a row of another table with a rule of its own is refused.
    pub fn call(
        connection: &Connection,
        rule: &Rule,
        ruled: &[Identifier],
        columns: &[Identifier],
    ) -> rusqlite::Result<Self> {
        let old: Vec<String> =
            columns.iter().map(|column| format!("old.{}", quoted(column.as_str()))).collect();
        let kept: Vec<String> = (0..columns.len()).map(|at| format!("c{at}")).collect();
        connection.execute_batch(&format!(
            "CREATE TEMP TABLE keysweep_deleted({});
             CREATE TEMP TRIGGER keysweep_witness AFTER DELETE ON main.{} BEGIN INSERT INTO keysweep_deleted VALUES ({}); END",
            kept.join(", "),
            quoted(rule.table.as_str()),
            old.join(", ")
        ))?;
        for (at, table) in ruled.iter().enumerate() {
            connection.execute_batch(&format!(
                "CREATE TEMP TRIGGER keysweep_shield_{at} BEFORE DELETE ON main.{} \
                 BEGIN SELECT RAISE(ABORT, 'the row goes by a rule of its own'); END",
                quoted(table.as_str())
            ))?;
        }
        Ok(Self { shields: ruled.len() })
    }

    /// The rows that were deleted since the last look.
    pub fn seen(&self, connection: &Connection) -> rusqlite::Result<Vec<Vec<Value>>> {
        let mut statement =
            connection.prepare_cached("SELECT * FROM temp.keysweep_deleted ORDER BY rowid")?;
        let count = statement.column_count();
        let rows =
            statement.query_map([], |row| (0..count).map(|at| Ok(read(row.get_ref(at)?))).collect())?;
        let rows = rows.collect::<rusqlite::Result<_>>()?;
        connection.prepare_cached("DELETE FROM temp.keysweep_deleted")?.execute([])?;
        Ok(rows)
    }

    /// Its work is done.
    pub fn dismiss(self, connection: &Connection) -> rusqlite::Result<()> {
        for at in 0..self.shields {
            connection.execute_batch(&format!("DROP TRIGGER temp.keysweep_shield_{at}"))?;
        }
        connection.execute_batch("DROP TRIGGER temp.keysweep_witness; DROP TABLE temp.keysweep_deleted")
    }
}
