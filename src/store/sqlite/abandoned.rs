//! The oldest abandoned rows of a table, found window by window.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params_from_iter};

use super::lane::Windows;
use super::render::{Sql, column, read, table};
use crate::plan::{Key, Rule, UnixTime, Value};

const ROWS: usize = 2_000;
const TIME: Duration = Duration::from_millis(8);

/// A search for the oldest: it keeps no more rows than were asked for.
#[derive(Debug)]
pub(super) struct Oldest {
    rule: Rule,
    now: UnixTime,
    walk: String,
    after: Option<Value>,
    rows: usize,
    most: usize,
    /// The newest of the kept rows is on top, to make room for an older one.
    kept: BinaryHeap<Found>,
}

#[derive(Debug, PartialEq)]
struct Found {
    since: f64,
    key: Key,
}

impl Eq for Found {}

impl PartialOrd for Found {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Found {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_key = || self.key.partial_cmp(&other.key).unwrap_or(Ordering::Equal);
        self.since.total_cmp(&other.since).then_with(by_key)
    }
}

impl Windows for Oldest {
    fn window(&mut self, connection: &Connection) -> rusqlite::Result<Option<Duration>> {
        let begun = Instant::now();
        let Some(sql) = self.sql() else { return Ok(None) };
        let mut statement = connection.prepare_cached(&sql.text)?;
        let mut rows = statement.query(params_from_iter(sql.bound))?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            self.after = Some(read(row.get_ref(0)?));
            if row.get(1)? {
                self.keep(Key::new(vec![read(row.get_ref(2)?)]), &read(row.get_ref(3)?));
            }
            if begun.elapsed() >= TIME && self.after != Some(Value::Null) {
                return Ok(Some(begun.elapsed()));
            }
        }
        if count == self.rows && self.after == Some(Value::Null) {
            // A walk by key cannot go on from a row without one: take all of those in one window.
            (self.after, self.rows) = (None, self.rows.saturating_mul(2));
            self.kept.clear();
            return Ok(Some(begun.elapsed()));
        }
        Ok((count == self.rows).then(|| begun.elapsed()))
    }
}

impl Oldest {
    pub fn new(rule: &Rule, now: UnixTime, rowid: Option<&str>, most: usize) -> Self {
        let walk = rowid.map_or_else(|| column(&rule.key), |rowid| format!("t.{rowid}"));
        Self { rule: rule.clone(), now, walk, after: None, rows: ROWS, most, kept: BinaryHeap::new() }
    }

    fn keep(&mut self, key: Key, clock: &Value) {
        let Some(abandoned) = &self.rule.abandoned else { return };
        let Some(instant) = abandoned.unit.decode(clock) else { return };
        self.kept.push(Found { since: instant.seconds() + abandoned.after.as_secs_f64(), key });
        if self.kept.len() > self.most {
            self.kept.pop();
        }
    }

    /// The rows that were kept, oldest first.
    pub fn rows(self) -> Vec<(Key, UnixTime)> {
        let instant = |found: Found| Some((found.key, UnixTime::new(found.since).ok()?));
        self.kept.into_sorted_vec().into_iter().filter_map(instant).collect()
    }

    fn sql(&self) -> Option<Sql> {
        let clock = column(&self.rule.abandoned.as_ref()?.column);
        let (walk, key) = (&self.walk, column(&self.rule.key));
        let mut sql = Sql::new(&format!("SELECT {walk}, "))
            .predicate(&self.rule.is_abandoned(self.now, Duration::ZERO)?)
            .push(&format!(", {key}, {clock} FROM {}", table(&self.rule.table)));
        if let Some(after) = &self.after {
            sql = sql.push(&format!(" WHERE {walk} > ")).bind(after.clone());
        }
        Some(sql.push(&format!(" ORDER BY {walk} LIMIT ")).bind(Value::Integer(self.rows as i64)))
    }
}
