//! What recording costs over the same transactions written by hand: `cargo bench --bench record`.
//!
//! Every contender does the same work on a file of its own with the same settings (`synchronous =
//! EXTRA`), in turn, several times; the table shows the median, the spread, and the cost over rusqlite.
#![allow(clippy::unwrap_used, reason = "a benchmark ends loudly")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use keysweep::plan::UnixTime;
use keysweep::record::{DurableCounter, Keys, Response};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

const OPERATIONS: usize = 2_000;
const RUNS: usize = 7;
const TIMEOUT: Duration = Duration::from_secs(5);

const KEYS: &str = "CREATE TABLE keys(id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, status TEXT NOT NULL, \
    response TEXT, expires REAL NOT NULL);";
const COUNTER: &str = "CREATE TABLE business(id INTEGER PRIMARY KEY CHECK(id = 1), value INTEGER NOT NULL); \
    CREATE TABLE requests(scope TEXT, key TEXT, amount INTEGER, response INTEGER, PRIMARY KEY(scope, key)); \
    INSERT INTO business VALUES (1, 0);";
const RESERVE: &str = "INSERT INTO keys VALUES (?1, ?2, 'pending', NULL, ?3) ON CONFLICT(id) DO NOTHING";
const FINISH: &str = "UPDATE keys SET status = 'done', response = ?3 WHERE id = ?1 AND fingerprint = ?2 AND status = 'pending'";

/// The work of one run on a prepared file, without opening it.
type Work = Box<dyn FnOnce() -> Duration>;

struct Contender {
    name: &'static str,
    tables: &'static str,
    prepare: fn(&Path) -> Work,
}

const PAIRS: [Contender; 3] = [
    Contender { name: "rusqlite by hand", tables: KEYS, prepare: pairs_by_hand },
    Contender { name: "keysweep", tables: KEYS, prepare: pairs_with_keysweep },
    Contender { name: "Python's sqlite3", tables: KEYS, prepare: pairs_with_python },
];
const ADDITIONS: [Contender; 3] = [
    Contender { name: "rusqlite by hand", tables: COUNTER, prepare: additions_by_hand },
    Contender { name: "keysweep", tables: COUNTER, prepare: additions_with_keysweep },
    Contender { name: "Python's sqlite3", tables: COUNTER, prepare: additions_with_python },
];

fn main() {
    for journal in ["wal", "delete"] {
        compare(&format!("reserve + finish, journal {journal}"), journal, &PAIRS);
        compare(&format!("add, journal {journal}"), journal, &ADDITIONS);
    }
}

fn compare(title: &str, journal: &str, contenders: &[Contender]) {
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); contenders.len()];
    for run in 0..RUNS {
        // In turn, and each run begins with another one, so that no drift favours anybody.
        for index in (0..contenders.len()).map(|index| (index + run) % contenders.len()) {
            rates[index].push(OPERATIONS as f64 / one_run(&contenders[index], journal).as_secs_f64());
        }
    }
    println!("{title}: operations a second, median of {RUNS} runs of {OPERATIONS}");
    rates.iter_mut().for_each(|rates| rates.sort_by(f64::total_cmp));
    let base = rates[0][RUNS / 2];
    for (contender, rates) in contenders.iter().zip(&rates) {
        let (median, low, high) = (rates[RUNS / 2], rates[0], rates[RUNS - 1]);
        let cost = (base / median - 1.0) * 100.0;
        println!(
            "  {:18} {median:9.0}  ({low:.0} to {high:.0})  {cost:+6.1} % over rusqlite",
            contender.name
        );
    }
}

fn one_run(contender: &Contender, journal: &str) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(&format!("PRAGMA journal_mode = {journal}; {}", contender.tables)).unwrap();
    // Kept open, so that no run pays for the checkpoint of a last close.
    let took = (contender.prepare)(&path)();
    drop(connection);
    took
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn by_hand(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(TIMEOUT).unwrap();
    connection.execute_batch("PRAGMA synchronous = EXTRA").unwrap();
    connection
}

