//! A file `pause`: nothing is deleted while it is there, also in the middle of a sweep.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{Guarded, QUICK, checked, deleted, holds, is_held, is_swept, released, report, would_be_held};
use crate::support::command::BINARY;
use crate::support::{Daemon, Database, keysweep, wait_for};

/// One row a batch and much rest: slow enough to be paused half-way.
const SLOW: &str = "settle = '0s'\nbatch = 1\nshare = 0.001\n";
const MANY: usize = 100;

fn many() -> Guarded {
    let guarded = Guarded::new();
    guarded.database.shell(&format!(
        "INSERT INTO keys WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY})
         SELECT printf('k%05d', i), 'v1', 'done', NULL, 1 FROM n;"
    ));
    guarded
}

fn due(database: &Database) -> usize {
    database
        .shell("SELECT count(*) FROM keys WHERE status = 'done' AND expires < 10;")
        .trim()
        .parse()
        .unwrap()
}

#[test]
fn a_daemon_paused_in_the_middle_of_a_sweep_stops_and_goes_on_when_it_may() {
    let guarded = many();
    let daemon = Daemon::start(&guarded.config(&format!("{QUICK}{SLOW}budget = '10m'")));
    wait_for("the first rows to go", || (deleted(&daemon) >= 2.0).then_some(()));
    guarded.touch("pause");
    let said = holds(&daemon, &guarded.database, "paused");
    let pause = guarded.file("pause").display().to_string();
    assert!(said["error"].as_str().unwrap().starts_with(&format!("{pause} is there")), "{said}");
    assert_eq!(said["remedy"], json!(format!("to go on: rm {pause}")));
    let left = due(&guarded.database);
    assert!(left > 0, "the sweep was over before it was paused");
    guarded.remove("pause");
    wait_for("the rest to go", || (due(&guarded.database) < left).then_some(()));
    daemon.signal("TERM");
    wait_for("the sweep to end", || {
        daemon.log().iter().any(|event| event["stop"] == "shutdown").then_some(())
    });
}

#[test]
fn a_pause_between_two_ticks_is_said_at_its_start_and_its_end() {
    let guarded = Guarded::new();
    guarded.touch("pause");
    let daemon = Daemon::start(&guarded.config(&format!("{QUICK}settle = '0s'")));
    holds(&daemon, &guarded.database, "paused");
    guarded.remove("pause");
    released(&daemon, "paused");
    super::wait_for_deleted(&daemon, 1.0);
}

#[test]
fn a_sweep_paused_half_way_ends_and_the_next_one_takes_the_rest() {
    let guarded = many();
    let config = guarded.config(SLOW);
    let mut command = Command::new(BINARY);
    command.arg("--config").arg(&config).args(["--json", "sweep"]).stdout(Stdio::piped());
    let sweep = command.stderr(Stdio::null()).spawn().unwrap();
    wait_for("the first rows to go", || (due(&guarded.database) < MANY).then_some(()));
    guarded.touch("pause");
    let output = sweep.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), &report["stop"], &report["held"]),
        (Some(1), &json!("held"), &json!("paused"))
    );
    let left = due(&guarded.database);
    assert_eq!(report["deleted"].as_u64().unwrap() as usize, MANY + 1 - left, "{report}");
    assert!(left > 0, "the sweep was over before it was paused");
    guarded.remove("pause");
    is_swept(&guarded.ask("settle = '0s'", &["sweep"]), left as u64);
}

#[test]
fn a_paused_sweep_does_nothing_and_a_dry_run_and_check_say_why() {
    let guarded = Guarded::new();
    guarded.touch("pause");
    assert!(is_held(&guarded.ask("settle = '0s'", &["sweep"]), "paused").contains("to go on: rm "));
    guarded.is_untouched();
    would_be_held(&guarded.ask("settle = '0s'", &["sweep", "--dry-run"]), "paused", &["due"]);
    let check = guarded.ask("settle = '0s'", &["check"]);
    assert!(checked(&check, "paused").1.contains("rm "));
    assert_eq!(check.status, 1);
    guarded.remove("pause");
    assert_eq!(guarded.ask("settle = '0s'", &["check"]).status, 0);
    is_swept(&guarded.ask("settle = '0s'", &["sweep"]), 1);
}

#[test]
fn a_pause_does_not_let_a_horizon_settle_unseen() {
    let guarded = Guarded::new();
    guarded.touch("pause");
    is_held(&guarded.ask("settle = '1ms'", &["sweep"]), "paused");
    guarded.remove("pause");
    is_held(&guarded.ask("settle = '1ms'", &["sweep"]), "horizon");
    assert_eq!(report(&guarded.ask("settle = '1ms'", &["sweep"]))["deleted"], json!(1));
}

#[test]
fn the_way_out_of_a_folder_with_a_space_is_one_word_for_a_shell() {
    let guarded = Guarded::new();
    let state = guarded.file("it's a state");
    std::fs::create_dir(&state).unwrap();
    std::fs::write(state.join("pause"), "").unwrap();
    let text = format!(
        "state_dir = {state:?}\n[[database]]\nname = 'app'\npath = {:?}\nsettle = '0s'\n",
        guarded.database.path()
    );
    let config = guarded.database.config_text(&text);
    let ask = || keysweep(["--json", "--config", config.to_str().unwrap(), "sweep"]);
    let said = is_held(&ask(), "paused");
    let command = said.split_once("to go on: ").unwrap().1;
    assert!(Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
    is_swept(&ask(), 1);
}
