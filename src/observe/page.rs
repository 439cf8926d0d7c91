//! The status page: rendered here, with no script and nothing from elsewhere.

use std::fmt::{self, Display, Formatter};

use super::page_text::{Bytes, Escaped, Length, Maybe, Moment};
use super::status::{DatabaseStatus, Problem, SpaceStatus, Status, SweepStatus, TableStatus};
use crate::plan::UnixTime;

/// Its style sheet, which the server gives a path of its own: the page needs no inline style then.
pub(super) const STYLE: &str = include_str!("page.css");

const HEAD: &str = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="10">
<title>keysweep</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
"#;
const COLUMNS: &str = "<thead><tr><th>table<th>pending<th>done<th>unknown<th>expired<th>unreadable\
                       <th>abandoned<th>oldest<th>counted<th>retention<th>last sweep<th>stopped as\
                       <th>deleted<th>since start</tr></thead>\n";
const FOOT: &str = "<footer><a href=\"metrics\">metrics</a> <a href=\"status.json\">status.json</a></footer>\n\
                    </body>\n</html>\n";

/// The picture as of `now`, as HTML.
pub(super) struct Page<'a> {
    pub(super) status: &'a Status,
    pub(super) now: UnixTime,
}

impl Display for Page<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        self.summary(f)?;
        for (name, database) in &self.status.databases {
            self.database(f, name, database)?;
        }
        f.write_str(FOOT)
    }
}

impl Page<'_> {
    fn summary(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let databases = self.status.databases.values();
        let down = databases.clone().filter(|database| database.up == Some(false)).count();
        let tables = databases.clone().flat_map(|database| database.tables.values());
        let held = tables.filter(|table| is_held(table)).count();
        let (version, all) = (Escaped(&self.status.version), databases.len());
        let (started, now) = (self.moment(Some(self.status.started)), self.now);
        write!(f, "<h1>keysweep <small>{version}</small></h1>\n<p>")?;
        write!(f, "Databases: {all}, down: {down}. Tables held: {held}. ")?;
        writeln!(f, "Started {started}; as of {now}.</p>")
    }

    fn database(&self, f: &mut Formatter<'_>, name: &str, database: &DatabaseStatus) -> fmt::Result {
        let (class, word) = match database.up {
            Some(true) => ("up", "up"),
            Some(false) => ("down", "down"),
            None => ("unknown", "–"),
        };
        writeln!(f, "<section>\n<h2>{} <small class=\"{class}\">{word}</small></h2>", Escaped(name))?;
        let (next, census) = (self.moment(database.next_tick), Length(database.census_interval));
        writeln!(f, "<p>Next tick {next}; counted every {census}. {}</p>", Size(database.space))?;
        let (tick, census) = (database.tick_failure.as_ref(), database.census_failure.as_ref());
        if tick == census {
            problem(f, "The latest tick and the latest census failed", tick)?;
        } else {
            problem(f, "The latest tick failed", tick)?;
            problem(f, "The latest census failed", census)?;
        }
        write!(f, "<div><table>\n{COLUMNS}<tbody>\n")?;
        for (label, table) in &database.tables {
            self.table(f, label, table)?;
        }
        f.write_str("</tbody></table></div>\n")?;
        for (label, table) in &database.tables {
            table_problems(f, label, table, database)?;
        }
        f.write_str("</section>\n")
    }

    fn table(&self, f: &mut Formatter<'_>, label: &str, table: &TableStatus) -> fmt::Result {
        let class = if is_ill(table) { " class=\"ill\"" } else { "" };
        write!(f, "<tr{class}><th>{}", Escaped(label))?;
        self.counts(f, table)?;
        write!(f, "<td>{}", Maybe(table.retention.map(Length)))?;
        let sweep = table.last_sweep.as_ref();
        write!(f, "<td>{}", self.moment(sweep.map(|sweep| sweep.at)))?;
        write!(f, "<td>{}", Maybe(sweep.map(stopped_as)))?;
        write!(f, "<td>{}", Maybe(sweep.map(|sweep| sweep.deleted)))?;
        writeln!(f, "<td>{}</tr>", table.deleted_total)
    }

    fn counts(&self, f: &mut Formatter<'_>, table: &TableStatus) -> fmt::Result {
        let census = table.census.as_ref();
        let abandoned = census.and_then(|census| census.abandoned.as_ref());
        let counts = [
            census.and_then(|census| census.pending),
            census.map(|census| census.done),
            census.and_then(|census| census.unknown),
            census.map(|census| census.expired),
            census.map(|census| census.unreadable),
            abandoned.and_then(|abandoned| abandoned.older_than.get("0s").copied()),
        ];
        counts.into_iter().try_for_each(|count| write!(f, "<td>{}", Maybe(count)))?;
        write!(f, "<td>{}", self.moment(abandoned.and_then(|abandoned| abandoned.oldest)))?;
        write!(f, "<td>{}", self.moment(census.map(|census| census.taken_at)))
    }

    fn moment(&self, at: Option<f64>) -> Maybe<Moment> {
        Maybe(at.map(|at| Moment { at, now: self.now }))
    }
}

/// What a database takes on disk.
struct Size(Option<SpaceStatus>);

impl Display for Size {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(space) = self.0 else { return f.write_str("Size –.") };
        let (database, free, wal) = (Bytes(space.database), Bytes(space.free), Bytes(space.wal));
        write!(f, "Size {database}, of which {free} hold nothing; WAL {wal}.")
    }
}

