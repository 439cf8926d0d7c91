//! The wall clock jumps ahead: nothing is deleted until it is right, or a person says that it is.

use serde_json::{Value, json};

use super::{DAY, Guarded, HOUR, QUICK, checked, holds, is_gone, is_held, is_swept, released, ticks_on};
use super::{held_sample, wait_for_deleted, would_be_held};
use crate::support::faked::Faked;
use crate::support::{Daemon, now};

/// No horizon is in the way.
const SETTLED: &str = "settle = '0s'\n";

/// What `clock.json` holds when a process trusted this wall clock in another boot.
fn trusted_in_another_boot(guarded: &Guarded, wall: f64) {
    let clock = json!({"format": 1, "trusted": {"wall": wall, "boot": "another", "since_boot": 5.0}});
    std::fs::write(guarded.file("clock.json"), clock.to_string()).unwrap();
}

#[test]
fn a_jump_ahead_while_it_runs_is_held_until_the_clock_is_corrected() {
    let guarded = Guarded::new();
    let config = guarded.database.config(QUICK);
    let faked = Faked::start(&config, "+0");
    wait_for_deleted(&faked.daemon, 1.0);
    faked.jump_to("+2h");
    let said = holds(&faked.daemon, &guarded.database, "clock");
    assert!(said["error"].as_str().unwrap().contains("jumped ahead"), "{said}");
    assert!(said["remedy"].as_str().unwrap().contains("restart keysweep"), "{said}");
    faked.jump_to("+0");
    released(&faked.daemon, "clock");
    assert!(guarded.database.ids().contains(&"later".into()));
}

#[test]
fn a_person_accepts_the_clock_by_a_file_that_is_then_removed() {
    let guarded = Guarded::new();
    let faked = Faked::start(&guarded.config(&format!("{QUICK}{SETTLED}")), "+0");
    wait_for_deleted(&faked.daemon, 1.0);
    faked.jump_to("+2h");
    let said = holds(&faked.daemon, &guarded.database, "clock");
    let accept = guarded.file("accept-clock");
    assert!(said["remedy"].as_str().unwrap().contains(&format!("touch {}", accept.display())), "{said}");
    guarded.touch("accept-clock");
    is_gone(&accept);
    released(&faked.daemon, "clock");
    wait_for_deleted(&faked.daemon, 2.0);
    assert!(!guarded.database.ids().contains(&"later".into()));
}

#[test]
fn a_word_that_nothing_is_held_for_is_removed_and_accepts_no_later_jump() {
    let guarded = Guarded::new();
    guarded.touch("accept-clock");
    let answer = guarded.at("+0", SETTLED, &["sweep"]);
    is_swept(&answer, 1);
    assert!(answer.stderr.contains("nothing was held that it could accept"), "{answer:?}");
    assert!(!guarded.file("accept-clock").exists());
    is_held(&guarded.at("+2h", SETTLED, &["sweep"]), "clock");
}

#[test]
fn a_daemon_that_is_held_trusts_what_another_process_was_told() {
    let guarded = Guarded::new();
    let faked = Faked::start(&guarded.config(&format!("{QUICK}{SETTLED}")), "+0");
    wait_for_deleted(&faked.daemon, 1.0);
    faked.jump_to("+2h");
    holds(&faked.daemon, &guarded.database, "clock");
    let other = Guarded::new();
    is_swept(&other.at("+2h", SETTLED, &["sweep"]), 2);
    let new = guarded.file("new");
    std::fs::copy(other.file("clock.json"), &new).unwrap();
    std::fs::rename(new, guarded.file("clock.json")).unwrap();
    released(&faked.daemon, "clock");
}

#[test]
fn a_jump_back_holds_nothing_and_the_ticks_go_on() {
    let guarded = Guarded::new();
    let faked = Faked::start(&guarded.config(&format!("{QUICK}{SETTLED}")), "+0");
    wait_for_deleted(&faked.daemon, 1.0);
    faked.jump_to("-1h");
    ticks_on(&faked.daemon, "drained");
    faked.jump_to("-365d");
    ticks_on(&faked.daemon, "drained");
    assert_eq!(faked.daemon.metric(&held_sample("clock")), Some(0.0));
}

