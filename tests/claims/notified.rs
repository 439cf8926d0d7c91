//! What the service manager hears: a socket of our own in the place of systemd's.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::process::Command;

use crate::support::command::BINARY;
use crate::support::{Daemon, Database, Journal, PATIENCE};

const QUICK: &str = "every = '100ms'\ncensus = '100ms'";

/// In the place of systemd.
struct Manager(UnixDatagram);

impl Manager {
    fn at(socket: UnixDatagram) -> Self {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(socket)
    }

    /// The next datagram.
    fn hears(&self) -> String {
        let mut words = [0; 4096];
        let length = self.0.recv(&mut words).expect("a word of the daemon");
        String::from_utf8(words[..length].to_vec()).unwrap()
    }

    /// The next datagram that begins so.
    fn hears_of(&self, begin: &str) -> String {
        loop {
            let heard = self.hears();
            if heard.starts_with(begin) {
                return heard;
            }
        }
    }
}

fn daemon(config: &Path, socket: &str, watchdog: Option<&str>) -> Daemon {
    let mut command = Command::new(BINARY);
    command.arg("--config").arg(config).arg("run").env("NOTIFY_SOCKET", socket);
    command.envs(watchdog.map(|micros| ("WATCHDOG_USEC", micros)));
    Daemon::start_command(&mut command)
}

fn one_due() -> Database {
    Database::with_keys(Journal::Wal, [("due", "done", 1.0), ("pending", "pending", 1.0)])
}

#[test]
fn ready_comes_when_it_answers_and_stopping_before_the_end() {
    let database = one_due();
    let path = database.folder().join("notify");
    let manager = Manager::at(UnixDatagram::bind(&path).unwrap());
    let daemon = daemon(&database.config(QUICK), path.to_str().unwrap(), None);
    manager.hears_of("READY=1");
    assert_eq!(daemon.get("/readyz").status, 200);
    daemon.signal("TERM");
    assert!(manager.hears_of("STOPPING=1").contains("\nSTATUS=Stopping"));
    assert_eq!(daemon.ended().code(), Some(0));
}

#[test]
fn a_reload_good_or_bad_begins_with_its_monotonic_time_and_ends_ready() {
    let database = one_due();
    let path = database.folder().join("notify");
    let manager = Manager::at(UnixDatagram::bind(&path).unwrap());
    let config = database.config(QUICK);
    let daemon = daemon(&config, path.to_str().unwrap(), None);
    manager.hears_of("READY=1");
    for (text, successful) in [(std::fs::read_to_string(&config).unwrap(), 1.0), ("bogus = 1".into(), 0.0)] {
        std::fs::write(&config, text).unwrap();
        daemon.signal("HUP");
        let heard = manager.hears_of("RELOADING=1");
        let micros: f64 = heard.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap().parse().unwrap();
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
        let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
        // The boot-time clock, which goes on while a machine sleeps, is never behind.
        assert!(micros > 0.0 && micros / 1e6 <= uptime + 1.0, "{micros} {uptime}");
        manager.hears_of("READY=1");
        assert_eq!(daemon.metric("keysweep_config_last_reload_successful"), Some(successful));
    }
    while !manager.hears_of("STATUS=").ends_with("; the config that was last read is refused") {}
}

#[test]
fn the_status_is_a_sentence_for_a_person() {
    let database = one_due();
    let path = database.folder().join("notify");
    let manager = Manager::at(UnixDatagram::bind(&path).unwrap());
    let _daemon = daemon(&database.config(QUICK), path.to_str().unwrap(), None);
    let swept = "STATUS=1 database; 1 row deleted since the start; 1 abandoned";
    assert_eq!(manager.hears_of(swept), swept);
}

#[test]
fn the_watchdog_is_fed_also_by_an_abstract_name_and_while_a_database_is_locked() {
    let database = one_due();
    let name = format!("keysweep-claims-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let manager = Manager::at(UnixDatagram::bind_addr(&address).unwrap());
    let lock = rusqlite::Connection::open(database.path()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let daemon = daemon(&database.config(QUICK), &format!("@{name}"), Some("200000"));
    daemon.wait_for_metric(r#"keysweep_database_up{database="app"}"#, 0.0);
    for _ in 0..3 {
        manager.hears_of("WATCHDOG=1");
    }
}

#[test]
fn another_process_s_watchdog_is_not_fed() {
    let database = one_due();
    let path = database.folder().join("notify");
    let manager = Manager::at(UnixDatagram::bind(&path).unwrap());
    let mut command = Command::new(BINARY);
    command.arg("--config").arg(database.config(QUICK)).arg("run").env("NOTIFY_SOCKET", &path);
    let daemon = Daemon::start_command(command.env("WATCHDOG_USEC", "2000").env("WATCHDOG_PID", "1"));
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, 1.0);
    daemon.signal("TERM");
    daemon.ended();
    let mut heard = Vec::new();
    while heard.last().is_none_or(|words: &String| !words.starts_with("STOPPING")) {
        heard.push(manager.hears());
    }
    assert!(!heard.iter().any(|words| words.contains("WATCHDOG")), "{heard:?}");
}
