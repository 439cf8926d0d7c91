//! How much of the time ticks may work.

use std::time::Duration;

use super::Timing;
use crate::plan::{UnixTime, Window};

/// The longest tick where no budget is set.
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// Rings of a calendar over which the mean is taken.
const RINGS: usize = 100;
const HOUR: Duration = Duration::from_secs(3_600);
const MINUTE: Duration = Duration::from_secs(60);
const MINUTES_A_DAY: u32 = 24 * 60;

impl Timing {
    /// Of an hour, how long ticks may work, in the mean over the rings after `now`: each for its budget,
    /// or 15 minutes, or until the next one, whichever is shortest, and only within the window.
    #[must_use]
    pub fn work_an_hour(&self, budget: Option<Duration>, window: Option<Window>, now: UnixTime) -> Duration {
        let longest = budget.unwrap_or(LONGEST);
        let is_open = |at: UnixTime| window.is_none_or(|window| window.open_for(at).is_some());
        let (work, time) = match self {
            Self::Every(every) => {
                let minutes = (0..MINUTES_A_DAY).filter_map(|minute| now.after(MINUTE * minute));
                let open = minutes.filter(|minute| is_open(*minute)).count() as f64;
                (longest.min(*every).mul_f64(open / f64::from(MINUTES_A_DAY)), *every)
            }
            Self::Cron(schedule) => {
                let rings =
                    std::iter::successors(schedule.next_after(now), |ring| schedule.next_after(*ring));
                let rings: Vec<UnixTime> = rings.take(RINGS).collect();
                let gap =
                    |pair: &[UnixTime]| Duration::try_from_secs_f64(pair[1].seconds() - pair[0].seconds());
                let gaps = rings.windows(2).filter_map(|pair| Some((is_open(pair[0]), gap(pair).ok()?)));
                gaps.fold((Duration::ZERO, Duration::ZERO), |(work, time), (is_open, gap)| {
                    (if is_open { work + longest.min(gap) } else { work }, time + gap)
                })
            }
        };
        let part = work.as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE);
        HOUR.mul_f64(part.min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Schedule;

    #[test]
    fn ticks_work_for_their_budget_or_until_the_next_one() {
        let seconds = Duration::from_secs;
        let now = UnixTime::from_millis(1_790_000_000_000);
        let every = |length| Timing::Every(seconds(length));
        assert_eq!(every(30).work_an_hour(None, None, now), HOUR);
        assert_eq!(every(60).work_an_hour(Some(seconds(6)), None, now), seconds(360));
        let cron = |text| Timing::Cron(Schedule::parse(text).unwrap());
        assert_eq!(cron("0 * * * * *").work_an_hour(None, None, now), HOUR);
        // Once a night for a quarter of an hour.
        assert_eq!(cron("0 0 2 * * *").work_an_hour(None, None, now), seconds(900) / 24);
        // Six hours of a day, and a ring that the window shuts out.
        let window = Some(Window::parse("22:00-04:00").unwrap());
        assert_eq!(every(30).work_an_hour(None, window, now), HOUR / 4);
        assert_eq!(cron("0 0 5 * * *").work_an_hour(None, window, now), Duration::ZERO);
        assert_eq!(cron("0 0 2 * * *").work_an_hour(None, window, now), seconds(900) / 24);
        // On weekdays only: no ring in the next hour, and no rate of nothing.
        assert!(cron("0 0 2 * * 1-5").work_an_hour(Some(seconds(60)), None, now) > Duration::ZERO);
    }
}
