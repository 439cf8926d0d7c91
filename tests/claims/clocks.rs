//! Time: the wall clock jumps, the process is stopped, ticks take longer than their interval.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::command::BINARY;
use crate::support::daemon::value_of;
use crate::support::lock::Lock;
use crate::support::{Daemon, Database, Journal, keysweep, now, wait_for};

const YEAR: f64 = 365.0 * 86_400.0;
const SILENT: &str = "the scheduler has been silent";

/// The library of the Debian package `faketime`, in the folder of this machine's architecture.
fn faketime() -> PathBuf {
    let folders = Path::new("/usr/lib").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let library = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|path| path.exists());
    library.expect("the Debian package `faketime` is installed")
}

/// A daemon whose wall clock is ours to set. Its monotonic clock is the real one.
struct Faked {
    daemon: Daemon,
    clock: PathBuf,
}

impl Faked {
    fn start(config: &Path, offset: &str) -> Self {
        let clock = config.with_file_name("clock");
        set_clock(&clock, offset);
        let mut command = Command::new(BINARY);
        command.arg("--config").arg(config).arg("run");
        command.env("LD_PRELOAD", faketime()).env("FAKETIME_TIMESTAMP_FILE", &clock);
        command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        Self { daemon: Daemon::start_command(&mut command), clock }
    }

    /// Show the real time and so much.
    fn jump_to(&self, offset: &str) {
        set_clock(&self.clock, offset);
    }
}

/// In one step, because the clock is read meanwhile.
fn set_clock(file: &Path, offset: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, format!("{offset}\n")).unwrap();
    std::fs::rename(new, file).unwrap();
}

