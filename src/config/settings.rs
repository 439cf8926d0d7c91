//! The valid config, and the only home of its defaults.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::{Glob, Http, Schedule};
use crate::plan::{DatabaseName, Limit, RuleBook, Share, WalPolicy, Window};

pub(super) const EVERY: Duration = Duration::from_secs(30);
pub(super) const BATCH: Limit = Limit::MAX;
pub(super) const SHARE: Share = Share::DEFAULT;
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
pub(super) const CENSUS: Duration = Duration::from_secs(60);
pub(super) const SETTLE: Duration = Duration::from_secs(600);
/// Where the daemon listens by default.
pub const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9925);

/// A config that was found valid.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The listener.
    pub http: Http,
    /// The folder of what must be remembered, an absolute path; nothing where nothing is. Default: the
    /// first of `$STATE_DIRECTORY`.
    pub state_dir: Option<PathBuf>,
    /// At least one, with names of their own, in the order of the file.
    pub blocks: Vec<Block>,
}

/// One `[[database]]`: one database, or as many as its pattern finds.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Where they are.
    pub location: Location,
    /// What is done to them: the database itself beside a path, and beside a pattern what each of
    /// them is but for its name and path, which are then the block's name and the pattern's text.
    pub template: Database,
}

/// Where the databases of a block are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// One file.
    Path(PathBuf),
    /// Every file that matches.
    Glob(Glob),
}

impl Block {
    /// Its name: the label of its one database, or how those of all that it finds begin.
    #[must_use]
    pub fn name(&self) -> &DatabaseName {
        &self.template.name
    }

    /// One of the databases that it finds.
    #[must_use]
    pub fn database(&self, name: DatabaseName, path: PathBuf) -> Database {
        Database { name, path, ..self.template.clone() }
    }
}

/// One database and what is done to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Database {
    /// The label `database`.
    pub name: DatabaseName,
    /// The SQLite file, an absolute path.
    pub path: PathBuf,
    /// When its ticks begin. Default: every 30 seconds.
    pub timing: Timing,
    /// The longest that a tick may work, above 0; where nothing is set, whoever runs the tick decides.
    pub budget: Option<Duration>,
    /// The most rows in a transaction. Default: 100.
    pub batch: Limit,
    /// The largest share of the time for which a sweep may hold the write lock. Default: 0.25.
    pub share: Share,
    /// The longest wait to begin a transaction; 0 asks once. Default: 2 seconds.
    pub busy_timeout: Duration,
    /// The time from one census to the next, above 0. Default: 1 minute.
    pub census: Duration,
    /// When rows may be deleted; without it, always.
    pub window: Option<Window>,
    /// The largest share of the finished rows that a sweep may take; without it, all.
    pub max_share: Option<Share>,
    /// How long a horizon is shown before it is acted on; 0 does not show it. Default: 10 minutes.
    pub settle: Duration,
    /// What is done with the write-ahead log. Default: `auto`, 256 MiB.
    pub wal: WalPolicy,
    /// Whether anything is deleted. Default: true.
    pub enabled: bool,
    /// At least one block, in the order of the file.
    pub rules: RuleBook,
}

/// When ticks begin.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Timing {
    /// So long after the one before, at least 100 ms.
    Every(Duration),
    /// By the calendar.
    Cron(Schedule),
}
