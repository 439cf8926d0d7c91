//! Would an index help? Tried in memory, on a copy of the schema and its statistics, never of the data.

use rusqlite::{Connection, params_from_iter};

use super::inspect::Looked;
use super::render::{add_functions, read};
use crate::plan::{Rule, Value};

/// The first of these statements after which the search of this rule uses an index.
pub(super) fn first_that_helps(
    connection: &Connection,
    rule: &Rule,
    candidates: &[String],
) -> rusqlite::Result<Option<String>> {
    let schema = schema(connection)?;
    let statistics = [statistics(connection, "sqlite_stat1")?, statistics(connection, "sqlite_stat4")?];
    for candidate in candidates {
        let trial = copy(&schema, &statistics)?;
        // A name that is taken, or a collation that only the application has: then it is no advice.
        if trial.execute_batch(candidate).is_ok() && is_searched_by_index(&trial, rule)? {
            return Ok(Some(candidate.clone()));
        }
    }
    Ok(None)
}

fn is_searched_by_index(connection: &Connection, rule: &Rule) -> rusqlite::Result<bool> {
    let looked = Looked::at(connection, "a trial".as_ref(), std::slice::from_ref(rule))?;
    Ok(looked.facts.iter().any(|facts| facts.in_clock_order))
}

/// Whether an integer key is the number of its row, and a number may come back after a deletion.
pub(super) fn reuses_numbers(connection: &Connection, rule: &Rule) -> rusqlite::Result<bool> {
    let [key] = rule.key.columns() else { return Ok(false) };
    let table = rule.table.as_str();
    let is_number = "SELECT count(*) FROM pragma_table_list AS list, pragma_table_xinfo(?1) AS col \
        WHERE list.schema = 'main' AND list.name = ?1 COLLATE BINARY AND list.wr = 0 \
        AND col.pk = 1 AND col.name = ?2 AND col.type = 'INTEGER' COLLATE NOCASE \
        AND NOT EXISTS (SELECT 1 FROM pragma_index_list(?1) WHERE origin = 'pk') \
        AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(?1) WHERE pk > 1)";
    if connection.query_row(is_number, (table, key.as_str()), |row| row.get::<_, i64>(0))? == 0 {
        return Ok(false);
    }
    // The engine remembers the greatest number only where it must never come back.
    let insert = format!("EXPLAIN INSERT INTO main.{} DEFAULT VALUES", super::render::quoted(table));
    let Ok(mut statement) = connection.prepare(&insert) else { return Ok(false) };
    let opcodes: Vec<String> = statement.query_map([], |row| row.get("opcode"))?.collect::<Result<_, _>>()?;
    Ok(!opcodes.iter().any(|opcode| opcode == "MemMax"))
}

/// Tables first, because an index needs its own.
fn schema(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT sql FROM main.sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT NULL \
               AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type DESC, rowid";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// A table of statistics: its name, and its rows.
type Statistics = (&'static str, Vec<Vec<Value>>);

/// Its rows; none where the owner never ran ANALYZE.
fn statistics(connection: &Connection, name: &'static str) -> rusqlite::Result<Statistics> {
    let Ok(mut statement) = connection.prepare(&format!("SELECT * FROM main.{name}")) else {
        return Ok((name, Vec::new()));
    };
    let columns = statement.column_count();
    let values = statement.query_map([], |row| (0..columns).map(|at| Ok(read(row.get_ref(at)?))).collect());
    let values = values?.collect::<rusqlite::Result<_>>()?;
    Ok((name, values))
}

fn copy(schema: &[String], statistics: &[Statistics]) -> rusqlite::Result<Connection> {
    let memory = Connection::open_in_memory()?;
    add_functions(&memory)?;
    for sql in schema {
        // A virtual table needs a module that only the application has, an index its functions.
        let _ = memory.execute_batch(sql);
    }
    memory.execute_batch("ANALYZE main.sqlite_schema")?;
    for (name, rows) in statistics {
        for row in rows {
            let places = vec!["?"; row.len()].join(", ");
            // A build without STAT4 has no such table; what it does not know does not change its plans.
            let _ =
                memory.execute(&format!("INSERT INTO main.{name} VALUES ({places})"), params_from_iter(row));
        }
    }
    memory.execute_batch("ANALYZE main.sqlite_schema")?;
    Ok(memory)
}
