//! What the key table says of its rows.

use rusqlite::Row;

use super::Response;
use crate::plan::UnixTime;

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

/// What a request meets whose key was taken already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retry {
    /// The same request, done: give this response again.
    Replay(Response),
    /// The same request, not finished: it is in progress, or was abandoned, which is for its owner to
    /// settle. Do not act.
    InProgress,
    /// The key belongs to another request: refuse. Neither its response nor its progress is this caller's.
    AnotherRequest,
    /// The same request, done, and past its time: the response is no longer replayed, and the key is
    /// not free before the row is swept. Do not act.
    Expired,
    /// Nothing has the key: it was swept a moment ago. Reserve it again.
    Free,
}

impl Retry {
    /// Of a row of fingerprint, status, response, expires.
    pub(super) fn read(row: &Row<'_>, fingerprint: &str, now: UnixTime) -> rusqlite::Result<Self> {
        if row.get_ref(0)?.as_bytes()? != fingerprint.as_bytes() {
            return Ok(Self::AnotherRequest);
        }
        // A state that the contract does not know is nobody's permission to act.
        if row.get_ref(1)?.as_bytes().ok() != Some(b"done") {
            return Ok(Self::InProgress);
        }
        match row.get::<_, Option<String>>(2)? {
            Some(response) if row.get::<_, f64>(3)? > now.seconds() => {
                Ok(Self::Replay(Response::stored(response)))
            }
            _ => Ok(Self::Expired),
        }
    }
}