fn pairs_by_hand(path: &Path) -> Work {
    let connection = by_hand(path);
    Box::new(move || {
        timed(|| {
            for number in 0..OPERATIONS {
                let key = format!("key-{number}");
                connection.prepare_cached(RESERVE).unwrap().execute((&key, "v1", 1e10)).unwrap();
                connection.prepare_cached(FINISH).unwrap().execute((&key, "v1", r#"{"receipt":1}"#)).unwrap();
            }
        })
    })
}

fn pairs_with_keysweep(path: &Path) -> Work {
    let keys = Keys::open(path, TIMEOUT).unwrap();
    let response: Response = r#"{"receipt":1}"#.parse().unwrap();
    let expires = UnixTime::new(1e10).unwrap();
    Box::new(move || {
        timed(|| {
            for number in 0..OPERATIONS {
                let key = format!("key-{number}");
                assert!(keys.reserve(&key, "v1", expires).unwrap());
                assert!(keys.finish(&key, "v1", &response).unwrap());
            }
        })
    })
}

fn additions_by_hand(path: &Path) -> Work {
    let mut connection = by_hand(path);
    Box::new(move || {
        timed(|| {
            for number in 0..OPERATIONS {
                let behavior = TransactionBehavior::Immediate;
                let transaction = connection.transaction_with_behavior(behavior).unwrap();
                add_by_hand(&transaction, &format!("key-{number}"));
                transaction.commit().unwrap();
            }
        })
    })
}

fn add_by_hand(transaction: &Transaction<'_>, key: &str) {
    let find = "SELECT amount, response FROM requests WHERE scope = ?1 AND key = ?2";
    let found: Option<(i64, i64)> = transaction
        .prepare_cached(find)
        .unwrap()
        .query_row(("u", key), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .unwrap();
    assert!(found.is_none());
    let read = "SELECT value FROM business WHERE id = 1";
    let value: i64 = transaction.prepare_cached(read).unwrap().query_row([], |row| row.get(0)).unwrap();
    let write = "UPDATE business SET value = ?1 WHERE id = 1";
    transaction.prepare_cached(write).unwrap().execute([value + 1]).unwrap();
    let retain = "INSERT INTO requests VALUES (?1, ?2, ?3, ?4)";
    transaction.prepare_cached(retain).unwrap().execute(("u", key, 1, value + 1)).unwrap();
}

fn additions_with_keysweep(path: &Path) -> Work {
    let counter = DurableCounter::open(path).unwrap();
    Box::new(move || {
        timed(|| {
            for number in 0..OPERATIONS {
                counter.add("u", &format!("key-{number}"), 1).unwrap();
            }
        })
    })
}

const PYTHON: &str = r#"
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], timeout=5, isolation_level=None)
connection.execute("PRAGMA synchronous = EXTRA")
operations = int(sys.argv[2])
def pair(number):
    key = f"key-{number}"
    connection.execute("INSERT INTO keys VALUES (?, ?, 'pending', NULL, ?) ON CONFLICT(id) DO NOTHING", (key, "v1", 1e10))
    connection.execute("UPDATE keys SET status = 'done', response = ? WHERE id = ? AND fingerprint = ? AND status = 'pending'", ('{"receipt":1}', key, "v1"))
def add(number):
    key = f"key-{number}"
    connection.execute("BEGIN IMMEDIATE")
    assert connection.execute("SELECT amount, response FROM requests WHERE scope = ? AND key = ?", ("u", key)).fetchone() is None
    value, = connection.execute("SELECT value FROM business WHERE id = 1").fetchone()
    connection.execute("UPDATE business SET value = ? WHERE id = 1", (value + 1,))
    connection.execute("INSERT INTO requests VALUES (?, ?, ?, ?)", ("u", key, 1, value + 1))
    connection.execute("COMMIT")
work = {"pair": pair, "add": add}[sys.argv[3]]
begun = time.perf_counter()
for number in range(operations):
    work(number)
print(time.perf_counter() - begun)
"#;

fn python(path: &Path, work: &'static str) -> Work {
    let path = path.to_owned();
    Box::new(move || {
        let mut python = Command::new("python3");
        python.args(["-c", PYTHON]).arg(path).arg(OPERATIONS.to_string()).arg(work);
        let output = python.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let seconds: f64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        Duration::from_secs_f64(seconds)
    })
}

fn pairs_with_python(path: &Path) -> Work {
    python(path, "pair")
}

fn additions_with_python(path: &Path) -> Work {
    python(path, "add")
}
