//! The unit of a clock column: how an instant is written there, and how it is read.

use std::cmp::Ordering;

use super::{UnixTime, Value, iso8601};

/// The unit of a clock column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds since 1970-01-01T00:00:00Z.
    UnixSeconds,
    /// Milliseconds since 1970.
    Millis,
    /// Microseconds since 1970.
    Micros,
    /// Nanoseconds since 1970.
    Nanos,
    /// Text: a date and time of ISO 8601, of any precision and offset; UTC where it has none.
    Iso8601,
    /// Julian days, as SQLite's `julianday()` gives them, to the millisecond.
    Julian,
    /// 100 ns since 0001-01-01T00:00:00Z, as .NET's `DateTime.Ticks`.
    DotnetTicks,
    /// Seconds by the caller's own clock, of whatever epoch: nothing is ambiguous. Not in config.
    CallersSeconds,
}

const UNITS: [Unit; 7] = [
    Unit::UnixSeconds,
    Unit::Millis,
    Unit::Micros,
    Unit::Nanos,
    Unit::Iso8601,
    Unit::Julian,
    Unit::DotnetTicks,
];
/// 2001-01-01T00:00:00Z and 2100-01-01T00:00:00Z in unix seconds.
const YEAR_2001: i64 = 978_307_200;
const YEAR_2100: i64 = 4_102_444_800;
/// The same two instants in Windows FILETIME, 100 ns since 1601-01-01, which is no unit of ours.
const FILETIME: (i64, i64) = (126_227_808_000_000_000, 157_469_184_000_000_000);

const TICKS_PER_SECOND: i64 = 10_000_000;
const TICKS_AT_1970: i64 = 621_355_968_000_000_000;
const JULIAN_AT_1970: f64 = 2_440_587.5;
const JULIAN_MILLIS_AT_1970: i64 = 210_866_760_000_000;
const MILLIS_PER_DAY: f64 = 86_400_000.0;

impl Unit {
    /// The unit that config calls so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        UNITS.into_iter().find(|unit| unit.name() == name)
    }

    /// The units that config knows.
    pub fn all() -> impl Iterator<Item = Self> {
        UNITS.into_iter()
    }

    /// The word in config.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UnixSeconds => "unix_s",
            Self::Millis => "ms",
            Self::Micros => "us",
            Self::Nanos => "ns",
            Self::Iso8601 => "iso8601",
            Self::Julian => "julian",
            Self::DotnetTicks => "dotnet_ticks",
            Self::CallersSeconds => "s",
        }
    }

    /// An instant as this unit writes it, rounded down: a bound may never be later than it should.
    #[must_use]
    pub fn encode(self, instant: UnixTime) -> Encoded {
        match self {
            Self::UnixSeconds | Self::CallersSeconds => Encoded::Real(instant.seconds()),
            Self::Millis => Encoded::whole(count(instant, 1_000, 0)),
            Self::Micros => Encoded::whole(count(instant, 1_000_000, 0)),
            Self::Nanos => Encoded::whole(count(instant, 1_000_000_000, 0)),
            Self::DotnetTicks => Encoded::whole(count(instant, TICKS_PER_SECOND, TICKS_AT_1970)),
            Self::Julian => {
                Encoded::Real(count(instant, 1_000, JULIAN_MILLIS_AT_1970) as f64 / MILLIS_PER_DAY)
            }
            Self::Iso8601 => {
                let micros = iso8601::floor(instant);
                Encoded::Text { below: iso8601::sorts_below(micros), micros }
            }
        }
    }

    /// The instant that a stored value means, or nothing where it is unreadable.
    #[must_use]
    pub fn decode(self, value: &Value) -> Option<UnixTime> {
        if self == Self::Iso8601 {
            let Value::Text(text) = value else { return None };
            return UnixTime::new(iso8601::micros(text)? as f64 / 1e6).ok();
        }
        let number = match *value {
            Value::Integer(integer) => integer as f64,
            Value::Real(real) if real.is_finite() => real,
            _ => return None,
        };
        let within = |(from, to)| {
            value.number_cmp(from) != Some(Ordering::Less) && value.number_cmp(to) != Some(Ordering::Greater)
        };
        if self.ambiguous().any(within) { None } else { UnixTime::new(self.seconds(number)).ok() }
    }

    fn seconds(self, number: f64) -> f64 {
        match self {
            Self::UnixSeconds | Self::CallersSeconds | Self::Iso8601 => number,
            Self::Millis => number / 1e3,
            Self::Micros => number / 1e6,
            Self::Nanos => number / 1e9,
            Self::Julian => (number - JULIAN_AT_1970) * 86_400.0,
            Self::DotnetTicks => (number - TICKS_AT_1970 as f64) / TICKS_PER_SECOND as f64,
        }
    }

    /// The numbers by which this unit writes the years 2001 to 2100; nothing where it is no number.
    fn this_century(self) -> Option<(i64, i64)> {
        let since_1970 = |scale: i64| (YEAR_2001 * scale, YEAR_2100 * scale);
        match self {
            Self::UnixSeconds => Some(since_1970(1)),
            Self::Millis => Some(since_1970(1_000)),
            Self::Micros => Some(since_1970(1_000_000)),
            Self::Nanos => Some(since_1970(1_000_000_000)),
            Self::Julian => Some((2_451_910, 2_488_070)),
            Self::DotnetTicks => {
                let (from, to) = since_1970(TICKS_PER_SECOND);
                Some((from + TICKS_AT_1970, to + TICKS_AT_1970))
            }
            Self::Iso8601 | Self::CallersSeconds => None,
        }
    }

    /// Ranges, ends included, that this unit puts before 2001 and another between 2001 and 2100:
    /// most likely the other unit, so they are unreadable and never expire.
    pub fn ambiguous(self) -> impl Iterator<Item = (i64, i64)> {
        let before_2001 = self.this_century().map_or(i64::MIN, |(from, _)| from - 1);
        let all = Self::all().filter_map(Self::this_century).chain([FILETIME]);
        all.map(move |(from, to)| (from, to.min(before_2001))).filter(|(from, to)| from <= to)
    }
}

