//! The product at work on a random case, beside the model.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use keysweep::config::{Database, parse};
use keysweep::plan::{Counts, Key, Rule, Stop, Value};
use keysweep::tick::Mode;
use rusqlite::{Connection, params_from_iter};

use super::cells::row;
use super::instants::seconds;
use super::judge::{Census, Judge, Row};
use super::meaning::{Block, blocks, config};
use super::shape::{Shape, quoted};
use crate::support::library::{count_at, tick_at};

/// An instant is a whole number of these microseconds, 1/64 s, which a double of seconds holds exactly.
const GRAIN: i128 = 15_625;

/// What was met on the way, so that a run that shows nothing does not pass.
#[derive(Debug, Default, Clone, Copy)]
pub struct Seen {
    deleted: u64,
    left: u64,
    pending: u64,
    unknown: u64,
    unreadable: u64,
    abandoned: u64,
    with_deletes: u64,
}

impl Seen {
    pub fn add(&mut self, other: Self) {
        self.deleted += other.deleted;
        self.left += other.left;
        self.pending += other.pending;
        self.unknown += other.unknown;
        self.unreadable += other.unreadable;
        self.abandoned += other.abandoned;
        self.with_deletes += other.with_deletes;
    }

    pub fn is_broad(&self, cases: u64) -> bool {
        let rows = [self.deleted, self.left, self.pending, self.unknown, self.unreadable, self.abandoned];
        rows.iter().all(|seen| *seen > cases) && self.with_deletes > cases / 3
    }
}

/// Everything that one seed makes.
pub struct Case {
    folder: tempfile::TempDir,
    shape: Shape,
    blocks: Vec<Block>,
    config: String,
    /// The instants of two ticks, in microseconds.
    nows: [i128; 2],
    /// Held open, so that the write-ahead log stays beside the file.
    _open: Option<Connection>,
}

/// The case, and how it looks.
pub fn case(seed: u64) -> (Case, String) {
    let rng = &mut Rng::with_seed(seed);
    let memory = Path::new("/dev/shm");
    let builder = || tempfile::Builder::new();
    let folder = if memory.is_dir() { builder().tempdir_in(memory) } else { builder().tempdir() }.unwrap();
    let shape = Shape::new(rng);
    let blocks = blocks(rng, &shape);
    let path = folder.path().join("app.db");
    let batch = [1, 3, 10, 100, 100][rng.usize(..5)];
    let config = config(rng, &shape, &blocks, &path, batch);
    let now = instant(rng);
    let later = now + i128::from(rng.i64(-20_000_000..40_000_000)) * GRAIN;
    let wal = rng.bool();
    let connection = fill(rng, &path, wal, &shape, &blocks, now);
    let open = rng.bool().then_some(connection);
    let case = Case { folder, shape, blocks, config, nows: [now, later], _open: open };
    let shown = case.shown(wal);
    (case, shown)
}

/// Some instant of this century or the last, often one at which a day, a second or a unit ends.
fn instant(rng: &mut Rng) -> i128 {
    let whole = match rng.u8(..6) {
        0 => 1_798_761_600,
        1 => 1_789_992_000 + i128::from(rng.i32(-1..=1)),
        2 => i128::from(rng.i64(978_307_200..4_102_444_800)),
        3 => i128::from(rng.i64(11_200..23_000)) * 86_400,
        4 => i128::from(rng.i64(-2_000_000_000..978_307_200)),
        _ => 1_790_000_000,
    };
    let fraction = if rng.bool() { 0 } else { i128::from(rng.i64(-64..64)) };
    whole * 1_000_000 + fraction * GRAIN
}

