//! The counts of one table, in one pass.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use super::atoms::Atoms;
use super::lane::Windows;
use super::render::{Sql, comparable, instant, read, table};
use super::walked::WalkedBy;
use crate::plan::{
    ABANDONED_CLASSES, AbandonedCounts, Counts, Identifier, Journal, Predicate, Rule, Unfinished, UnixTime,
    Value,
};

/// In rollback-journal mode a writer waits for a window: it takes as many rows as fit in this time.
const WINDOW: Duration = Duration::from_millis(5);
/// Rows may be large; a window that was quick is doubled.
const FIRST_WINDOW: i64 = 16;

/// A pass over one table, window by window in rollback-journal mode, and in one snapshot in WAL mode.
#[derive(Debug)]
pub(super) struct Pass {
    table: Identifier,
    now: UnixTime,
    walked: WalkedBy,
    /// The rows of the next window; nothing: all of them at once.
    rows: Option<i64>,
    after: Option<Vec<Value>>,
    tallies: Vec<Tally>,
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
    /// All rules are of the table of the first.
    pub fn new(rules: &[Rule], first: &Rule, now: UnixTime, rowid: Option<&str>, journal: Journal) -> Self {
        let rows = match journal {
            Journal::Wal => None,
            Journal::Rollback => Some(FIRST_WINDOW),
        };
        Self {
            table: first.table.clone(),
            now,
            walked: WalkedBy::rowid_or_key(rowid, &first.key),
            rows,
            after: None,
            tallies: rules.iter().map(|rule| Tally::new(rule, now)).collect(),
        }
    }

    /// The rows of which each of these holds, at most [`FIXED`] of them, instead of the states.
    pub fn of(
        rule: &Rule,
        flags: Vec<Predicate>,
        now: UnixTime,
        rowid: Option<&str>,
        journal: Journal,
    ) -> Self {
        let tally = Tally { rule: rule.clone(), sums: vec![0; flags.len()], flags, oldest: None };
        Self { tallies: vec![tally], ..Self::new(&[], rule, now, rowid, journal) }
    }

    /// How many rows were found for each flag of [`Pass::of`].
    pub fn sums(self) -> Vec<u64> {
        self.tallies.into_iter().flat_map(|tally| tally.sums).collect()
    }

    /// The last row of the next window; nothing when the rest of the table is the window.
    fn end(&self, connection: &Connection) -> rusqlite::Result<Option<Vec<Value>>> {
        let Some(rows) = self.rows else { return Ok(None) };
        let list = self.walked.list();
        let sql = Sql::new(&format!("SELECT {list} FROM {}", table(&self.table)))
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
        let mut rows = statement.query(params_from_iter(sql.bound))?;
        let Some(row) = rows.next()? else { return Ok(()) };
        let mut column = 0;
        for tally in &mut self.tallies {
            column = tally.add(row, column)?;
        }
        Ok(())
    }

    /// What each tally counts, of the rows of the window.
    fn counting(&self) -> Sql {
        let (mut sql, mut atoms) = (Sql::new("SELECT "), Atoms::default());
        for (at, tally) in self.tallies.iter().enumerate() {
            sql = sql.push(if at == 0 { "" } else { ", " }).push(&tally.columns(&mut atoms));
        }
        sql.push(" FROM (SELECT ").append(atoms.columns()).append(self.next_rows()).push(")")
    }

    /// The table, or its next window: by count, because a comparison with its end would lose rows without a
    /// key. The limit also keeps the engine from asking in the count again what the query below it asks.
    fn next_rows(&self) -> Sql {
        let from = Sql::new(&format!(" FROM {}", table(&self.table)));
        let Some(rows) = self.rows else { return from.push(" LIMIT -1") };
        from.append(self.rest())
            .push(&format!(" ORDER BY {} LIMIT ", self.walked.list()))
            .bind(Value::Integer(rows))
    }

    /// What was found under each rule, once [`Pass::window`] has reached the end.
    pub fn counts(self) -> Vec<Counts> {
        let now = self.now;
        self.tallies.into_iter().map(|tally| tally.counts(now)).collect()
    }
}

/// The counts of one rule as they grow.
#[derive(Debug)]
struct Tally {
    rule: Rule,
    /// Done, expired, unreadable, pending, unknown; the abandoned classes follow.
    flags: Vec<Predicate>,
    sums: Vec<u64>,
    oldest: Option<UnixTime>,
}

/// The flags before the abandoned classes.
const FIXED: usize = 5;

impl Tally {
    fn new(rule: &Rule, now: UnixTime) -> Self {
        let nothing = Predicate::Any(Vec::new());
        let expired = rule.cutoff(now).map_or(nothing, |cutoff| rule.is_deletable(cutoff));
        let mut flags = vec![rule.is_done(), expired, rule.is_unreadable()];
        flags.extend([rule.is_pending(), rule.is_unknown()]);
        flags.extend(ABANDONED_CLASSES.iter().filter_map(|(_, age)| rule.is_abandoned(now, *age)));
        Self { rule: rule.clone(), sums: vec![0; flags.len()], flags, oldest: None }
    }

    /// The oldest abandoned row's clock, and a sum of each flag.
    fn columns(&self, atoms: &mut Atoms) -> String {
        let mut columns = match (&self.rule.abandoned, self.flags.get(FIXED)) {
            // ISO 8601 text of mixed offsets has no least value; the instant has.
            (Some(abandoned), Some(flag)) => {
                let clock = atoms.value(comparable(&abandoned.on));
                format!("min(CASE WHEN {} THEN {clock} END)", atoms.test(flag))
            }
            _ => "NULL".into(),
        };
        for flag in &self.flags {
            columns.push_str(&format!(", coalesce(sum({}), 0)", atoms.test(flag)));
        }
        columns
    }

    /// Add what a window gave, from this column on; gives the next tally's first column.
    fn add(&mut self, row: &Row<'_>, from: usize) -> rusqlite::Result<usize> {
        let oldest = read(row.get_ref(from)?);
        let oldest = self.rule.abandoned.as_ref().and_then(|abandoned| instant(&abandoned.on, &oldest));
        self.oldest = earlier(self.oldest, oldest);
        for (at, sum) in self.sums.iter_mut().enumerate() {
            *sum += u64::try_from(row.get::<_, i64>(from + 1 + at)?).unwrap_or(0);
        }
        Ok(from + 1 + self.sums.len())
    }

    fn counts(self, now: UnixTime) -> Counts {
        let [done, expired, unreadable, pending, unknown] = std::array::from_fn(|index| self.sums[index]);
        let classes = self.sums.get(FIXED..).filter(|classes| !classes.is_empty());
        let after = self.rule.abandoned.as_ref().map(|abandoned| abandoned.after).unwrap_or_default();
        Counts {
            unfinished: self.rule.is_first().then_some(Unfinished { pending, unknown }),
            done,
            expired,
            unreadable,
            abandoned: classes.map(|classes| AbandonedCounts {
                older_than: std::array::from_fn(|index| classes[index]),
                oldest: self.oldest.and_then(|oldest| oldest.after(after)),
            }),
            taken_at: now,
        }
    }
}

fn earlier(one: Option<UnixTime>, other: Option<UnixTime>) -> Option<UnixTime> {
    match (one, other) {
        (Some(one), Some(other)) if other < one => Some(other),
        (None, other) => other,
        (one, _) => one,
    }
}
