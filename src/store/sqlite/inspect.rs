//! What the schema says of a table.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params_from_iter};

use super::access::{Access, admit, open_untouched};
use super::failure::{by_the_schema, explain};
use super::known::Known;
use super::learnt::Learnt;
use super::references::foreign_keys;
use super::render::quoted;
use super::search;
use super::walked::WalkedBy;
use crate::plan::{Cutoff, Failure, Identifier, Rule, TableFacts, TableKind, UnixTime};
use crate::store::Leg;

/// The schema as it was looked at; another version means that what was found may no longer hold.
pub(crate) fn schema_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA main.schema_version")?.query_row([], |row| row.get(0))
}

/// What a look at the schema gave.
pub(super) struct Looked {
    pub facts: Vec<TableFacts>,
    pub known: Vec<Known>,
    pub version: i64,
}

impl Looked {
    pub fn at(connection: &Connection, path: &Path, rules: &[Rule]) -> rusqlite::Result<Self> {
        let version = schema_version(connection)?;
        let database = path.display().to_string();
        let (mut facts, mut known) = (Vec::new(), Vec::new());
        for rule in rules {
            let found = table_facts(connection, &database, rule)?;
            let how = Known::of(connection, rule, &found)?;
            facts.push(TableFacts { in_clock_order: how.by_clock.is_some(), ..found });
            known.push(how);
        }
        Ok(Self { facts, known, version })
    }
}

/// A database that is refused for its schema gets no `-wal` beside it, so look first without opening it for work.
pub(super) fn look_untouched(
    path: &Path,
    access: Access,
    rules: &[Rule],
    learnt: &Learnt,
) -> Result<Option<Looked>, Failure> {
    untouched(path, access, |connection| learnt.look(connection, path, rules))
}

/// The tables of a database without opening it for work.
pub(super) fn tables_untouched(path: &Path, access: Access) -> Result<Option<Vec<Identifier>>, Failure> {
    untouched(path, access, table_names)
}

