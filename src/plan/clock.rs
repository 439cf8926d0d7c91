//! The clock column: which instant a row's retention counts from, and in which unit.

use std::time::Duration;

use super::{Cutoff, Identifier, Predicate, UnixTime, Value};

/// The unit of a clock column: a count since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    UnixSeconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
    /// Seconds by the caller's own clock, of whatever epoch: nothing is ambiguous. Not in config.
    CallersSeconds,
}

const UNITS: [Unit; 4] = [Unit::UnixSeconds, Unit::Millis, Unit::Micros, Unit::Nanos];
/// 2001-01-01T00:00:00Z and 2100-01-01T00:00:00Z in unix seconds.
const YEAR_2001: i64 = 978_307_200;
const YEAR_2100: i64 = 4_102_444_800;
/// The same two instants by clocks that do not count from 1970: Julian days, .NET ticks (100 ns since
/// 0001-01-01) and Windows FILETIME (100 ns since 1601-01-01).
const OTHER_EPOCHS: [(i64, i64); 3] = [
    (2_451_910, 2_488_070),
    (631_139_040_000_000_000, 662_380_416_000_000_000),
    (126_227_808_000_000_000, 157_469_184_000_000_000),
];

impl Unit {
    /// The unit that config calls so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        UNITS.into_iter().find(|unit| unit.name() == name)
    }

    /// The names that config knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        UNITS.into_iter().map(Self::name)
    }

    /// The word in config.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UnixSeconds => "unix_s",
            Self::Millis => "ms",
            Self::Micros => "us",
            Self::Nanos => "ns",
            Self::CallersSeconds => "s",
        }
    }

    fn per_second(self) -> i64 {
        match self {
            Self::UnixSeconds | Self::CallersSeconds => 1,
            Self::Millis => 1_000,
            Self::Micros => 1_000_000,
            Self::Nanos => 1_000_000_000,
        }
    }

    /// An instant as this unit writes it, rounded down: a bound may never be later than it should.
    #[must_use]
    pub fn encode(self, instant: UnixTime) -> Encoded {
        if matches!(self, Self::UnixSeconds | Self::CallersSeconds) {
            return Encoded::Real(instant.seconds());
        }
        let whole = instant.seconds().floor();
        let fraction = instant.seconds() - whole;
        let scale = self.per_second();
        // The cast saturates, and so does the sum: an instant that the unit cannot hold is its last one.
        let count = (whole as i128)
            .saturating_mul(scale.into())
            .saturating_add((fraction * scale as f64).floor() as i128);
        Encoded::Integer(count.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// The instant that a stored value means, or nothing where it is unreadable.
    #[must_use]
    pub fn decode(self, value: &Value) -> Option<UnixTime> {
        let count = match *value {
            Value::Integer(count) => count as f64,
            Value::Real(count) if count.is_finite() => count,
            _ => return None,
        };
        let ambiguous = self.ambiguous().any(|(from, to)| count >= from as f64 && count <= to as f64);
        if ambiguous {
            return None;
        }
        UnixTime::new(count / self.per_second() as f64).ok()
    }

    /// Ranges, ends included, that this unit puts before 2001 and another between 2001 and 2100:
    /// most likely the other unit, so they are unreadable and never expire.
    pub fn ambiguous(self) -> impl Iterator<Item = (i64, i64)> {
        let before_2001 = match self {
            Self::CallersSeconds => i64::MIN,
            unit => YEAR_2001 * unit.per_second() - 1,
        };
        let epochs = UNITS.map(|unit| (YEAR_2001 * unit.per_second(), YEAR_2100 * unit.per_second()));
        let all = epochs.into_iter().chain(OTHER_EPOCHS);
        all.map(move |(from, to)| (from, to.min(before_2001))).filter(|(from, to)| from <= to)
    }
}

/// An instant in the unit of a column, as it is bound to a statement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Encoded {
    /// For units finer than a second.
    Integer(i64),
    /// For seconds.
    Real(f64),
}

