//! How the model reads a clock column, from the words of the design.

use std::cmp::Ordering;

use keysweep::plan::Value;

/// The units that config knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Millis,
    Micros,
    Nanos,
    Iso,
    Julian,
    Ticks,
}

pub const UNITS: [Unit; 7] =
    [Unit::Seconds, Unit::Millis, Unit::Micros, Unit::Nanos, Unit::Iso, Unit::Julian, Unit::Ticks];

/// 2001-01-01 and 2100-01-01 in unix seconds.
const CENTURY: (i128, i128) = (978_307_200, 4_102_444_800);
/// The unix second 0 in .NET ticks, and as the Julian millisecond.
pub const TICKS_1970: i128 = 621_355_968_000_000_000;
pub const JULIAN_1970: i128 = 210_866_760_000_000;

/// What a clock column says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading {
    Unreadable,
    /// A number, under its unit.
    Number,
    /// Nanoseconds since 1970, a finer fraction rounded up.
    Text(i128),
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "unix_s",
            Self::Millis => "ms",
            Self::Micros => "us",
            Self::Nanos => "ns",
            Self::Iso => "iso8601",
            Self::Julian => "julian",
            Self::Ticks => "dotnet_ticks",
        }
    }

    /// 2001 and 2100 as this unit writes them.
    fn century(self) -> Option<(i128, i128)> {
        let both = |at: &dyn Fn(i128) -> i128| Some((at(CENTURY.0), at(CENTURY.1)));
        match self {
            Self::Seconds => both(&|s| s),
            Self::Millis => both(&|s| s * 1_000),
            Self::Micros => both(&|s| s * 1_000_000),
            Self::Nanos => both(&|s| s * 1_000_000_000),
            // From the noon before 2001-01-01 to the noon of 2100-01-01: this unit counts from noon.
            Self::Julian => Some((2_451_910, 2_488_070)),
            Self::Ticks => both(&|s| s * 10_000_000 + TICKS_1970),
            Self::Iso => None,
        }
    }

    pub fn read(self, value: &Value) -> Reading {
        if self == Self::Iso {
            let Value::Text(text) = value else { return Reading::Unreadable };
            return iso(text).map_or(Reading::Unreadable, Reading::Text);
        }
        match value {
            Value::Integer(_) => {}
            Value::Real(real) if real.is_finite() => {}
            _ => return Reading::Unreadable,
        }
        let early = self.century().is_some_and(|(from, _)| compare(value, from) == Ordering::Less);
        let between = |(from, to)| compare(value, from).is_ge() && compare(value, to).is_le();
        // FILETIME: 100 ns since 1601, 11,644,473,600 s before 1970.
        let filetime = |s: i128| (s + 11_644_473_600) * 10_000_000;
        let others = UNITS.into_iter().filter(|unit| *unit != self).filter_map(Self::century);
        let mut others = others.chain([(filetime(CENTURY.0), filetime(CENTURY.1))]);
        if early && others.any(between) { Reading::Unreadable } else { Reading::Number }
    }

    /// The value's instant is at or before this one, in microseconds, as far as the unit can tell:
    /// the bound is cut down to what it counts in.
    pub fn is_reached(self, value: &Value, micros: i128) -> bool {
        let count = |bound| compare(value, bound).is_le();
        match self.read(value) {
            Reading::Unreadable => false,
            Reading::Text(nanos) => nanos <= micros * 1_000,
            Reading::Number => match self {
                Self::Seconds => number(value) <= seconds(micros),
                Self::Millis => count(micros.div_euclid(1_000)),
                Self::Micros => count(micros),
                Self::Nanos => count(micros * 1_000),
                Self::Ticks => count(micros * 10 + TICKS_1970),
                Self::Julian => number(value) <= julian(micros),
                Self::Iso => unreachable!("text is no number"),
            },
        }
    }

    /// Unix seconds, about.
    pub fn seconds(self, value: &Value) -> f64 {
        match (self.read(value), self) {
            (Reading::Text(nanos), _) => nanos as f64 / 1e9,
            (_, Self::Millis) => number(value) / 1e3,
            (_, Self::Micros) => number(value) / 1e6,
            (_, Self::Nanos) => number(value) / 1e9,
            (_, Self::Ticks) => (number(value) - TICKS_1970 as f64) / 1e7,
            (_, Self::Julian) => (number(value) - JULIAN_1970 as f64 / 86_400_000.0) * 86_400.0,
            _ => number(value),
        }
    }
}