fn fill(rng: &mut Rng, path: &Path, wal: bool, shape: &Shape, blocks: &[Block], now: i128) -> Connection {
    let connection = Connection::open(path).unwrap();
    let mode = if wal { "wal" } else { "delete" };
    connection.pragma_update(None, "synchronous", "off").unwrap();
    connection.pragma_update(None, "journal_mode", mode).unwrap();
    connection.execute_batch(&format!("BEGIN; {};", shape.ddl.join(";\n"))).unwrap();
    for table in &shape.tables {
        let places = vec!["?"; shape.columns.len()].join(", ");
        let insert = format!("INSERT INTO {} VALUES ({places})", quoted(table));
        let mut insert = connection.prepare(&insert).unwrap();
        let rows = if rng.u8(..40) == 0 { 300 } else { rng.i64(5..40) };
        for mark in 0..rows {
            // What the table does not take, a key that is there already above all, is left out.
            let _ = insert.execute(params_from_iter(row(rng, shape, blocks, now, mark)));
        }
    }
    connection.execute_batch("COMMIT").unwrap();
    connection
}

impl Case {
    fn path(&self) -> PathBuf {
        self.folder.path().join("app.db")
    }

    /// Every row of a table as it is stored, in the order in which it went in.
    fn rows(&self, table: &str) -> Vec<Row> {
        let connection = Connection::open(self.path()).unwrap();
        let mark = quoted(self.shape.columns.last().unwrap());
        let list = self.shape.columns.iter().map(|name| format!("r.{}", quoted(name)));
        let list = list.collect::<Vec<_>>().join(", ");
        let sql = format!("SELECT {list} FROM {} AS r ORDER BY r.{mark}", quoted(table));
        let mut statement = connection.prepare(&sql).unwrap();
        let mut rows = statement.query([]).unwrap();
        let mut all = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            all.push((0..self.shape.columns.len()).map(|at| stored(row.get_ref(at).unwrap())).collect());
        }
        all
    }

    pub fn run(&self) -> Result<Seen, String> {
        let settings = parse("case.toml", self.config.as_bytes(), []);
        let database =
            settings.map_err(|error| format!("the config is refused: {error}"))?.blocks.remove(0).template;
        let mut seen = Seen::default();
        let mut faults = Vec::new();
        let [now, later] = self.nows;
        // The counts first: they are of rows that the first sweep takes.
        for part in [self.counted(&database), self.swept(&database, now), self.swept(&database, later)] {
            match part {
                Ok(part) => seen.add(part),
                Err(fault) => faults.push(fault),
            }
        }
        if !faults.is_empty() {
            return Err(faults.join("\n"));
        }
        Ok(seen)
    }

    fn judge(&self, now: i128) -> Judge<'_> {
        Judge { shape: &self.shape, blocks: &self.blocks, now }
    }

    fn counted(&self, database: &Database) -> Result<Seen, String> {
        let now = self.nows[0];
        let mut seen = Seen::default();
        let rules = database.rules.rules(&[]);
        for table in &self.shape.tables {
            let rules: Vec<Rule> =
                rules.iter().filter(|rule| rule.table.as_str() == table).cloned().collect();
            let counts = count_at(&self.path(), &rules, seconds(now)).map_err(|error| error.to_string())?;
            for (found, meant) in counts.iter().zip(self.judge(now).census(&self.rows(table))) {
                let found = census(found);
                if !same(&found, &meant) {
                    return Err(format!("{table} was counted as\n  {found:?}, and is\n  {meant:?}"));
                }
                let (pending, unknown) = meant.unfinished.unwrap_or_default();
                seen.pending += pending;
                seen.unknown += unknown;
                seen.unreadable += meant.unreadable;
                seen.abandoned += meant.abandoned.map_or(0, |classes| classes[0]);
            }
        }
        Ok(seen)
    }

    fn swept(&self, database: &Database, now: i128) -> Result<Seen, String> {
        let (judge, path, rules) = (self.judge(now), self.path(), database.rules.rules(&[]));
        let before: Vec<Vec<Row>> = self.shape.tables.iter().map(|table| self.rows(table)).collect();
        let at = format!("at {} ({})", seconds(now), now);
        let dry = tick_at(&path, &rules, database.batch, Mode::DryRun, seconds(now));
        for (rule_at, rule) in rules.iter().enumerate() {
            // Block by block, and in each its tables.
            let (block, table) = (rule_at / before.len(), rule_at % before.len());
            let due = before[table].iter().filter(|row| judge.is_due(&self.blocks[block], row));
            let due: Vec<Vec<Value>> = due.map(|row| judge.key(&self.blocks[block], row)).collect();
            let named = dry.named.iter().filter(|(label, _)| *label == rule.label);
            let named: Vec<Vec<Value>> = named.map(|(_, key): &(_, Key)| key.values().to_vec()).collect();
            differ(&format!("{at} a dry run of {} names", rule.label), &named, &due)?;
        }
        let swept = tick_at(&path, &rules, database.batch, Mode::Delete, seconds(now));
        if let Some(report) = swept.reports.iter().find(|report| report.stop != Stop::Drained) {
            return Err(format!("{at} a sweep did not end: {report:?}"));
        }
        let mut seen = Seen::default();
        for (table, before) in self.shape.tables.iter().zip(before) {
            let is_due = |row: &Row| self.blocks.iter().any(|block| judge.is_due(block, row));
            let (due, left): (Vec<Row>, Vec<Row>) = before.into_iter().partition(is_due);
            differ(&format!("{at} a sweep of {table} leaves"), &self.rows(table), &left)?;
            seen.deleted += due.len() as u64;
            seen.left += left.len() as u64;
        }
        let deleted: u64 = swept.reports.iter().map(|report| report.deleted).sum();
        seen.with_deletes = u64::from(deleted > 0);
        if deleted == seen.deleted {
            Ok(seen)
        } else {
            Err(format!("{at} the reports say {deleted} rows are gone"))
        }
    }

    fn shown(&self, wal: bool) -> String {
        let mut text = format!("wal: {wal}\n{};\n{}\n", self.shape.ddl.join(";\n"), self.config);
        writeln!(text, "now, and later: {:?} µs", self.nows).unwrap();
        writeln!(text, "columns: {:?}", self.shape.columns).unwrap();
        for table in &self.shape.tables {
            self.rows(table).iter().for_each(|row| writeln!(text, "{table}: {}", line(row)).unwrap());
        }
        text
    }
}

