//! The clock column: which instant a row's retention counts from, and in which unit.

use std::time::Duration;

use super::{Cutoff, Identifier, Literal, Predicate, Unit, UnixTime};

/// A column that holds an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockColumn {
    /// The column.
    pub column: Identifier,
    /// Its unit.
    pub unit: Unit,
    /// Values that mean "never" and are no instants, such as 0.
    pub never: Vec<Literal>,
}

impl ClockColumn {
    /// A column in which every readable value is an instant.
    #[must_use]
    pub fn new(column: Identifier, unit: Unit) -> Self {
        Self { column, unit, never: Vec::new() }
    }

    /// The column holds an instant at or before this one.
    #[must_use]
    pub fn reached(&self, instant: UnixTime) -> Predicate {
        Predicate::All(vec![
            self.readable(),
            Predicate::AtOrBefore { column: self.column.clone(), bound: self.unit.encode(instant) },
            self.says_never().negated(),
        ])
    }

    /// The column's value is one of those that mean "never".
    #[must_use]
    pub fn says_never(&self) -> Predicate {
        let equals =
            |value: &Literal| Predicate::Equals { column: self.column.clone(), value: value.clone() };
        Predicate::Any(self.never.iter().map(equals).collect())
    }

    /// The column can be read under its unit.
    #[must_use]
    pub fn readable(&self) -> Predicate {
        Predicate::Readable { column: self.column.clone(), unit: self.unit }
    }
}

/// The clock column of a rule, with the retention that counts from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    on: ClockColumn,
    kind: Kind,
    retention: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Expires,
    Since,
}

/// The rule of a clock column that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClockError {
    /// Beside `since`, nothing but the retention keeps a row.
    #[error("beside `since` a retention above 0 must be set")]
    NoRetention,
}

impl Clock {
    /// A column that holds the instant at which a row's promise ends; `grace` keeps it longer.
    #[must_use]
    pub fn expires(on: ClockColumn, grace: Duration) -> Self {
        Self { on, kind: Kind::Expires, retention: grace }
    }

    /// A column that holds the instant at which the row was finished.
    ///
    /// # Errors
    /// [`ClockError::NoRetention`] when the retention is 0.
    pub fn since(on: ClockColumn, retention: Duration) -> Result<Self, ClockError> {
        if retention.is_zero() {
            return Err(ClockError::NoRetention);
        }
        Ok(Self { on, kind: Kind::Since, retention })
    }

    /// The column, its unit, and which of its values mean "never".
    #[must_use]
    pub fn on(&self) -> &ClockColumn {
        &self.on
    }

    /// The column's name.
    #[must_use]
    pub fn column(&self) -> &Identifier {
        &self.on.column
    }

    /// The column's unit.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.on.unit
    }

    /// How long a finished row is kept past the column's instant.
    #[must_use]
    pub fn retention(&self) -> Duration {
        self.retention
    }

    /// Whether the column holds an expiry that the writer set, so that a pending row has one too.
    #[must_use]
    pub fn is_expiry(&self) -> bool {
        self.kind == Kind::Expires
    }

    /// The cutoff of a tick that read `now`.
    #[must_use]
    pub fn cutoff(&self, now: UnixTime) -> Cutoff {
        Cutoff::new(now, self.retention)
    }

    /// The column says when, or that it never will be.
    #[must_use]
    pub fn readable(&self) -> Predicate {
        Predicate::Any(vec![self.on.readable(), self.on.says_never()])
    }

    /// The column can be read and lies at or before the cutoff.
    #[must_use]
    pub fn reached(&self, cutoff: Cutoff) -> Predicate {
        self.on.reached(cutoff.instant())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Value;

    #[test]
    fn since_needs_a_retention_and_an_expiry_may_have_none() {
        let on = ClockColumn::new(Identifier::new("finished_at").unwrap(), Unit::UnixSeconds);
        assert!(Clock::since(on.clone(), Duration::ZERO).is_err());
        assert!(Clock::expires(on, Duration::ZERO).is_expiry());
    }

    #[test]
    fn a_value_that_means_never_is_neither_due_nor_unreadable() {
        let never = vec![Literal::Integer(0), Literal::Text("never".into())];
        let on = ClockColumn { never, ..ClockColumn::new(Identifier::new("at").unwrap(), Unit::UnixSeconds) };
        let clock = Clock::expires(on, Duration::ZERO);
        let cutoff = clock.cutoff(UnixTime::from_millis(1_000));
        let judged =
            |value: Value| (clock.reached(cutoff).holds(&|_| &value), clock.readable().holds(&|_| &value));
        assert_eq!(judged(Value::Integer(0)), (false, true));
        assert_eq!(judged(Value::Real(0.0)), (false, true));
        assert_eq!(judged(Value::Text(b"never".to_vec())), (false, true));
        assert_eq!(judged(Value::Integer(1)), (true, true));
        assert_eq!(judged(Value::Text(b"Never".to_vec())), (false, false));
    }
}
