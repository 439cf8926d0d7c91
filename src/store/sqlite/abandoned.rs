//! The oldest abandoned rows of a table, found window by window.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params_from_iter};

use super::lane::Windows;
use super::render::{Sql, column, read, table};
use super::walked::WalkedBy;
use crate::plan::{Key, Rule, UnixTime, Value};

const ROWS: usize = 2_000;
const TIME: Duration = Duration::from_millis(8);

/// A search for the oldest: it keeps no more rows than were asked for.
#[derive(Debug)]
pub(super) struct Oldest {
    rule: Rule,
    now: UnixTime,
    walked: WalkedBy,
    key: WalkedBy,
    after: Option<Vec<Value>>,
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
            let place = self.walked.place(row, 2)?;
            if row.get(0)? {
                let key = Key::new(self.key.place(row, 2 + self.walked.len())?);
                self.keep(key, &read(row.get_ref(1)?));
            }
            let has_place = !place.contains(&Value::Null);
            self.after = Some(place);
            if begun.elapsed() >= TIME && has_place {
                return Ok(Some(begun.elapsed()));
            }
        }
        if count == self.rows && self.after.as_ref().is_some_and(|place| place.contains(&Value::Null)) {
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
        let (walked, key) = (WalkedBy::rowid_or_key(rowid, &rule.key), WalkedBy::key(&rule.key));
        let (rule, kept) = (rule.clone(), BinaryHeap::new());
        Self { rule, now, walked, key, after: None, rows: ROWS, most, kept }
    }

    fn keep(&mut self, key: Key, clock: &Value) {
        let Some(abandoned) = &self.rule.abandoned else { return };
        let Some(instant) = abandoned.on.unit.decode(clock) else { return };
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
        let clock = column(&self.rule.abandoned.as_ref()?.on.column);
        let (walked, key) = (self.walked.list(), self.key.list());
        let mut sql = Sql::new("SELECT ")
            .predicate(&self.rule.is_abandoned(self.now, Duration::ZERO)?)
            .push(&format!(", {clock}, {walked}, {key} FROM {}", table(&self.rule.table)));
        if let Some(after) = &self.after {
            sql = sql.push(" WHERE ").append(self.walked.compared(">", after));
        }
        Some(sql.push(&format!(" ORDER BY {walked} LIMIT ")).bind(Value::Integer(self.rows as i64)))
    }
}
