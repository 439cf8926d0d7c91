//! The clocks. They are read here and nowhere else, once a tick.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use rustix::time::{ClockId, clock_gettime};

use crate::plan::{BootTime, Reading, UnixTime};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The wall clock and the boot-time clock. In this order: a process that is stopped between the two
/// sees a wall clock that is ahead, and is right again at the next reading.
#[must_use]
pub fn reading() -> Reading {
    let boot = boot_time();
    Reading { wall: now(), boot }
}

fn boot_time() -> BootTime {
    static ID: OnceLock<Arc<str>> = OnceLock::new();
    // Where nothing tells one boot from another, two of them count as one, by which more is held.
    let id = || std::fs::read_to_string(BOOT_ID).map_or("unknown".into(), |id| id.trim().into());
    let time = clock_gettime(ClockId::Boottime);
    let seconds = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    BootTime { id: Arc::clone(ID.get_or_init(id)), seconds }
}

/// Microseconds of the clock that systemd orders a reload by.
#[must_use]
pub fn monotonic_micros() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
}

/// Now, rounded down to the millisecond: a cutoff may be early, never late.
#[must_use]
pub fn now() -> UnixTime {
    let millis = match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX) - 1,
    };
    UnixTime::from_millis(millis)
}
