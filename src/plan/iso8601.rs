//! Instants as text: `2026-09-21T12:00:00.5Z`, `2026-09-21 12:00`, any precision, any offset.

use chrono::{DateTime, NaiveDate};

use super::UnixTime;

const MICROS: i64 = 1_000_000;
/// No offset from UTC reaches a day, and a leap second adds one: an instant's own date is at most
/// this much later than its date in UTC.
const FURTHEST: i64 = (86_400 + 1) * MICROS;

/// Microseconds since 1970 of a calendar date and time in the extended format of ISO 8601 or RFC
/// 3339; nothing for any other text. A fraction that is finer is rounded up, so that no row is due
/// before its time. Without an offset it is UTC, as SQLite's own functions take it. A date alone is
/// no instant: nothing says whether its morning or its evening is meant.
#[must_use]
pub fn micros(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let date = calendar(date)?;
    let rest =
        rest.strip_prefix(b"T").or_else(|| rest.strip_prefix(b"t")).or_else(|| rest.strip_prefix(b" "))?;
    let (clock, rest) = rest.split_at_checked(5)?;
    let seconds = hours_and_minutes(clock)?;
    let (whole, fraction, rest) = seconds_and_fraction(rest)?;
    let local = date.and_hms_opt(0, 0, 0)?.and_utc().timestamp() + seconds + whole;
    (local - offset(rest)?).checked_mul(MICROS)?.checked_add(fraction)
}

/// A text that every instant at or before these microseconds sorts below, whatever its offset and
/// precision, so that an index on the column narrows a search.
#[must_use]
pub fn sorts_below(micros: i64) -> String {
    let next_day = micros.saturating_add(FURTHEST).saturating_add(86_400 * MICROS);
    match DateTime::from_timestamp_micros(next_day).map(|instant| instant.date_naive()) {
        Some(date) if date < first_date() => String::new(),
        Some(date) if date <= last_date() => date.format("%Y-%m-%d").to_string(),
        // Behind every digit.
        _ if next_day > 0 => ":".into(),
        _ => String::new(),
    }
}

/// The last whole microsecond at or before an instant.
pub(super) fn floor(instant: UnixTime) -> i64 {
    let whole = instant.seconds().floor();
    let fraction = ((instant.seconds() - whole) * MICROS as f64).floor();
    // The casts saturate.
    (whole as i64).saturating_mul(MICROS).saturating_add(fraction as i64)
}

fn first_date() -> NaiveDate {
    NaiveDate::from_ymd_opt(0, 1, 1).unwrap_or(NaiveDate::MIN)
}

fn last_date() -> NaiveDate {
    NaiveDate::from_ymd_opt(9999, 12, 31).unwrap_or(NaiveDate::MAX)
}

fn calendar(date: &[u8]) -> Option<NaiveDate> {
    let [year @ .., b'-', m1, m2, b'-', d1, d2] = date else { return None };
    let year = i32::try_from(number(year)?).ok()?;
    let (month, day) = (u32::try_from(number(&[*m1, *m2])?).ok()?, u32::try_from(number(&[*d1, *d2])?).ok()?);
    NaiveDate::from_ymd_opt(year, month, day)
}

/// `HH:MM` in seconds.
fn hours_and_minutes(text: &[u8]) -> Option<i64> {
    let [h1, h2, b':', m1, m2] = text else { return None };
    let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
    (hours < 24 && minutes < 60).then_some(hours * 3_600 + minutes * 60)
}

/// `:SS`, `:SS.fff` or nothing: seconds, microseconds rounded up, and what follows.
fn seconds_and_fraction(text: &[u8]) -> Option<(i64, i64, &[u8])> {
    let [b':', s1, s2, rest @ ..] = text else { return Some((0, 0, text)) };
    let seconds = number(&[*s1, *s2]).filter(|seconds| *seconds <= 60)?;
    let ([b'.', rest @ ..] | [b',', rest @ ..]) = rest else { return Some((seconds, 0, rest)) };
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at(length);
    if digits.is_empty() {
        return None;
    }
    let (kept, finer) = digits.split_at(digits.len().min(6));
    let scale = 10_i64.pow(6 - u32::try_from(kept.len()).ok()?);
    let up = i64::from(finer.iter().any(|digit| *digit != b'0'));
    Some((seconds, number(kept)? * scale + up, rest))
}

