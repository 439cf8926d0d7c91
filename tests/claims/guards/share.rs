//! `max_share`: a sweep that would take much of what is finished waits for a person.

use super::{Guarded, QUICK, checked, holds, is_held, is_swept, released, wait_for_deleted, would_be_held};
use crate::support::Daemon;

const TIGHT: &str = "settle = '0s'\nmax_share = 0.25\n";

#[test]
fn a_sweep_that_would_take_more_is_held_with_both_numbers_until_it_may() {
    // One of three finished rows is due.
    let guarded = Guarded::new();
    let said = is_held(&guarded.ask(TIGHT, &["sweep"]), "share");
    for part in ["1 of its 3 finished rows were due", "max_share = 0.25", "raise max_share", "--dry-run"] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    guarded.is_untouched();
    would_be_held(&guarded.ask(TIGHT, &["sweep", "--dry-run"]), "share", &["due"]);
    let check = guarded.ask(TIGHT, &["check"]);
    assert!(checked(&check, "share").0.contains("1 of its 3"));
    assert_eq!(check.status, 1);
    is_swept(&guarded.ask("settle = '0s'\nmax_share = 0.34", &["sweep"]), 1);
}

#[test]
fn leaving_it_out_is_a_way_out_too() {
    let guarded = Guarded::new();
    is_held(&guarded.ask(TIGHT, &["sweep"]), "share");
    is_swept(&guarded.ask("settle = '0s'", &["sweep"]), 1);
}

#[test]
fn a_daemon_judges_it_anew_at_each_tick() {
    let guarded = Guarded::new();
    let daemon = Daemon::start(&guarded.config(&format!("{QUICK}{TIGHT}")));
    holds(&daemon, &guarded.database, "share");
    guarded
        .database
        .shell("INSERT INTO keys VALUES ('x', 'v1', 'done', NULL, 9e9), ('y', 'v1', 'done', NULL, 9e9);");
    released(&daemon, "share");
    wait_for_deleted(&daemon, 1.0);
}
