//! What finished and pending mean: tests of one column each.

use super::{Identifier, Literal, Predicate};

/// What one column says of a row's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateTest {
    /// It holds one of these values, by type and bytes.
    OneOf {
        /// The column.
        column: Identifier,
        /// Its values.
        values: Vec<Literal>,
    },
    /// It is NULL.
    Null(Identifier),
    /// It is not NULL.
    NotNull(Identifier),
}

impl StateTest {
    /// The column that is looked at.
    #[must_use]
    pub fn column(&self) -> &Identifier {
        match self {
            Self::OneOf { column, .. } | Self::Null(column) | Self::NotNull(column) => column,
        }
    }

    /// Whether only NULL or not is looked at.
    #[must_use]
    pub fn is_of_null(&self) -> bool {
        !matches!(self, Self::OneOf { .. })
    }

    /// Whether one value of one column passes both.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            // SQLite takes `Status` and `status` for one column.
            _ if !self.column().as_str().eq_ignore_ascii_case(other.column().as_str()) => false,
            (Self::OneOf { values, .. }, Self::OneOf { values: others, .. }) => {
                values.iter().any(|value| others.contains(value))
            }
            (Self::Null(_), other) | (other, Self::Null(_)) => matches!(other, Self::Null(_)),
            // Every value that a column can be tested for is one.
            (Self::NotNull(_), _) | (_, Self::NotNull(_)) => true,
        }
    }

    /// Whether both ask the same, or for one value at least.
    #[must_use]
    pub fn asks_the_same(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.overlaps(other)
    }

    /// The column says so.
    #[must_use]
    pub fn predicate(&self) -> Predicate {
        match self {
            Self::OneOf { column, values } => {
                let is = |value: &Literal| Predicate::Is { column: column.clone(), value: value.clone() };
                Predicate::Any(values.iter().map(is).collect())
            }
            Self::Null(column) => Predicate::Present { column: column.clone() }.negated(),
            Self::NotNull(column) => Predicate::Present { column: column.clone() },
        }
    }
}

/// At least one of these tests.
pub(super) fn any(tests: &[StateTest]) -> Predicate {
    Predicate::Any(tests.iter().map(StateTest::predicate).collect())
}

/// What finished means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// One of these tests says so.
    Any(Vec<StateTest>),
    /// A row is there only once it is finished.
    EveryRow,
}

impl Done {
    /// The row is finished, unless it is pending as well.
    #[must_use]
    pub fn predicate(&self) -> Predicate {
        match self {
            Self::Any(tests) => any(tests),
            Self::EveryRow => Predicate::All(Vec::new()),
        }
    }

    /// Whether both name the same rows by a value.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any(tests), Self::Any(others)) => {
                tests.iter().any(|test| others.iter().any(|other| test.overlaps(other)))
            }
            _ => true,
        }
    }

    /// Its tests; none where every row is finished.
    #[must_use]
    pub fn tests(&self) -> &[StateTest] {
        match self {
            Self::Any(tests) => tests,
            Self::EveryRow => &[],
        }
    }
}
