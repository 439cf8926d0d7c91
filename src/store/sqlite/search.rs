//! One step of a search: read on in key order and nominate, outside the write lock.

use std::time::{Duration, Instant};

use rusqlite::{Connection, params_from_iter};

use super::render::{Sql, WalkedBy, table};
use crate::plan::{Cutoff, Journal, Key, Rule, Value};
use crate::store::{Leg, Step};

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
) -> rusqlite::Result<Step> {
    let begun = Instant::now();
    let walked = WalkedBy::key(&rule.key);
    let sql = sql(rule, &walked, cutoff, leg);
    let mut statement = connection.prepare_cached(&sql.text)?;
    let mut rows = statement.query(params_from_iter(sql.bound))?;
    let (mut nominated, mut bytes, mut count, mut last) = (Vec::new(), 0, 0, None);
    let ended = loop {
        let Some(row) = rows.next()? else {
            break count < ROWS;
        };
        count += 1;
        let key = Key::new(walked.place(row, 1)?);
        if row.get(0)? {
            bytes += key.size();
            nominated.push(key.clone());
        }
        last = Some(key);
        if bytes >= KEY_BYTES || begun.elapsed() >= TIME {
            break false;
        }
    };
    drop(rows);
    let held = match journal {
        Journal::Wal => Duration::ZERO,
        Journal::Rollback => begun.elapsed(),
    };
    Ok(Step { nominated, read_to: if ended { None } else { last }, held })
}

/// A key is read as it is stored; a row without one cannot be deleted by it and is not read.
pub(super) fn sql(rule: &Rule, walked: &WalkedBy, cutoff: Cutoff, leg: &Leg) -> Sql {
    let list = walked.list();
    let mut sql = Sql::new("SELECT ")
        .predicate(&rule.is_deletable(cutoff))
        .push(&format!(", {list} FROM {} WHERE ", table(&rule.table)))
        .predicate(&rule.has_key());
    for (bound, comparison) in [(&leg.after, ">"), (&leg.until, "<=")] {
        if let Some(key) = bound {
            sql = sql.push(" AND ").append(walked.compared(comparison, key.values()));
        }
    }
    sql.push(&format!(" ORDER BY {list} LIMIT ")).bind(Value::Integer(ROWS as i64))
}
