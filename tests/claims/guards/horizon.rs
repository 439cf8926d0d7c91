//! First contact and a shortened retention: shown before anything is deleted by them.

use serde_json::json;

use super::{Guarded, QUICK, checked, holds, is_gone, is_held, is_swept, released, report, wait_for_deleted};
use super::{held_sample, ticks_on, would_be_held};
use crate::support::{Daemon, Database, Journal, keysweep, wait_for};

const APP: &str = "horizon-app.json";

/// Accept this retention of a table.
fn settle_on(guarded: &Guarded, retention: &str) {
    report(&guarded.ask(&format!("settle = '0s'\nretention = '{retention}'"), &["sweep"]));
}

#[test]
fn a_table_never_seen_is_shown_and_after_a_while_swept() {
    let guarded = Guarded::new();
    let daemon = Daemon::start(&guarded.config(&format!("{QUICK}settle = '4s'")));
    let said = holds(&daemon, &guarded.database, "horizon");
    let error = said["error"].as_str().unwrap();
    for part in ["`keys` was never seen before", ": 1 of its rows are due", "deleting begins at 20"] {
        assert!(error.contains(part), "{part} is not in {error}");
    }
    released(&daemon, "horizon");
    wait_for_deleted(&daemon, 1.0);
}

#[test]
fn a_person_accepts_what_is_shown_by_a_file_that_is_then_removed() {
    let guarded = Guarded::new();
    let daemon = Daemon::start(&guarded.config(QUICK));
    let said = holds(&daemon, &guarded.database, "horizon");
    let accept = guarded.file("accept-horizon");
    assert!(said["remedy"].as_str().unwrap().contains(&format!("touch {}", accept.display())), "{said}");
    guarded.touch("accept-horizon");
    is_gone(&accept);
    released(&daemon, "horizon");
    wait_for_deleted(&daemon, 1.0);
}

#[test]
fn a_sweep_shows_first_and_the_next_one_that_is_allowed_to_deletes() {
    let guarded = Guarded::new();
    assert!(is_held(&guarded.ask("", &["sweep"]), "horizon").contains("never seen before"));
    guarded.is_untouched();
    would_be_held(&guarded.ask("", &["sweep", "--dry-run"]), "horizon", &["due"]);
    guarded.touch("accept-horizon");
    is_swept(&guarded.ask("", &["sweep"]), 1);
    is_gone(&guarded.file("accept-horizon"));
    is_swept(&guarded.ask("", &["sweep"]), 0);
}

#[test]
fn what_is_shown_is_remembered_from_one_sweep_to_the_next() {
    let guarded = Guarded::new();
    is_held(&guarded.ask("settle = '2s'", &["sweep"]), "horizon");
    wait_for("the sweep that may delete", || {
        let answer = guarded.ask("settle = '2s'", &["sweep"]);
        (report(&answer)["deleted"] == 1).then_some(())
    });
}

#[test]
fn a_retention_made_shorter_is_held_until_it_is_longer_again_or_accepted() {
    let guarded = Guarded::new();
    settle_on(&guarded, "72h");
    let said = is_held(&guarded.ask("retention = '24h'", &["sweep"]), "horizon");
    assert!(said.contains("from 3d to 1d"), "{said}");
    is_swept(&guarded.ask("retention = '72h'", &["sweep"]), 0);
    is_swept(&guarded.ask("retention = '96h'", &["sweep"]), 0);
    let said = is_held(&guarded.ask("retention = '72h'", &["sweep"]), "horizon");
    assert!(said.contains("from 4d to 3d"), "{said}");
    guarded.touch("accept-horizon");
    is_swept(&guarded.ask("retention = '72h'", &["sweep"]), 0);
    is_swept(&guarded.ask("retention = '72h'", &["sweep"]), 0);
}

#[test]
fn a_daemon_restarted_with_a_shorter_retention_holds_and_with_the_old_one_does_not() {
    let guarded = Guarded::new();
    settle_on(&guarded, "36500d");
    let shorter = Daemon::start(&guarded.config(&format!("{QUICK}retention = '1h'")));
    holds(&shorter, &guarded.database, "horizon");
    drop(shorter);
    let longer = Daemon::start(&guarded.config(&format!("{QUICK}retention = '36500d'")));
    ticks_on(&longer, "drained");
    assert_eq!(longer.metric(&held_sample("horizon")), Some(0.0));
    assert!(guarded.database.ids().contains(&"due".into()));
}

#[test]
fn another_unit_or_another_column_is_another_horizon() {
    let guarded = Guarded::new();
    settle_on(&guarded, "0s");
    let table = |clock: &str| format!("[[database.table]]\n{clock}");
    guarded.database.shell(
        "ALTER TABLE keys ADD COLUMN other; INSERT INTO keys VALUES ('due', 'v1', 'done', NULL, 1, 1);",
    );
    is_held(&guarded.ask(&table("expires = { column = 'expires', unit = 'ms' }"), &["sweep"]), "horizon");
    is_held(&guarded.ask(&table("expires = { column = 'other', unit = 'unix_s' }"), &["sweep"]), "horizon");
    is_swept(&guarded.ask(&table("expires = { column = 'expires', unit = 'unix_s' }"), &["sweep"]), 1);
}

