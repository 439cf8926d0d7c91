//! The log as an operator reads it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::command::BINARY;
use crate::support::daemon::{get, value_of};
use crate::support::database::KEY_TABLE;
use crate::support::terminal::{CTRL_C, Terminal};
use crate::support::unasked::Unasked;
use crate::support::{Daemon, Database, Journal, keysweep, wait_for};

const DELETED: &str = r#"keysweep_deleted_rows_total{database="app",table="keys"}"#;
const DRAINED: &str = r#"keysweep_sweeps_total{database="app",stop="drained",table="keys"}"#;

fn messages<'a>(log: &'a [Value], message: &str) -> Vec<&'a Value> {
    log.iter().filter(|event| event["message"] == message).collect()
}

/// Wait until there were so many more sweeps, whatever they did.
fn wait_for_more_sweeps(daemon: &Daemon, more: f64) {
    let before = wait_for("a database to be watched", || daemon.metric(DRAINED));
    wait_for("more sweeps", || (daemon.metric(DRAINED)? >= before + more).then_some(()));
}

#[test]
fn a_sweep_that_did_something_is_one_line_and_one_that_did_nothing_is_none() {
    let database = Database::with_keys(
        Journal::Wal,
        [("key-1", "done", 1.0), ("key-2", "done", 2.0), ("key-3", "pending", 1.0)],
    );
    let daemon =
        Daemon::start(&database.config("every = '100ms'\nbudget = '15m'\nbatch = 1\nretention = '1h'"));
    wait_for_more_sweeps(&daemon, 3.0);
    let log = daemon.log();
    let [swept] = messages(&log, "swept")[..] else { panic!("not one line: {log:?}") };
    assert_eq!(swept["level"], "INFO");
    for (field, value) in [("database", "app"), ("table", "keys"), ("stop", "drained")] {
        assert_eq!(swept[field], value, "{swept}");
    }
    assert_eq!((&swept["deleted"], &swept["batches"]), (&2.into(), &2.into()), "{swept}");
    assert!(swept["cutoff"].as_str().unwrap().ends_with('Z') && swept["timestamp"].is_string(), "{swept}");
}

#[test]
fn a_hold_and_a_failure_are_logged_when_they_start_and_when_they_end_and_not_each_tick() {
    let database = Database::new(Journal::Wal, "CREATE TABLE other(x);");
    let daemon = Daemon::start(&database.config("every = '100ms'\ncensus = '100ms'"));
    let held = r#"keysweep_sweeps_total{database="app",stop="held",table="keys"}"#;
    wait_for("some ticks that were held", || (daemon.metric(held)? >= 5.0).then_some(()));
    database.shell(KEY_TABLE);
    daemon.wait_for_log("the end of the hold", |event| event["message"] == "no longer held");
    daemon.wait_for_log("the end of the census's failure", |event| event["message"] == "census works again");
    wait_for_more_sweeps(&daemon, 3.0);
    let log = daemon.log();
    for (message, level) in [
        ("held: nothing is deleted", "WARN"),
        ("no longer held", "INFO"),
        ("census failed", "ERROR"),
        ("census works again", "INFO"),
    ] {
        let [line] = messages(&log, message)[..] else { panic!("not one line: {message}: {log:?}") };
        assert_eq!((&line["database"], &line["level"]), (&"app".into(), &level.into()), "{line}");
        let is_start = level != "INFO";
        assert_eq!(line["error"].as_str().is_some_and(|error| error.contains("app.db")), is_start);
        assert_eq!(line["remedy"].is_string(), is_start, "{line}");
    }
}

#[test]
fn a_hold_of_one_table_is_logged_when_it_starts_and_when_it_ends() {
    let database = Database::with_keys(Journal::Wal, []);
    let tables = "every = '100ms'\n[[database.table]]\ntable = 'keys'\n[[database.table]]\ntable = 'more'";
    let daemon = Daemon::start(&database.config(tables));
    wait_for_more_sweeps(&daemon, 3.0);
    database.shell(&KEY_TABLE.replace("keys", "more"));
    daemon.wait_for_log("the end of the hold", |event| event["message"] == "no longer held");
    wait_for_more_sweeps(&daemon, 3.0);
    let log = daemon.log();
    let [start] = messages(&log, "held: nothing is deleted")[..] else { panic!("{log:?}") };
    let [end] = messages(&log, "no longer held")[..] else { panic!("{log:?}") };
    assert_eq!((&start["level"], &end["level"]), (&"WARN".into(), &"INFO".into()));
    for line in [start, end] {
        assert_eq!((&line["table"], &line["reason"]), (&"more".into(), &"schema".into()), "{line}");
    }
}

