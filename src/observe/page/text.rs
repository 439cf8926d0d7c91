//! Words and numbers as the status page writes them.

use std::fmt::{self, Display, Formatter};

use crate::plan::UnixTime;

/// What was not measured.
const ABSENT: &str = "–";
/// Largest first; each is a whole number of the next.
const LENGTHS: [(f64, &str); 4] = [(86_400.0, "d"), (3_600.0, "h"), (60.0, "m"), (1.0, "s")];
const SIZES: [(f64, &str); 4] =
    [(1_099_511_627_776.0, "TiB"), (1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB")];

/// Text as content or as an attribute's value: nothing of it is markup.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => write!(f, "{other}")?,
            }
        }
        Ok(())
    }
}

/// A measurement, or a dash where there is none: never a 0 that nobody counted.
pub(super) struct Maybe<T>(pub(super) Option<T>);

impl<T: Display> Display for Maybe<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str(ABSENT),
        }
    }
}

/// A length of time in seconds, spelt as in the config where that is exact: `24h`, `90s`.
pub(super) struct Length(pub(super) f64);

impl Display for Length {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match LENGTHS.iter().find(|(unit, _)| self.0 >= *unit && self.0 % unit == 0.0) {
            Some((unit, name)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}s", self.0),
        }
    }
}

/// A length of time in the unit in which it is easily read.
pub(super) struct Rough(pub(super) f64);

/// The largest unit that fits, rounded down: enough to see whether something is late.
impl Display for Rough {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match LENGTHS.iter().find(|(unit, _)| self.0 >= *unit) {
            Some((unit, name)) => write!(f, "{}{name}", (self.0 / unit).floor()),
            None => f.write_str("0s"),
        }
    }
}

/// An instant, by how far it is from now; the exact one is in the title.
pub(super) struct Moment {
    pub(super) at: f64,
    pub(super) now: UnixTime,
}

impl Display for Moment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match UnixTime::new(self.at) {
            Ok(exact) => write!(f, "<time datetime=\"{exact}\" title=\"{exact}\">{}</time>", self.distance()),
            Err(_) => f.write_str(ABSENT),
        }
    }
}

impl Moment {
    /// How far it is from now, without markup.
    pub(super) fn distance(&self) -> String {
        let ahead = self.at - self.now.seconds();
        let length = Rough(ahead.abs());
        if ahead > 0.0 { format!("in {length}") } else { format!("{length} ago") }
    }
}

/// A number of rows, in groups of three digits.
pub(super) struct Rows(pub(super) u64);

impl Display for Rows {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// Rows a second.
pub(super) struct Rate(pub(super) f64);

impl Display for Rate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 < 10.0 { write!(f, "{:.1}/s", self.0) } else { write!(f, "{:.0}/s", self.0) }
    }
}

/// A size in bytes.
pub(super) struct Bytes(pub(super) u64);

impl Display for Bytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match SIZES.iter().find(|(unit, _)| bytes >= *unit) {
            Some((unit, name)) => write!(f, "{:.1} {name}", bytes / unit),
            None => write!(f, "{} B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_spelt_as_in_the_config() {
        let spelt = [(86_400.0, "1d"), (90.0, "90s"), (5_400.0, "90m"), (0.0, "0s"), (0.5, "0.5s")];
        for (seconds, words) in spelt {
            assert_eq!(Length(seconds).to_string(), words);
        }
    }

    #[test]
    fn a_moment_says_how_far_it_is_and_when_exactly() {
        let now = UnixTime::from_millis(1_790_000_000_000);
        let shown = |at| Moment { at, now }.to_string();
        let ahead = "<time datetime=\"2026-09-21T14:13:32Z\" title=\"2026-09-21T14:13:32Z\">in 12s</time>";
        assert_eq!(shown(1_790_000_012.0), ahead);
        assert!(shown(1_789_989_000.0).ends_with("\"2026-09-21T11:10:00Z\">3h ago</time>"));
        assert_eq!(shown(f64::NAN), "–");
    }

    #[test]
    fn rows_are_grouped_so_that_a_million_is_seen() {
        let shown = [0, 12, 999, 1_000, 45_678, 1_234_567].map(|rows| Rows(rows).to_string());
        assert_eq!(shown, ["0", "12", "999", "1,000", "45,678", "1,234,567"]);
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        assert_eq!(Maybe::<u64>(None).to_string(), "–");
        assert_eq!(Maybe(Some(Bytes(1_572_864))).to_string(), "1.5 MiB");
    }
}
