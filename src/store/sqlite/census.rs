//! The counts of one table, in one pass.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, params_from_iter};

use super::lane::Windows;
use super::render::{Sql, WalkedBy, column, read, table};
use crate::plan::{ABANDONED_CLASSES, AbandonedCounts, Counts, Journal, Predicate, Rule, UnixTime, Value};

/// In rollback-journal mode a writer waits for a window: it takes as many rows as fit in this time.
const WINDOW: Duration = Duration::from_millis(5);
/// Rows may be large; a window that was quick is doubled.
const FIRST_WINDOW: i64 = 16;

/// A pass over one table, window by window in rollback-journal mode, and in one snapshot in WAL mode.
#[derive(Debug)]
pub(super) struct Pass {
    rule: Rule,
    now: UnixTime,
    walked: WalkedBy,
    /// The rows of the next window; nothing: all of them at once.
    rows: Option<i64>,
    after: Option<Vec<Value>>,
    total: u64,
    sums: Vec<u64>,
    oldest: Option<UnixTime>,
}

impl Windows for Pass {
    fn window(&mut self, connection: &Connection) -> rusqlite::Result<Option<Duration>> {
        let begun = Instant::now();
        // Where the window ends and what is in it, of one state of the table.
        let _snapshot = connection.unchecked_transaction()?;
        let end = self.end(connection)?;
        if end.as_ref().is_some_and(|end| end.contains(&Value::Null)) {
            // A walk by key cannot go on from a row without one: take all of those in one window.
            self.rows = self.rows.map(|rows| rows.saturating_mul(2));
            return Ok(Some(begun.elapsed()));
        }
        self.add(connection)?;
        let took = begun.elapsed();
        let (Some(rows), Some(end)) = (self.rows, end) else { return Ok(None) };
        let fitting = rows as f64 * WINDOW.as_secs_f64() / took.as_secs_f64().max(1e-6);
        self.rows = Some((fitting as i64).clamp(1, rows.saturating_mul(2)));
        self.after = Some(end);
        Ok(Some(took))
    }
}

impl Pass {
    pub fn new(rule: &Rule, now: UnixTime, rowid: Option<&str>, journal: Journal) -> Self {
        let rows = match journal {
            Journal::Wal => None,
            Journal::Rollback => Some(FIRST_WINDOW),
        };
        let walked = WalkedBy::rowid_or_key(rowid, &rule.key);
        let sums = vec![0; flags(rule, now).len()];
        Self { rule: rule.clone(), now, walked, rows, after: None, total: 0, sums, oldest: None }
    }

    /// The last row of the next window; nothing when the rest of the table is the window.
    fn end(&self, connection: &Connection) -> rusqlite::Result<Option<Vec<Value>>> {
        let Some(rows) = self.rows else { return Ok(None) };
        let list = self.walked.list();
        let sql = Sql::new(&format!("SELECT {list} FROM {}", table(&self.rule.table)))
            .append(self.rest())
            .push(&format!(" ORDER BY {list} LIMIT 1 OFFSET "))
            .bind(Value::Integer(rows - 1));
        let mut statement = connection.prepare_cached(&sql.text)?;
        statement.query_row(params_from_iter(sql.bound), |row| self.walked.place(row, 0)).optional()
    }

    /// The rows that no window has had yet.
    fn rest(&self) -> Sql {
        match &self.after {
            Some(after) => Sql::new(" WHERE ").append(self.walked.compared(">", after)),
            None => Sql::default(),
        }
    }

    fn add(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let sql = self.counting();
        let mut statement = connection.prepare_cached(&sql.text)?;
        let (rows, oldest, sums) = statement.query_row(params_from_iter(sql.bound), |row| {
            let sums = (0..self.sums.len()).map(|index| row.get::<_, i64>(index + 2));
            Ok((row.get::<_, i64>(0)?, read(row.get_ref(1)?), sums.collect::<rusqlite::Result<Vec<_>>>()?))
        })?;
        self.total += u64::try_from(rows).unwrap_or(0);
        for (sum, more) in self.sums.iter_mut().zip(sums) {
            *sum += u64::try_from(more).unwrap_or(0);
        }
        let oldest = self.rule.abandoned.as_ref().and_then(|abandoned| abandoned.unit.decode(&oldest));
        self.oldest = earlier(self.oldest, oldest);
        Ok(())
    }

    /// The row count, the oldest abandoned row's clock, and a sum of each flag.
    fn counting(&self) -> Sql {
        let flags = flags(&self.rule, self.now);
        let mut sql = Sql::new("SELECT count(*), ");
        sql = match (&self.rule.abandoned, flags.get(FIXED)) {
            (Some(abandoned), Some(flag)) => sql
                .push("min(CASE WHEN ")
                .predicate(flag)
                .push(&format!(" THEN {} END)", column(&abandoned.column))),
            _ => sql.push("NULL"),
        };
        for flag in &flags {
            sql = sql.push(", coalesce(sum(").predicate(flag).push("), 0)");
        }
        sql.push(" FROM ").append(self.next_rows(&flags))
    }

    /// The table, or its next window: by count, because a comparison with its end would lose rows without a key.
    fn next_rows(&self, flags: &[Predicate]) -> Sql {
        let table = table(&self.rule.table);
        let Some(rows) = self.rows else { return Sql::new(&table) };
        let read = Predicate::All(flags.to_vec()).columns();
        let read: Vec<String> = read.iter().map(column).collect();
        let read = if read.is_empty() { "1".into() } else { read.join(", ") };
        Sql::new(&format!("(SELECT {read} FROM {table}"))
            .append(self.rest())
            .push(&format!(" ORDER BY {} LIMIT ", self.walked.list()))
            .bind(Value::Integer(rows))
            .push(") AS t")
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
}

/// The first sums: pending, done, expired, unreadable. The abandoned classes follow.
const FIXED: usize = 4;

fn flags(rule: &Rule, now: UnixTime) -> Vec<Predicate> {
    let nothing = Predicate::Any(Vec::new());
    let expired = rule.cutoff(now).map_or(nothing, |cutoff| rule.is_deletable(cutoff));
    let mut flags = vec![rule.is_pending(), rule.is_done(), expired, rule.is_unreadable()];
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
