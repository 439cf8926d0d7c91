//! What the key table says of its rows.

use rusqlite::Row;
use rusqlite::types::Type;

use crate::plan::{State, UnixTime};

/// How many keys are in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateCounts {
    /// Reserved and not finished.
    pub pending: u64,
    /// Finished, expired or not.
    pub done: u64,
}

impl StateCounts {
    /// Of a row of pending, done.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let count = |column| Ok::<_, rusqlite::Error>(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0));
        Ok(Self { pending: count(0)?, done: count(1)? })
    }
}

/// What is recorded under a key, whether or not it can still be replayed.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The fingerprint that it was reserved with.
    pub fingerprint: String,
    /// Pending, done, or unknown to the contract.
    pub state: State,
    /// When its response ends to be replayed.
    pub expires: UnixTime,
}

impl Recorded {
    /// Of a row of fingerprint, status, expires.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let state = match row.get_ref(1)?.as_bytes() {
            Ok(b"pending") => State::Pending,
            Ok(b"done") => State::Done,
            _ => State::Unknown,
        };
        let expires: f64 = row.get(2)?;
        let expires = UnixTime::new(expires)
            .map_err(|error| rusqlite::Error::FromSqlConversionFailure(2, Type::Real, error.into()))?;
        Ok(Self { fingerprint: row.get(0)?, state, expires })
    }
}