/// `Z`, `+HH`, `+HHMM`, `+HH:MM`, `+HH:MM:SS`, a space before it, or nothing: seconds ahead of UTC.
fn offset(text: &[u8]) -> Option<i64> {
    let text = text.strip_prefix(b" ").filter(|text| !text.is_empty()).unwrap_or(text);
    let (sign, digits) = match text {
        [] | b"Z" | b"z" => return Some(0),
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let seconds = match digits {
        [h1, h2] => hours_and_minutes(&[*h1, *h2, b':', b'0', b'0'])?,
        [h1, h2, m1, m2] => hours_and_minutes(&[*h1, *h2, b':', *m1, *m2])?,
        [clock @ .., b':', s1, s2] if clock.len() == 5 => {
            hours_and_minutes(clock)? + number(&[*s1, *s2]).filter(|seconds| *seconds < 60)?
        }
        clock => hours_and_minutes(clock)?,
    };
    Some(sign * seconds)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0_i64, |number, digit| {
        digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2027-01-01T00:00:00Z.
    const NEW_YEAR: i64 = 1_798_761_600 * MICROS;

    #[test]
    fn every_precision_and_offset_of_one_instant_is_that_instant() {
        for text in [
            "2027-01-01T00:00:00Z",
            "2027-01-01T00:00Z",
            "2027-01-01 00:00:00",
            "2027-01-01t00:00:00.000000000z",
            "2027-01-01T00:00:00,0",
            "2026-12-31T19:00:00-05:00",
            "2026-12-31 19:00:00.000 -0500",
            "2027-01-01T05:30:00+05:30",
            "2027-01-01T01:00+01",
            "2027-01-01 00:00:00.0 +00:00:00",
            "2026-12-31T23:59:60Z",
        ] {
            assert_eq!(micros(text.as_bytes()), Some(NEW_YEAR), "{text}");
        }
    }

    #[test]
    fn a_finer_fraction_is_rounded_up() {
        let fraction =
            |text: &str| micros(format!("2027-01-01T00:00:00{text}Z").as_bytes()).map(|at| at - NEW_YEAR);
        assert_eq!(fraction(".5"), Some(500_000));
        assert_eq!(fraction(".50000000"), Some(500_000));
        assert_eq!(fraction(".50000001"), Some(500_001));
        assert_eq!(fraction(".9999999"), Some(1_000_000));
    }

    #[test]
    fn what_is_no_instant_is_not_guessed_at() {
        for text in [
            "",
            "2027-01-01",
            "2027-01-01T",
            "2027-01-01T00",
            "2027-02-29T00:00:00Z",
            "2027-13-01T00:00:00Z",
            "2027-01-01T24:00:00Z",
            "2027-01-01T00:60:00Z",
            "2027-01-01T00:00:61Z",
            "2027-01-01T00:00:00.Z",
            "2027-01-01T00:00:00 UTC",
            "2027-01-01T00:00:00+24:00",
            "2027-01-01T00:00:00Z ",
            " 2027-01-01T00:00:00Z",
            "2027-01-01  00:00:00",
            "20270101T000000Z",
            "2027-W01-1T00:00:00Z",
            "01/01/2027 00:00",
            "1798761600",
            "2027-01-01T00:00:00\u{0}",
            "+2027-01-01T00:00:00Z",
            "2027-01-01T00:00:00Zä",
        ] {
            assert_eq!(micros(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(micros(b"2027-01-01T\xff0:00:00Z"), None);
    }

    #[test]
    fn the_text_bound_lies_behind_every_instant_that_is_due() {
        let bound = sorts_below(NEW_YEAR);
        for due in ["2027-01-01T23:59:00+23:59", "2027-01-01 23:58:60.0+23:59", "0000-01-01T00:00:00Z"] {
            assert!(micros(due.as_bytes()).unwrap() <= NEW_YEAR && *due < *bound, "{due} {bound}");
        }
        assert_eq!(sorts_below(i64::MAX), ":");
        assert_eq!(sorts_below(i64::MIN), "");
        assert_eq!(sorts_below(-62_200_000_000 * MICROS), "");
    }
}
