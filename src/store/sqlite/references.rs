//! Foreign keys that point at a table, and the guard that keeps the rows which are referred to.

use rusqlite::{Connection, Statement};

use super::failure::by_the_schema;
use super::render::quoted;
use crate::plan::{ForeignKey, Identifier, Rule};

/// The foreign keys that point at this table.
pub(super) fn foreign_keys(connection: &Connection, table: &str) -> rusqlite::Result<Vec<ForeignKey>> {
    let sql = "SELECT child.name, key.id, key.on_delete FROM main.sqlite_schema AS child, pragma_foreign_key_list(child.name) AS key \
               WHERE child.type = 'table' AND key.seq = 0 AND key.\"table\" = ?1 COLLATE NOCASE ORDER BY child.name, key.id";
    let mut statement = connection.prepare(sql)?;
    let found = statement.query_map([table], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let found: Vec<(String, i64, String)> = found.collect::<rusqlite::Result<_>>()?;
    let mut keys = Vec::new();
    for (child, id, action) in found {
        let columns = columns(connection, table, &child, id)?;
        let is_indexed = is_indexed(connection, &child, &columns)?;
        let refuses = !["CASCADE", "SET NULL", "SET DEFAULT"].contains(&action.as_str());
        keys.push(ForeignKey { child, columns, refuses, is_indexed });
    }
    Ok(keys)
}

/// A key that names no column of the parent means its primary key.
fn columns(
    connection: &Connection,
    parent: &str,
    child: &str,
    id: i64,
) -> rusqlite::Result<Vec<(String, String)>> {
    let sql = "SELECT key.\"from\", coalesce(key.\"to\", parent.name, '') FROM pragma_foreign_key_list(?1) AS key \
               LEFT JOIN pragma_table_xinfo(?2) AS parent ON parent.pk = key.seq + 1 WHERE key.id = ?3 ORDER BY key.seq";
    let mut statement = connection.prepare(sql)?;
    let columns = statement.query_map((child, parent, id), |row| Ok((row.get(0)?, row.get(1)?)))?;
    columns.collect()
}

/// The engine says so itself; what it does not understand is a finding of its own.
fn is_indexed(connection: &Connection, child: &str, columns: &[(String, String)]) -> rusqlite::Result<bool> {
    let refers: Vec<String> = columns.iter().map(|(from, _)| format!("c.{} = ?", quoted(from))).collect();
    let sql = format!(
        "EXPLAIN QUERY PLAN SELECT 1 FROM main.{} AS c WHERE {}",
        quoted(child),
        refers.join(" AND ")
    );
    let lines = connection.prepare(&sql).and_then(|mut statement| plan_of(&mut statement));
    Ok(by_the_schema(lines)?.is_ok_and(|lines| lines.iter().any(|line| line.starts_with("SEARCH"))))
}

/// The lines of an EXPLAIN QUERY PLAN. What is not bound is NULL, which is as good as any value for a plan.
pub(super) fn plan_of(statement: &mut Statement<'_>) -> rusqlite::Result<Vec<String>> {
    let (mut rows, mut lines) = (statement.raw_query(), Vec::new());
    while let Some(row) = rows.next()? {
        lines.push(row.get("detail")?);
    }
    Ok(lines)
}

/// True of a row `t` that must stay because another row refers to it; nothing where none can.
///
/// The parent's column stands on the left: its collation and affinity decide, as they do when the
/// engine itself looks for the rows that refer. A row that refers to itself keeps nobody.
pub(super) fn is_referenced(rule: &Rule, keys: &[ForeignKey]) -> Option<String> {
    let keys = keys.iter().filter(|key| key.keeps_rows(rule.references));
    let exists: Vec<String> = keys.map(|key| refers(rule, key)).collect();
    (!exists.is_empty()).then(|| format!("({})", exists.join(" OR ")))
}

fn refers(rule: &Rule, key: &ForeignKey) -> String {
    let equal = |(from, to): &(String, String)| format!("t.{} = c.{}", quoted(to), quoted(from));
    let mut terms: Vec<String> = key.columns.iter().map(equal).collect();
    if key.child.eq_ignore_ascii_case(rule.table.as_str()) {
        let same = |name: &Identifier| format!("t.{0} IS c.{0}", quoted(name.as_str()));
        let same: Vec<String> = rule.key.columns().iter().map(same).collect();
        terms.push(format!("NOT ({})", same.join(" AND ")));
    }
    format!("EXISTS (SELECT 1 FROM main.{} AS c WHERE {})", quoted(&key.child), terms.join(" AND "))
}