fn metric(daemon: &Daemon, name: &str, database: &str) -> f64 {
    let sample = format!(r#"keysweep_{name}{{database="{database}",table="keys"}}"#);
    daemon.metric(&sample).unwrap()
}

fn sweeps(daemon: &Daemon, database: &str) -> f64 {
    let sample = format!(r#"keysweep_sweeps_total{{database="{database}",stop="drained",table="keys"}}"#);
    daemon.metric(&sample).unwrap()
}

fn wait_for_sweeps(daemon: &Daemon, database: &str, wanted: f64) {
    wait_for(&format!("sweep {wanted} of {database}"), || (sweeps(daemon, database) >= wanted).then_some(()));
}

/// Three more sweeps of each database, the latest at about this offset from the real time.
fn ticks_on(daemon: &Daemon, databases: &[&str], offset: f64) {
    let before: Vec<f64> = databases.iter().map(|database| sweeps(daemon, database)).collect();
    for (database, before) in databases.iter().zip(before) {
        wait_for_sweeps(daemon, database, before + 3.0);
        wait_for(&format!("{database} to be swept at the new time"), || {
            let last = metric(daemon, "last_attempt_timestamp_seconds", database);
            ((last - now() - offset).abs() < 120.0).then_some(())
        });
    }
    wait_for("/livez to say 200", || (daemon.get("/livez").status == 200).then_some(()));
    assert_eq!(daemon.get("/readyz").status, 200);
}

/// These databases in the folder of the first, each with its own lines.
fn config(databases: &[(&str, &Database, &str)]) -> PathBuf {
    let block = |(name, database, lines): &(&str, &Database, &str)| {
        let path = database.path();
        format!("[[database]]\nname = '{name}'\npath = {path:?}\ncensus = '1h'\n{lines}\n")
    };
    databases[0].1.config_text(&databases.iter().map(block).collect::<String>())
}

fn one_pending() -> Database {
    Database::with_keys(Journal::Wal, [("a", "pending", 1.0), ("b", "done", 9e9)])
}

/// Seconds from one ring to the next where many shall fall into one tick.
const INTERVAL: f64 = 0.3;
const NEXT_TICK: &str = r#"keysweep_next_tick_timestamp_seconds{database="app"}"#;
const SWEEPS: &str = r#"keysweep_sweeps_total{database="app",stop="drained",table="keys"}"#;

const BY_INTERVAL: &str = "every = '1s'";
const BY_CRON: &str = "schedule = '* * * * * *'";

#[test]
fn it_ticks_on_when_the_wall_clock_jumps_a_year_ahead_and_back_again_and_further() {
    let (one, two) = (one_pending(), one_pending());
    let faked = Faked::start(&config(&[("interval", &one, BY_INTERVAL), ("cron", &two, BY_CRON)]), "+0");
    let databases = ["interval", "cron"];
    ticks_on(&faked.daemon, &databases, 0.0);
    faked.jump_to("+365d");
    ticks_on(&faked.daemon, &databases, YEAR);
    let before = silences(&faked.daemon);
    faked.jump_to("+0");
    ticks_on(&faked.daemon, &databases, 0.0);
    assert!(silences(&faked.daemon) > before, "the jobs were not set anew: {:?}", faked.daemon.log());
    faked.jump_to("-365d");
    ticks_on(&faked.daemon, &databases, -YEAR);
    for database in [&one, &two] {
        assert_eq!(database.ids(), ["a", "b"]);
    }
}

fn silences(daemon: &Daemon) -> usize {
    let is_silence = |event: &&serde_json::Value| event["message"].as_str().unwrap().starts_with(SILENT);
    daemon.log().iter().filter(is_silence).count()
}

#[test]
fn it_ticks_on_after_it_was_stopped_for_many_intervals_and_nothing_is_set_anew() {
    let (one, two) = (one_pending(), one_pending());
    let daemon = Daemon::start(&config(&[("interval", &one, BY_INTERVAL), ("cron", &two, BY_CRON)]));
    ticks_on(&daemon, &["interval", "cron"], 0.0);
    stop_for(&daemon, Duration::from_secs(8));
    ticks_on(&daemon, &["interval", "cron"], 0.0);
    assert_eq!(silences(&daemon), 0);
}

#[test]
fn a_ring_that_was_due_while_the_process_was_stopped_is_not_lost() {
    let database = one_pending();
    let due = (now() + 10.0).floor();
    let once_a_minute = format!("schedule = '{} * * * * *'", due % 60.0);
    let daemon = Daemon::start(&config(&[("cron", &database, once_a_minute.as_str())]));
    assert!(now() < due && sweeps(&daemon, "cron") == 0.0, "the daemon took long to start");
    stop_for(&daemon, Duration::from_secs_f64(due + 2.0 - now()));
    wait_for_sweeps(&daemon, "cron", 1.0);
    let swept = metric(&daemon, "last_attempt_timestamp_seconds", "cron");
    assert!((due..due + 50.0).contains(&swept), "due at {due}, swept at {swept}");
}

/// Stop the process, and continue it after so long.
fn stop_for(daemon: &Daemon, length: Duration) {
    daemon.signal("STOP");
    let stopped = Instant::now();
    wait_for("the process to stop and the time to pass", || {
        (state_of(daemon) == 'T' && stopped.elapsed() >= length).then_some(())
    });
    daemon.signal("CONT");
}

fn state_of(daemon: &Daemon) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", daemon.pid())).unwrap();
    stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
}

#[test]
fn databases_on_one_schedule_all_ring() {
    let databases = [one_pending(), one_pending(), one_pending()];
    let [one, two, three] = &databases;
    let config = config(&[("one", one, BY_CRON), ("two", two, BY_CRON), ("three", three, BY_CRON)]);
    let daemon = Daemon::start(&config);
    ticks_on(&daemon, &["one", "two", "three"], 0.0);
}

#[test]
fn a_schedule_of_five_fields_rings_at_second_zero_of_its_minute() {
    let database = one_pending();
    let config = config(&[("cron", &database, "schedule = '* * * * *'")]);
    let to_second_55 = (115.0 - now() % 60.0) % 60.0;
    let faked = Faked::start(&config, &format!("+{to_second_55:.0}"));
    wait_for_sweeps(&faked.daemon, "cron", 1.0);
    let second = metric(&faked.daemon, "last_attempt_timestamp_seconds", "cron") % 60.0;
    assert!(second < 20.0, "it rang at second {second}");
    let check = keysweep(["--config", config.to_str().unwrap(), "check"]);
    assert!(check.stdout.contains("on schedule `0 * * * * *` (UTC)"), "{check:?}");
}

#[test]
fn rings_during_a_tick_become_one_and_ticks_of_a_database_never_overlap() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0)]);
    let lock = Lock::immediate(&database.path());
    let lines = format!("every = '{:.0}ms'\nbusy_timeout = '60s'\nbudget = '60s'", INTERVAL * 1e3);
    let daemon = Daemon::start(&config(&[("app", &database, lines.as_str())]));
    let first = wait_for("the first ring", || daemon.metric(NEXT_TICK));
    rung_until(&daemon, first + 3.0 * INTERVAL);
    let open = open_files(&daemon, &database);
    let released = rung_until(&daemon, first + 12.0 * INTERVAL);
    assert!(open > 0);
    assert_eq!((sweeps(&daemon, "app"), open_files(&daemon, &database)), (0.0, open));
    drop(lock);
    let (next, swept) = wait_for("the rings after the release", || {
        let page = daemon.get("/metrics").body;
        let (next, swept) = (value_of(&page, NEXT_TICK)?, value_of(&page, SWEEPS)?);
        (swept >= 2.0 && next > released).then_some((next, swept))
    });
    let rings = ((next - released) / INTERVAL).ceil();
    assert!(swept <= 2.0 + rings, "{swept} sweeps, although only {rings} rings came after the release");
    assert!(database.ids().is_empty());
}

/// Wait until the next ring is announced for this time or later, and give its time.
fn rung_until(daemon: &Daemon, time: f64) -> f64 {
    wait_for("more rings", || daemon.metric(NEXT_TICK).filter(|next| *next >= time))
}

/// How often the daemon has the database file open: once for each connection.
fn open_files(daemon: &Daemon, database: &Database) -> usize {
    let files = std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap();
    let target = |file: std::io::Result<std::fs::DirEntry>| std::fs::read_link(file.ok()?.path()).ok();
    files.filter_map(target).filter(|target| *target == database.path()).count()
}