/// An instant as a whole count of `scale` a second and `epoch` at 1970, rounded down.
fn count(instant: UnixTime, scale: i64, epoch: i64) -> i128 {
    let whole = instant.seconds().floor();
    let fraction = instant.seconds() - whole;
    (whole as i128)
        .saturating_mul(scale.into())
        .saturating_add((fraction * scale as f64).floor() as i128)
        .saturating_add(epoch.into())
}

/// An instant in the unit of a column, as it is bound to a statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Encoded {
    /// A whole count.
    Integer(i64),
    /// Seconds or days, or a count that lies before every integer.
    Real(f64),
    /// For ISO 8601 text.
    Text {
        /// Every text that is at or before the instant sorts below this one.
        below: String,
        /// The instant itself, in microseconds since 1970.
        micros: i64,
    },
}

impl Encoded {
    /// A count that no integer holds becomes one that does, or a double, and is never later for it.
    fn whole(count: i128) -> Self {
        match i64::try_from(count) {
            Ok(count) => Self::Integer(count),
            Err(_) if count > 0 => Self::Integer(i64::MAX),
            Err(_) => {
                let near = count as f64;
                Self::Real(if near as i128 > count { near.next_down() } else { near })
            }
        }
    }

    /// Whether a stored value lies at or before this instant; never for what cannot be read.
    #[must_use]
    pub fn is_at_or_after(&self, value: &Value) -> bool {
        match (value, self) {
            (Value::Integer(value), Self::Integer(bound)) => value <= bound,
            (Value::Real(_), Self::Integer(bound)) => {
                value.number_cmp(*bound).is_some_and(|order| order != Ordering::Greater)
            }
            (Value::Integer(value), Self::Real(bound)) => *value as f64 <= *bound,
            (Value::Real(value), Self::Real(bound)) => value <= bound,
            (Value::Text(text), Self::Text { below, micros }) => {
                text.as_slice() < below.as_bytes() && iso8601::micros(text).is_some_and(|at| at <= *micros)
            }
            _ => false,
        }
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
        // In 1653: no integer of nanoseconds is so early.
        let bound = Unit::Nanos.encode(at(-1e10));
        assert_eq!(bound, Encoded::Real(-1e19));
        assert!(!bound.is_at_or_after(&Value::Integer(i64::MIN)));
        assert!(bound.is_at_or_after(&Value::Real(-1e19)));
        assert!(!bound.is_at_or_after(&Value::Real((-1e19_f64).next_up())));
        assert!(!Unit::Nanos.encode(at(f64::MIN)).is_at_or_after(&Value::Real(-1e19)));
        assert_eq!(Unit::DotnetTicks.encode(at(-0.000_000_01)), Encoded::Integer(TICKS_AT_1970 - 1));
        // 2026-09-21T12:00:00Z, as SQLite 3.40.1 gives it, also a part of a millisecond later.
        assert_eq!(Unit::Julian.encode(at(1_789_992_000.000_9)), Encoded::Real(2_461_305.0));
    }

    #[test]
    fn an_instant_is_read_as_it_was_written() {
        for unit in Unit::all() {
            let value = match unit.encode(at(1_790_000_000.0)) {
                Encoded::Integer(count) => Value::Integer(count),
                Encoded::Real(count) => Value::Real(count),
                Encoded::Text { .. } => Value::Text(b"2026-09-21T14:13:20Z".to_vec()),
            };
            let read = unit.decode(&value).unwrap().seconds();
            assert!((read - 1_790_000_000.0).abs() < 0.001, "{unit:?}: {read}");
            assert!(unit.encode(at(1_790_000_000.0)).is_at_or_after(&value), "{unit:?}");
            assert!(!unit.encode(at(1_789_999_999.9)).is_at_or_after(&value), "{unit:?}");
        }
    }

    #[test]
    fn seconds_called_milliseconds_are_unreadable_and_a_small_number_is_just_old() {
        assert_eq!(Unit::Millis.decode(&Value::Integer(1_790_000_000)), None);
        assert_eq!(Unit::Nanos.decode(&Value::Integer(1_790_000_000_000)), None);
        assert_eq!(Unit::DotnetTicks.decode(&Value::Integer(1_790_000_000)), None);
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
    fn the_ends_of_an_ambiguous_range_are_exact() {
        let first_of_2001 = YEAR_2001 * 1_000_000_000;
        assert!(Unit::Nanos.decode(&Value::Integer(first_of_2001)).is_some());
        assert!(Unit::Nanos.decode(&Value::Real(first_of_2001 as f64)).is_some());
        // .NET ticks of 2100, and one nanosecond more, which no double tells apart.
        let ticks = 662_380_416_000_000_000;
        assert_eq!(Unit::Nanos.decode(&Value::Integer(ticks)), None);
        assert!(Unit::Nanos.decode(&Value::Integer(ticks + 1)).is_some());
    }

    #[test]
    fn only_what_the_unit_can_write_is_an_instant() {
        let digits = Value::Text(b"1790000000".to_vec());
        for value in [Value::Null, digits.clone(), Value::Blob(vec![0]), Value::Real(f64::NEG_INFINITY)] {
            assert_eq!(Unit::UnixSeconds.decode(&value), None, "{value:?}");
        }
        for value in [digits, Value::Integer(1_790_000_000), Value::Null] {
            assert_eq!(Unit::Iso8601.decode(&value), None, "{value:?}");
        }
    }
}
