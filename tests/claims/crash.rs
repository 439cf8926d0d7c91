//! A sweep that is killed or stopped at any moment has done whole batches, and nothing else.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::support::command::BINARY;
use crate::support::database::KEY_TABLE;
use crate::support::{Daemon, Database, Journal, has_open, wait_for};

const ROWS: u32 = 20_000;
const KILLS: u32 = 25;
/// A kill at one of so many writes hits one of the first batches.
const MOST_WRITES: f64 = 400.0;
const DELETED: &str = r#"keysweep_deleted_rows_total{database="app",table="keys"}"#;
/// Rows whose `fingerprint` says that nothing may change them.
const CHANGED: &str = "
    SELECT count(*) FROM original AS o LEFT JOIN keys AS n ON n.rowid = o.rowid
    WHERE o.fingerprint = 'stays' AND (n.id IS NOT o.id OR n.fingerprint IS NOT o.fingerprint OR n.status IS NOT o.status
        OR n.response IS NOT o.response OR n.expires IS NOT o.expires)
    OR n.id IS NOT NULL AND n.id IS NOT o.id;";
const LEFT: &str = "SELECT count(*) FROM keys WHERE fingerprint = 'goes';";
/// What is gone was swept in key order: no row is left below the last one that is gone.
const LEFT_BEHIND: &str = "
    SELECT count(*) FROM keys WHERE fingerprint = 'goes' AND id < (
        SELECT max(id) FROM original AS o WHERE fingerprint = 'goes' AND NOT EXISTS (SELECT 1 FROM keys WHERE id = o.id));";

#[test]
fn a_kill_at_any_moment_leaves_whole_batches_in_wal_mode() {
    kill_at_any_moment(Journal::Wal, Duration::from_millis(120));
}

#[test]
fn a_kill_at_any_moment_leaves_whole_batches_in_rollback_mode() {
    kill_at_any_moment(Journal::Delete, Duration::from_millis(400));
}

fn kill_at_any_moment(journal: Journal, longest: Duration) {
    let database = table(journal);
    let mut random = Random::seeded();
    let mut left = vec![ROWS / 2];
    for kill in 0..KILLS {
        if kill % 2 == 0 {
            kill_after(&database, longest.mul_f64(random.next()));
        } else {
            kill_at_write(&database, 1 + (random.next() * MOST_WRITES) as u32);
        }
        left.push(look(&database, *left.last().unwrap()));
    }
    println!("{journal:?}: rows left after each kill: {left:?}");
    let cuts = left.windows(2).filter(|pair| pair[1] < pair[0] && pair[1] > 0).count();
    assert!(cuts > 3, "too few kills hit a sweep at work: {left:?}");

    let answer = database.sweep("share = 1.0", &[]);
    assert_eq!(answer.status, 0, "{answer:?}");
    assert_eq!(answer.json_lines()[0]["deleted"], *left.last().unwrap(), "{answer:?}");
    assert_eq!(look(&database, 0), 0);
}

#[test]
fn what_was_counted_as_deleted_is_gone_after_a_kill() {
    for journal in [Journal::Wal, Journal::Delete] {
        let database = table(journal);
        let daemon = Daemon::start(&database.config("share = 0.1"));
        let deleted = wait_for("a batch", || daemon.metric(DELETED).filter(|rows| *rows > 0.0));
        daemon.signal("KILL");
        assert_eq!(daemon.ended().code(), None);
        let gone = ROWS / 2 - look(&database, ROWS / 2);
        assert!(f64::from(gone) >= deleted, "{deleted} rows were counted, {gone} are gone");
        let daemon = Daemon::start(&database.config("share = 1.0"));
        daemon.wait_for_metric(DELETED, f64::from(ROWS / 2 - gone));
        assert_eq!(look(&database, 0), 0);
    }
}

fn kill_after(database: &Database, time: Duration) {
    let mut sweep = sweep(database).spawn().unwrap();
    wait_for("the sweep to open the database", || has_open(sweep.id(), &database.path()).then_some(()));
    std::thread::sleep(time);
    sweep.kill().unwrap();
    sweep.wait().unwrap();
}

