//! A config that is read again on SIGHUP: all of it, or nothing.

use std::path::Path;

use crate::support::tenants::{Tenants, deleted, up};
use crate::support::{Daemon, has_open, wait_for};

const OFTEN: &str = "every = '100ms'\ncensus = '100ms'";
const SUCCESSFUL: &str = "keysweep_config_last_reload_successful";
const RELOADED: &str = "the config was reloaded";
const REFUSED: &str = "the config was not reloaded: the one before stays in force";

/// Put a whole new config in place, as an editor or a mount does.
fn replace(config: &Path, text: &str) {
    let new = config.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, config).unwrap();
}

fn times(daemon: &Daemon, message: &str) -> usize {
    daemon.log().iter().filter(|line| line["message"] == message).count()
}

/// Ask for a reload and wait until it is done.
fn reload(daemon: &Daemon, message: &str) {
    let before = times(daemon, message);
    daemon.signal("HUP");
    wait_for(message, || (times(daemon, message) > before).then_some(()));
}

fn has_series(daemon: &Daemon, label: &str) -> bool {
    daemon.get("/metrics").body.contains(&format!("database=\"{label}\""))
}

#[test]
fn databases_come_change_and_go_and_the_others_are_not_disturbed() {
    let tenants = Tenants::new(&["kept", "changed", "gone", "new"]);
    let block = |name, lines: &str| tenants.block_of(name, &format!("{OFTEN}\n{lines}"));
    let config = tenants.config(&(block("kept", "") + &block("changed", "") + &block("gone", "")));
    let daemon = Daemon::start(&config);
    for name in ["kept", "changed", "gone"] {
        daemon.wait_for_metric(&deleted(name), 1.0);
    }
    replace(&config, &(block("new", "") + &block("kept", "") + &block("changed", "enabled = false")));
    reload(&daemon, RELOADED);
    let done = daemon.wait_for_log("the reload", |line| line["message"] == RELOADED);
    for (field, count) in [("databases", 3), ("added", 1), ("changed", 1), ("removed", 1)] {
        assert_eq!(done[field], count, "{done}");
    }
    assert!(!has_series(&daemon, "gone"));
    assert_eq!(daemon.metric(&deleted("kept")), Some(1.0));
    assert_eq!(daemon.metric(&deleted("changed")), Some(1.0));
    daemon.wait_for_metric(&deleted("new"), 1.0);
    tenants.insert("kept", "more");
    tenants.insert("changed", "more");
    tenants.insert("gone", "more");
    daemon.wait_for_metric(&deleted("kept"), 2.0);
    let disabled = r#"keysweep_sweeps_total{database="changed",stop="disabled",table="keys"}"#;
    wait_for("ticks of the changed one", || (daemon.metric(disabled)? >= 2.0).then_some(()));
    assert_eq!(tenants.ids("changed"), ["more", "open"]);
    wait_for("the file to be closed", || (!has_open(daemon.pid(), &tenants.path("gone"))).then_some(()));
    assert_eq!(tenants.ids("gone"), ["more", "open"]);
    assert_eq!(daemon.metric(SUCCESSFUL), Some(1.0));
}

#[test]
fn a_table_that_stays_keeps_its_counters_and_one_that_is_new_begins_at_zero() {
    let tenants = Tenants::new(&["a"]);
    let table = |name| {
        format!("[[database.table]]\nname = '{name}'\ndone = {{ column = 'status', in = ['{name}'] }}\n")
            .replace("['keys']", "['done']")
    };
    let block = |tables: &str| tenants.block_of("a", &format!("{OFTEN}\n{tables}"));
    let config = tenants.config(&block(&(table("keys") + &table("other"))));
    let daemon = Daemon::start(&config);
    let other = deleted("a").replace("table=\"keys\"", "table=\"other\"");
    let more = deleted("a").replace("table=\"keys\"", "table=\"more\"");
    daemon.wait_for_metric(&deleted("a"), 1.0);
    replace(&config, &block(&(table("keys") + &table("more"))));
    reload(&daemon, RELOADED);
    assert_eq!((daemon.metric(&deleted("a")), daemon.metric(&other)), (Some(1.0), None));
    assert_eq!(daemon.metric(&more), Some(0.0));
}

#[test]
fn the_tables_of_a_pattern_keep_their_counters_when_their_database_changes() {
    let tenants = Tenants::new(&["a"]);
    let block =
        |lines: &str| tenants.block_of("a", &format!("{OFTEN}\n{lines}\n[[database.table]]\ntable = 'k*'\n"));
    let config = tenants.config(&block(""));
    let daemon = Daemon::start(&config);
    daemon.wait_for_metric(&deleted("a"), 1.0);
    replace(&config, &block("batch = 50"));
    reload(&daemon, RELOADED);
    assert_eq!(daemon.metric(&deleted("a")), Some(1.0));
    tenants.insert("a", "more");
    daemon.wait_for_metric(&deleted("a"), 2.0);
}

