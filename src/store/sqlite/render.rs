//! `plan`'s predicates as SQLite's SQL.
//!
//! Every column is qualified by the alias `t`: an unqualified, misspelt, double-quoted name would
//! turn into a text and could equal every row. State values are literals, so that a partial index
//! on them can be used; instants are bound.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::plan::{
    ClockColumn, Encoded, Identifier, KeyColumns, Literal, Predicate, Unit, UnixTime, Value, iso8601,
};

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

/// Our one SQL function: the microseconds since 1970 of an ISO 8601 text, or NULL.
const MICROS: &str = "keysweep_micros";

/// Every connection that a predicate is rendered for needs it. The schema itself cannot call it.
pub(super) fn add_functions(connection: &Connection) -> rusqlite::Result<()> {
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function(MICROS, 1, flags, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Text(text) => iso8601::micros(text),
            _ => None,
        })
    })
}

/// A name in double quotes, whatever it holds.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A column of the table under the alias `t`.
pub(super) fn column(name: &Identifier) -> String {
    format!("t.{}", quoted(name.as_str()))
}

/// A clock column as something that has a least value, which [`instant`] reads.
pub(super) fn comparable(on: &ClockColumn) -> String {
    match on.unit {
        Unit::Iso8601 => format!("{MICROS}({})", column(&on.column)),
        _ => column(&on.column),
    }
}

/// The instant of a value that [`comparable`] gave.
pub(super) fn instant(on: &ClockColumn, value: &Value) -> Option<UnixTime> {
    match (on.unit, value) {
        (Unit::Iso8601, Value::Integer(micros)) => UnixTime::new(*micros as f64 / 1e6).ok(),
        (Unit::Iso8601, _) => None,
        (unit, value) => unit.decode(value),
    }
}

/// `FROM` text of a table under the alias `t`.
pub(super) fn table(name: &Identifier) -> String {
    format!("main.{} AS t", quoted(name.as_str()))
}

/// The row with exactly this key: by its index, then by bytes and type, because an index may fold
/// case and an affinity may turn one value into another. The first columns' value is `?1` and its
/// storage class `?2`, the next ones' `?3` and `?4`, and so on.
pub(super) fn key_is(key: &KeyColumns) -> String {
    let is = |(at, name): (usize, &Identifier)| {
        let (column, value, class) = (column(name), 2 * at + 1, 2 * at + 2);
        format!("{column} = ?{value} AND {column} = ?{value} COLLATE BINARY AND typeof({column}) = ?{class}")
    };
    key.columns().iter().enumerate().map(is).collect::<Vec<_>>().join(" AND ")
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

pub(super) fn render(predicate: &Predicate) -> Sql {
    match predicate {
        Predicate::Is { column: name, value } => is(&column(name), value),
        Predicate::Equals { column: name, value } => equals(&column(name), value),
        Predicate::Present { column: name } => Sql::new(&format!("{} IS NOT NULL", column(name))),
        Predicate::Readable { column: name, unit: Unit::Iso8601 } => {
            let column = column(name);
            Sql::new(&format!("(typeof({column}) = 'text' AND {MICROS}({column}) IS NOT NULL)"))
        }
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
            let column = column(name);
            match bound {
                Encoded::Integer(bound) => Sql::new(&format!("{column} <= ")).bind(Value::Integer(*bound)),
                Encoded::Real(bound) => Sql::new(&format!("{column} <= ")).bind(Value::Real(*bound)),
                Encoded::Text { below, micros } => Sql::new(&format!("({column} < "))
                    .bind(Value::Text(below.as_bytes().into()))
                    .push(&format!(" COLLATE BINARY AND {MICROS}({column}) <= "))
                    .bind(Value::Integer(*micros))
                    .push(")"),
            }
        }
        Predicate::All(parts) => joined(parts, " AND ", "1"),
        Predicate::Any(parts) => joined(parts, " OR ", "0"),
        Predicate::Not(part) => Sql::new("NOT ").append(render(part)),
    }
}

fn is(column: &str, value: &Literal) -> Sql {
    match value {
        // An SQL text ends at a NUL, so such a value has to be bound.
        Literal::Text(text) if text.contains('\0') => {
            Sql::new(&format!("(typeof({column}) = 'text' AND {column} = "))
                .bind(Value::Text(text.as_bytes().into()))
                .push(" COLLATE BINARY)")
        }
        Literal::Text(text) => {
            let text = text.replace('\'', "''");
            Sql::new(&format!("(typeof({column}) = 'text' AND {column} = '{text}' COLLATE BINARY)"))
        }
        Literal::Integer(integer) => {
            Sql::new(&format!("(typeof({column}) = 'integer' AND {column} = {integer})"))
        }
    }
}

/// A number by its value, a text byte by byte.
fn equals(column: &str, value: &Literal) -> Sql {
    match value {
        Literal::Text(_) => is(column, value),
        Literal::Integer(integer) => {
            Sql::new(&format!("(typeof({column}) IN ('integer', 'real') AND {column} = {integer})"))
        }
    }
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
