//! A scrape of very many series: whole, and small in memory.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;

use crate::support::{Daemon, Database, Journal, PATIENCE};

const TABLES: usize = 1_000;
/// Clients that begin to read and then stand still.
const CLIENTS: usize = 24;

/// A daemon with so many tables, of a database that is not there: it has nothing to do but to answer.
fn daemon_of_many_tables(database: &Database) -> Daemon {
    let gone = database.folder().join("gone.db");
    let mut config = format!("[[database]]\nname = 'app'\npath = {gone:?}\nevery = '1h'\ncensus = '1h'\n");
    for number in 0..TABLES {
        write!(config, "[[database.table]]\ntable = 'rule-{number}'\n").unwrap();
    }
    let daemon = Daemon::start(&database.config_text(&config));
    daemon.wait_for_metric(r#"keysweep_database_up{database="app"}"#, 0.0);
    daemon
}

/// Bytes that a process holds in memory.
fn resident(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

/// Asks for the metrics and reads no more than the beginning of the answer.
fn begin_to_read(daemon: &Daemon) -> TcpStream {
    let mut client = TcpStream::connect(daemon.address()).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    client.read_exact(&mut [0; 12]).unwrap();
    client
}

#[test]
fn a_scrape_of_many_tables_has_every_series_of_each() {
    let database = Database::with_keys(Journal::Wal, []);
    let daemon = daemon_of_many_tables(&database);
    let page = daemon.get("/metrics");
    assert_eq!(page.status, 200);
    let series = |name: &str| page.body.lines().filter(|line| line.starts_with(&format!("{name}{{"))).count();
    for (name, of_each) in [
        ("keysweep_deleted_rows_total", 1),
        ("keysweep_batches_total", 1),
        ("keysweep_sweeps_total", 6),
        ("keysweep_skipped_rows_total", 5),
        ("keysweep_held", 8),
        ("keysweep_retention_seconds", 1),
    ] {
        assert_eq!(series(name), of_each * TABLES, "{name}");
        let explained = page.body.matches(&format!("# TYPE {name} ")).count();
        assert_eq!(explained, 1, "{name}");
    }
}

#[test]
fn clients_that_do_not_read_on_hold_a_small_part_of_their_answers_in_memory() {
    let database = Database::with_keys(Journal::Wal, []);
    let daemon = daemon_of_many_tables(&database);
    let answer = daemon.get("/metrics").body.len();
    assert!(answer > 1_000_000, "{answer} bytes are too few to show anything");
    let before = resident(daemon.pid());
    let clients: Vec<_> = (0..CLIENTS).map(|_| begin_to_read(&daemon)).collect();
    let grown = resident(daemon.pid()).saturating_sub(before);
    assert!(grown < clients.len() * answer / 4, "{grown} bytes more for {CLIENTS} answers of {answer}");
}
