//! What a row must be, said once: a store renders it as SQL, and [`Predicate::holds`] reads it
//! of a row in memory, so that a batch can check the engine before it commits.

use std::cmp::Ordering;

use super::{Encoded, Identifier, Unit, Value};

/// A state value in config: compared by type and bytes, whatever the column's affinity or collation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// Text without NUL.
    Text(String),
    /// An integer.
    Integer(i64),
}

impl Literal {
    fn is(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Text(text), Value::Text(bytes)) => text.as_bytes() == bytes,
            (Self::Integer(integer), Value::Integer(stored)) => integer == stored,
            _ => false,
        }
    }

    /// A number by its value, whichever way it is stored; a text byte by byte.
    fn equals(&self, value: &Value) -> bool {
        match self {
            Self::Text(_) => self.is(value),
            Self::Integer(integer) => value.number_cmp(*integer) == Some(Ordering::Equal),
        }
    }
}

/// A condition on one row. It is true or false, never unknown: NULL is no value.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// The column holds exactly this value.
    Is {
        /// The column.
        column: Identifier,
        /// Its value.
        value: Literal,
    },
    /// The column's value equals this one: a number by its value, a text byte by byte.
    Equals {
        /// The column.
        column: Identifier,
        /// The value.
        value: Literal,
    },
    /// The column is not NULL.
    Present {
        /// The column.
        column: Identifier,
    },
    /// The column holds an instant under this unit.
    Readable {
        /// The column.
        column: Identifier,
        /// Its unit.
        unit: Unit,
    },
    /// The column's instant is at or before the bound. Only beside `Readable`.
    AtOrBefore {
        /// The column.
        column: Identifier,
        /// The latest value, in the column's unit.
        bound: Encoded,
    },
    /// Every one of these.
    All(Vec<Predicate>),
    /// At least one of these.
    Any(Vec<Predicate>),
    /// Not this.
    Not(Box<Predicate>),
}

impl Predicate {
    /// Both of these.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self::All(vec![self, other])
    }

    /// This one turned round.
    #[must_use]
    pub fn negated(self) -> Self {
        Self::Not(Box::new(self))
    }

    /// The columns that it reads, each once, in order of mention.
    #[must_use]
    pub fn columns(&self) -> Vec<Identifier> {
        let mut columns = Vec::new();
        self.collect_columns(&mut columns);
        columns
    }

    fn collect_columns(&self, columns: &mut Vec<Identifier>) {
        match self {
            Self::Is { column, .. }
            | Self::Equals { column, .. }
            | Self::Present { column }
            | Self::Readable { column, .. }
            | Self::AtOrBefore { column, .. } => {
                if !columns.contains(column) {
                    columns.push(column.clone());
                }
            }
            Self::All(parts) | Self::Any(parts) => {
                parts.iter().for_each(|part| part.collect_columns(columns));
            }
            Self::Not(part) => part.collect_columns(columns),
        }
    }

    /// Whether a row is so. `read` gives a column's value; a column it does not know reads as NULL.
    pub fn holds<'a>(&self, read: &impl Fn(&Identifier) -> &'a Value) -> bool {
        match self {
            Self::Is { column, value } => value.is(read(column)),
            Self::Equals { column, value } => value.equals(read(column)),
            Self::Present { column } => *read(column) != Value::Null,
            Self::Readable { column, unit } => unit.decode(read(column)).is_some(),
            Self::AtOrBefore { column, bound } => bound.is_at_or_after(read(column)),
            Self::All(parts) => parts.iter().all(|part| part.holds(read)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(read)),
            Self::Not(part) => !part.holds(read),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_compared_by_type_and_bytes() {
        let done = Literal::Text("done".into());
        assert!(done.is(&Value::Text(b"done".to_vec())));
        for other in [&b"DONE"[..], b"done ", b" done", b""] {
            assert!(!done.is(&Value::Text(other.to_vec())));
        }
        assert!(!done.is(&Value::Blob(b"done".to_vec())));
        assert!(!Literal::Integer(1).is(&Value::Text(b"1".to_vec())));
        assert!(!Literal::Integer(1).is(&Value::Real(1.0)));
    }
}