fn stopped_as(sweep: &SweepStatus) -> String {
    let stop = Escaped(&sweep.stop);
    match &sweep.held {
        Some(reason) => format!("{stop}: {}", Escaped(reason)),
        None => stop.to_string(),
    }
}

fn is_held(table: &TableStatus) -> bool {
    table.last_sweep.as_ref().is_some_and(|sweep| sweep.held.is_some())
}

fn is_ill(table: &TableStatus) -> bool {
    let failed = table.last_sweep.as_ref().is_some_and(|sweep| sweep.error.is_some());
    failed || is_held(table) || table.census_failure.is_some()
}

/// What is said of the database already is not said again of each table.
fn table_problems(
    f: &mut Formatter<'_>,
    label: &str,
    table: &TableStatus,
    database: &DatabaseStatus,
) -> fmt::Result {
    let label = Escaped(label);
    if let Some(sweep) = &table.last_sweep {
        let title = match &sweep.held {
            Some(reason) => format!("{label} is held ({}), nothing is deleted", Escaped(reason)),
            None => format!("{label}: the latest sweep failed"),
        };
        problem(f, &title, sweep.error.as_ref().filter(|_| sweep.error != database.tick_failure))?;
    }
    let census = table.census_failure.as_ref().filter(|_| table.census_failure != database.census_failure);
    problem(f, &format!("{label}: the latest census failed"), census)
}

/// `title` is markup already.
fn problem(f: &mut Formatter<'_>, title: &str, problem: Option<&Problem>) -> fmt::Result {
    let Some(problem) = problem else { return Ok(()) };
    let (what, remedy) = (Escaped(&problem.what), Escaped(&problem.remedy));
    writeln!(f, "<p class=\"problem\"><b>{title}:</b> {what}<br>What to do: {remedy}</p>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Observer;
    use crate::observe::sample::*;
    use crate::plan::{Event, Failure, FailureKind, HoldReason};

    fn shown(observer: &Observer) -> String {
        Page { status: &observer.status(), now: now() }.to_string()
    }

    #[test]
    fn a_name_cannot_inject_markup() {
        let evil = "<script>&\"'";
        let observer = Observer::new(&[watched(evil, &[evil])], now()).unwrap();
        let failure = Failure::new(FailureKind::Io, evil, evil);
        observer.tell(&Event::Ticked { database: database(evil), failed: Some(failure.clone()) });
        let counts = Err(Failure::new(FailureKind::Busy, evil, evil));
        observer.tell(&Event::Counted { database: database(evil), table: table(evil), counts });
        let page = shown(&observer);
        assert!(!page.contains("<script"), "{page}");
        assert_eq!(page.matches("&lt;script&gt;&amp;&quot;&#39;").count(), 7, "{page}");
    }

    #[test]
    fn what_was_not_measured_is_shown_as_a_dash_and_not_as_0() {
        let page = shown(&observer());
        let row = page.lines().find(|line| line.contains("<th>keys")).unwrap();
        let cells: Vec<_> = row.trim_end_matches("</tr>").split("<td>").skip(1).collect();
        assert_eq!(cells, ["–", "–", "–", "–", "–", "–", "–", "–", "1h", "–", "–", "–", "0"]);
        assert!(page.contains("Next tick –") && page.contains("Size –"));
    }

    #[test]
    fn a_measured_table_shows_its_counts_and_the_oldest_abandoned_row() {
        let observer = observer();
        observer.tell(&counted(Ok(counts(3))));
        let page = shown(&observer);
        assert!(page.contains("<td>5<td>20<td>1<td>7<td>2<td>3<td><span"), "{page}");
        assert!(page.contains(">2h ago</span>"), "{page}");
    }

    #[test]
    fn a_hold_is_shown_with_its_remedy() {
        let observer = observer();
        observer.tell(&held(HoldReason::Schema));
        let page = shown(&observer);
        assert!(page.contains("keys is held (schema), nothing is deleted:</b> no column `expires`"));
        assert!(page.contains("What to do: correct the config"));
        assert!(page.contains("<td>held: schema<td>") && page.contains("Tables held: 1."), "{page}");
    }

    #[test]
    fn a_database_that_is_down_says_why_once_and_not_for_each_table() {
        let observer = observer();
        observer.tell(&failed("the file is locked"));
        observer.tell(&ticked(Some(failure("the file is locked"))));
        let page = shown(&observer);
        assert_eq!(page.matches("the file is locked").count(), 1, "{page}");
        assert!(page.contains("down: 1.") && page.contains("class=\"down\""));
    }

    #[test]
    fn what_stops_tick_and_census_alike_is_said_once() {
        let observer = observer();
        observer.tell(&ticked(Some(failure("the file is gone"))));
        observer.tell(&census_taken(Some(failure("the file is gone"))));
        let page = shown(&observer);
        assert_eq!(page.matches("the file is gone").count(), 1, "{page}");
        assert!(page.contains("The latest tick and the latest census failed:"), "{page}");
    }

    #[test]
    fn the_page_asks_nothing_of_another_host_and_runs_no_script() {
        let page = shown(&observer());
        for trace in ["http:", "https:", "//", "<script", "style=", "onload"] {
            assert!(!page.contains(trace), "{trace}");
        }
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}
