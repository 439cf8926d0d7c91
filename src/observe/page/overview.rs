//! One line for each database.

use std::fmt::{self, Display, Formatter};

use super::LINES;
use super::query::{Encoded, Found, Query};
use super::text::{Escaped, Maybe, Moment, Rough, Rows};
use crate::observe::status::{CensusStatus, DatabaseStatus};
use crate::plan::UnixTime;

const COLUMNS: &str = "<thead><tr><th scope=\"col\">database</th><th scope=\"col\">condition</th>\
    <th scope=\"col\" class=\"wide\">pending</th><th scope=\"col\" class=\"wide\">done</th>\
    <th scope=\"col\">expired</th><th scope=\"col\" class=\"wide\">drained in</th>\
    <th scope=\"col\">abandoned</th><th scope=\"col\" class=\"wide\">deleted</th>\
    <th scope=\"col\" class=\"wide\">next tick</th></tr></thead>\n";

/// The lines of one page, the worst first.
pub(super) struct Overview<'a> {
    pub(super) query: &'a Query,
    pub(super) found: &'a [&'a Found<'a>],
    pub(super) now: UnixTime,
}

impl Display for Overview<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("<table class=\"overview\">\n<caption>Databases, the worst first. – is not yet counted.</caption>\n")?;
        writeln!(f, "{COLUMNS}<tbody>")?;
        for found in self.found.iter().skip(self.query.from).take(LINES) {
            self.line(f, found)?;
        }
        f.write_str("</tbody>\n</table>\n")?;
        self.turn(f)
    }
}

impl Overview<'_> {
    fn line(&self, f: &mut Formatter<'_>, found: &Found<'_>) -> fmt::Result {
        let Found { name, condition, database } = found;
        let (id, name) = (Encoded(name), Escaped(name));
        write!(
            f,
            "<tr id=\"r-{id}\"><th scope=\"row\"><a id=\"l-{id}\" href=\"?database={id}\">{name}</a></th>"
        )?;
        write!(f, "<td><span class=\"tag {condition}\">{condition}</span></td>")?;
        let sum = |count: fn(&CensusStatus) -> Option<u64>| Maybe(sum(database, count).map(Rows));
        write!(f, "<td class=\"wide\">{}</td>", sum(|census| census.pending))?;
        write!(f, "<td class=\"wide\">{}</td>", sum(|census| Some(census.done)))?;
        write!(f, "<td>{}</td>", sum(|census| Some(census.expired)))?;
        write!(f, "<td class=\"wide\">{}</td>", Maybe(drained_in(database).map(Rough)))?;
        write!(f, "<td>{}</td>", sum(CensusStatus::abandoned))?;
        let deleted = database.tables.values().map(|table| table.deleted_total).sum();
        write!(f, "<td class=\"wide\">{}</td>", Rows(deleted))?;
        let next = database.next_tick.map(|at| Moment { at, now: self.now }.distance());
        writeln!(f, "<td class=\"wide\">{}</td></tr>", Maybe(next))
    }

    /// The way to the lines before and behind.
    fn turn(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (from, all) = (self.query.from, self.found.len());
        if from == 0 && all <= LINES {
            return Ok(());
        }
        let (first, last) = (from.saturating_add(1).min(all), from.saturating_add(LINES).min(all));
        let to = |from| Escaped(&Query { from, ..self.query.clone() }.to_string()).to_string();
        write!(f, "<p>Lines {} to {} of {}.", Rows(first as u64), Rows(last as u64), Rows(all as u64))?;
        if from > 0 {
            write!(f, " <a id=\"before\" href=\"{}\">The lines before</a>", to(from.saturating_sub(LINES)))?;
        }
        if last < all {
            write!(f, " <a id=\"behind\" href=\"{}\">The next lines</a>", to(last))?;
        }
        f.write_str("</p>\n")
    }
}

/// Over all tables; nothing while one of them was not counted, or where no rule counts such rows.
fn sum(database: &DatabaseStatus, count: impl Fn(&CensusStatus) -> Option<u64>) -> Option<u64> {
    let censuses: Option<Vec<_>> = database.tables.values().map(|table| table.census.as_ref()).collect();
    let counts: Vec<_> = censuses?.into_iter().filter_map(count).collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}

/// When the last of its tables is; nothing while one does not say.
fn drained_in(database: &DatabaseStatus) -> Option<f64> {
    let all: Option<Vec<_>> = database.tables.values().map(|table| table.drained_in).collect();
    all?.into_iter().reduce(f64::max)
}
