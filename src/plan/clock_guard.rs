//! Whether the wall clock can be trusted: by the clock that counts since the boot, and by when it
//! was last trusted.

use std::sync::Arc;
use std::time::Duration;

use super::{Failure, FailureKind, UnixTime, length};

/// So far ahead may the wall clock be set while we run or between two runs of one boot.
const MOST_AHEAD: Duration = Duration::from_secs(60);
/// So long may a machine have been off: what the wall clock did meanwhile, nothing tells.
const LONGEST_OFF: Duration = Duration::from_secs(30 * 86_400);

/// In seconds, the longest that a thread is kept between its two clocks.
const SLOWEST_READER: f64 = 60.0;

/// The time since the boot, suspended time too. Nobody can set this clock.
#[derive(Debug, Clone, PartialEq)]
pub struct BootTime {
    /// Which boot.
    pub id: Arc<str>,
    /// Seconds since it.
    pub seconds: f64,
}

/// Both clocks at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The wall clock.
    pub wall: UnixTime,
    /// The boot-time clock.
    pub boot: BootTime,
}

impl Reading {
    /// The time since an earlier reading by the boot-time clock; nothing where a boot lies between.
    /// The same boot with much less time is another one: a container that was moved, or its clock. With a
    /// little less it is two threads that read at once, of which the second may be the slower.
    #[must_use]
    pub fn in_this_boot_since(&self, earlier: &Self) -> Option<Duration> {
        let length = self.boot.seconds - earlier.boot.seconds;
        let same = self.boot.id == earlier.boot.id && length > -SLOWEST_READER;
        Duration::try_from_secs_f64(length.max(0.0)).ok().filter(|_| same)
    }
}

/// The wall clock is further ahead than it can be.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockJump {
    trusted: UnixTime,
    showed: UnixTime,
    ahead: Duration,
    rebooted: bool,
}

impl ClockJump {
    /// Whether the wall clock is ahead of a reading that was trusted: by more than a minute within one
    /// boot, by more than 30 days across one. A clock that went back only makes the cutoff fall.
    #[must_use]
    pub fn seen(trusted: &Reading, now: &Reading) -> Option<Self> {
        let passed = now.in_this_boot_since(trusted);
        let by_wall = now.wall.seconds() - trusted.wall.seconds();
        let ahead = by_wall - passed.unwrap_or_default().as_secs_f64();
        // A length that cannot be held is no shorter for that.
        let ahead = Duration::try_from_secs_f64(ahead.max(0.0)).unwrap_or(Duration::MAX);
        let most = if passed.is_some() { MOST_AHEAD } else { LONGEST_OFF };
        let jump = Self { trusted: trusted.wall, showed: now.wall, ahead, rebooted: passed.is_none() };
        (ahead > most).then_some(jump)
    }

    /// The hold, with its way out where the clock is right: `accept`.
    #[must_use]
    pub fn failure(&self, accept: &str) -> Failure {
        let Self { trusted, showed, .. } = self;
        let ahead = length(Duration::from_secs(self.ahead.as_secs()));
        let what = if self.rebooted {
            format!(
                "the wall clock showed {showed}, {ahead} after it was last trusted at {trusted}, before a reboot"
            )
        } else {
            format!(
                "the wall clock jumped ahead: it showed {showed}, {ahead} more than have passed since \
                 it was last trusted at {trusted}"
            )
        };
        Failure::new(FailureKind::Guard, what, format!("correct the clock; or, if it is right: {accept}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: f64 = 86_400.0;
    const NOON: f64 = 1_790_000_000.0;

    fn reading(wall: f64, boot: &str, seconds: f64) -> Reading {
        Reading { wall: UnixTime::new(wall).unwrap(), boot: BootTime { id: boot.into(), seconds } }
    }

    /// Trusted at noon, 1,000 s after boot `a`.
    fn jump(now: Reading) -> Option<ClockJump> {
        ClockJump::seen(&reading(NOON, "a", 1_000.0), &now)
    }

    #[test]
    fn within_a_boot_the_wall_clock_may_be_a_minute_ahead_of_the_time_that_passed() {
        for (wall, seconds, held) in [
            (NOON, 1_000.0, false),
            (NOON + 60.0, 1_000.0, false),
            (NOON + 60.5, 1_000.0, true),
            (NOON + 7_200.0, 1_000.0, true),
            (NOON + 7_200.0, 8_200.0, false),
            (NOON + 7_200.0, 8_130.0, true),
            // Another thread was faster, and read the clock before it jumped.
            (NOON + 7_200.0, 999.9, true),
            (NOON, 999.9, false),
            // A year in which the machine was suspended, and counted on.
            (NOON + 365.0 * DAY, 1_000.0 + 365.0 * DAY, false),
            (f64::MAX, 1_000.0, true),
        ] {
            let jump = jump(reading(wall, "a", seconds));
            assert_eq!(jump.is_some(), held, "{wall} after {seconds}: {jump:?}");
        }
    }

    #[test]
    fn across_a_boot_the_machine_may_have_been_off_for_thirty_days() {
        for (wall, held) in [
            (NOON - DAY, false),
            (NOON + 29.9 * DAY, false),
            (NOON + 30.0 * DAY, false),
            (NOON + 30.0 * DAY + 1.0, true),
        ] {
            assert_eq!(jump(reading(wall, "b", 5.0)).is_some(), held, "{wall}");
            assert_eq!(
                jump(reading(wall, "a", 5.0)).is_some(),
                held,
                "{wall}, by a boot clock that went back"
            );
        }
    }

    #[test]
    fn a_clock_that_goes_back_holds_nothing() {
        for back in [1.0, 3_600.0, 365.0 * DAY, NOON + 5.0] {
            assert_eq!(jump(reading(NOON - back, "a", 2_000.0)), None, "{back}");
        }
    }

    #[test]
    fn the_message_names_both_instants_and_the_way_out() {
        let failure = jump(reading(NOON + 3_600.0, "a", 1_000.0)).unwrap().failure("touch /x/accept-clock");
        let shown = failure.to_string();
        for part in ["2026-09-21T15:13:20Z", "2026-09-21T14:13:20Z", " 1h ", "touch /x/accept-clock"] {
            assert!(shown.contains(part), "{part} is not in {shown}");
        }
    }
}