#[test]
fn no_key_of_a_row_is_in_the_log() {
    let database = Database::with_keys(
        Journal::Wal,
        [("secret-1", "done", 1.0), ("secret-2", "pending", 1.0), ("secret-3", "odd", 1.0)],
    );
    let daemon = Daemon::start(&database.config("every = '100ms'\ncensus = '100ms'"));
    daemon.wait_for_metric(DELETED, 1.0);
    wait_for_more_sweeps(&daemon, 3.0);
    daemon.wait_for_metric(r#"keysweep_rows{database="app",state="unknown",table="keys"}"#, 1.0);
    let log = format!("{:?}", daemon.log());
    assert!(log.contains("swept") && !log.contains("secret"), "{log}");
}

/// The daemon on a terminal until it has swept, and what was on the screen.
fn on_a_terminal(env: &str) -> String {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0)]);
    let config = database.config("every = '100ms'");
    let mut terminal = Terminal::start(
        &format!("KEYSWEEP__HTTP__LISTEN=127.0.0.1:0 {env}"),
        &format!("--config {} run", config.display()),
    );
    terminal.wait_for_text("swept");
    terminal.press(CTRL_C);
    assert_eq!(terminal.ended(), Some(0), "{}", terminal.shown());
    terminal.shown()
}

#[test]
fn on_a_terminal_it_is_text_in_color_unless_no_color_is_set() {
    let colored = on_a_terminal("NO_COLOR=");
    assert!(colored.contains("\u{1b}[") && !colored.contains("{\""), "{colored}");
    let plain = on_a_terminal("NO_COLOR=1");
    assert!(!plain.contains('\u{1b}'), "{plain:?}");
    assert!(plain.contains("swept database=\"app\" table=\"keys\""), "{plain}");
    assert!(plain.contains("deleted=1 batches=1"), "{plain}");
}

fn hostile_log(format: &str) -> String {
    let database =
        Database::new(Journal::Wal, "CREATE TABLE \"x\n2026-01-01T00:00:00Z INFO forged\u{1b}[2J\"(id);");
    let config = database.config_text(&format!(
        "[[database]]\nname = 'a\" level=ERROR'\npath = {:?}\nevery = '100ms'\ncensus = '1h'\n",
        database.path()
    ));
    let log = database.folder().join("log");
    let mut command = Command::new(BINARY);
    command.arg("--config").arg(&config).args(["--log-format", format, "run"]);
    command.env("KEYSWEEP__HTTP__LISTEN", "").stderr(std::fs::File::create(&log).unwrap());
    let _daemon = Unasked::start(&mut command);
    wait_for("the failure to be logged", || read(&log).filter(|log| log.contains("forged")))
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'))
}

#[test]
fn a_name_cannot_forge_a_line_in_either_format() {
    let text = hostile_log("text");
    assert!(text.contains("forged") && !text.contains('\u{1b}'), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("2026-01-01")), "{text}");
    assert!(text.contains(r#"database="a\" level=ERROR""#), "{text}");
    let json = hostile_log("json");
    assert!(json.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{json}");
}

#[test]
fn a_level_that_is_none_is_refused_before_anything_is_read() {
    for level in ["bogus", "debgu", "keysweep=debug", ""] {
        let answer = keysweep(["--config", "/nonexistent", "--log-level", level, "run"]);
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{answer:?}");
        assert!(answer.stderr.contains("expected error, warn, info, debug, trace or off"), "{answer:?}");
    }
}

/// Fills a pipe, makes it standard error, and becomes the daemon; nobody ever reads from the pipe.
const WITH_A_FULL_PIPE: &str = r#"
import os, sys
reader, writer = os.pipe()
os.set_inheritable(reader, True)
os.set_blocking(writer, False)
try:
    while True: os.write(writer, b"x" * 65536)
except BlockingIOError:
    pass
os.set_blocking(writer, True)
os.dup2(writer, 2)
os.execv(sys.argv[1], sys.argv[1:])
"#;

#[test]
fn a_standard_error_that_nobody_reads_holds_up_neither_a_sweep_nor_a_scrape_nor_the_end() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0)]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let config = database.config("every = '100ms'\ncensus = '100ms'");
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", WITH_A_FULL_PIPE, BINARY, "--log-level", "debug", "--config"]).arg(config).arg("run");
    python.env("KEYSWEEP__HTTP__LISTEN", address.to_string());
    let mut daemon = Unasked::start(&mut python);
    let deleted = |wanted: f64| {
        wait_for("a scrape that shows the sweep", || {
            std::net::TcpStream::connect(address).ok()?;
            (value_of(&get(address, "/metrics").body, DELETED)? == wanted).then_some(())
        });
    };
    deleted(1.0);
    database.shell("INSERT INTO keys VALUES ('b', 'v1', 'done', '{}', 1)");
    deleted(2.0);
    assert_eq!(daemon.asked_to_end().code(), Some(0));
}
