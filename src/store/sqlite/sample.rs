//! Rows from both ends and the middle of a table, and single rows by their key.

use rusqlite::{Connection, OptionalExtension, params_from_iter};

use super::render::{Sql, column, key_is, read, storage_class, table};
use super::walked::WalkedBy;
use crate::plan::{Identifier, Key, Rule, Sampled, Value};
use crate::store::Row;

/// Rows that are read at each place.
const ROWS: i64 = 200;

/// The clock column of rows that retention counts from, at most three times [`ROWS`].
pub(super) fn sample(
    connection: &Connection,
    rule: &Rule,
    rowid: Option<&str>,
) -> rusqlite::Result<Vec<Sampled>> {
    let Some(clock) = &rule.clock else { return Ok(Vec::new()) };
    let walked = WalkedBy::rowid_or_key(rowid, &rule.key);
    let (first, last) = (walked.list(), walked.descending());
    let from = table(&rule.table);
    let mut places = vec![format!("ORDER BY {first}"), format!("ORDER BY {last}")];
    if rowid.is_some() {
        // Half-way between the least and the greatest number, which is no search.
        places.push(format!(
            "WHERE {first} >= (SELECT min({first}) FROM {from}) / 2 + (SELECT max({first}) FROM {from}) / 2 ORDER BY {first}"
        ));
    }
    let mut sampled = Vec::new();
    for place in places {
        let sql = Sql::new("SELECT ")
            .predicate(&rule.is_done())
            .push(&format!(
                ", {} FROM (SELECT * FROM {from} {place} LIMIT {ROWS}) AS t WHERE ",
                column(clock.column())
            ))
            .predicate(&rule.is_dated());
        let mut statement = connection.prepare(&sql.text)?;
        let mut rows = statement.query(params_from_iter(sql.bound))?;
        while let Some(row) = rows.next()? {
            sampled.push(Sampled { is_done: row.get(0)?, clock: read(row.get_ref(1)?) });
        }
    }
    Ok(sampled)
}

/// The rows with these keys, by exact bytes and type. `referenced` is true of a row that must stay.
pub(super) fn rows(
    connection: &Connection,
    rule: &Rule,
    referenced: Option<&str>,
    keys: &[Key],
) -> rusqlite::Result<Vec<(Key, Row)>> {
    let mut columns: Vec<Identifier> = Vec::new();
    for name in rule.columns() {
        if !columns.contains(name) {
            columns.push(name.clone());
        }
    }
    let list = columns.iter().map(column).collect::<Vec<_>>().join(", ");
    let (referenced, from) = (referenced.unwrap_or("0"), table(&rule.table));
    let sql = format!("SELECT {referenced}, {list} FROM {from} WHERE {}", key_is(&rule.key));
    let mut statement = connection.prepare(&sql)?;
    let mut found = Vec::new();
    for key in keys {
        let class = |value: &Value| Value::Text(storage_class(value).into());
        let bound = key.values().iter().flat_map(|value| [value.clone(), class(value)]);
        let row = statement.query_row(params_from_iter(bound), |row| {
            let value = |(at, name): (usize, &Identifier)| Ok((name.clone(), read(row.get_ref(at + 1)?)));
            let values = columns.iter().enumerate().map(value).collect::<rusqlite::Result<_>>()?;
            Ok(Row { values, is_referenced: row.get(0)? })
        });
        found.extend(row.optional()?.map(|row| (key.clone(), row)));
    }
    Ok(found)
}
