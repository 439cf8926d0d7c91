//! A cron schedule, refused where cron tools disagree about it or where it would never ring.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

use crate::plan::UnixTime;

/// When ticks begin: six cron fields, the first of them seconds, in UTC.
///
/// ```
/// use keysweep::config::Schedule;
/// assert_eq!(Schedule::parse("30 2 * * *").unwrap().text(), "0 30 2 * * *");
/// assert!(Schedule::parse("0 0 0 31 2 *").is_err());
/// ```
#[derive(Debug, Clone)]
pub struct Schedule {
    text: String,
    cron: Arc<Cron>,
}

/// Two schedules are one where their texts are.
impl PartialEq for Schedule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Schedule {}

impl Hash for Schedule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl Schedule {
    /// Reads six fields, or five, which ring at second 0.
    ///
    /// # Errors
    /// What is wrong: fields that are too few, too many or no cron, a step larger than its field, a
    /// day of the month and of the week at once, and a schedule that never rings.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fields = six_fields(text)?;
        for (field, kind) in fields.iter().zip(&KINDS) {
            kind.check(field)?;
        }
        if is_restricted(fields[3]) && is_restricted(fields[5]) {
            return Err(format!(
                "{text:?} restricts both the day of month and the day of week: some cron tools ring where \
                 both match, others where one does; expected `*` in one of them"
            ));
        }
        let text = fields.join(" ");
        let cron = parser().parse(&text).map_err(|error| format!("{text:?} is no cron schedule: {error}"))?;
        let schedule = Self { text, cron: Arc::new(cron) };
        // Without a year field, what rings at all rings after 1970.
        match schedule.after(DateTime::UNIX_EPOCH) {
            Some(_) => Ok(schedule),
            None => Err(format!("{:?} never rings: no such day", schedule.text)),
        }
    }

    /// The six fields, separated by single spaces.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The first whole second strictly after `now` at which it rings; nothing beyond the calendar.
    #[must_use]
    pub fn next_after(&self, now: UnixTime) -> Option<UnixTime> {
        // The cast saturates, and chrono refuses what its calendar cannot hold.
        let next = self.after(DateTime::from_timestamp(now.seconds().floor() as i64, 0)?)?;
        UnixTime::new(next.timestamp() as f64).ok()
    }

    fn after(&self, start: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.cron.find_next_occurrence(&start, false).ok()
    }
}

fn parser() -> CronParser {
    CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).dom_and_dow(true).build()
}

fn six_fields(text: &str) -> Result<Vec<&str>, String> {
    let mut fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() == 5 {
        fields.insert(0, "0");
    }
    match fields.len() {
        6 => Ok(fields),
        _ => Err(format!(
            "{text:?} is no schedule: expected six cron fields (second, minute, hour, day of month, month, \
             day of week) or five without the second"
        )),
    }
}

fn is_restricted(field: &str) -> bool {
    !matches!(field, "*" | "?")
}

struct Kind {
    name: &'static str,
    values: u64,
    words: &'static [&'static str],
}

const KINDS: [Kind; 6] = [
    Kind { name: "second", values: 60, words: &[] },
    Kind { name: "minute", values: 60, words: &[] },
    Kind { name: "hour", values: 24, words: &[] },
    Kind { name: "day of month", values: 31, words: &["L", "W"] },
    Kind {
        name: "month",
        values: 12,
        words: &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
    },
    Kind { name: "day of week", values: 7, words: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "L"] },
];

impl Kind {
    /// Refuses what the parser takes in silence: an empty item, a step that is taken once, and a word
    /// of another field (`MON` as a month would be January).
    fn check(&self, field: &str) -> Result<(), String> {
        let name = self.name;
        for item in field.split(',') {
            if item.is_empty() {
                return Err(format!("the field {name}, {field:?}, has an empty item"));
            }
            let step = item.split_once('/').and_then(|(_, step)| step.parse::<u64>().ok());
            if step.is_some_and(|step| step > self.values) {
                return Err(format!(
                    "the step in the field {name}, {item:?}, is larger than {}",
                    self.values
                ));
            }
        }
        let mut words = field.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
        match words.find(|word| !self.words.contains(&word.to_uppercase().as_str())) {
            Some(word) => Err(format!("{word:?} is no word of the field {name}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(text: &str, now: f64) -> Option<f64> {
        let now = UnixTime::new(now).unwrap();
        Schedule::parse(text).unwrap().next_after(now).map(UnixTime::seconds)
    }

    #[test]
    fn the_next_ring_is_a_whole_second_strictly_later() {
        assert_eq!(next("* * * * * *", 10.0), Some(11.0));
        assert_eq!(next("* * * * * *", 10.9), Some(11.0));
        assert_eq!(next("* * * * * *", -0.5), Some(0.0));
        assert_eq!(next("0 0 3 * * *", 3.0 * 3600.0), Some(27.0 * 3600.0));
        assert_eq!(next("* * * * * *", 1e300), None);
        assert_eq!(next("* * * * * *", -1e300), None);
    }

    #[test]
    fn five_fields_ring_at_second_zero_and_spaces_do_not_count() {
        let five = Schedule::parse("  */5   * * * MON-FRI ").unwrap();
        assert_eq!(five.text(), "0 */5 * * * MON-FRI");
        assert_eq!(five, Schedule::parse("0 */5 * * * MON-FRI").unwrap());
    }

    #[test]
    fn a_day_that_comes_rarely_is_a_schedule() {
        for text in ["0 0 0 29 2 *", "0 0 0 L * ?", "0 0 0 15W * *", "0 0 0 * * FRI#2", "0 0 0 * jan 7"] {
            assert!(Schedule::parse(text).is_ok(), "{text} was refused");
        }
        assert!(Schedule::parse("*/60 */60 */24 */31 */12 *").is_ok());
    }

    #[test]
    fn what_would_never_ring_or_is_read_in_two_ways_is_refused() {
        for (text, telling) in [
            ("", "expected six cron fields"),
            ("@hourly", "expected six cron fields"),
            ("* * * * * * 2030", "expected six cron fields"),
            ("0 0 0 31 2 *", "never rings"),
            ("0 0 0 13 * FRI", "both the day of month and the day of week"),
            ("0 0 0 */2 * 1-5", "both the day of month and the day of week"),
            ("*/70 * * * * *", "larger than 60"),
            ("0 0 0/25 * * *", "larger than 24"),
            ("0 60 * * * *", "Number out of bounds"),
            ("0 */0 * * * *", "is no cron schedule"),
            ("0 5-1 * * * *", "Range out of bounds"),
            ("0 1,,2 * * * *", "empty item"),
            (", * * * * *", "empty item"),
            ("0 0 0 1 MON *", "\"MON\" is no word of the field month"),
            ("0 MAR * * * *", "\"MAR\" is no word of the field minute"),
            ("0 0 0 * * FRIDAY", "\"FRIDAY\" is no word"),
            ("H * * * * *", "\"H\" is no word"),
        ] {
            let error = Schedule::parse(text).unwrap_err();
            assert!(error.contains(telling), "{text:?}: {error}");
        }
    }
}
