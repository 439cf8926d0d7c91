//! What the schema says of a table.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params_from_iter};

use super::access::{Access, admit, open_untouched};
use super::failure::explain;
use super::known::Known;
use super::references::foreign_keys;
use super::render::quoted;
use super::search;
use super::walked::WalkedBy;
use crate::plan::{Cutoff, Failure, Rule, TableFacts, TableKind, UnixTime};
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
pub(super) fn look_untouched(path: &Path, access: Access, rules: &[Rule]) -> Result<Option<Looked>, Failure> {
    let file = admit(path, access)?;
    if file.has_journal {
        return Ok(None);
    }
    let connection = open_untouched(&file)?;
    let looked = Looked::at(&connection, path, rules);
    looked.map(Some).map_err(|error| explain(path, "read the schema", &error))
}

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
        undeletable: if is_table { undeletable(connection, table) } else { None },
        is_utf8: is_utf8(connection)?,
        in_key_order: !is_table || in_key_order(connection, rule)?,
        referenced_by: if is_table { foreign_keys(connection, table)? } else { Vec::new() },
        delete_triggers: if is_table { delete_triggers(connection, table)? } else { Vec::new() },
        tables: names(
            connection,
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND ?1 IS NOT NULL ORDER BY name LIMIT 20",
            table,
        )?,
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
    let Ok(mut statement) = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", search.text)) else {
        return Ok(true);
    };
    let plan = statement.query_map(params_from_iter(search.bound), |row| row.get::<_, String>("detail"))?;
    let plan: Vec<String> = plan.collect::<rusqlite::Result<_>>()?;
    Ok(!plan.iter().any(|line| line.contains("TEMP B-TREE")))
}

/// The primary key, then every unique index without a WHERE. An index on an expression has no
/// column name, and counts for nothing.
fn unique_keys(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Vec<String>>> {
    let primary = "SELECT name FROM pragma_table_xinfo(?1) WHERE pk > 0 ORDER BY pk";
    let mut keys = vec![names(connection, primary, table)?];
    let indexes = "SELECT name FROM pragma_index_list(?1) WHERE \"unique\" = 1 AND partial = 0";
    for index in names(connection, indexes, table)? {
        let sql = "SELECT coalesce(name, '') FROM pragma_index_info(?1) ORDER BY seqno";
        keys.push(names(connection, sql, &index)?);
    }
    keys.retain(|columns| !columns.is_empty());
    Ok(keys)
}

fn is_utf8(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA encoding", [], |row| Ok(row.get_ref(0)?.as_bytes()? == b"UTF-8"))
}

/// What the engine says against any DELETE.
fn undeletable(connection: &Connection, table: &str) -> Option<String> {
    connection.prepare(&format!("DELETE FROM main.{}", quoted(table))).err().map(|error| error.to_string())
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
    let Ok(mut statement) = connection.prepare(&explain) else {
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
