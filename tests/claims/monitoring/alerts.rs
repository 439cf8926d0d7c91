//! What goes wrong with the real daemon fires in the real Alertmanager, and clears when it is mended.

use std::net::TcpListener;

use serde_json::Value;

use super::RULES;
use crate::support::prometheus::{Alertmanager, Prometheus};
use crate::support::{Daemon, Database, Journal, document, wait_for};

/// The shipped rules with every length of time made short: what is `for` an hour is for a second, what looks
/// back over hours looks back ten seconds. Nothing else is changed.
fn in_seconds() -> String {
    let rules = document(RULES);
    let line = |line: &str| match line.split_once("for: ") {
        Some((start, _)) if start.trim().is_empty() => format!("{start}for: 1s\n"),
        _ => line.to_owned() + "\n",
    };
    let mut rules: String = rules.lines().map(line).collect();
    for (long, short) in [
        ("[1h]", "[10s]"),
        ("[3h]", "[10s]"),
        ("[25h]", "[10s]"),
        ("[26h]", "[10s]"),
        ("offset 70m", "offset 11s"),
        ("offset 25h", "offset 11s"),
        ("offset 50h", "offset 22s"),
    ] {
        assert!(rules.contains(long), "the rules no longer say {long}");
        rules = rules.replace(long, short);
    }
    rules
}

/// An address that is free, and stays the same when a daemon is started again.
/// It is free until it is used: no client of another claim is given a port of this address.
fn address() -> String {
    TcpListener::bind("127.0.9.25:0").unwrap().local_addr().unwrap().to_string()
}

fn is(labels: &Value, alert: &str, database: &str) -> bool {
    labels["alertname"] == alert && (database.is_empty() || labels["database"] == database)
}

struct Watch {
    alertmanager: Alertmanager,
    prometheus: Prometheus,
}

impl Watch {
    fn over(daemon: &Daemon) -> Self {
        let alertmanager = Alertmanager::start();
        let prometheus = Prometheus::alerting(daemon.address(), &in_seconds(), &alertmanager);
        Self { alertmanager, prometheus }
    }

    fn fires(&self, alert: &str, database: &str) {
        wait_for(&format!("{alert} of `{database}` to fire"), || {
            self.alertmanager.firing().iter().any(|labels| is(labels, alert, database)).then_some(())
        });
    }

    /// Not only the alert that was provoked: no other is left either.
    fn all_clears(&self) {
        wait_for("every alert to clear", || {
            let firing = self.alertmanager.firing();
            let pending = self.prometheus.series("ALERTS")?;
            (firing.is_empty() && pending.is_empty()).then_some(())
        });
    }
}

const OFTEN: &str = "every = '200ms'\ncensus = '500ms'";

fn block(name: &str, database: &Database, lines: &str) -> String {
    format!("[[database]]\nname = '{name}'\npath = {:?}\n{lines}\n", database.path())
}

#[test]
fn what_goes_wrong_with_a_table_fires_and_clears() {
    let abandoned = Database::with_keys(Journal::Wal, [("a", "pending", 9e9)]);
    let held = Database::with_keys(Journal::Wal, [("a", "done", 9e9)]);
    let text = block("abandoned", &abandoned, OFTEN) + &block("held", &held, OFTEN);
    let daemon = Daemon::start(&abandoned.config_text(&text));
    let watch = Watch::over(&daemon);
    watch.prometheus.wait_for_value("count(keysweep_database_up == 1)", 2.0);

    abandoned.shell("UPDATE keys SET expires = 1");
    held.shell("CREATE TRIGGER hung AFTER DELETE ON keys BEGIN SELECT 1; END");
    watch.fires("KeysweepAbandonedRows", "abandoned");
    watch.fires("KeysweepHeld", "held");

    abandoned.shell("UPDATE keys SET status = 'done', response = '{}', expires = 9e9");
    held.shell("DROP TRIGGER hung");
    watch.all_clears();
}

#[test]
fn a_backlog_that_only_grows_fires_and_clears_once_it_is_gone() {
    let database = Database::with_keys(Journal::Wal, [("open", "pending", 9e9)]);
    // One row at a time, and the lock for a thousandth of the time: less than becomes due below.
    let slow = format!("{OFTEN}\nbatch = 1\nshare = 0.001");
    let daemon = Daemon::start(&database.config(&slow));
    let watch = Watch::over(&daemon);
    let more =
        "INSERT INTO keys SELECT hex(randomblob(16)), 'v1', 'done', '{}', 1 FROM generate_series(1, 300)";
    wait_for("KeysweepCannotKeepUp to fire", || {
        database.shell(more);
        let firing = watch.alertmanager.firing();
        firing.iter().any(|labels| is(labels, "KeysweepCannotKeepUp", "app")).then_some(())
    });
    database.shell("DELETE FROM keys WHERE status = 'done'");
    watch.all_clears();
}

#[test]
fn a_daemon_that_is_gone_fires_and_clears_when_it_is_back() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 9e9)]);
    let path = database.path();
    let text =
        format!("[http]\nlisten = '{}'\n[[database]]\nname = 'app'\npath = {path:?}\n{OFTEN}\n", address());
    let config = database.config_text(&text);
    let daemon = Daemon::start_as_configured(&config);
    let watch = Watch::over(&daemon);
    watch.prometheus.wait_for_value("up", 1.0);
    drop(daemon);
    watch.fires("KeysweepDown", "");
    let _daemon = Daemon::start_as_configured(&config);
    watch.all_clears();
}
