//! The valid config, and the only home of its defaults.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::Schedule;
use crate::plan::{DatabaseName, Limit, RuleBook, Share, Window};

pub(super) const EVERY: Duration = Duration::from_secs(30);
pub(super) const BATCH: Limit = Limit::MAX;
pub(super) const SHARE: Share = Share::DEFAULT;
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
pub(super) const CENSUS: Duration = Duration::from_secs(60);
pub(super) const SETTLE: Duration = Duration::from_secs(600);
pub(super) const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9925);

/// A config that was found valid.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where to listen for HTTP; nothing where that is turned off. Default: 127.0.0.1:9925.
    pub listen: Option<SocketAddr>,
    /// The folder of what must be remembered, an absolute path; nothing where nothing is. Default: the
    /// first of `$STATE_DIRECTORY`.
    pub state_dir: Option<PathBuf>,
    /// At least one, with names and paths of their own, in the order of the file.
    pub databases: Vec<Database>,
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