/// Unix seconds, exactly where the microseconds are whole 64ths of a second.
pub fn seconds(micros: i128) -> f64 {
    micros.div_euclid(1_000_000) as f64 + micros.rem_euclid(1_000_000) as f64 / 1e6
}

/// The Julian day of these microseconds since 1970, to the millisecond, as SQLite has it.
pub fn julian(micros: i128) -> f64 {
    (micros.div_euclid(1_000) + JULIAN_1970) as f64 / 86_400_000.0
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Integer(integer) => *integer as f64,
        Value::Real(real) => *real,
        other => panic!("{other:?} is no number"),
    }
}

/// A stored number beside a whole one, exactly. Whatever is stored is smaller than 1e30, or far from all of these.
fn compare(value: &Value, whole: i128) -> Ordering {
    match value {
        Value::Integer(integer) => i128::from(*integer).cmp(&whole),
        Value::Real(real) => (real.floor() as i128).cmp(&whole).then(if real.fract() == 0.0 {
            Ordering::Equal
        } else {
            Ordering::Greater
        }),
        other => panic!("{other:?} is no number"),
    }
}

/// An instant of ISO 8601: rewritten as RFC 3339, which another library reads.
fn iso(text: &[u8]) -> Option<i128> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii() && text.len() >= 16)?;
    let (date, rest) = text.split_at(10);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let end = rest.find(|c: char| !(c.is_ascii_digit() || ":.,".contains(c))).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(end);
    let zone = match zone.strip_prefix(' ') {
        Some("") => return None,
        Some(zone) => zone,
        None => zone,
    };
    let (clock, fraction) = match clock.split_once(['.', ',']) {
        Some((clock, fraction)) if clock.len() == 8 && !fraction.is_empty() => (clock.to_owned(), fraction),
        Some(_) => return None,
        None if clock.len() == 5 => (format!("{clock}:00"), "0"),
        None => (clock.to_owned(), "0"),
    };
    if !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|digit| digit.is_ascii_digit());
    let (zone, finer) = match zone.as_bytes() {
        [] | [b'Z' | b'z'] => ("+00:00".to_owned(), 0),
        [b'+' | b'-', rest @ ..] => {
            let (sign, rest) = (&zone[..1], std::str::from_utf8(rest).ok()?);
            let parts: Vec<&str> = match rest.len() {
                2 => vec![rest, "00", "00"],
                4 => vec![&rest[..2], &rest[2..], "00"],
                _ => rest.split(':').chain(["00"]).take(3).collect(),
            };
            let (3, true) = (parts.len(), parts.iter().all(|part| digits(part))) else { return None };
            let finer: i128 = parts[2].parse().ok().filter(|finer| *finer < 60)?;
            if rest.split(':').count() > 3 {
                return None;
            }
            (format!("{sign}{}:{}", parts[0], parts[1]), if sign == "-" { -finer } else { finer })
        }
        _ => return None,
    };
    let whole = chrono::DateTime::parse_from_rfc3339(&format!("{date}T{clock}{zone}")).ok()?;
    let leap = i128::from(whole.timestamp_subsec_nanos());
    let (kept, rest) = fraction.split_at(fraction.len().min(9));
    let kept: i128 = format!("{kept:0<9}").parse().ok()?;
    let up = i128::from(rest.bytes().any(|digit| digit != b'0'));
    Some((i128::from(whole.timestamp()) - finer) * 1_000_000_000 + leap + kept + up)
}
