//! What a reader asks of the page: which databases, by name or by condition.

use std::fmt::{self, Display, Formatter, Write as _};

use crate::observe::condition::Condition;
use crate::observe::status::{DatabaseStatus, Status};

/// The part of an address behind `?`. What it holds that is not known says nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::observe) struct Query {
    /// This one alone.
    pub(super) database: Option<String>,
    /// A part of a database's or a table's name, small or capital.
    pub(super) name: String,
    /// Of this condition alone.
    pub(super) condition: Option<Condition>,
    /// How many of them were on the pages before.
    pub(super) from: usize,
}

impl Query {
    pub(in crate::observe) fn parse(text: &str) -> Self {
        let mut query = Self::default();
        for (key, value) in text.split('&').filter_map(|pair| pair.split_once('=')) {
            let value = decoded(value);
            match key {
                "database" if !value.is_empty() => query.database = Some(value),
                "q" => query.name = value.trim().to_owned(),
                "condition" => query.condition = Condition::named(&value),
                "from" => query.from = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        query
    }

    /// The databases of this name, with their conditions, the worst first.
    pub(super) fn named<'a>(&self, status: &'a Status) -> Vec<Found<'a>> {
        let found = status.databases.iter().filter(|(name, database)| self.means(name, database));
        let mut found: Vec<_> =
            found.map(|(name, database)| Found { condition: database.condition(), name, database }).collect();
        // Stable: within a condition they stay in the order of their names.
        found.sort_by_key(|found| found.condition);
        found
    }

    /// Whether it narrows anything.
    pub(super) fn is_narrow(&self) -> bool {
        self.database.is_some() || self.condition.is_some() || !self.name.is_empty()
    }

    fn means(&self, name: &str, database: &DatabaseStatus) -> bool {
        self.database.as_ref().is_none_or(|wanted| name == wanted)
            && (self.is_in(name) || database.tables.keys().any(|label| self.is_in(label)))
    }

    /// Whether a database's or a table's name holds what is looked for.
    pub(super) fn is_in(&self, name: &str) -> bool {
        self.name.is_empty() || name.to_lowercase().contains(&self.name.to_lowercase())
    }
}

/// One database that is asked for.
pub(super) struct Found<'a> {
    pub(super) condition: Condition,
    pub(super) name: &'a str,
    pub(super) database: &'a DatabaseStatus,
}

/// As the part of an address that [`Query::parse`] reads back.
impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut mark = '?';
        let mut part = |f: &mut Formatter<'_>, key: &str, value: &dyn Display| {
            write!(f, "{}{key}={value}", std::mem::replace(&mut mark, '&'))
        };
        if let Some(name) = &self.database {
            part(f, "database", &Encoded(name))?;
        }
        if !self.name.is_empty() {
            part(f, "q", &Encoded(&self.name))?;
        }
        if let Some(condition) = self.condition {
            part(f, "condition", &condition)?;
        }
        if self.from > 0 {
            part(f, "from", &self.from)?;
        }
        // An empty address is the one that is shown, with its query; this is the one without.
        if mark == '?' { f.write_str("./") } else { Ok(()) }
    }
}

/// Text as a part of an address, or of an `id`: letters, digits and a few marks, so that it is also no markup.
pub(super) struct Encoded<'a>(pub(super) &'a str);

impl Display for Encoded<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                    f.write_char(char::from(byte))?;
                }
                other => write!(f, "%{other:02X}")?,
            }
        }
        Ok(())
    }
}

/// `+` is a space, `%2f` a slash; what is no text in the end is shown as such.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = if first == b'%' { after.first_chunk().and_then(hex) } else { None };
        bytes.push(escaped.unwrap_or(if first == b'+' { b' ' } else { first }));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digits: &[u8; 2]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(digits[0])? << 4 | digit(digits[1])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_back_as_it_was_written() {
        let query = Query {
            database: Some("a b/ü&=+%<\"".into()),
            name: "50% + é".into(),
            condition: Some(Condition::Held),
            from: 7,
        };
        let text = query.to_string();
        assert!(text.bytes().all(|byte| byte.is_ascii() && !b"<>\"' ".contains(&byte)), "{text}");
        assert_eq!(Query::parse(text.strip_prefix('?').unwrap()), query);
        assert_eq!(Query::default().to_string(), "./");
    }

    #[test]
    fn what_is_not_understood_narrows_nothing() {
        for text in ["", "&&", "q", "x=1", "condition=ill", "from=-1", "from=x", "database=", "q=+"] {
            assert_eq!(Query::parse(text), Query::default(), "{text}");
        }
        let odd = Query::parse("q=%f&condition=down");
        assert_eq!((odd.name.as_str(), odd.condition), ("%f", Some(Condition::Down)));
        assert_eq!(Query::parse("q=%ff%2").name, "\u{fffd}%2");
    }
}
