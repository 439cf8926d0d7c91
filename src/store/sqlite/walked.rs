//! The order in which a table is walked.

use rusqlite::Row;

use super::render::{Sql, column, read};
use crate::plan::{Identifier, KeyColumns, Value};

/// The columns that a table is walked by, in ascending order.
#[derive(Debug, Clone)]
pub(super) struct WalkedBy(Vec<String>);

impl WalkedBy {
    pub fn key(key: &KeyColumns) -> Self {
        Self(key.columns().iter().map(column).collect())
    }

    /// The row's number, or the key where rows have none.
    pub fn rowid_or_key(rowid: Option<&str>, key: &KeyColumns) -> Self {
        rowid.map_or_else(|| Self::key(key), |rowid| Self(vec![format!("t.{rowid}")]))
    }

    /// The clock column, then what tells the rows of one instant apart.
    pub fn clock(clock: &Identifier, row: Vec<String>) -> Self {
        Self(std::iter::once(column(clock)).chain(row).collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// For SELECT and ORDER BY.
    pub fn list(&self) -> String {
        self.0.join(", ")
    }

    /// For ORDER BY from the other end.
    pub fn descending(&self) -> String {
        self.0.iter().map(|column| format!("{column} DESC")).collect::<Vec<_>>().join(", ")
    }

    /// `(a, b) > (?, ?)`, which an index answers as it stands.
    pub fn compared(&self, comparison: &str, values: &[Value]) -> Sql {
        let mut sql = Sql::new(&format!("({}) {comparison} (", self.list()));
        for (at, value) in values.iter().enumerate() {
            sql = sql.push(if at == 0 { "" } else { ", " }).bind(value.clone());
        }
        sql.push(")")
    }

    /// Read this row's place from its columns `from` and following.
    pub fn place(&self, row: &Row<'_>, from: usize) -> rusqlite::Result<Vec<Value>> {
        (from..from + self.len()).map(|column| Ok(read(row.get_ref(column)?))).collect()
    }
}
