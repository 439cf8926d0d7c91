//! Names: of databases and tables as labels, of tables and columns in a schema, and the columns of a key.

use std::fmt;
use std::sync::Arc;

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is empty.
    #[error("a name cannot be empty")]
    Empty,
    /// The text holds a control character, which would forge log lines or end an SQL text.
    #[error("a name cannot hold control characters")]
    Control,
}

fn checked(text: &str) -> Result<Arc<str>, NameError> {
    if text.is_empty() {
        Err(NameError::Empty)
    } else if text.chars().any(char::is_control) {
        Err(NameError::Control)
    } else {
        Ok(text.into())
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// # Errors
            /// [`NameError`] when the text is empty or holds a control character.
            pub fn new(text: &str) -> Result<Self, NameError> {
                checked(text).map(Self)
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// The label `database` in metrics, logs and reports.
    DatabaseName
}
name! {
    /// The label `table`: the name of a rule, by default the table's own name.
    TableLabel
}
name! {
    /// A table or column as the target's schema spells it. Always quoted in SQL, never text of ours.
    Identifier
}

/// The columns of a key: at least one, none of them twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumns(Vec<Identifier>);

/// The columns are no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key has at least one column, and none of them twice")]
pub struct KeyColumnsError;

impl KeyColumns {
    /// # Errors
    /// [`KeyColumnsError`] for no column, or one that stands twice.
    pub fn new(columns: Vec<Identifier>) -> Result<Self, KeyColumnsError> {
        let twice = columns.iter().enumerate().any(|(at, column)| columns[..at].contains(column));
        if columns.is_empty() || twice { Err(KeyColumnsError) } else { Ok(Self(columns)) }
    }

    /// A key of one column.
    #[must_use]
    pub fn of(column: Identifier) -> Self {
        Self(vec![column])
    }

    /// The columns, in the order in which keys ascend.
    #[must_use]
    pub fn columns(&self) -> &[Identifier] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_not_empty_and_holds_no_control_character() {
        assert_eq!(DatabaseName::new(""), Err(NameError::Empty));
        assert_eq!(Identifier::new("a\0b"), Err(NameError::Control));
        assert_eq!(TableLabel::new("a\nb"), Err(NameError::Control));
        assert!(Identifier::new("a \"quoted\" näme").is_ok());
    }
}
