//! `plan`'s predicates as SQLite's SQL.
//!
//! Every column is qualified by the alias `t`: an unqualified, misspelt, double-quoted name would
//! turn into a text and could equal every row. State values are literals, so that a partial index
//! on them can be used; instants are bound.

use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::plan::{Encoded, Identifier, Literal, Predicate, Value};

/// An SQL text and the values of its `?`, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct Sql {
    pub text: String,
    pub bound: Vec<Value>,
}

impl Sql {
    pub fn new(text: &str) -> Self {
        Self { text: text.into(), bound: Vec::new() }
    }

    pub fn push(mut self, text: &str) -> Self {
        self.text.push_str(text);
        self
    }

    pub fn bind(mut self, value: Value) -> Self {
        self.text.push('?');
        self.bound.push(value);
        self
    }

    pub fn append(mut self, other: Sql) -> Self {
        self.text.push_str(&other.text);
        self.bound.extend(other.bound);
        self
    }

    pub fn predicate(self, predicate: &Predicate) -> Self {
        self.append(render(predicate))
    }
}

/// A name in double quotes, whatever it holds.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A column of the table under the alias `t`.
pub(super) fn column(name: &Identifier) -> String {
    format!("t.{}", quoted(name.as_str()))
}

/// `FROM` text of a table under the alias `t`.
pub(super) fn table(name: &Identifier) -> String {
    format!("main.{} AS t", quoted(name.as_str()))
}

/// The row with exactly the key `?1` of storage class `?2`: by its index, then by bytes and type,
/// because an index may fold case and an affinity may turn one value into another.
pub(super) fn key_is(name: &Identifier) -> String {
    let column = column(name);
    format!("{column} = ?1 AND {column} = ?1 COLLATE BINARY AND typeof({column}) = ?2")
}

/// What `typeof` says of a value.
pub(super) fn storage_class(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Integer(_) => "integer",
        Value::Real(_) => "real",
        Value::Text(_) => "text",
        Value::Blob(_) => "blob",
    }
}

fn render(predicate: &Predicate) -> Sql {
    match predicate {
        Predicate::Is { column: name, value } => is(&column(name), value),
        Predicate::Present { column: name } => Sql::new(&format!("{} IS NOT NULL", column(name))),
        Predicate::Readable { column: name, unit } => {
            let column = column(name);
            let mut sql =
                Sql::new(&format!("(typeof({column}) IN ('integer', 'real') AND {column} BETWEEN "))
                    .bind(Value::Real(f64::MIN))
                    .push(" AND ")
                    .bind(Value::Real(f64::MAX));
            for (from, to) in unit.ambiguous() {
                sql = sql.push(&format!(" AND {column} NOT BETWEEN {from} AND {to}"));
            }
            sql.push(")")
        }
        Predicate::AtOrBefore { column: name, bound } => {
            let sql = Sql::new(&format!("{} <= ", column(name)));
            match *bound {
                Encoded::Integer(bound) => sql.bind(Value::Integer(bound)),
                Encoded::Real(bound) => sql.bind(Value::Real(bound)),
            }
        }
        Predicate::All(parts) => joined(parts, " AND ", "1"),
        Predicate::Any(parts) => joined(parts, " OR ", "0"),
        Predicate::Not(part) => Sql::new("NOT ").append(render(part)),
    }
}

fn is(column: &str, value: &Literal) -> Sql {
    Sql::new(&match value {
        Literal::Text(text) => {
            let text = text.replace('\'', "''");
            format!("(typeof({column}) = 'text' AND {column} = '{text}' COLLATE BINARY)")
        }
        Literal::Integer(integer) => format!("(typeof({column}) = 'integer' AND {column} = {integer})"),
    })
}

fn joined(parts: &[Predicate], word: &str, empty: &str) -> Sql {
    let mut sql = Sql::new("(");
    for (position, part) in parts.iter().enumerate() {
        sql = sql.push(if position == 0 { "" } else { word }).append(render(part));
    }
    sql.push(if parts.is_empty() { empty } else { "" }).push(")")
}

/// A value as it was stored, bytes and type.
pub(super) fn read(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => Value::Integer(integer),
        ValueRef::Real(real) => Value::Real(real),
        ValueRef::Text(bytes) => Value::Text(bytes.to_vec()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

/// The same for binding: text goes back as the bytes that came, valid UTF-8 or not.
impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(integer) => ValueRef::Integer(*integer),
            Self::Real(real) => ValueRef::Real(*real),
            Self::Text(bytes) => ValueRef::Text(bytes),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
