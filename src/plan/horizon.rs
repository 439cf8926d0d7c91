//! How far back a table's rows are kept, and whether that was shown before it is acted on.

use std::time::Duration;

use super::{Failure, FailureKind, Reading, Rule, UnixTime, length};

/// From what a table's retention counts. Another one is another promise: it was never seen before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Horizon {
    /// The label `table`.
    pub label: String,
    /// The table in the schema.
    pub table: String,
    /// The clock column.
    pub column: String,
    /// Its unit: another one makes other rows due.
    pub unit: String,
    /// `expires` or `since`.
    pub kind: String,
}

impl Horizon {
    /// The horizon of a rule and its retention; nothing where no row ever expires.
    #[must_use]
    pub fn of(rule: &Rule) -> Option<(Self, Duration)> {
        let clock = rule.clock.as_ref()?;
        let horizon = Self {
            label: rule.label.to_string(),
            table: rule.table.to_string(),
            column: clock.column().to_string(),
            unit: clock.unit().name().into(),
            kind: if clock.is_expiry() { "expires" } else { "since" }.into(),
        };
        Some((horizon, clock.retention()))
    }
}

/// A retention that is shown and not acted on yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// The retention.
    pub retention: Duration,
    /// Since when it is shown.
    pub since: Reading,
}

/// What is remembered of one horizon.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// The retention that was last acted on.
    pub accepted: Option<Duration>,
    /// What is shown instead.
    pub waiting: Option<Waiting>,
}

impl Seen {
    /// What is remembered once this retention was looked at. A retention is accepted at once where it is
    /// no shorter than the last one, and else after it was shown for `settle`.
    #[must_use]
    pub fn looked_at(&self, retention: Duration, now: &Reading, settle: Duration) -> Self {
        let accepted = Self { accepted: Some(retention), waiting: None };
        if settle.is_zero() || self.accepted.is_some_and(|accepted| retention >= accepted) {
            return accepted;
        }
        // Shown for this retention and no other: shorter, back and shorter again begins anew.
        let shown = self.waiting.as_ref().filter(|waiting| waiting.retention == retention);
        match shown.map(|waiting| (waiting, waiting.shown_for(now))) {
            Some((_, Some(shown))) if shown >= settle => accepted,
            Some((waiting, Some(_))) => Self { waiting: Some(waiting.clone()), ..self.clone() },
            _ => Self { waiting: Some(Waiting { retention, since: now.clone() }), ..self.clone() },
        }
    }

    /// What is remembered once a person has accepted what is shown.
    #[must_use]
    pub fn accepted(&self) -> Self {
        let shown = self.waiting.as_ref().map(|waiting| waiting.retention);
        Self { accepted: shown.or(self.accepted), waiting: None }
    }

    /// The hold, where a retention is shown and not acted on yet.
    #[must_use]
    pub fn unsettled(&self, settle: Duration, accept: &str) -> Option<Unsettled> {
        let waiting = self.waiting.as_ref()?;
        let (retention, from) = (waiting.retention, self.accepted);
        let begins = waiting.since.wall.after(settle).unwrap_or(waiting.since.wall);
        Some(Unsettled { retention, from, begins: Ok(begins), accept: accept.into() })
    }
}

impl Waiting {
    /// Across a boot by the wall clock; nothing where that went back.
    fn shown_for(&self, now: &Reading) -> Option<Duration> {
        let by_wall = || now.wall.seconds() - self.since.wall.seconds();
        now.in_this_boot_since(&self.since).or_else(|| Duration::try_from_secs_f64(by_wall()).ok())
    }
}

/// A horizon that holds its table.
#[derive(Debug, Clone, PartialEq)]
pub struct Unsettled {
    /// The retention that is shown.
    pub retention: Duration,
    /// The one before; nothing where the table was never seen.
    pub from: Option<Duration>,
    /// When the hold ends, or why it cannot: nothing can be remembered.
    pub begins: Result<UnixTime, String>,
    /// What ends it at once.
    pub accept: String,
}

