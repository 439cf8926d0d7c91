//! One database with all that is known of it.

use std::fmt::{self, Display, Formatter};

use super::figures::Figures;
use super::query::{Encoded, Found, Query};
use super::text::{Bytes, Escaped, Length, Moment};
use crate::observe::history::Past;
use crate::observe::status::{DatabaseStatus, Problem, SpaceStatus, TableStatus};
use crate::plan::UnixTime;

/// How many tables of a database are shown where several databases are, and where it is alone.
const TABLES: usize = 12;
const TABLES_ALONE: usize = 100;

pub(super) struct Detail<'a> {
    pub(super) found: &'a Found<'a>,
    pub(super) query: &'a Query,
    pub(super) past: Past,
    pub(super) now: UnixTime,
}

impl Display for Detail<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Found { name, condition, database } = self.found;
        let (id, name) = (Encoded(name), Escaped(name));
        writeln!(f, "<section id=\"d-{id}\" aria-labelledby=\"h-{id}\">")?;
        writeln!(f, "<h2 id=\"h-{id}\">{name} <span class=\"tag {condition}\">{condition}</span></h2>")?;
        self.schedule(f, database)?;
        self.problems(f, database)?;
        self.tables(f, database)?;
        f.write_str("</section>\n")
    }
}

impl Detail<'_> {
    fn schedule(&self, f: &mut Formatter<'_>, database: &DatabaseStatus) -> fmt::Result {
        let now = self.now;
        f.write_str("<p class=\"quiet\">")?;
        match database.next_tick.map(|at| Moment { at, now }) {
            Some(next) if next.at > now.seconds() => write!(f, "Next tick {next}")?,
            Some(due) => write!(f, "A tick was due {due}")?,
            None => f.write_str("Next tick not yet known")?,
        }
        write!(f, ", rows counted every {}. ", Length(whole(database.census_interval)))?;
        writeln!(f, "{}</p>", Size(database.space))
    }

    fn problems(&self, f: &mut Formatter<'_>, database: &DatabaseStatus) -> fmt::Result {
        let (tick, census) = (database.tick_failure.as_ref(), database.census_failure.as_ref());
        if tick == census {
            return problem(f, "The latest tick and the latest census failed", tick);
        }
        problem(f, "The latest tick failed", tick)?;
        problem(f, "The latest census failed", census)
    }

    fn tables(&self, f: &mut Formatter<'_>, database: &DatabaseStatus) -> fmt::Result {
        let by_name = self.query.is_in(self.found.name) && self.query.database.is_none();
        let means = |label: &str| by_name || self.query.is_in(label);
        let mut tables: Vec<_> = database.tables.iter().filter(|(label, _)| means(label)).collect();
        tables.sort_by_key(|(_, table)| table.condition());
        let most = if self.query.database.is_some() { TABLES_ALONE } else { TABLES };
        f.write_str("<div class=\"cards\">\n")?;
        for (label, table) in tables.iter().take(most) {
            self.table(f, label, table)?;
        }
        f.write_str("</div>\n")?;
        match tables.len().saturating_sub(most) {
            0 => Ok(()),
            more => self.more(f, more),
        }
    }

    fn more(&self, f: &mut Formatter<'_>, more: usize) -> fmt::Result {
        write!(f, "<p>{more} more tables, none of them worse. ")?;
        if self.query.database.is_some() {
            return f.write_str(
                "<code>keysweep status</code> shows all; <code>&amp;q=</code> in the address narrows.</p>\n",
            );
        }
        let id = Encoded(self.found.name);
        writeln!(f, "<a id=\"more-{id}\" href=\"?database={id}\">Show this database alone</a></p>")
    }

    fn table(&self, f: &mut Formatter<'_>, label: &str, table: &TableStatus) -> fmt::Result {
        let id = format!("{}:{}", Encoded(self.found.name), Encoded(label));
        let condition = table.condition();
        writeln!(f, "<article id=\"t-{id}\" class=\"{condition}\" aria-labelledby=\"n-{id}\">")?;
        write!(f, "<h3 id=\"n-{id}\">{}", Escaped(label))?;
        writeln!(f, " <span class=\"tag {condition}\">{condition}</span></h3>")?;
        self.table_problems(f, table)?;
        let past = self.past.get(label).map_or(&[][..], Vec::as_slice);
        Figures { id: &id, table, past, late: 3.0 * self.found.database.census_interval, now: self.now }
            .fmt(f)?;
        f.write_str("</article>\n")
    }

    /// What is said of the database already is not said again of each table.
    fn table_problems(&self, f: &mut Formatter<'_>, table: &TableStatus) -> fmt::Result {
        let database = self.found.database;
        if let Some(sweep) = &table.last_sweep {
            let title = match &sweep.held {
                Some(reason) => format!("Held ({}), nothing is deleted", Escaped(reason)),
                None => "The latest sweep ended by an error".into(),
            };
            problem(f, &title, sweep.error.as_ref().filter(|_| sweep.error != database.tick_failure))?;
        }
        let census = table.census_failure.as_ref();
        problem(
            f,
            "The latest census failed",
            census.filter(|_| table.census_failure != database.census_failure),
        )
    }
}

/// An interval that was stretched is no round number.
fn whole(seconds: f64) -> f64 {
    if seconds < 1.0 { seconds } else { seconds.round() }
}

/// `title` is markup already.
fn problem(f: &mut Formatter<'_>, title: &str, problem: Option<&Problem>) -> fmt::Result {
    let Some(problem) = problem else { return Ok(()) };
    let (what, remedy) = (Escaped(&problem.what), Escaped(&problem.remedy));
    writeln!(f, "<div class=\"problem\"><p><b>{title}:</b> {what}</p><p>What to do: {remedy}</p></div>")
}

/// What a database takes on disk.
struct Size(Option<SpaceStatus>);

impl Display for Size {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(space) = self.0 else { return f.write_str("Size not yet known.") };
        let (database, free, wal) = (Bytes(space.database), Bytes(space.free), Bytes(space.wal));
        write!(f, "{database}, of which {free} hold nothing; write-ahead log {wal}.")
    }
}
