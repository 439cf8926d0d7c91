//! The figures of one table: what an operator asks first, and the rest behind a fold.

use std::fmt::{self, Display, Formatter};

use super::plot::Plots;
use super::text::{Escaped, Length, Maybe, Moment, Rate, Rough, Rows};
use crate::observe::condition::Condition;
use crate::observe::history::Span;
use crate::observe::status::{CensusStatus, SweepStatus, TableStatus};
use crate::plan::{ABANDONED_CLASSES, UnixTime};

pub(super) struct Figures<'a> {
    /// What tells its elements from those of other tables, as a part of an `id`.
    pub(super) id: &'a str,
    pub(super) table: &'a TableStatus,
    pub(super) past: &'a [Span],
    /// A census that is so many seconds old is late.
    pub(super) late: f64,
    pub(super) now: UnixTime,
}

impl Display for Figures<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("<dl class=\"figures\">\n")?;
        match &self.table.census {
            Some(census) => self.counts(f, census)?,
            None => figure(f, "rows", "not yet counted", "")?,
        }
        self.sweep(f)?;
        f.write_str("</dl>\n")?;
        Plots { id: self.id, past: self.past }.fmt(f)?;
        self.rest(f)
    }
}

impl Figures<'_> {
    fn counts(&self, f: &mut Formatter<'_>, census: &CensusStatus) -> fmt::Result {
        if let Some(pending) = census.pending {
            figure(f, "pending", Rows(pending), "")?;
        }
        figure(f, "done", Rows(census.done), "")?;
        figure(f, "expired", Rows(census.expired), self.drained(census))?;
        if let Some(abandoned) = self.table.abandoned() {
            let oldest = census.abandoned.as_ref().and_then(|abandoned| abandoned.oldest);
            let oldest = oldest.map_or(String::new(), |at| format!("oldest {}", self.moment(at)));
            remarkable(f, "abandoned", abandoned, oldest)?;
        }
        if let Some(unknown) = census.unknown {
            remarkable(f, "unknown", unknown, if unknown > 0 { "claimed by no rule" } else { "" })?;
        }
        remarkable(
            f,
            "unreadable",
            census.unreadable,
            if census.unreadable > 0 { "never expire" } else { "" },
        )?;
        let at = self.moment(census.taken_at);
        let is_late = self.now.seconds() - census.taken_at > self.late;
        figure(
            f,
            "counted",
            at,
            if is_late { "<span class=\"bad\">late: these counts are old</span>" } else { "" },
        )
    }

    fn drained(&self, census: &CensusStatus) -> String {
        match (census.expired, self.table.drained_in, self.table.inflow) {
            (0, _, _) => String::new(),
            _ if matches!(self.table.condition(), Condition::Held | Condition::Disabled) => {
                "nothing is deleted now".into()
            }
            (_, Some(seconds), _) => format!("drained in {}", Rough(seconds)),
            (_, None, Some(_)) if self.table.is_behind() => {
                "<span class=\"bad\">not becoming fewer</span>".into()
            }
            (_, None, Some(_)) => "as many come as go".into(),
            (_, None, None) => "when drained is not yet known".into(),
        }
    }

    fn sweep(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.table.last_sweep {
            Some(sweep) => {
                let deleted = Rows(sweep.deleted);
                figure(
                    f,
                    "last sweep",
                    self.moment(sweep.at),
                    format!("{}, {deleted} deleted", Stopped(sweep)),
                )
            }
            None => figure(f, "last sweep", "none yet", ""),
        }
    }

    fn rest(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let table = self.table;
        writeln!(f, "<details id=\"m-{}\"><summary>More figures</summary>\n<dl class=\"figures\">", self.id)?;
        figure(f, "retention", Maybe(table.retention.map(Length)), "")?;
        figure(f, "cutoff", Maybe(table.cutoff.map(|at| self.moment(at))), "")?;
        figure(f, "become due", Maybe(table.inflow.map(Rate)), "")?;
        figure(f, "pace", Maybe(table.pace.map(Rate)), "")?;
        figure(f, "last success", Maybe(table.last_success.map(|at| self.moment(at))), "")?;
        figure(f, "deleted", Rows(table.deleted_total), "since the start")?;
        if let Some(sweep) = &table.last_sweep {
            let batches = format!("{} skipped", Rows(sweep.skipped));
            figure(f, "batches", Rows(sweep.batches), format!("{batches}, in the last sweep"))?;
        }
        self.ages(f)?;
        f.write_str("</dl></details>\n")
    }

    /// Abandoned rows by age.
    fn ages(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let abandoned = self.table.census.as_ref().and_then(|census| census.abandoned.as_ref());
        let Some(abandoned) = abandoned else { return Ok(()) };
        // The first class is all of them, which is above.
        for (age, _) in &ABANDONED_CLASSES[1..] {
            if let Some(rows) = abandoned.older_than.get(*age) {
                figure(f, &format!("abandoned {age}"), Rows(*rows), "or longer")?;
            }
        }
        Ok(())
    }

    fn moment(&self, at: f64) -> Moment {
        Moment { at, now: self.now }
    }
}

/// Why a sweep stopped.
struct Stopped<'a>(&'a SweepStatus);

impl Display for Stopped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Escaped(&self.0.stop).fmt(f)?;
        match &self.0.held {
            Some(reason) => write!(f, ": {}", Escaped(reason)),
            None => Ok(()),
        }
    }
}

/// All three are markup already.
fn figure(f: &mut Formatter<'_>, name: &str, value: impl Display, note: impl Display) -> fmt::Result {
    let note = note.to_string();
    write!(f, "<div><dt>{name}</dt><dd>{value}")?;
    if !note.is_empty() {
        write!(f, " <small>{note}</small>")?;
    }
    f.write_str("</dd></div>\n")
}

/// A count that should be 0.
fn remarkable(f: &mut Formatter<'_>, name: &str, rows: u64, note: impl Display) -> fmt::Result {
    if rows > 0 {
        figure(f, name, format_args!("<span class=\"bad\">{}</span>", Rows(rows)), note)
    } else {
        figure(f, name, 0, note)
    }
}
