//! The hours of the day in which rows are deleted.

use std::fmt;
use std::time::Duration;

use super::UnixTime;

const MINUTE: u32 = 60;
const DAY: f64 = 86_400.0;
/// A tick makes one last batch when its time is used up, and may wait for the lock: it must begin
/// that before the window ends.
pub const LAST_BATCH: Duration = Duration::from_secs(5);

/// From one minute of the day to another, in UTC; the first belongs to it, the last does not.
///
/// ```
/// use keysweep::plan::{UnixTime, Window};
/// let window = Window::parse("22:00-04:00").unwrap();
/// let midnight = UnixTime::new(0.0).unwrap();
/// assert_eq!(window.open_for(midnight).unwrap().as_secs(), 4 * 3600);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Minutes after midnight, below 1,440, and not the same.
    from: u32,
    to: u32,
}

/// The text is no window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// It is not of the form `HH:MM-HH:MM`.
    #[error("a window in UTC, from and to as HH:MM, such as \"01:00-05:00\"")]
    Form,
    /// Both ends are the same: a day, or nothing?
    #[error("a window whose ends differ; without `window` rows are deleted all day")]
    Empty,
}

impl Window {
    /// Reads `HH:MM-HH:MM`, each from 00:00 to 23:59. A window may go over midnight.
    ///
    /// # Errors
    /// [`WindowError`] for another form, and where both ends are the same.
    pub fn parse(text: &str) -> Result<Self, WindowError> {
        let (from, to) = text.split_once('-').ok_or(WindowError::Form)?;
        let (from, to) = (minute(from)?, minute(to)?);
        if from == to { Err(WindowError::Empty) } else { Ok(Self { from, to }) }
    }

    /// How long it stays open; nothing where it is closed.
    #[must_use]
    pub fn open_for(self, now: UnixTime) -> Option<Duration> {
        let to_its_end = until(self.to, now);
        // It is open if its end comes before its next beginning.
        (to_its_end <= until(self.from, now)).then(|| Duration::from_secs_f64(to_its_end))
    }

    /// How long it is open each day.
    #[must_use]
    pub fn length(self) -> Duration {
        let day = DAY as u32 / MINUTE;
        Duration::from_secs(u64::from((self.to + day - self.from) % day * MINUTE))
    }

    /// How long a tick that begins now may work: less than the window stays open, so that its last
    /// batch falls into it. Nothing where it is closed.
    #[must_use]
    pub fn time_to_work(self, now: UnixTime) -> Option<Duration> {
        self.open_for(now).map(|open| open.saturating_sub(LAST_BATCH))
    }
}

/// Seconds until the next time that this minute begins, above 0 and at most a day.
fn until(minute: u32, now: UnixTime) -> f64 {
    let rest = (f64::from(minute * MINUTE) - now.seconds()).rem_euclid(DAY);
    if rest == 0.0 { DAY } else { rest }
}

fn minute(text: &str) -> Result<u32, WindowError> {
    let (hour, minute) = text.split_once(':').ok_or(WindowError::Form)?;
    let number = |text: &str, below: u32| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse::<u32>().ok().filter(|number| digits && *number < below);
        number.ok_or(WindowError::Form)
    };
    Ok(number(hour, 24)? * MINUTE + number(minute, MINUTE)?)
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = [self.from, self.to].map(|minute| (minute / MINUTE, minute % MINUTE));
        write!(f, "{:02}:{:02}-{:02}:{:02}", from.0, from.1, to.0, to.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(window: &str, hour: u32, minute: u32, second: f64) -> Option<u64> {
        let days = 20_700.0 * DAY;
        let now = UnixTime::new(days + f64::from(hour * 3_600 + minute * MINUTE) + second).unwrap();
        Window::parse(window).unwrap().open_for(now).map(|open| open.as_secs())
    }

    #[test]
    fn a_window_is_open_from_its_first_minute_up_to_its_last() {
        for (window, hour, minute, second, expected) in [
            ("01:00-05:00", 0, 59, 59.999, None),
            ("01:00-05:00", 1, 0, 0.0, Some(4 * 3_600)),
            ("01:00-05:00", 4, 59, 59.0, Some(1)),
            ("01:00-05:00", 5, 0, 0.0, None),
            ("22:00-04:00", 21, 59, 59.0, None),
            ("22:00-04:00", 22, 0, 0.0, Some(6 * 3_600)),
            ("22:00-04:00", 0, 0, 0.0, Some(4 * 3_600)),
            ("22:00-04:00", 3, 59, 0.0, Some(60)),
            ("22:00-04:00", 4, 0, 0.0, None),
            ("00:00-23:59", 0, 0, 0.0, Some(86_340)),
            ("23:59-00:00", 23, 59, 30.0, Some(30)),
        ] {
            assert_eq!(open(window, hour, minute, second), expected, "{window} at {hour}:{minute}:{second}");
        }
    }

    #[test]
    fn before_1970_a_day_has_the_same_hours() {
        let window = Window::parse("01:00-05:00").unwrap();
        assert!(window.open_for(UnixTime::new(-23.0 * 3_600.0).unwrap()).is_some());
        assert!(window.open_for(UnixTime::new(-1.0).unwrap()).is_none());
    }

    #[test]
    fn a_tick_ends_before_its_window() {
        let window = Window::parse("01:00-05:00").unwrap();
        let before_its_end =
            |seconds: f64| window.time_to_work(UnixTime::new(5.0 * 3_600.0 - seconds).unwrap());
        assert_eq!(before_its_end(60.0), Some(Duration::from_secs(55)));
        assert_eq!(before_its_end(3.0), Some(Duration::ZERO));
        assert_eq!(before_its_end(0.0), None);
    }

    #[test]
    fn what_is_no_window_is_refused() {
        for text in [
            "",
            "-",
            "01:00",
            "1:00-2:00",
            "01:00-24:00",
            "01:60-02:00",
            "01:00 - 02:00",
            "+1:00-02:00",
            "01:00-02:00-03:00",
        ] {
            assert_eq!(Window::parse(text), Err(WindowError::Form), "{text:?}");
        }
        assert_eq!(Window::parse("00:00-00:00"), Err(WindowError::Empty));
        assert_eq!(Window::parse("22:00-04:05").unwrap().to_string(), "22:00-04:05");
    }
}
