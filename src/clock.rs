//! The wall clock. It is read here and nowhere else, once a tick.

use std::time::SystemTime;

use crate::plan::UnixTime;

/// Now, rounded down to the millisecond: a cutoff may be early, never late.
#[must_use]
pub fn now() -> UnixTime {
    let millis = match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX) - 1,
    };
    UnixTime::from_millis(millis)
}