impl Unsettled {
    /// The hold, with the number of rows that the horizon makes due.
    #[must_use]
    pub fn failure(&self, rule: &Rule, rows: u64) -> Failure {
        let retention = length(self.retention);
        let what = match self.from {
            None => format!("table `{}` was never seen before with retention {retention}", rule.table),
            Some(from) => format!(
                "the retention of table `{}` was made shorter, from {} to {retention}",
                rule.table,
                length(from)
            ),
        };
        let look = "look at them with `keysweep sweep --dry-run`";
        let (then, remedy) = match &self.begins {
            Ok(begins) => {
                (format!("deleting begins at {begins}"), format!("{look}; to begin at once: {}", self.accept))
            }
            Err(why) => (why.clone(), "make state_dir writable and see that its disk is not full".into()),
        };
        Failure::new(FailureKind::Guard, format!("{what}: {rows} of its rows are due; {then}"), remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::BootTime;

    const HOUR: Duration = Duration::from_secs(3_600);
    const SETTLE: Duration = Duration::from_secs(600);

    /// So many seconds after the first look.
    fn at(seconds: f64) -> Reading {
        let wall = UnixTime::new(1_790_000_000.0 + seconds).unwrap();
        Reading { wall, boot: BootTime { id: "a".into(), seconds: 1_000.0 + seconds } }
    }

    fn after_reboot(seconds: f64) -> Reading {
        Reading { boot: BootTime { id: "b".into(), seconds: 1.0 }, ..at(seconds) }
    }

    /// Which of these looks (hours of retention, reading) are held.
    fn held(looks: &[(u32, Reading)]) -> Vec<bool> {
        let mut seen = Seen::default();
        let look = |(hours, now): &(u32, Reading)| {
            seen = seen.looked_at(HOUR * *hours, now, SETTLE);
            seen.unsettled(SETTLE, "touch it").is_some()
        };
        looks.iter().map(look).collect()
    }

    #[test]
    fn a_table_never_seen_is_held_until_it_was_shown_for_long_enough() {
        let looks = [0.0, 300.0, 599.9, 600.0, 601.0].map(|seconds| (72, at(seconds)));
        assert_eq!(held(&looks), [true, true, true, false, false]);
    }

    #[test]
    fn a_longer_retention_is_accepted_at_once_and_a_shorter_one_is_held() {
        let looks = [(72, at(0.0)), (72, at(600.0)), (96, at(601.0)), (95, at(602.0)), (95, at(1_202.0))];
        assert_eq!(held(&looks), [true, false, false, true, false]);
    }

    #[test]
    fn shorter_and_back_and_shorter_again_is_shown_anew() {
        let settled = [(72, at(0.0)), (72, at(600.0))];
        let looks =
            [(24, at(700.0)), (72, at(800.0)), (24, at(1_299.0)), (24, at(1_301.0)), (24, at(1_899.0))];
        let held = held(&[&settled[..], &looks[..]].concat());
        assert_eq!(held[2..], [true, false, true, true, false]);
    }

    #[test]
    fn another_retention_while_one_is_shown_is_shown_for_itself() {
        let looks = [(72, at(0.0)), (24, at(500.0)), (24, at(601.0)), (72, at(602.0)), (72, at(1_202.0))];
        assert_eq!(held(&looks), [true, true, true, true, false]);
    }

    #[test]
    fn the_wall_clock_does_not_shorten_what_is_shown_within_a_boot() {
        let ahead = Reading { wall: at(9_000.0).wall, ..at(10.0) };
        let back = Reading { wall: at(-9_000.0).wall, ..at(600.0) };
        assert_eq!(held(&[(72, at(0.0)), (72, ahead), (72, back)]), [true, true, false]);
    }

    #[test]
    fn across_a_boot_the_wall_clock_counts_and_one_that_went_back_begins_anew() {
        let looks = |second: Reading, third: Reading| held(&[(72, at(0.0)), (72, second), (72, third)]);
        assert_eq!(looks(after_reboot(599.0), after_reboot(600.0)), [true, true, false]);
        assert_eq!(looks(after_reboot(-5.0), after_reboot(597.0)), [true, true, true]);
    }

    #[test]
    fn a_person_accepts_what_is_shown_and_nothing_else() {
        let shown = Seen::default().looked_at(HOUR, &at(0.0), SETTLE);
        assert_eq!(shown.accepted(), Seen { accepted: Some(HOUR), waiting: None });
        assert_eq!(Seen::default().accepted(), Seen::default());
    }

    #[test]
    fn settle_0_is_no_guard() {
        let seen = Seen::default().looked_at(HOUR, &at(0.0), Duration::ZERO);
        assert_eq!(seen, Seen { accepted: Some(HOUR), waiting: None });
    }

    #[test]
    fn the_hold_says_what_is_new_how_much_is_due_when_it_begins_and_how_to_begin_at_once() {
        let seen = Seen { accepted: Some(72 * HOUR), waiting: None }.looked_at(HOUR, &at(0.0), SETTLE);
        let failure = seen.unsettled(SETTLE, "touch /x/accept-horizon").unwrap();
        let shown = failure.failure(&Rule::key_table(HOUR), 123).to_string();
        for part in ["from 3d to 1h", "123", "2026-09-21T14:23:20Z", "touch /x/accept-horizon"] {
            assert!(shown.contains(part), "{part} is not in {shown}");
        }
    }
}
