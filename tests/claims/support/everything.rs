//! A daemon of which everything can be asked: it deletes, a row is abandoned, a table is held.

use super::{Daemon, Database, Journal, wait_for};

/// A running daemon and its databases.
#[derive(Debug)]
pub struct Everything {
    _well: Database,
    _held: Database,
    pub daemon: Daemon,
}

impl Everything {
    pub fn start() -> Self {
        let well = Database::with_keys(Journal::Wal, [("a", "done", 1.0), ("open", "pending", 1.0)]);
        let held = Database::with_keys(Journal::Wal, [("a", "done", 1.0)]);
        held.shell("CREATE TRIGGER hung AFTER DELETE ON keys BEGIN SELECT 1; END");
        let block = |name: &str, database: &Database| {
            let path = database.path();
            format!("[[database]]\nname = '{name}'\npath = {path:?}\nevery = '200ms'\ncensus = '500ms'\n")
        };
        let daemon = Daemon::start(&well.config_text(&(block("well", &well) + &block("held", &held))));
        Self { _well: well, _held: held, daemon }
    }

    /// `/metrics`, once everything in it was measured.
    pub fn measured(&self) -> String {
        let last = [
            "drain_seconds",
            "pace_rows_per_second",
            "abandoned_rows",
            "database_bytes",
            "cutoff_timestamp_seconds",
        ];
        wait_for("every metric to be measured", || {
            let text = self.daemon.get("/metrics").body;
            last.iter().all(|name| text.contains(&format!("\nkeysweep_{name}{{"))).then_some(text)
        })
    }
}
