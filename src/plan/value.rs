//! What a column can hold, and the key of a row: exact bytes and exact type.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// One stored value with its storage class. Text is bytes: a database may hold invalid UTF-8.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub enum Value {
    /// SQL NULL.
    Null,
    /// A 64-bit integer.
    Integer(i64),
    /// A double.
    Real(f64),
    /// Text, as the bytes that are stored.
    Text(Vec<u8>),
    /// Bytes.
    Blob(Vec<u8>),
}

impl Value {
    /// Where a number lies beside a whole one, exactly, as SQLite compares them; nothing for what is none.
    #[must_use]
    pub fn number_cmp(&self, whole: i64) -> Option<Ordering> {
        match *self {
            Self::Integer(integer) => Some(integer.cmp(&whole)),
            // No double lies between these bounds and the 64-bit integers.
            Self::Real(real) if real >= 9_223_372_036_854_775_808.0 => Some(Ordering::Greater),
            Self::Real(real) if real < -9_223_372_036_854_775_808.0 => Some(Ordering::Less),
            Self::Real(real) if !real.is_nan() => {
                let order = (real.floor() as i64).cmp(&whole);
                Some(order.then(if real.fract() == 0.0 { Ordering::Equal } else { Ordering::Greater }))
            }
            _ => None,
        }
    }

    /// Bytes that this value keeps in memory, to bound a list of keys.
    #[must_use]
    pub fn size(&self) -> usize {
        let heap = match self {
            Self::Null | Self::Integer(_) | Self::Real(_) => 0,
            Self::Text(bytes) | Self::Blob(bytes) => bytes.len(),
        };
        size_of::<Self>() + heap
    }
}

/// The key of one row, a value for each key column, in their order. On its way from a search to a report it
/// is cloned several times, which costs nothing.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
pub struct Key(Arc<[Value]>);

impl Key {
    /// A key of these column values.
    #[must_use]
    pub fn new(values: Vec<Value>) -> Self {
        Self(values.into())
    }

    /// The value of each key column.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.0
    }

    /// Ascending: by storage class, then by value, text by its bytes.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        let by_value = |(one, other): (&Value, &Value)| match (one, other) {
            (Value::Real(one), Value::Real(other)) => one.total_cmp(other),
            // Only reals can be incomparable.
            (one, other) => one.partial_cmp(other).unwrap_or(Ordering::Equal),
        };
        let mut orders = self.0.iter().zip(&*other.0).map(by_value);
        orders.find(|order| order.is_ne()).unwrap_or_else(|| self.0.len().cmp(&other.0.len()))
    }

    /// Bytes that this key keeps in memory.
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.iter().map(Value::size).sum()
    }
}

/// One line for people: text escaped, so that no key can forge a line or move a cursor.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, value) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str(", ")?;
            }
            match value {
                Value::Null => f.write_str("NULL")?,
                Value::Integer(integer) => integer.fmt(f)?,
                Value::Real(real) => write!(f, "{real:?}")?,
                Value::Text(bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) => text.escape_debug().fmt(f)?,
                    Err(_) => write!(f, "text x'{}'", hex(bytes))?,
                },
                Value::Blob(bytes) => write!(f, "x'{}'", hex(bytes))?,
            }
        }
        Ok(())
    }
}

/// Bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: Value) -> String {
        Key::new(vec![value]).to_string()
    }

    #[test]
    fn a_key_is_shown_on_one_line_and_cannot_forge_another() {
        assert_eq!(shown(Value::Text(b"a\nb\x1b[2J".to_vec())), "a\\nb\\u{1b}[2J");
        assert_eq!(shown(Value::Text(vec![0xff, b'a'])), "text x'ff61'");
        assert_eq!(shown(Value::Blob(b"ab".to_vec())), "x'6162'");
        assert_eq!(Key::new(vec![Value::Null, Value::Integer(7)]).to_string(), "NULL, 7");
    }
    #[test]
    fn a_double_is_compared_with_a_whole_number_exactly() {
        let order = |real: f64, whole| Value::Real(real).number_cmp(whole);
        assert_eq!(order(2.5, 2), Some(Ordering::Greater));
        assert_eq!(order(-2.5, -2), Some(Ordering::Less));
        assert_eq!(order(9_007_199_254_740_992.0, 9_007_199_254_740_993), Some(Ordering::Less));
        assert_eq!(order(9.3e18, i64::MAX), Some(Ordering::Greater));
        assert_eq!(order(-9.3e18, i64::MIN), Some(Ordering::Less));
        assert_eq!(order(f64::NAN, 0), None);
        assert_eq!(Value::Text(b"2".to_vec()).number_cmp(2), None);
    }
}