fn line(row: &Row) -> String {
    let cell = |value: &Value| match value {
        Value::Text(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        other => format!("{other:?}"),
    };
    row.iter().map(cell).collect::<Vec<_>>().join(" | ")
}

fn stored(value: rusqlite::types::ValueRef<'_>) -> Value {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => Value::Integer(integer),
        ValueRef::Real(real) => Value::Real(real),
        ValueRef::Text(bytes) => Value::Text(bytes.into()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.into()),
    }
}

/// The same rows, in whatever order.
fn differ(what: &str, found: &[Row], meant: &[Row]) -> Result<(), String> {
    let only = |rows: &[Row], others: &[Row]| {
        let rows = rows.iter().filter(|row| !others.contains(row));
        rows.map(|row| format!("\n  {}", line(row))).collect::<String>()
    };
    if found.len() == meant.len() && only(found, meant).is_empty() {
        return Ok(());
    }
    let (wrong, missing) = (only(found, meant), only(meant, found));
    Err(format!("{what} what the model does not:{wrong}\nand not what the model does:{missing}"))
}

fn census(counts: &Counts) -> Census {
    Census {
        unfinished: counts.unfinished.map(|unfinished| (unfinished.pending, unfinished.unknown)),
        done: counts.done,
        expired: counts.expired,
        unreadable: counts.unreadable,
        abandoned: counts.abandoned.as_ref().map(|abandoned| abandoned.older_than),
        oldest: counts.abandoned.as_ref().and_then(|abandoned| abandoned.oldest).map(|at| at.seconds()),
    }
}

fn same(found: &Census, meant: &Census) -> bool {
    let oldest = match (found.oldest, meant.oldest) {
        (Some(found), Some(meant)) => (found - meant).abs() <= 0.001_f64.max(meant.abs() * 1e-9),
        (found, meant) => found == meant,
    };
    oldest && Census { oldest: meant.oldest, ..found.clone() } == *meant
}
