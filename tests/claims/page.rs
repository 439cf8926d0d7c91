//! The status page in Debian's Chromium: what a reader sees, does, and is told. The claims are in `tests/page`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::command::run;
use crate::support::database::shell;
use crate::support::{Daemon, Database, Journal, wait_for};

const DATABASES: usize = 1_000;

/// Some of everything: abandoned and due rows, several rules, a hold, a file that is gone, names that are markup.
fn everything(database: &Database) -> Daemon {
    database.shell(
        "CREATE TABLE inbox(id INTEGER PRIMARY KEY, state TEXT, finished REAL);
         INSERT INTO inbox VALUES (1, 'done', 1e9), (2, 'odd', 1e9), (3, 'open', NULL), (4, 'done', NULL);",
    );
    let (path, gone) = (database.path(), database.folder().join("gone.db"));
    let text = format!(
        "[defaults]\nevery = '1s'\ncensus = '1s'\n\
         [[database]]\nname = 'payments'\npath = {path:?}\n\
         [[database.table]]\ntable = 'keys'\n\
         [[database.table]]\ntable = 'inbox'\nname = 'a-rule-with-a-long-name-that-nobody-would-type-twice'\n\
         key = ['id']\ndone = {{ column = 'state', in = ['done'] }}\npending = {{ column = 'state', in = ['open'] }}\n\
         since = {{ column = 'finished', unit = 'unix_s' }}\nretention = '1h'\n\
         [[database]]\nname = 'gone'\npath = {gone:?}\n\
         {}{}{}",
        one_of(database, "held", "keys"),
        one_of(database, "a<b>&\"c'", "keys"),
        one_of(database, "tenants/a-customer-whose-name-is-longer-than-a-telephone-is-wide", "keys"),
    );
    shell(&file_of(database, "held"), "CREATE TRIGGER noted AFTER DELETE ON keys BEGIN SELECT 1; END;");
    let daemon = Daemon::start(&database.config_text(&text));
    wait_for("every database to be swept and counted", || {
        let status: Value = serde_json::from_str(&daemon.get("/status.json").body).unwrap();
        let databases = status["databases"].as_object().unwrap();
        let known = |table: &Value| !table["last_sweep"].is_null();
        let all = |database: &Value| database["tables"].as_object().unwrap().values().all(known);
        (databases.values().all(all) && !databases["payments"]["space"].is_null()).then_some(())
    });
    daemon
}

/// A file of its own: one file has one name.
fn one_of(database: &Database, name: &str, table: &str) -> String {
    let path = file_of(database, name);
    std::fs::copy(database.path(), &path).unwrap();
    format!("[[database]]\nname = '''{name}'''\npath = {path:?}\n[[database.table]]\ntable = '{table}'\n")
}

fn file_of(database: &Database, name: &str) -> PathBuf {
    database.folder().join(format!("{}.db", name.len()))
}

fn rows() -> Database {
    let rows = [("a", "pending", 1.0), ("b", "done", 1.0), ("c", "done", 9e9), ("d", "odd", 1.0)];
    Database::with_keys(Journal::Delete, rows)
}

fn browser_shows(claim: &str, daemon: &Daemon) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/run");
    let mut command = Command::new(script);
    let answer = run(command.args([claim, &daemon.url(), &daemon.pid().to_string()]));
    println!("{}", answer.stdout);
    assert_eq!(answer.status, 0, "{claim}:\n{}\n{}", answer.stdout, answer.stderr);
}

fn shown_of_everything(claim: &str) {
    let database = rows();
    browser_shows(claim, &everything(&database));
}

#[test]
fn light_or_dark_narrow_or_wide_neither_browser_nor_accessibility_rules_complain() {
    shown_of_everything("seen");
}

#[test]
fn a_refresh_keeps_place_focus_folds_and_what_was_typed() {
    shown_of_everything("refreshed");
}

#[test]
fn a_refresh_that_moves_a_line_takes_the_focus_along() {
    shown_of_everything("moved");
}

#[test]
fn it_is_used_by_keyboard_alone() {
    shown_of_everything("keyboard");
}

#[test]
fn without_its_script_everything_is_there() {
    shown_of_everything("scriptless");
}

#[test]
fn when_the_daemon_is_gone_the_page_says_since_when_it_is_old() {
    shown_of_everything("gone");
}

/// Files that are not there: the page is as long, and the machine is left for the browser.
#[test]
fn a_thousand_databases_are_shown_at_once_and_filtered() {
    let database = rows();
    let text: String = (0..DATABASES)
        .map(|number| {
            let path = database.folder().join(format!("{number}.db"));
            format!(
                "[[database]]\nname = 'tenant-{number:04}'\npath = {path:?}\nevery = '1h'\ncensus = '1h'\n"
            )
        })
        .collect();
    let daemon = Daemon::start(&database.config_text(&text));
    wait_for("every database to be looked at", || {
        let status: Value = serde_json::from_str(&daemon.get("/status.json").body).unwrap();
        let databases = status["databases"].as_object().unwrap();
        databases.values().all(|database| !database["census_failure"].is_null()).then_some(())
    });
    browser_shows("thousand", &daemon);
}
