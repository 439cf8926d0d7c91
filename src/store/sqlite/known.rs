//! What the store itself needs to know of an inspected table.

use std::time::Duration;

use rusqlite::Connection;

use super::failure::by_the_schema;
use super::references::{is_referenced, plan_of};
use super::render::quoted;
use super::search;
use super::walked::WalkedBy;
use crate::plan::{Cutoff, Rule, TableFacts, TableKind, UnixTime, Value};
use crate::store::{Leg, Place, Walk};

/// How a table is read.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// Whether it is a table at all.
    pub is_table: bool,
    /// The name by which its rows are numbered.
    pub rowid: Option<String>,
    /// True of a row that must stay because another one refers to it.
    pub referenced: Option<String>,
    /// The walk through an index of the clock column, where there is one.
    pub by_clock: Option<ByClock>,
}

/// A walk in the order of the clock column, through an index that ends at the cutoff.
#[derive(Debug, Clone)]
pub(super) struct ByClock {
    /// The index, in quotes. The planner is not left the choice: on an estimate of its own it might sort.
    pub index: String,
    /// The clock column, then what tells rows of one instant apart.
    pub walked: WalkedBy,
    /// Which of the terms that follow from the guards are said again so that the index can be used.
    pub with_states: bool,
}

impl Known {
    pub fn of(connection: &Connection, rule: &Rule, facts: &TableFacts) -> rusqlite::Result<Self> {
        if facts.kind != Some(TableKind::Table) {
            return Ok(Self::default());
        }
        Ok(Self {
            is_table: true,
            rowid: facts.rowid.clone(),
            referenced: is_referenced(rule, &facts.referenced_by),
            by_clock: by_clock(connection, rule, facts)?,
        })
    }
}

/// The best index that the engine can use so: one that leaves out unfinished rows before one that does not.
fn by_clock(connection: &Connection, rule: &Rule, facts: &TableFacts) -> rusqlite::Result<Option<ByClock>> {
    let Some(clock) = &rule.clock else { return Ok(None) };
    let row: Vec<String> = match (&facts.rowid, facts.unique.first()) {
        (Some(rowid), _) => vec![format!("t.{rowid}")],
        (None, Some(primary)) => primary.iter().map(|name| format!("t.{}", quoted(name))).collect(),
        (None, None) => return Ok(None),
    };
    let walked = WalkedBy::clock(clock.column(), row);
    let mut statement = connection.prepare(INDEXES)?;
    let indexes =
        statement.query_map((rule.table.as_str(), clock.column().as_str()), |row| row.get::<_, String>(0))?;
    for index in indexes {
        let index = quoted(&index?);
        for with_states in [true, false] {
            let by_clock = ByClock { index: index.clone(), walked: walked.clone(), with_states };
            if is_usable(connection, rule, &by_clock)? {
                return Ok(Some(by_clock));
            }
        }
    }
    Ok(None)
}

/// Partial ones and those that begin with another column first.
const INDEXES: &str = "SELECT list.name FROM pragma_index_list(?1) AS list, pragma_index_info(list.name) AS info \
    WHERE info.name = ?2 COLLATE NOCASE ORDER BY list.partial = 0 AND info.seqno = 0, list.partial = 0, list.name";

/// Both from the start and from a place on: a search that ends at the cutoff, and nothing to sort.
fn is_usable(connection: &Connection, rule: &Rule, by_clock: &ByClock) -> rusqlite::Result<bool> {
    let place = Place::new(vec![Value::Integer(0); by_clock.walked.len()]);
    for after in [None, Some(place)] {
        let leg = Leg { walk: Walk::Clock, after, ..Leg::default() };
        let any = Cutoff::new(UnixTime::from_millis(0), Duration::ZERO);
        let sql = search::by_clock(rule, by_clock, any, &leg, None);
        let explain = format!("EXPLAIN QUERY PLAN {}", sql.text);
        // An index that cannot serve the statement is refused when it is prepared.
        let lines = connection.prepare(&explain).and_then(|mut statement| plan_of(&mut statement));
        let Ok(lines) = by_the_schema(lines)? else { return Ok(false) };
        let searches = lines.iter().any(|line| line.starts_with("SEARCH t ") && line.contains("<?)"));
        if !searches || lines.iter().any(|line| line.contains("TEMP B-TREE")) {
            return Ok(false);
        }
    }
    Ok(true)
}
