//! One step of a search: read on in the order of a walk and nominate, outside the write lock.

use std::time::{Duration, Instant};

use rusqlite::{Connection, params_from_iter};

use super::known::{ByClock, Known};
use super::render::{Sql, table};
use super::terms::plain_terms;
use super::walked::WalkedBy;
use crate::plan::{Cutoff, Journal, Key, Limit, Rule, Value};
use crate::store::{Leg, Place, Step, Walk};

/// Bounds of one step: rows read, time, and bytes of nominated keys. In rollback-journal mode a
/// writer's COMMIT waits for a step.
const ROWS: usize = 2_000;
const TIME: Duration = Duration::from_millis(8);
const KEY_BYTES: usize = 1 << 20;

pub(super) fn step(
    connection: &Connection,
    journal: Journal,
    rule: &Rule,
    cutoff: Cutoff,
    leg: &Leg,
    known: &Known,
) -> rusqlite::Result<Step> {
    let begun = Instant::now();
    let held = |begun: Instant| match journal {
        Journal::Wal => Duration::ZERO,
        Journal::Rollback => begun.elapsed(),
    };
    if let (Walk::Clock, Some(clock), None) = (leg.walk, &known.by_clock, &leg.after)
        && is_empty(connection, rule, clock, cutoff)?
    {
        return Ok(Step { nominated: Vec::new(), read_to: None, held: held(begun) });
    }
    let keys = WalkedBy::key(&rule.key);
    let referenced = known.referenced.as_deref().filter(|_| leg.without_referenced);
    let (walked, sql) = match (leg.walk, &known.by_clock) {
        (Walk::Clock, Some(clock)) => (&clock.walked, by_clock(rule, clock, cutoff, leg, referenced)),
        // A place of another walk means nothing to this one.
        (Walk::Clock, None) => (&keys, by_key(rule, &keys, cutoff, &Leg::default(), referenced)),
        (Walk::Keys, _) => (&keys, by_key(rule, &keys, cutoff, leg, referenced)),
    };
    let mut statement = connection.prepare_cached(&sql.text)?;
    let mut rows = statement.query(params_from_iter(sql.bound))?;
    let (mut nominated, mut bytes, mut count) = (Vec::new(), 0, 0);
    let read_to = loop {
        let Some(row) = rows.next()? else {
            break None;
        };
        count += 1;
        if row.get(0)? {
            let key = Key::new(keys.place(row, 1 + walked.len())?);
            bytes += key.size();
            nominated.push(key);
        }
        if count == ROWS || bytes >= KEY_BYTES || begun.elapsed() >= TIME {
            break Some(Place::new(walked.place(row, 1)?));
        }
    };
    drop(rows);
    Ok(Step { nominated, read_to, held: held(begun) })
}

/// Whether a walk by the clock column would read no row at all, as in most ticks: asked first, because to
/// plan the whole search costs several times as much.
fn is_empty(
    connection: &Connection,
    rule: &Rule,
    by_clock: &ByClock,
    cutoff: Cutoff,
) -> rusqlite::Result<bool> {
    let sql = found_by_clock(Sql::new("SELECT 1 FROM "), rule, by_clock, cutoff).push(" LIMIT 1");
    Ok(!connection.prepare_cached(&sql.text)?.exists(params_from_iter(sql.bound))?)
}

/// The first expired keys, ascending: the candidates of the contract's `expired` and `purge`.
pub(crate) fn expired_keys(
    connection: &Connection,
    rule: &Rule,
    cutoff: Cutoff,
    limit: Limit,
) -> rusqlite::Result<Vec<Key>> {
    let (mut keys, mut leg) = (Vec::new(), Leg::default());
    loop {
        let step = step(connection, Journal::Wal, rule, cutoff, &leg, &Known::default())?;
        keys.extend(step.nominated);
        if keys.len() >= limit.rows() || step.read_to.is_none() {
            keys.truncate(limit.rows());
            return Ok(keys);
        }
        leg.after = step.read_to;
    }
}

/// A key is read as it is stored; a row without one cannot be deleted by it and is not read.
pub(super) fn by_key(
    rule: &Rule,
    walked: &WalkedBy,
    cutoff: Cutoff,
    leg: &Leg,
    referenced: Option<&str>,
) -> Sql {
    let from = format!("{} WHERE ", table(&rule.table));
    within(nominates(rule, walked, cutoff, referenced).push(&from).predicate(&rule.has_key()), walked, leg)
}

/// Only rows that an index finds at or before the cutoff are read.
pub(super) fn by_clock(
    rule: &Rule,
    by_clock: &ByClock,
    cutoff: Cutoff,
    leg: &Leg,
    referenced: Option<&str>,
) -> Sql {
    let nominates = nominates(rule, &by_clock.walked, cutoff, referenced);
    within(found_by_clock(nominates, rule, by_clock, cutoff), &by_clock.walked, leg)
}

/// The rows that the index finds at or before the cutoff.
fn found_by_clock(select: Sql, rule: &Rule, by_clock: &ByClock, cutoff: Cutoff) -> Sql {
    let mut sql = select.push(&format!("{} INDEXED BY {} WHERE 1", table(&rule.table), by_clock.index));
    for term in plain_terms(&rule.is_deletable(cutoff), by_clock.with_states) {
        sql = sql.push(" AND ").append(term);
    }
    sql
}

/// Whether a row is nominated, its place, its key.
fn nominates(rule: &Rule, walked: &WalkedBy, cutoff: Cutoff, referenced: Option<&str>) -> Sql {
    let sql = Sql::new("SELECT ").predicate(&rule.is_deletable(cutoff));
    let sql = match referenced {
        Some(referenced) => sql.push(&format!(" AND NOT {referenced}")),
        None => sql,
    };
    sql.push(&format!(", {}, {} FROM ", walked.list(), WalkedBy::key(&rule.key).list()))
}

fn within(mut sql: Sql, walked: &WalkedBy, leg: &Leg) -> Sql {
    for (bound, comparison) in [(&leg.after, ">"), (&leg.until, "<=")] {
        if let Some(place) = bound {
            sql = sql.push(" AND ").append(walked.compared(comparison, place.values()));
        }
    }
    let list = walked.list();
    sql.push(&format!(" ORDER BY {list} LIMIT ")).bind(Value::Integer(ROWS as i64))
}