#[test]
fn a_bad_config_changes_nothing_and_every_problem_is_in_one_line() {
    let tenants = Tenants::new(&["a", "b"]);
    let config = tenants.config(&tenants.block_of("a", OFTEN));
    let daemon = Daemon::start(&config);
    daemon.wait_for_metric(&deleted("a"), 1.0);
    replace(&config, &(tenants.block_of("b", OFTEN) + &tenants.block_of("b", "batch = 0")));
    reload(&daemon, REFUSED);
    daemon.wait_for_metric(SUCCESSFUL, 0.0);
    let line = daemon.wait_for_log("the refusal", |line| line["message"] == REFUSED);
    let error = line["error"].as_str().unwrap();
    for telling in ["names must be unique", "another database has this path", "an integer from 1 to 100"] {
        assert!(error.contains(telling), "{error}");
    }
    assert_eq!((line["level"].as_str(), times(&daemon, REFUSED)), (Some("ERROR"), 1));
    tenants.insert("a", "more");
    daemon.wait_for_metric(&deleted("a"), 2.0);
    assert!(!has_series(&daemon, "b"));
    assert_eq!(tenants.ids("b"), ["due", "open"]);
    std::fs::remove_file(&config).unwrap();
    reload(&daemon, REFUSED);
    replace(&config, &(tenants.block_of("a", OFTEN) + &tenants.block_of("b", OFTEN)));
    reload(&daemon, RELOADED);
    daemon.wait_for_metric(SUCCESSFUL, 1.0);
    daemon.wait_for_metric(&deleted("b"), 1.0);
    assert_eq!(daemon.metric(&deleted("a")), Some(2.0));
}

#[test]
fn two_quick_hangups_end_in_the_latest_config_whole() {
    let tenants = Tenants::new(&["a", "b", "c"]);
    let config = tenants.config(&tenants.block_of("a", OFTEN));
    let daemon = Daemon::start(&config);
    daemon.wait_for_metric(&deleted("a"), 1.0);
    replace(&config, &tenants.block_of("b", OFTEN));
    daemon.signal("HUP");
    replace(&config, &(tenants.block_of("a", OFTEN) + &tenants.block_of("c", OFTEN)));
    daemon.signal("HUP");
    wait_for("the latest config", || {
        (has_series(&daemon, "a") && has_series(&daemon, "c") && !has_series(&daemon, "b")).then_some(())
    });
    daemon.wait_for_metric(&deleted("c"), 1.0);
    tenants.insert("a", "more");
    wait_for("the first one to be swept again", || (tenants.ids("a") == ["open"]).then_some(()));
    assert!((1..=2).contains(&times(&daemon, RELOADED)), "{:?}", daemon.log());
}

#[test]
fn a_sweep_in_hand_ends_between_two_batches_when_its_database_is_removed() {
    let tenants = Tenants::new(&["a", "b"]);
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) \
                INSERT INTO keys SELECT 'k' || i, 'v1', 'done', '{}', 1 FROM n";
    crate::support::database::shell(&tenants.path("a"), rows);
    let slow = tenants.block_of("a", "every = '1h'\nbatch = 1\nshare = 0.01\ncensus = '1h'");
    let config = tenants.config(&(slow + &tenants.block_of("b", OFTEN)));
    let daemon = Daemon::start(&config);
    wait_for("some rows to be deleted", || (daemon.metric(&deleted("a"))? >= 2.0).then_some(()));
    replace(&config, &tenants.block_of("b", OFTEN));
    reload(&daemon, RELOADED);
    wait_for("the file to be closed", || (!has_open(daemon.pid(), &tenants.path("a"))).then_some(()));
    let left = tenants.ids("a").len();
    assert!(left > 1 && left < 20_001, "{left}");
    replace(&config, &(tenants.block_of("b", OFTEN) + &tenants.block_of("a", OFTEN)));
    reload(&daemon, RELOADED);
    wait_for("the rest to be swept", || (tenants.ids("a") == ["open"]).then_some(()));
}

#[test]
fn a_key_that_needs_a_restart_is_named_and_the_rest_is_taken() {
    let tenants = Tenants::new(&["a", "b"]);
    let listening = |port: u16, block: String| format!("[http]\nlisten = '127.0.0.1:{port}'\n{block}");
    let config = tenants.config(&listening(0, tenants.block_of("a", OFTEN)));
    let daemon = Daemon::start_as_configured(&config);
    daemon.wait_for_metric(&deleted("a"), 1.0);
    replace(&config, &listening(1, tenants.block(OFTEN)));
    reload(&daemon, RELOADED);
    let warned = daemon.wait_for_log("the warning", |line| line["key"] == "http.listen");
    assert_eq!(warned["level"], "WARN");
    daemon.wait_for_metric(&deleted("t/b"), 1.0);
    daemon.wait_for_metric(&up("t/a"), 1.0);
}
