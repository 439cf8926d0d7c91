//! Two small plots of the last hours: rows deleted, and expired rows left.

use std::fmt::{self, Display, Formatter, Write as _};

use super::text::{Rough, Rows};
use crate::observe::history::{SPAN, Span};

/// Units of a picture that is drawn as wide as there is room.
const WIDTH: usize = 4;
const HEIGHT: f64 = 40.0;
/// A young process is not drawn as one bar at the edge of six empty hours.
const FEWEST: usize = 12;

pub(super) struct Plots<'a> {
    pub(super) id: &'a str,
    pub(super) past: &'a [Span],
}

impl Display for Plots<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (Some(last), id) = (self.past.iter().rev().find_map(|span| span.expired), self.id) else {
            return Ok(());
        };
        let ago = Rough(self.spans() as f64 * SPAN.as_secs_f64());
        let deleted = || self.past.iter().map(|span| span.deleted);
        let most_deleted = deleted().max().unwrap_or(0);
        let most_expired = self.past.iter().filter_map(|span| span.expired).max().unwrap_or(0);
        let all: u64 = deleted().map(u64::from).sum();
        f.write_str("<div class=\"plots\">\n")?;
        write!(f, "<figure><figcaption id=\"pd-{id}\">deleted in {ago}: <b>{}</b>, ", Rows(all))?;
        writeln!(f, "most in 5 minutes {}</figcaption>", Rows(most_deleted.into()))?;
        self.picture(f, "pd", "deleted", &self.bars(most_deleted))?;
        write!(
            f,
            "</figure>\n<figure><figcaption id=\"pe-{id}\">expired and left: <b>{}</b>, ",
            Rows(last.into())
        )?;
        writeln!(f, "most in {ago} {}</figcaption>", Rows(most_expired.into()))?;
        self.picture(f, "pe", "left", &self.line(most_expired))?;
        f.write_str("</figure>\n</div>\n")
    }
}

impl Plots<'_> {
    fn spans(&self) -> usize {
        self.past.len().max(FEWEST)
    }

    fn picture(&self, f: &mut Formatter<'_>, caption: &str, class: &str, path: &str) -> fmt::Result {
        let (id, width) = (self.id, self.spans() * WIDTH);
        write!(f, "<svg role=\"img\" aria-labelledby=\"{caption}-{id}\" viewBox=\"0 0 {width} {HEIGHT}\" ")?;
        writeln!(f, "preserveAspectRatio=\"none\"><path class=\"{class}\" d=\"{path}\"/></svg>")?;
        let ago = Rough(self.spans() as f64 * SPAN.as_secs_f64());
        writeln!(f, "<p class=\"axis\" aria-hidden=\"true\"><span>{ago} ago</span><span>now</span></p>")
    }

    /// The left edge of a span: the present one is at the right.
    fn x(&self, span: usize) -> usize {
        (self.spans() - self.past.len() + span) * WIDTH
    }

    fn bars(&self, most: u32) -> String {
        let mut path = String::new();
        for (span, deleted) in self.past.iter().map(|span| span.deleted).enumerate().filter(|bar| bar.1 > 0) {
            let (x, width) = (self.x(span), WIDTH - 1);
            // Writing to a String cannot fail.
            let _ = write!(path, "M{x} {HEIGHT}V{:.1}h{width}V{HEIGHT}z", y(deleted, most));
        }
        path
    }

    /// Level through a span that has a census; one that has none is passed over.
    fn line(&self, most: u32) -> String {
        let mut path = String::new();
        let counts = self.past.iter().enumerate().filter_map(|(span, past)| Some((span, past.expired?)));
        for (span, expired) in counts {
            let pen = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{pen}{} {:.1}h{WIDTH}", self.x(span), y(expired, most));
        }
        path
    }
}

/// Room is left for the width of a line; the least that is not 0 can be seen.
fn y(rows: u32, most: u32) -> f64 {
    let room = HEIGHT - 3.0;
    let height = room * f64::from(rows) / f64::from(most.max(1));
    HEIGHT - 1.0 - if rows > 0 { height.max(1.0) } else { 0.0 }
}