#[test]
fn a_jump_across_a_restart_is_held_and_each_way_out_ends_it() {
    let guarded = Guarded::new();
    is_swept(&guarded.at("+0", SETTLED, &["sweep"]), 1);
    let ahead = guarded.at("+2h", SETTLED, &["sweep"]);
    let said = is_held(&ahead, "clock");
    assert!(said.contains("jumped ahead") && said.contains("accept-clock"), "{said}");
    would_be_held(&guarded.at("+2h", SETTLED, &["sweep", "--dry-run"]), "clock", &["later"]);
    is_swept(&guarded.at("+0", SETTLED, &["sweep"]), 0);
    is_held(&guarded.at("+2h", SETTLED, &["sweep"]), "clock");
    guarded.touch("accept-clock");
    is_swept(&guarded.at("+2h", SETTLED, &["sweep"]), 1);
    is_gone(&guarded.file("accept-clock"));
    is_swept(&guarded.at("+2h", SETTLED, &["sweep"]), 0);
}

#[test]
fn the_last_trusted_reading_is_written_at_the_end_also_by_a_daemon() {
    let guarded = Guarded::new();
    let daemon = Daemon::start(&guarded.config(&format!("{QUICK}{SETTLED}")));
    let written = || {
        let clock = std::fs::read(guarded.file("clock.json")).unwrap();
        serde_json::from_slice::<Value>(&clock).unwrap()["trusted"]["wall"].as_f64().unwrap()
    };
    wait_for_deleted(&daemon, 1.0);
    ticks_on(&daemon, "drained");
    let sample = r#"keysweep_last_attempt_timestamp_seconds{database="app",table="keys"}"#;
    let last = daemon.metric(sample).unwrap();
    daemon.signal("TERM");
    daemon.ended();
    assert!(written() >= last, "it does not write at its end");
}

#[test]
fn check_says_what_the_clock_would_hold_and_changes_nothing() {
    let guarded = Guarded::new();
    is_swept(&guarded.at("+0", SETTLED, &["sweep"]), 1);
    guarded.touch("accept-horizon");
    let before = guarded.files();
    let answer = guarded.at("+2h", SETTLED, &["check"]);
    let (what, remedy) = checked(&answer, "clock");
    assert!(what.contains("jumped ahead") && remedy.contains("accept-clock"), "{answer:?}");
    assert_eq!((answer.status, guarded.files()), (1, before));
}

#[test]
fn across_a_reboot_a_month_may_have_passed_and_no_more() {
    for (away, held) in [(29.0 * DAY, false), (31.0 * DAY, true), (-365.0 * DAY, false)] {
        let guarded = Guarded::new();
        trusted_in_another_boot(&guarded, now() - away);
        let answer = guarded.ask(SETTLED, &["sweep"]);
        if held {
            assert!(is_held(&answer, "clock").contains("before a reboot"), "{answer:?}");
            guarded.is_untouched();
            guarded.touch("accept-clock");
            is_swept(&guarded.ask(SETTLED, &["sweep"]), 1);
        } else {
            is_swept(&answer, 1);
        }
    }
}

#[test]
fn a_clock_file_that_cannot_be_read_is_no_first_run() {
    let newer = json!({"format": 2, "trusted": {"wall": now() - HOUR, "boot": "a", "since_boot": 5.0}});
    for text in ["", "{", "null", "\u{0}\u{0}", &newer.to_string()] {
        let guarded = Guarded::new();
        std::fs::write(guarded.file("clock.json"), text).unwrap();
        let said = is_held(&guarded.ask(SETTLED, &["sweep"]), "clock");
        assert!(said.contains("clock.json cannot be read") && said.contains("accept-clock"), "{said}");
        guarded.is_untouched();
        guarded.touch("accept-clock");
        is_swept(&guarded.ask(SETTLED, &["sweep"]), 1);
        is_swept(&guarded.ask(SETTLED, &["sweep"]), 0);
    }
}