#[test]
fn one_word_accepts_what_is_held_in_every_database() {
    let other = Database::with_keys(Journal::Wal, [("due", "done", 1.0)]);
    let guarded = Guarded::new();
    let block = |name: &str, database: &Database| {
        format!("[[database]]\nname = '{name}'\npath = {:?}\n{QUICK}", database.path())
    };
    let config = guarded.config_text(&(block("app", &guarded.database) + &block("other/one", &other)));
    let sweep = || keysweep(["--json", "--config", config.to_str().unwrap(), "sweep"]);
    let deleted = |answer: &crate::support::Answer| {
        answer.json_lines().iter().map(|line| line["deleted"].clone()).collect::<Vec<_>>()
    };
    // Before anything was shown: one command goes from one database to the next.
    guarded.touch("accept-horizon");
    assert_eq!(deleted(&sweep()), [json!(1), json!(1)]);
    std::fs::remove_file(guarded.file(APP)).unwrap();
    std::fs::remove_file(guarded.file("horizon-other%2fone.json")).unwrap();
    let daemon = Daemon::start(&config);
    let others = r#"keysweep_held{database="other/one",reason="horizon",table="keys"}"#;
    daemon.wait_for_metric(others, 1.0);
    daemon.wait_for_metric(&held_sample("horizon"), 1.0);
    guarded.touch("accept-horizon");
    is_gone(&guarded.file("accept-horizon"));
    daemon.wait_for_metric(others, 0.0);
    daemon.wait_for_metric(&held_sample("horizon"), 0.0);
}

#[test]
fn a_word_that_cannot_be_removed_is_obeyed_and_said() {
    let guarded = Guarded::new();
    std::fs::create_dir(guarded.file("accept-horizon")).unwrap();
    let answer = guarded.ask("", &["sweep"]);
    is_swept(&answer, 1);
    assert!(answer.stderr.contains("cannot be removed: it is obeyed until someone removes it"), "{answer:?}");
}

#[test]
fn settle_0_and_no_state_dir_are_no_guard() {
    let guarded = Guarded::new();
    is_swept(&guarded.ask("settle = '0s'", &["sweep"]), 1);
    let guarded = Guarded::new();
    is_swept(&guarded.database.sweep("", &[]), 1);
    assert!(guarded.files().is_empty());
}

#[test]
fn a_horizon_that_cannot_be_read_was_never_seen_and_that_is_said() {
    for text in [
        "",
        "{",
        "[]",
        r#"{"format":2,"database":"app","tables":[]}"#,
        r#"{"format":1,"database":"b","tables":[]}"#,
    ] {
        let guarded = Guarded::new();
        settle_on(&guarded, "72h");
        std::fs::write(guarded.file(APP), text).unwrap();
        let answer = guarded.ask("retention = '72h'", &["sweep"]);
        is_held(&answer, "horizon");
        assert!(answer.stderr.contains(APP) && answer.stderr.contains("count as never seen"), "{answer:?}");
        guarded.touch("accept-horizon");
        is_swept(&guarded.ask("retention = '72h'", &["sweep"]), 0);
    }
}

#[test]
fn what_cannot_be_remembered_is_not_acted_on() {
    let guarded = Guarded::new();
    std::fs::create_dir(guarded.file(APP)).unwrap();
    for _ in 0..2 {
        let said = is_held(&guarded.ask("settle = '1ms'", &["sweep"]), "horizon");
        assert!(said.contains("cannot be written"), "{said}");
    }
    let daemon = Daemon::start(&guarded.config(&format!("{QUICK}settle = '1ms'")));
    let said = holds(&daemon, &guarded.database, "horizon");
    assert!(said["error"].as_str().unwrap().contains("cannot be written"), "{said}");
    assert!(said["remedy"].as_str().unwrap().contains("make state_dir writable"), "{said}");
    std::fs::remove_dir(guarded.file(APP)).unwrap();
    wait_for_deleted(&daemon, 1.0);
    daemon.wait_for_metric(&held_sample("horizon"), 0.0);
}

#[test]
fn check_shows_a_first_contact_which_is_no_fault_and_changes_nothing() {
    let guarded = Guarded::new();
    let answer = guarded.ask("", &["check"]);
    let (what, remedy) = checked(&answer, "horizon");
    assert!(what.contains("1 of its rows are due") && remedy.contains("accept-horizon"), "{answer:?}");
    assert_eq!(answer.status, 0, "{answer:?}");
    would_be_held(&guarded.ask("", &["sweep", "--dry-run"]), "horizon", &["due"]);
    assert!(guarded.files().is_empty());
}

#[test]
fn another_file_under_the_name_of_a_database_was_never_seen() {
    let guarded = Guarded::new();
    let other = Database::with_keys(Journal::Wal, [("x", "done", 1.0)]);
    let lines = format!("{QUICK}settle = '1h'");
    let sweep = |config: &std::path::Path| {
        report(&keysweep(["--config", config.to_str().unwrap(), "sweep", "--json"]))
    };
    let config = guarded.config(&lines);
    assert_eq!(sweep(&config)["held"], "horizon");
    guarded.touch("accept-horizon");
    assert_eq!(sweep(&config)["deleted"], 1);
    let text = std::fs::read_to_string(&config).unwrap();
    let (own, others) = (guarded.database.path(), other.path());
    std::fs::write(&config, text.replace(own.to_str().unwrap(), others.to_str().unwrap())).unwrap();
    assert_eq!(sweep(&config)["held"], "horizon");
    assert_eq!(other.ids(), ["x"]);
}