impl Encoded {
    /// Whether a stored value lies at or before this instant; never for what is no number.
    #[must_use]
    pub fn is_at_or_after(self, value: &Value) -> bool {
        match (value, self) {
            (Value::Integer(value), Self::Integer(bound)) => *value <= bound,
            (Value::Integer(value), Self::Real(bound)) => *value as f64 <= bound,
            (Value::Real(value), Self::Integer(bound)) => *value <= bound as f64,
            (Value::Real(value), Self::Real(bound)) => *value <= bound,
            _ => false,
        }
    }
}

/// The clock column of a rule, with the retention that counts from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    column: Identifier,
    unit: Unit,
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
    pub fn expires(column: Identifier, unit: Unit, grace: Duration) -> Self {
        Self { column, unit, kind: Kind::Expires, retention: grace }
    }

    /// A column that holds the instant at which the row was finished.
    ///
    /// # Errors
    /// [`ClockError::NoRetention`] when the retention is 0.
    pub fn since(column: Identifier, unit: Unit, retention: Duration) -> Result<Self, ClockError> {
        if retention.is_zero() {
            return Err(ClockError::NoRetention);
        }
        Ok(Self { column, unit, kind: Kind::Since, retention })
    }

    /// The column's name.
    #[must_use]
    pub fn column(&self) -> &Identifier {
        &self.column
    }

    /// The column's unit.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
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

    /// The column can be read under its unit.
    #[must_use]
    pub fn readable(&self) -> Predicate {
        Predicate::Readable { column: self.column.clone(), unit: self.unit }
    }

    /// The column can be read and lies at or before the cutoff.
    #[must_use]
    pub fn reached(&self, cutoff: Cutoff) -> Predicate {
        Predicate::reached(&self.column, self.unit, cutoff.instant())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: f64) -> UnixTime {
        UnixTime::new(seconds).unwrap()
    }

    #[test]
    fn a_bound_is_rounded_down_never_up() {
        assert_eq!(Unit::Millis.encode(at(1.9999)), Encoded::Integer(1999));
        assert_eq!(Unit::Millis.encode(at(-0.0001)), Encoded::Integer(-1));
        assert_eq!(Unit::Nanos.encode(at(1_790_000_000.5)), Encoded::Integer(1_790_000_000_500_000_000));
        assert_eq!(Unit::Nanos.encode(at(f64::MAX)), Encoded::Integer(i64::MAX));
        assert_eq!(Unit::Nanos.encode(at(f64::MIN)), Encoded::Integer(i64::MIN));
    }

    #[test]
    fn seconds_called_milliseconds_are_unreadable_and_a_small_number_is_just_old() {
        assert_eq!(Unit::Millis.decode(&Value::Integer(1_790_000_000)), None);
        assert_eq!(Unit::Nanos.decode(&Value::Integer(1_790_000_000_000)), None);
        assert_eq!(Unit::Millis.decode(&Value::Integer(10)), Some(at(0.01)));
        assert_eq!(Unit::UnixSeconds.decode(&Value::Integer(10)), Some(at(10.0)));
        assert_eq!(Unit::CallersSeconds.ambiguous().count(), 0);
    }

    #[test]
    fn another_epoch_is_no_instant_of_1970() {
        // 2026-09-21 as a Julian day, in .NET ticks, and as a FILETIME.
        assert_eq!(Unit::UnixSeconds.decode(&Value::Real(2_461_304.5)), None);
        assert_eq!(Unit::Nanos.decode(&Value::Integer(639_250_000_000_000_000)), None);
        assert_eq!(Unit::Nanos.decode(&Value::Integer(134_345_000_000_000_000)), None);
        assert_eq!(Unit::CallersSeconds.decode(&Value::Real(2_461_304.5)), Some(at(2_461_304.5)));
    }

    #[test]
    fn only_a_finite_number_is_an_instant() {
        for value in [
            Value::Null,
            Value::Text(b"1790000000".to_vec()),
            Value::Blob(vec![0]),
            Value::Real(f64::NEG_INFINITY),
        ] {
            assert_eq!(Unit::UnixSeconds.decode(&value), None, "{value:?}");
        }
    }

    #[test]
    fn since_needs_a_retention_and_an_expiry_may_have_none() {
        let column = Identifier::new("finished_at").unwrap();
        assert!(Clock::since(column.clone(), Unit::UnixSeconds, Duration::ZERO).is_err());
        assert!(Clock::expires(column, Unit::UnixSeconds, Duration::ZERO).is_expiry());
    }
}
