//! How much a sweep may take at once, and how much of the time.

use std::fmt;

/// The most rows in one transaction: an integer from 1 to 100, nothing else.
///
/// ```
/// use keysweep::plan::Limit;
/// assert_eq!(Limit::new(100).unwrap().rows(), 100);
/// assert!(Limit::new(0).is_err() && Limit::new(101).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit(u8);

/// The number is not an integer from 1 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is outside 1 to 100")]
pub struct LimitError(i64);

impl Limit {
    /// The largest limit.
    pub const MAX: Self = Self(100);
    /// What `purge` and `expired` take when nothing is said.
    pub const DEFAULT: Self = Self(10);

    /// # Errors
    /// [`LimitError`] outside 1 to 100.
    pub fn new(rows: i64) -> Result<Self, LimitError> {
        match u8::try_from(rows) {
            Ok(rows @ 1..=100) => Ok(Self(rows)),
            _ => Err(LimitError(rows)),
        }
    }

    /// The number of rows, 1 to 100.
    #[must_use]
    pub fn rows(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::str::FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rows: i64 = text.parse().map_err(|_| format!("`{text}` is not an integer from 1 to 100"))?;
        Self::new(rows).map_err(|error| error.to_string())
    }
}

/// The largest part of the time for which a sweep may hold a lock: above 0, at most 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(f64);

/// The number is not above 0 and at most 1.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{0} is not above 0 and at most 1")]
pub struct ShareError(f64);

impl Share {
    /// A quarter of the time.
    pub const DEFAULT: Self = Self(0.25);

    /// # Errors
    /// [`ShareError`] unless the number is above 0 and at most 1.
    pub fn new(share: f64) -> Result<Self, ShareError> {
        if share > 0.0 && share <= 1.0 { Ok(Self(share)) } else { Err(ShareError(share)) }
    }

    /// The number, above 0 and at most 1.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_an_integer_from_1_to_100() {
        for wrong in [i64::MIN, -1, 0, 101, 256, 257, i64::MAX] {
            assert_eq!(Limit::new(wrong), Err(LimitError(wrong)));
        }
        for text in ["", "true", "10.0", "1e1", "0x10", " 1", "101"] {
            assert!(text.parse::<Limit>().is_err(), "{text:?} was taken");
        }
        assert_eq!("7".parse::<Limit>().map(Limit::rows), Ok(7));
    }

    #[test]
    fn a_share_is_above_zero_and_at_most_one() {
        for wrong in [0.0, -0.1, 1.01, f64::NAN, f64::INFINITY] {
            assert!(Share::new(wrong).is_err(), "{wrong} was taken");
        }
        assert_eq!(Share::new(1.0).map(Share::get), Ok(1.0));
    }
}