/// A COMMIT is many writes and syncs within microseconds: only the kernel can hit one of them.
fn kill_at_write(database: &Database, write: u32) {
    const CALLS: &str = "pwrite64,fsync,fdatasync,unlink,ftruncate";
    let sweep = sweep(database);
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={CALLS}")]);
    traced.args(["-e", &format!("inject={CALLS}:signal=KILL:when={write}")]);
    let status =
        traced.arg(sweep.get_program()).args(sweep.get_args()).stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.signal(), Some(9), "{status} at write {write}");
}

/// Nothing is broken or changed, and no more expired rows are there than before. Gives how many.
fn look(database: &Database, before: u32) -> u32 {
    let answer = database.shell(&format!("PRAGMA integrity_check; {CHANGED} {LEFT_BEHIND} {LEFT}"));
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(lines[..3], ["ok", "0", "0"], "{answer}");
    let left = lines[3].parse().unwrap();
    assert!(left <= before, "{left} rows are left of {before}");
    left
}

#[test]
fn a_sweep_that_is_stopped_and_continued_goes_on() {
    for journal in [Journal::Wal, Journal::Delete] {
        let database = table(journal);
        let mut sweep = sweep(&database).spawn().unwrap();
        let mut left = ROWS / 2;
        for _ in 0..3 {
            wait_for("the sweep to go on", || {
                let now: u32 = database.shell(LEFT).trim().parse().unwrap();
                (now < left || now == 0).then(|| left = now)
            });
            signal(&sweep, "STOP");
            signal(&sweep, "CONT");
        }
        assert!(left > 0, "the sweep was over before it was stopped");
        signal(&sweep, "TERM");
        assert_eq!(sweep.wait().unwrap().code(), Some(1));
        let left = look(&database, left);
        let answer = database.sweep("share = 1.0", &[]);
        assert_eq!(answer.json_lines()[0]["deleted"], left, "{answer:?}");
        assert_eq!(look(&database, 0), 0);
    }
}

/// An application that dies in a transaction which has begun to reach the file.
const DIES: &str = "
import os, signal, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute('PRAGMA cache_size = 5')
connection.execute('BEGIN IMMEDIATE')
connection.execute('UPDATE keys SET status = upper(status), response = hex(zeroblob(500))')
os.kill(os.getpid(), signal.SIGKILL)
";

/// The census has a read-only connection, which cannot roll the journal back.
#[test]
fn a_transaction_that_an_application_left_half_written_is_no_fault_of_the_database() {
    let database = table(Journal::Delete);
    let died = Command::new("/usr/bin/python3").args(["-c", DIES]).arg(database.path()).status().unwrap();
    assert_eq!(died.signal(), Some(9));
    assert!(database.files().contains(&"app.db-journal".into()), "{:?}", database.files());
    let daemon = Daemon::start(&database.config(""));
    wait_for("a batch", || daemon.metric(DELETED).filter(|rows| *rows > 0.0));
    daemon.wait_for_metric(r#"keysweep_database_up{database="app"}"#, 1.0);
    daemon.wait_for_metric(
        r#"keysweep_rows{database="app",state="pending",table="keys"}"#,
        f64::from(ROWS / 4),
    );
    assert_eq!(daemon.log().into_iter().find(|event| event["level"] == "ERROR"), None);
    drop(daemon);
    look(&database, ROWS / 2);
}

fn table(journal: Journal) -> Database {
    let rows = format!(
        "{KEY_TABLE}
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
        INSERT INTO keys SELECT printf('%08x', i * 2654435761 % 4294967296), iif(i % 2, 'stays', 'goes'),
            CASE i % 4 WHEN 1 THEN 'pending' ELSE 'done' END, '{{}}', iif(i % 4 = 3, 4e9, 1) FROM n;
        CREATE TABLE original AS SELECT * FROM keys ORDER BY rowid;
        CREATE UNIQUE INDEX original_id ON original(id);"
    );
    Database::new(journal, &rows)
}

fn sweep(database: &Database) -> Command {
    let config = database.config("share = 0.1");
    let mut command = Command::new(BINARY);
    command.arg("--config").arg(config).arg("sweep").stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn signal(sweep: &Child, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &sweep.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// A fraction from 0 to 1 at a time; the seed is printed.
struct Random(u64);

impl Random {
    fn seeded() -> Self {
        let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64 | 1;
        println!("seed {seed}");
        Self(seed)
    }

    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}
