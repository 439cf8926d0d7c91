//! Names and passwords.

use super::{OTHER, RIGHT, RIGHT_AND_SLOW, idle, pending, text};
use crate::support::command::keysweep;
use crate::support::identity::{curl, got};
use crate::support::{Daemon, wait_for};

const METRICS: &str = "/metrics";

fn status(daemon: &Daemon, path: &str, user: Option<&str>) -> u16 {
    let url = daemon.url() + path;
    match user {
        Some(user) => got(&["--user", user, &url]).0,
        None => got(&[&url]).0,
    }
}

#[test]
fn whoever_has_no_password_learns_only_that_the_daemon_is_well() {
    let database = pending();
    let daemon = Daemon::start(&idle(&database, &format!("[http.users]\nprom = '{RIGHT}'\nann = '{OTHER}'")));
    for path in ["/", METRICS, "/status.json", "/style.css", "/nowhere"] {
        let answer = curl(&["--include", &(daemon.url() + path)]);
        assert!(answer.stdout.starts_with("HTTP/1.1 401 "), "{path}: {answer:?}");
        assert!(answer.stdout.contains("www-authenticate: Basic realm=\"keysweep\""), "{answer:?}");
        assert!(!answer.stdout.contains("app"), "{answer:?}");
    }
    for path in ["/livez", "/readyz"] {
        assert_eq!(status(&daemon, path, None), 200, "{path}");
    }
    for wrong in ["prom:wrong", "prom:", "prom:other", "ann:right", "nobody:right", ":right", "Prom:right"] {
        assert_eq!(status(&daemon, METRICS, Some(wrong)), 401, "{wrong}");
    }
    for right in ["prom:right", "ann:other", "prom:right"] {
        assert_eq!(status(&daemon, METRICS, Some(right)), 200, "{right}");
    }
    assert_eq!(status(&daemon, METRICS, Some("prom:wrong")), 401, "also once the right one was there");
}

/// What a process has spent so far, in ticks of the kernel's clock.
fn spent(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_name: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    after_name[11].parse::<u64>().unwrap() + after_name[12].parse::<u64>().unwrap()
}

#[test]
fn a_password_that_was_verified_once_costs_no_more_work() {
    let database = pending();
    let daemon = Daemon::start(&idle(&database, &format!("[http.users]\nprom = '{RIGHT_AND_SLOW}'")));
    let cost = |user: &str, wanted: u16| {
        let before = spent(daemon.pid());
        (0..8).for_each(|_| assert_eq!(status(&daemon, "/style.css", Some(user)), wanted));
        spent(daemon.pid()) - before
    };
    let (known, unknown) = (cost("prom:wrong", 401), cost("nobody:wrong", 401));
    assert_eq!(status(&daemon, METRICS, Some("prom:right")), 200);
    let right = cost("prom:right", 200);
    println!(
        "ticks for 8 requests: {known} with a wrong password, {unknown} of nobody, {right} when remembered"
    );
    assert!(known > 10 * right.max(1), "{known} ticks for wrong passwords, {right} for the remembered one");
    assert!(
        unknown * 2 > known && known * 2 > unknown,
        "{known} for a name that is there, {unknown} for another"
    );
}

#[test]
fn a_reload_takes_other_users_or_leaves_those_that_there_were() {
    let database = pending();
    let config = idle(&database, &format!("[http.users]\nprom = '{RIGHT}'"));
    let daemon = Daemon::start(&config);
    let reload = |lines: &str, message: &str| {
        std::fs::write(&config, text(&database.path(), lines)).unwrap();
        let times = || daemon.log().iter().filter(|line| line["message"] == message).count();
        let before = times();
        daemon.signal("HUP");
        wait_for(message, || (times() > before).then_some(()));
    };
    assert_eq!(status(&daemon, METRICS, Some("prom:right")), 200);
    let hidden = "hunter2";
    let refused = "the config was not reloaded: the one before stays in force";
    reload(&format!("[http.users]\nprom = '{hidden}'"), refused);
    assert_eq!(status(&daemon, METRICS, Some("prom:right")), 200);
    let metrics = got(&["--user", "prom:right", &(daemon.url() + METRICS)]).1;
    assert!(metrics.contains("\nkeysweep_config_last_reload_successful 0\n"), "{metrics}");
    let reloaded = "the config was reloaded";
    reload(&format!("[http.users]\nann = '{OTHER}'\nprom = '{OTHER}'"), reloaded);
    assert_eq!(status(&daemon, METRICS, Some("ann:other")), 200);
    assert_eq!(
        status(&daemon, METRICS, Some("prom:right")),
        401,
        "a password that was remembered is forgotten"
    );
    reload("", reloaded);
    assert_eq!(status(&daemon, METRICS, None), 200);
    let log = format!("{:?}", daemon.log());
    assert!(!log.contains(hidden) && !log.contains("$2b$05"), "{log}");
}

#[test]
fn passwords_in_plain_text_beyond_this_machine_are_warned_of() {
    let database = pending();
    let open = "[http]\nlisten = '0.0.0.0:0'\n";
    let lines = format!("{open}[http.users]\nprom = '{RIGHT}'");
    let is_warning =
        |line: &serde_json::Value| line["message"].as_str().unwrap().contains("http.users without http.tls");
    let reloaded = Daemon::start_as_configured(&idle(&database, open));
    assert!(!reloaded.log().iter().any(is_warning));
    let config = idle(&database, &lines);
    reloaded.signal("HUP");
    reloaded.wait_for_log("the warning of a reload", is_warning);
    let daemon = Daemon::start_as_configured(&config);
    daemon.wait_for_log("the warning", is_warning);
    let checked = keysweep(["--config", config.to_str().unwrap(), "check"]);
    assert!(checked.stdout.contains("fault  http: http.users without http.tls"), "{checked:?}");
    assert_eq!(checked.status, 1);
}
