//! Mixed load, lap by lap: what the process holds at the end is what it held after the first laps.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::tenants::{Tenants, deleted};
use crate::support::{Daemon, is_long, now, wait_for};

/// Rows that the application finishes in each tenant in a lap.
const ROWS: u32 = 100;
const STAY: [&str; 3] = ["wal", "busy", "rollback"];
/// With the variable `KEYSWEEP_LONG` set: so long, and the laps of the first tenth to settle.
const LONG: Duration = Duration::from_secs(30 * 60);

#[test]
fn memory_files_threads_and_logs_stay_flat_under_mixed_load() {
    let tenants = Tenants::new(&STAY);
    let config = tenants.config(&tenants.block("every = '100ms'\ncensus = '200ms'"));
    let application = STAY.map(|name| {
        let connection = Connection::open(tenants.path(name)).unwrap();
        connection.busy_timeout(Duration::from_secs(60)).unwrap();
        connection.pragma_update(None, "synchronous", "off").unwrap();
        connection
    });
    application[2].pragma_update(None, "journal_mode", "delete").unwrap();
    let daemon = Daemon::start(&config);
    let begun = Instant::now();
    let (mut lap, mut settled) = (0, None);
    loop {
        lap += 1;
        run_lap(lap, &tenants, &daemon, &application);
        let held = Held::by(&daemon, &tenants);
        let (is_settled, is_over) = match is_long() {
            true => (begun.elapsed() > LONG / 10, begun.elapsed() > LONG),
            false => (lap >= 4, lap >= 10),
        };
        let first = match settled {
            None if is_settled => *settled.insert(held),
            Some(first) => first,
            None => continue,
        };
        if is_over {
            println!("{lap} laps: {first:?}, {held:?}");
            return assert!(held.is_flat_beside(&first), "after {lap} laps {held:?}, at first {first:?}");
        }
    }
}

/// The application writes, a tenant comes and goes, the config is read again, somebody scrapes.
fn run_lap(lap: u32, tenants: &Tenants, daemon: &Daemon, application: &[Connection; 3]) {
    tenants.add("guest");
    for row in 0..ROWS {
        for connection in application {
            let reserve = "INSERT INTO keys VALUES (hex(randomblob(16)), 'v1', 'pending', NULL, ?1)";
            connection.execute(reserve, [now() - f64::from(row % 2)]).unwrap();
            let finish = "UPDATE keys SET status = 'done', response = hex(randomblob(200)) WHERE rowid = ?1";
            connection.execute(finish, [connection.last_insert_rowid()]).unwrap();
        }
        if row % 50 == 0 {
            daemon.get("/metrics");
            daemon.get("/");
            daemon.signal("HUP");
        }
    }
    let done = f64::from(1 + lap * ROWS);
    STAY.iter().for_each(|name| daemon.wait_for_metric(&deleted(&format!("t/{name}")), done));
    daemon.wait_for_metric(&deleted("t/guest"), 1.0);
    tenants.remove("guest");
    let is_gone = || !daemon.get("/metrics").body.contains("database=\"t/guest\"");
    wait_for("the guest's series to vanish", || is_gone().then_some(()));
}

/// What the process holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    kib: u64,
    files: usize,
    threads: usize,
    wal: u64,
}

impl Held {
    fn by(daemon: &Daemon, tenants: &Tenants) -> Self {
        let process = format!("/proc/{}", daemon.pid());
        let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let count = |what: &str| std::fs::read_dir(format!("{process}/{what}")).unwrap().count();
        let wal =
            |name: &&str| tenants.path(name).with_extension("db-wal").metadata().map_or(0, |it| it.size());
        Self {
            kib: resident.trim().trim_end_matches(" kB").parse().unwrap(),
            files: count("fd"),
            threads: count("task"),
            wal: STAY.iter().map(wal).sum(),
        }
    }

    /// A leak of a KiB a tick would show; what an allocator keeps does not.
    fn is_flat_beside(&self, first: &Self) -> bool {
        // A database that is open at this moment has three files.
        self.files <= first.files + 3 * (STAY.len() + 1)
            && self.threads <= 16
            && self.kib <= first.kib + first.kib / 4 + 2_048
            && self.wal <= first.wal * 2 + (16 << 20)
    }
}