fn untouched<T>(
    path: &Path,
    access: Access,
    look: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<Option<T>, Failure> {
    let file = admit(path, access)?;
    if file.has_journal {
        return Ok(None);
    }
    let looked = look(&open_untouched(&file)?);
    looked.map(Some).map_err(|error| explain(path, "read the schema", &error))
}

/// Every ordinary table, by name. One whose name we cannot write is none that a pattern can mean.
pub(super) fn table_names(connection: &Connection) -> rusqlite::Result<Vec<Identifier>> {
    let sql = format!("{TABLES} ORDER BY name");
    let names: Vec<String> =
        connection.prepare(&sql)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(names.iter().filter_map(|name| Identifier::new(name).ok()).collect())
}

const TABLES: &str = "SELECT name FROM pragma_table_list \
    WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";

/// The facts of one rule's table.
fn table_facts(connection: &Connection, database: &str, rule: &Rule) -> rusqlite::Result<TableFacts> {
    let table = rule.table.as_str();
    let kind = kind(connection, table)?;
    let is_table = kind == Some(TableKind::Table);
    Ok(TableFacts {
        database: database.into(),
        kind,
        // A view may be broken, and a module the application's own: asking for their columns would fail.
        columns: if is_table { columns(connection, table)? } else { Vec::new() },
        unique: if is_table { unique_keys(connection, table)? } else { Vec::new() },
        undeletable: if is_table { undeletable(connection, table)? } else { None },
        is_utf8: is_utf8(connection)?,
        in_key_order: !is_table || in_key_order(connection, rule)?,
        referenced_by: if is_table { foreign_keys(connection, table)? } else { Vec::new() },
        delete_triggers: if is_table { delete_triggers(connection, table)? } else { Vec::new() },
        replacing: replacing(connection)?,
        tables: names(connection, &format!("{TABLES} AND ?1 IS NOT NULL ORDER BY name LIMIT 20"), table)?,
        rowid: if is_table { rowid_alias(connection, table)? } else { None },
        in_clock_order: false,
    })
}

fn names(connection: &Connection, sql: &str, table: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(sql)?.query_map([table], |row| row.get(0))?.collect()
}

fn kind(connection: &Connection, table: &str) -> rusqlite::Result<Option<TableKind>> {
    let sql = "SELECT type FROM pragma_table_list WHERE schema = 'main' AND name = ?1 COLLATE BINARY";
    let kinds = names(connection, sql, table)?;
    Ok(kinds.first().map(|kind| match kind.as_str() {
        "table" => TableKind::Table,
        "view" => TableKind::View,
        _ => TableKind::Virtual,
    }))
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    names(connection, "SELECT name FROM pragma_table_xinfo(?1)", table)
}

/// The engine says whether a step of the search would have to sort.
fn in_key_order(connection: &Connection, rule: &Rule) -> rusqlite::Result<bool> {
    let any = Cutoff::new(UnixTime::from_millis(0), Duration::ZERO);
    let search = search::by_key(rule, &WalkedBy::key(&rule.key), any, &Leg::default(), None);
    // A column that is not there is a finding of its own.
    let statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", search.text));
    let Ok(mut statement) = by_the_schema(statement)? else {
        return Ok(true);
    };
    let plan = statement.query_map(params_from_iter(search.bound), |row| row.get::<_, String>("detail"))?;
    let plan: Vec<String> = plan.collect::<rusqlite::Result<_>>()?;
    Ok(!plan.iter().any(|line| line.contains("TEMP B-TREE")))
}

/// The primary key, then every unique index without a WHERE. An index on an expression has no
/// column name, and counts for nothing; nor does one that tells rows apart which the column's own
/// collation takes for equal: a walk that goes on behind the one would lose the other.
fn unique_keys(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Vec<String>>> {
    // The row's number needs no index; every other primary key is in the list of them.
    let numbered = "SELECT name FROM pragma_table_xinfo(?1) WHERE pk > 0 \
                    AND NOT EXISTS (SELECT 1 FROM pragma_index_list(?1) WHERE origin = 'pk')";
    let mut keys = vec![names(connection, numbered, table)?];
    let indexes = "SELECT name FROM pragma_index_list(?1) WHERE \"unique\" = 1 AND partial = 0";
    for index in names(connection, indexes, table)? {
        let sql = "SELECT coalesce(name, ''), coll FROM pragma_index_xinfo(?1) WHERE key = 1 ORDER BY seqno";
        let columns: Vec<(String, String)> = connection
            .prepare(sql)?
            .query_map([index], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let mut is_as_coarse = true;
        for (column, collation) in columns.iter().filter(|(column, _)| !column.is_empty()) {
            let own = connection.column_metadata(Some("main"), table, column)?.1.unwrap_or_default();
            is_as_coarse &= own.as_bytes().eq_ignore_ascii_case(collation.as_bytes())
                || own.as_bytes().eq_ignore_ascii_case(b"BINARY");
        }
        if is_as_coarse {
            keys.push(columns.into_iter().map(|(column, _)| column).collect());
        }
    }
    keys.retain(|columns| !columns.is_empty());
    Ok(keys)
}

fn is_utf8(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA encoding", [], |row| Ok(row.get_ref(0)?.as_bytes()? == b"UTF-8"))
}

/// What the engine says against any DELETE.
fn undeletable(connection: &Connection, table: &str) -> rusqlite::Result<Option<String>> {
    let delete = connection.prepare(&format!("DELETE FROM main.{}", quoted(table)));
    Ok(by_the_schema(delete)?.err().map(|error| error.to_string()))
}

/// Triggers, and tables by a clause of theirs, that resolve a conflict by REPLACE. The function of that
/// name is none of them.
fn replacing(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name, sql FROM main.sqlite_schema WHERE type IN ('table', 'trigger') AND sql LIKE '%replace%' ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    let found = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let found: Vec<(String, String)> = found.collect::<rusqlite::Result<_>>()?;
    Ok(found.into_iter().filter(|(_, sql)| replaces(sql)).map(|(name, _)| name).collect())
}

fn replaces(sql: &str) -> bool {
    // Comments are not left out: a word too many holds a table, a word too few deletes a row.
    let upper = sql.to_uppercase();
    let words: Vec<&str> = upper.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let at = words.iter().enumerate().filter(|(_, word)| **word == "REPLACE").map(|(at, _)| at);
    at.into_iter().any(|at| {
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        matches!(before, Some(&("OR" | "CONFLICT"))) || words.get(at + 1) == Some(&"INTO")
    })
}

/// The engine says whether a DELETE would run a program beside it; only then are the triggers named.
fn delete_triggers(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM main.sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE AND sql LIKE '%delete%' ORDER BY name";
    let triggers = names(connection, sql, table)?;
    if triggers.is_empty() {
        return Ok(triggers);
    }
    let explain = format!("EXPLAIN DELETE FROM main.{}", quoted(table));
    // A trigger that needs a function of the application cannot even be prepared here.
    let Ok(mut statement) = by_the_schema(connection.prepare(&explain))? else {
        return Ok(triggers);
    };
    let opcodes: Vec<String> = statement.query_map([], |row| row.get("opcode"))?.collect::<Result<_, _>>()?;
    Ok(if opcodes.iter().any(|opcode| opcode == "Program") { triggers } else { Vec::new() })
}

/// The name by which a row's number can be asked for: none in a table without one, or where
/// columns of the application took all three names.
fn rowid_alias(connection: &Connection, table: &str) -> rusqlite::Result<Option<String>> {
    let sql =
        "SELECT type FROM pragma_table_list WHERE schema = 'main' AND name = ?1 COLLATE BINARY AND wr = 0";
    if names(connection, sql, table)?.is_empty() {
        return Ok(None);
    }
    let taken = columns(connection, table)?;
    let free = |alias: &&str| !taken.iter().any(|column| column.eq_ignore_ascii_case(alias));
    Ok(["rowid", "_rowid_", "oid"].into_iter().find(free).map(String::from))
}
