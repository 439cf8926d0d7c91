//! The status page: rendered here, complete without its script, with nothing from elsewhere.

mod detail;
mod figures;
mod overview;
mod plot;
mod query;
mod text;

use std::fmt::{self, Display, Formatter};

use super::condition::Condition;
use super::history::Past;
use super::status::Status;
use crate::plan::UnixTime;
use detail::Detail;
use overview::Overview;
use query::Found;
pub(super) use query::Query;
use text::{Escaped, Moment, Rows};

/// What the page loads, each from a path of its own: it needs no inline style or script then.
pub(super) const STYLE: &str = include_str!("style.css");
pub(super) const SCRIPT: &str = include_str!("page.js");
pub(super) const ICON: &str = include_str!("icon.svg");

/// How many databases have a line each on one page.
const LINES: usize = 1_000;
/// So few databases are all shown in detail.
const FEW: usize = 4;
/// Of more, so many that are ill.
const DETAILED: usize = 8;

const HEAD: &str = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<noscript><meta http-equiv="refresh" content="30"></noscript>
"#;
const LINKS: &str = r##"<link rel="icon" type="image/svg+xml" href="icon.svg">
<link rel="stylesheet" href="style.css">
<script src="page.js" defer></script>
</head>
<body>
<a class="skip" href="#databases">Skip to the databases</a>
"##;
const FOOT: &str = "<footer>\n<p>Times are UTC, ages as of the latest refresh. For programs: \
                    <a href=\"metrics\">metrics</a>, <a href=\"status.json\">status.json</a>.</p>\n</footer>\n\
                    </body>\n</html>\n";

/// The picture as of `now`, as HTML, of what the query asks for.
pub(super) struct Page<'a> {
    pub(super) status: &'a Status,
    pub(super) query: &'a Query,
    /// The past of a database by its name.
    pub(super) past: &'a dyn Fn(&str) -> Past,
    pub(super) now: UnixTime,
}

impl Display for Page<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let named = self.query.named(self.status);
        f.write_str(HEAD)?;
        self.title(f)?;
        f.write_str(LINKS)?;
        self.header(f)?;
        f.write_str("<main id=\"databases\" tabindex=\"-1\">\n")?;
        self.pulse(f)?;
        self.conditions(f, &named)?;
        self.databases(f, &named)?;
        f.write_str("</main>\n")?;
        f.write_str(FOOT)
    }
}

impl Page<'_> {
    /// The worst is seen in a row of tabs.
    fn title(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let conditions = self.status.databases.values().map(|database| database.condition());
        match conditions.min().filter(|worst| *worst <= Condition::Behind) {
            Some(worst) => writeln!(f, "<title>{worst} – keysweep</title>"),
            None => f.write_str("<title>keysweep</title>\n"),
        }
    }

    /// What a refresh leaves alone, so that nothing typed is lost.
    fn header(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (version, name) = (Escaped(&self.status.version), Escaped(&self.query.name));
        writeln!(f, "<header>\n<h1>keysweep <small>{version}</small></h1>")?;
        f.write_str("<form action=\"./\" role=\"search\">\n<label for=\"q\">Database or table</label>\n")?;
        writeln!(
            f,
            "<input id=\"q\" name=\"q\" type=\"search\" maxlength=\"200\" autocomplete=\"off\" value=\"{name}\">"
        )?;
        if let Some(condition) = self.query.condition {
            writeln!(f, "<input type=\"hidden\" name=\"condition\" value=\"{condition}\">")?;
        }
        f.write_str("<button>Filter</button>\n</form>\n</header>\n<p id=\"stale\" role=\"status\"></p>\n")
    }

    fn pulse(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let now = self.now;
        let started = Moment { at: self.status.started, now };
        write!(f, "<p class=\"quiet\">As of <time datetime=\"{now}\">{now}</time>, started {started}. ")?;
        writeln!(f, "<a id=\"refresh\" href=\"{}\">Refresh</a></p>", Escaped(&self.query.to_string()))?;
        if self.status.config_refused {
            f.write_str(
                "<div class=\"problem\"><p><b>The config that was last read is refused;</b> the one before \
                 stays in force.</p><p>What to do: <code>keysweep check</code> names what is wrong.</p></div>\n",
            )?;
        }
        Ok(())
    }

    /// How many there are of each condition, as links.
    fn conditions(&self, f: &mut Formatter<'_>, named: &[Found<'_>]) -> fmt::Result {
        f.write_str("<nav aria-label=\"By condition\"><ul>\n")?;
        self.condition(f, None, named.len())?;
        for condition in Condition::ALL {
            let count = named.iter().filter(|found| found.condition == condition).count();
            if count > 0 || self.query.condition == Some(condition) {
                self.condition(f, Some(condition), count)?;
            }
        }
        f.write_str("</ul></nav>\n")
    }

    fn condition(&self, f: &mut Formatter<'_>, condition: Option<Condition>, count: usize) -> fmt::Result {
        let is_shown = self.query.database.is_none() && self.query.condition == condition;
        let query = Query { database: None, condition, from: 0, name: self.query.name.clone() };
        let name = condition.map_or("all", Condition::name);
        let current = if is_shown { " aria-current=\"true\"" } else { "" };
        write!(
            f,
            "<li><a id=\"by-{name}\" class=\"{name}\"{current} href=\"{}\">",
            Escaped(&query.to_string())
        )?;
        writeln!(f, "<b>{}</b> {name}</a></li>", Rows(count as u64))
    }

    fn databases(&self, f: &mut Formatter<'_>, named: &[Found<'_>]) -> fmt::Result {
        let shown: Vec<_> = named
            .iter()
            .filter(|found| self.query.condition.is_none_or(|wanted| wanted == found.condition))
            .collect();
        if shown.is_empty() {
            return self.nothing(f);
        }
        if self.status.databases.len() > 1 && self.query.database.is_none() {
            Overview { query: self.query, found: &shown, now: self.now }.fmt(f)?;
        }
        let page = shown.iter().skip(self.query.from);
        let ill = |found: &&&Found<'_>| shown.len() <= FEW || found.condition <= Condition::Behind;
        for found in page.filter(ill).take(DETAILED) {
            Detail { found, query: self.query, past: (self.past)(found.name), now: self.now }.fmt(f)?;
        }
        Ok(())
    }

    fn nothing(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.query.is_narrow() {
            f.write_str("<p>No database is like that. <a id=\"all\" href=\"./\">Show all of them</a></p>\n")
        } else {
            f.write_str(
                "<p>No database is there: none is configured, or no file matches a <code>glob</code>.</p>\n",
            )
        }
    }
}

#[cfg(test)]
mod tests;
