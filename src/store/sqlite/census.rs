//! The counts of one table, in one pass.

use std::time::{Duration, Instant};

use rusqlite::{Connection, params_from_iter};

use super::lane::Windows;
use super::render::{Sql, column, read, table};
use crate::plan::{ABANDONED_CLASSES, AbandonedCounts, Counts, Journal, Predicate, Rule, UnixTime, Value};

/// In rollback-journal mode a writer waits for a window: it takes as many rows as fit in this time.
const WINDOW: Duration = Duration::from_millis(5);
const FIRST_WINDOW: i64 = 500;

/// A pass over one table, window by window in rollback-journal mode, and in one snapshot in WAL mode.
#[derive(Debug)]
pub(super) struct Pass {
    rule: Rule,
    now: UnixTime,
    /// What the table is walked by: the row's number, or the key where rows have none.
    walk: String,
    rows: i64,
    after: Option<Value>,
    total: u64,
    sums: Vec<u64>,
    oldest: Option<UnixTime>,
}

impl Windows for Pass {
    fn window(&mut self, connection: &Connection) -> rusqlite::Result<Option<Duration>> {
        let begun = Instant::now();
        let sql = self.sql();
        let mut statement = connection.prepare_cached(&sql.text)?;
        let (rows, last, oldest, sums) = statement.query_row(params_from_iter(sql.bound), |row| {
            let sums = (0..self.sums.len()).map(|index| row.get::<_, i64>(index + 3));
            let sums = sums.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok((row.get::<_, i64>(0)?, read(row.get_ref(1)?), read(row.get_ref(2)?), sums))
        })?;
        if rows == self.rows && last == Value::Null {
            // A walk by key cannot go on from a row without one: take all of those in one window.
            self.rows = self.rows.saturating_mul(2);
            return Ok(Some(begun.elapsed()));
        }
        self.total += u64::try_from(rows).unwrap_or(0);
        for (sum, more) in self.sums.iter_mut().zip(sums) {
            *sum += u64::try_from(more).unwrap_or(0);
        }
        let oldest = self.rule.abandoned.as_ref().and_then(|abandoned| abandoned.unit.decode(&oldest));
        self.oldest = earlier(self.oldest, oldest);
        let took = begun.elapsed();
        self.after = Some(last);
        if self.rows < 0 || rows < self.rows {
            return Ok(None);
        }
        let fitting = self.rows as f64 * WINDOW.as_secs_f64() / took.as_secs_f64().max(1e-6);
        self.rows = (fitting as i64).clamp(1, self.rows.saturating_mul(2));
        Ok(Some(took))
    }
}

impl Pass {
    pub fn new(rule: &Rule, now: UnixTime, rowid: Option<&str>, journal: Journal) -> Self {
        let walk = rowid.map_or_else(|| column(&rule.key), |rowid| format!("t.{rowid}"));
        let rows = match journal {
            Journal::Wal => -1,
            Journal::Rollback => FIRST_WINDOW,
        };
        let sums = vec![0; flags(rule, now).len()];
        Self { rule: rule.clone(), now, walk, rows, after: None, total: 0, sums, oldest: None }
    }

    /// What was found, once [`Pass::window`] has reached the end.
    pub fn counts(self) -> Counts {
        let [pending, done, expired, unreadable] = [0, 1, 2, 3].map(|index| self.sums[index]);
        let classes = self.sums.get(FIXED..).filter(|classes| !classes.is_empty());
        let after = self.rule.abandoned.as_ref().map(|abandoned| abandoned.after).unwrap_or_default();
        Counts {
            pending,
            done,
            unknown: self.total.saturating_sub(pending + done),
            expired,
            unreadable,
            abandoned: classes.map(|classes| AbandonedCounts {
                older_than: std::array::from_fn(|index| classes[index]),
                oldest: self.oldest.and_then(|oldest| oldest.after(after)),
            }),
            taken_at: self.now,
        }
    }

    fn sql(&self) -> Sql {
        let flags = flags(&self.rule, self.now);
        let sums: String = (0..flags.len()).map(|index| format!(", coalesce(sum(f{index}), 0)")).collect();
        let (clock, oldest) = match &self.rule.abandoned {
            Some(abandoned) => (column(&abandoned.column), format!("min(CASE WHEN f{FIXED} THEN clock END)")),
            None => ("NULL".into(), "NULL".into()),
        };
        let walk = &self.walk;
        let mut sql = Sql::new(&format!(
            "SELECT count(*), max(walk), {oldest}{sums} FROM (SELECT {walk} AS walk, {clock} AS clock"
        ));
        for (index, flag) in flags.iter().enumerate() {
            sql = sql.push(", ").predicate(flag).push(&format!(" AS f{index}"));
        }
        sql = sql.push(&format!(" FROM {}", table(&self.rule.table)));
        if let Some(after) = &self.after {
            sql = sql.push(&format!(" WHERE {walk} > ")).bind(after.clone());
        }
        sql.push(&format!(" ORDER BY {walk} LIMIT ")).bind(Value::Integer(self.rows)).push(")")
    }
}

/// The first sums: pending, done, expired, unreadable. The abandoned classes follow.
const FIXED: usize = 4;

fn flags(rule: &Rule, now: UnixTime) -> Vec<Predicate> {
    let mut flags = vec![
        rule.is_pending(),
        rule.is_done(),
        rule.is_expired(rule.clock.cutoff(now)),
        rule.is_unreadable(),
    ];
    flags.extend(ABANDONED_CLASSES.iter().filter_map(|(_, age)| rule.is_abandoned(now, *age)));
    flags
}

fn earlier(one: Option<UnixTime>, other: Option<UnixTime>) -> Option<UnixTime> {
    match (one, other) {
        (Some(one), Some(other)) if other < one => Some(other),
        (None, other) => other,
        (one, _) => one,
    }
}
