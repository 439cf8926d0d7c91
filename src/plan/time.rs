//! Instants in unix seconds, and the cutoff of a tick.

use std::fmt;
use std::time::Duration;

use chrono::DateTime;

/// An instant in seconds since 1970-01-01T00:00:00Z: any finite number, also before 1970.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct UnixTime(f64);

/// The number is NaN or infinite.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{0} is not a finite number of seconds")]
pub struct TimeError(f64);

impl UnixTime {
    /// # Errors
    /// [`TimeError`] for NaN and the infinities.
    pub fn new(seconds: f64) -> Result<Self, TimeError> {
        if seconds.is_finite() { Ok(Self(seconds)) } else { Err(TimeError(seconds)) }
    }

    /// An instant so many whole milliseconds after 1970; later than year 200,000 loses precision.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self(millis as f64 / 1000.0)
    }

    /// Seconds since 1970.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0
    }

    /// The instant so much later, where a number holds it.
    #[must_use]
    pub fn after(self, length: Duration) -> Option<Self> {
        Self::new(self.0 + length.as_secs_f64()).ok()
    }

    /// The instant so much earlier; a length that no number holds gives the earliest instant.
    #[must_use]
    pub fn before(self, length: Duration) -> Self {
        Self((self.0 - length.as_secs_f64()).max(f64::MIN))
    }
}

/// UTC to the second, or plain seconds where no calendar reaches.
impl fmt::Display for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `as` saturates, and chrono refuses what its calendar cannot hold.
        match DateTime::from_timestamp(self.0.floor() as i64, 0) {
            Some(utc) => utc.format("%Y-%m-%dT%H:%M:%SZ").fmt(f),
            None => write!(f, "{}", self.0),
        }
    }
}

/// A length of time in the largest unit that it is a whole number of, as config writes it.
#[must_use]
pub fn length(length: Duration) -> String {
    const UNITS: [(u128, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let millis = length.as_millis();
    if millis == 0 {
        return "0s".into();
    }
    let unit = UNITS.iter().find(|(unit, _)| millis.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{millis}ms"), |(unit, name)| format!("{}{name}", millis / unit))
}

/// The latest clock value of an expired row: `now - retention`, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Cutoff(UnixTime);

impl Cutoff {
    /// The cutoff of a tick that read `now`.
    #[must_use]
    pub fn new(now: UnixTime, retention: Duration) -> Self {
        Self(now.before(retention))
    }

    /// The instant itself.
    #[must_use]
    pub fn instant(self) -> UnixTime {
        self.0
    }
}

impl fmt::Display for Cutoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_finite() {
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(UnixTime::new(wrong).is_err());
        }
        assert_eq!(UnixTime::new(-5.5).map(UnixTime::seconds), Ok(-5.5));
    }

    #[test]
    fn a_cutoff_is_now_less_the_retention_and_never_overflows() {
        let now = UnixTime::from_millis(1_790_000_000_000);
        let cutoff = |retention| Cutoff::new(now, retention).instant().seconds();
        assert_eq!(cutoff(Duration::ZERO), 1_790_000_000.0);
        assert_eq!(cutoff(Duration::from_secs(86_400)), 1_789_913_600.0);
        assert!(cutoff(Duration::MAX).is_finite());
    }

    #[test]
    fn a_length_is_written_as_config_writes_it() {
        for (millis, text) in [(0, "0s"), (1, "1ms"), (90_000, "90s"), (3_600_000, "1h"), (172_800_000, "2d")]
        {
            assert_eq!(length(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn people_read_utc() {
        assert_eq!(UnixTime(0.9).to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(UnixTime(-0.5).to_string(), "1969-12-31T23:59:59Z");
        assert_eq!(UnixTime(1e300).to_string(), format!("{}", 1e300));
    }
}
