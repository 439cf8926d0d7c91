//! The guards: each hold provoked, shown, and ended by the way out that it names.

mod clock;
mod horizon;
mod paused;
mod share;
mod state_dir;
mod window;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::faked::keysweep_at;
use crate::support::{Answer, Daemon, Database, Journal, keysweep, now, wait_for};

const DAY: f64 = 86_400.0;
const HOUR: f64 = 3_600.0;
/// Ticks and censuses that come quickly.
const QUICK: &str = "every = '100ms'\ncensus = '100ms'\n";

/// A database with one row due, one pending, one that is due in an hour, and one far from it.
struct Guarded {
    database: Database,
    state: tempfile::TempDir,
}

impl Guarded {
    fn new() -> Self {
        let rows = [
            ("due", "done", 1.0),
            ("far", "done", 9e9),
            ("later", "done", now() + HOUR),
            ("pending", "pending", 1.0),
        ];
        Self { database: Database::with_keys(Journal::Wal, rows), state: tempfile::tempdir().unwrap() }
    }

    /// A config with a `state_dir`, and these further lines for `[[database]]`.
    fn config(&self, lines: &str) -> PathBuf {
        self.config_text(&format!("[[database]]\nname = 'app'\npath = {:?}\n{lines}\n", self.database.path()))
    }

    fn config_text(&self, text: &str) -> PathBuf {
        self.database.config_text(&format!("state_dir = {:?}\n{text}", self.state.path()))
    }

    /// `keysweep --json` with these arguments, at the real time and so much.
    fn at(&self, offset: &str, lines: &str, args: &[&str]) -> Answer {
        let config = self.config(lines);
        keysweep_at(offset, ["--json", "--config", config.to_str().unwrap()].iter().chain(args))
    }

    fn ask(&self, lines: &str, args: &[&str]) -> Answer {
        let config = self.config(lines);
        keysweep(["--json", "--config", config.to_str().unwrap()].iter().chain(args))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.state.path().join(name)
    }

    fn touch(&self, name: &str) {
        std::fs::write(self.file(name), "").unwrap();
    }

    fn remove(&self, name: &str) {
        std::fs::remove_file(self.file(name)).unwrap();
    }

    /// Every file of the state, with its content.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let read = |path: PathBuf| (path.clone(), std::fs::read(path).unwrap());
        let entries = self.state.path().read_dir().unwrap();
        let mut files: Vec<_> = entries.map(|entry| read(entry.unwrap().path())).collect();
        files.sort();
        files
    }

    fn is_untouched(&self) {
        assert_eq!(self.database.ids(), ["due", "far", "later", "pending"]);
    }
}

/// The last line of an answer: the report of a sweep.
fn report(answer: &Answer) -> Value {
    answer.json_lines().pop().unwrap_or_else(|| panic!("no report: {answer:?}"))
}

/// The sweep was held for this reason; gives what it said of it.
fn is_held(answer: &Answer, reason: &str) -> String {
    let report = report(answer);
    let seen = (answer.status, &report["stop"], &report["held"], &report["deleted"]);
    assert_eq!(seen, (1, &json!("held"), &json!(reason), &json!(0)), "{answer:?}");
    report["error"].as_str().unwrap().into()
}

/// The sweep went through and deleted so many rows.
fn is_swept(answer: &Answer, deleted: u64) {
    let report = report(answer);
    let seen = (answer.status, &report["stop"], &report["held"], &report["deleted"]);
    assert_eq!(seen, (0, &json!("drained"), &Value::Null, &json!(deleted)), "{answer:?}");
}

/// The dry run named these keys, and that a sweep would be held for this reason.
fn would_be_held(answer: &Answer, reason: &str, keys: &[&str]) {
    let lines = answer.json_lines();
    let named: Vec<_> = lines.iter().filter_map(|line| line.get("key")?.as_str()).collect();
    assert_eq!((answer.status, named.as_slice()), (0, keys), "{answer:?}");
    assert_eq!(lines.last().unwrap()["held"], json!(reason), "{answer:?}");
}

/// What `check` says of this hold, and its remedy.
fn checked(answer: &Answer, reason: &str) -> (String, String) {
    let lines = answer.json_lines();
    let line = lines.iter().find(|line| line["severity"] == "hold" && line["reason"] == *reason);
    let line = line.unwrap_or_else(|| panic!("no hold `{reason}`: {answer:?}"));
    (line["what"].as_str().unwrap().into(), line["remedy"].as_str().unwrap().into())
}

fn held_sample(reason: &str) -> String {
    format!(r#"keysweep_held{{database="app",reason="{reason}",table="keys"}}"#)
}

fn rows_sample(state: &str) -> String {
    format!(r#"keysweep_rows{{database="app",state="{state}",table="keys"}}"#)
}

fn deleted(daemon: &Daemon) -> f64 {
    daemon.metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#).unwrap()
}

fn sweeps(daemon: &Daemon, stop: &str) -> f64 {
    daemon.metric(&format!(r#"keysweep_sweeps_total{{database="app",stop="{stop}",table="keys"}}"#)).unwrap()
}

/// Three more ticks that stopped so.
fn ticks_on(daemon: &Daemon, stop: &str) {
    let before = sweeps(daemon, stop);
    wait_for(&format!("three more ticks that end as {stop}"), || {
        (sweeps(daemon, stop) >= before + 3.0).then_some(())
    });
}

/// The daemon holds for this reason and no other, and the gauges go on. Gives what the log says of it.
fn holds(daemon: &Daemon, database: &Database, reason: &str) -> Value {
    daemon.wait_for_metric(&held_sample(reason), 1.0);
    let page = daemon.get("/metrics").body;
    let held = page.lines().filter(|line| line.starts_with("keysweep_held{") && line.ends_with(" 1"));
    assert_eq!(held.count(), 1, "{page}");
    let pending = daemon.metric(&rows_sample("pending")).unwrap_or(0.0);
    database.shell("INSERT INTO keys SELECT 'p' || hex(randomblob(8)), 'v1', 'pending', NULL, 9e9;");
    wait_for("the census to count on", || {
        daemon.metric(&rows_sample("pending")).filter(|now| *now > pending)
    });
    let before = deleted(daemon);
    ticks_on(daemon, "held");
    assert_eq!(deleted(daemon), before, "rows were deleted during a hold");
    let start = |event: &Value| event["message"] == "held: nothing is deleted" && event["reason"] == *reason;
    daemon.wait_for_log("the start of the hold", start)
}

/// The hold has ended, and each of its ends was said once.
fn released(daemon: &Daemon, reason: &str) {
    daemon.wait_for_metric(&held_sample(reason), 0.0);
    let said = |message: &str| {
        let is = |event: &&Value| event["message"] == *message && event["reason"] == *reason;
        daemon.log().iter().filter(is).count()
    };
    daemon.wait_for_log("the end of the hold", |event| event["message"] == "no longer held");
    assert_eq!((said("held: nothing is deleted"), said("no longer held")), (1, 1), "{:?}", daemon.log());
}

fn wait_for_deleted(daemon: &Daemon, rows: f64) {
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, rows);
}

fn is_gone(path: &Path) {
    wait_for(&format!("{} to be removed", path.display()), || (!path.exists()).then_some(()));
}
