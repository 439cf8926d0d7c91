//! The window: rows are deleted in its hours only, and everything else goes on.

use serde_json::json;

use super::{DAY, held_sample};
use super::{
    Guarded, QUICK, deleted, holds, is_swept, released, report, rows_sample, ticks_on, wait_for_deleted,
};
use crate::support::faked::Faked;
use crate::support::now;

/// What to add to the real time so that it is this time of the day, in UTC.
fn time_of_day(hour: u32, minute: u32, second: u32) -> String {
    let wanted = f64::from(hour * 3_600 + minute * 60 + second);
    format!("+{:.0}", (wanted - now()).rem_euclid(DAY))
}

fn window(text: &str) -> String {
    format!("settle = '0s'\nwindow = '{text}'\n")
}

#[test]
fn rows_are_deleted_within_it_and_nothing_outside_it() {
    for (text, hour, minute, open) in [
        ("01:00-05:00", 0, 58, false),
        ("01:00-05:00", 1, 1, true),
        ("01:00-05:00", 5, 1, false),
        ("22:00-04:00", 21, 58, false),
        ("22:00-04:00", 23, 30, true),
        ("22:00-04:00", 0, 30, true),
        ("22:00-04:00", 4, 1, false),
    ] {
        let guarded = Guarded::new();
        guarded.database.shell("DELETE FROM keys WHERE id = 'later';");
        let answer = guarded.at(&time_of_day(hour, minute, 0), &window(text), &["sweep"]);
        if open {
            is_swept(&answer, 1);
        } else {
            let report = report(&answer);
            let seen = (answer.status, &report["stop"], &report["deleted"]);
            assert_eq!(seen, (0, &json!("disabled"), &json!(0)), "{text} at {hour}:{minute}");
            assert_eq!(guarded.database.ids(), ["due", "far", "pending"]);
        }
    }
}

#[test]
fn a_sweep_has_no_time_left_in_the_last_seconds_of_its_window() {
    let guarded = Guarded::new();
    let answer = guarded.at(&time_of_day(4, 59, 57), &window("01:00-05:00"), &["sweep"]);
    let report = report(&answer);
    assert!(report["stop"] == "budget" || report["stop"] == "disabled", "{report}");
    assert!(guarded.database.ids().contains(&"due".into()));
}

#[test]
fn a_dry_run_shows_what_is_due_also_outside_it() {
    let guarded = Guarded::new();
    let answer = guarded.at(&time_of_day(12, 0, 0), &window("01:00-05:00"), &["sweep", "--dry-run"]);
    let named: Vec<_> = answer.json_lines().into_iter().filter_map(|line| line.get("key").cloned()).collect();
    assert!(named.contains(&json!("due")), "{answer:?}");
    let check = guarded.ask(&window("01:00-05:00"), &["check"]);
    assert!(check.stdout.contains("deleting from 01:00-05:00 UTC"), "{check:?}");
}

#[test]
fn a_daemon_counts_outside_it_and_deletes_once_it_opens() {
    let guarded = Guarded::new();
    guarded.database.shell("DELETE FROM keys WHERE id = 'later';");
    let config = guarded.config(&format!("{QUICK}{}", window("22:00-04:00")));
    let before = time_of_day(21, 59, 10);
    let faked = Faked::start(&config, &before);
    ticks_on(&faked.daemon, "disabled");
    faked.daemon.wait_for_metric(&rows_sample("pending"), 1.0);
    assert_eq!(deleted(&faked.daemon), 0.0);
    // Less than a minute: a clock that is corrected so far is trusted.
    faked.jump_to(&format!("+{:.0}", before.parse::<f64>().unwrap() + 55.0));
    wait_for_deleted(&faked.daemon, 1.0);
}

#[test]
fn a_hold_is_shown_and_ends_outside_it_too() {
    let guarded = Guarded::new();
    guarded.touch("pause");
    let config = guarded.config(&format!("{QUICK}settle = '10m'\nwindow = '01:00-05:00'"));
    let faked = Faked::start(&config, &time_of_day(12, 0, 0));
    holds(&faked.daemon, &guarded.database, "paused");
    guarded.remove("pause");
    // What is new is shown in the day, not first when the window opens.
    holds(&faked.daemon, &guarded.database, "horizon");
    guarded.touch("accept-horizon");
    released(&faked.daemon, "horizon");
    ticks_on(&faked.daemon, "disabled");
    assert_eq!(faked.daemon.metric(&held_sample("paused")), Some(0.0));
    assert_eq!(deleted(&faked.daemon), 0.0);
}
