//! The sections of the file -> settings.

use std::path::PathBuf;
use std::time::Duration;

use super::reader::Section;
use super::settings::{BATCH, BUSY_TIMEOUT, CENSUS, EVERY, SETTLE, SHARE};
use super::{Block, Database, Location, Settings, Timing, decode, http, known, table};
use crate::plan::{Checkpoint, DatabaseName, Limit, Share, WalPolicy, Window};

/// The whole config. Nothing, or less than there is, where a problem was reported.
pub(super) fn settings(top: &Section<'_>, state_directory: Option<PathBuf>) -> Option<Settings> {
    let http = top.section("http", known::HTTP).map(|section| http::http(&section)).unwrap_or_default();
    let state_dir = top.read("state_dir", decode::path).or(state_directory);
    let defaults = top.section("defaults", known::DEFAULTS);
    let defaults = defaults.map(|section| Options::read(&section)).unwrap_or_default();
    let sections = top.sections("database", "[[database]]", known::DATABASE);
    if !top.has("database") {
        top.refuse("database", "at least one [[database]] with a name and a path must be set");
    }
    let mut seen = Seen { state_dir: state_dir.clone(), ..Seen::default() };
    let blocks = sections.iter().filter_map(|section| block(section, &defaults, &mut seen)).collect();
    Some(Settings { http, state_dir, blocks })
}

fn block(section: &Section<'_>, defaults: &Options, seen: &mut Seen) -> Option<Block> {
    let name = section.require("name", decode::database_name);
    let location = location(section);
    let path = location.as_ref().map(|location| match location {
        Location::Path(path) => path.clone(),
        Location::Glob(glob) => glob.as_str().into(),
    });
    seen.check(section, name.as_ref(), path.as_ref());
    let options = Options::read(section).or(defaults);
    let enabled = options.enabled.unwrap_or(true);
    let rules = table::rules(section, table::Inherited { retention: options.retention, enabled });
    let template = Database {
        name: name?,
        path: path?,
        timing: options.timing.unwrap_or(Timing::Every(EVERY)),
        budget: options.budget,
        batch: options.batch.unwrap_or(BATCH),
        share: options.share.unwrap_or(SHARE),
        busy_timeout: options.busy_timeout.unwrap_or(BUSY_TIMEOUT),
        census: options.census.unwrap_or(CENSUS),
        window: options.window,
        max_share: options.max_share,
        settle: options.settle.unwrap_or(SETTLE),
        wal: WalPolicy {
            checkpoint: options.checkpoint.unwrap_or_default(),
            max: options.max_wal.unwrap_or(WalPolicy::DEFAULT_MAX),
        },
        enabled,
        rules,
    };
    Some(Block { location: location?, template })
}

/// `path` or `glob`, exactly one of them.
fn location(section: &Section<'_>) -> Option<Location> {
    if section.has("path") && section.has("glob") {
        section.refuse("glob", "expected `path` or `glob`, found both");
    }
    if section.has("glob") {
        return section.read("glob", decode::glob).map(Location::Glob);
    }
    section.require("path", decode::path).map(Location::Path)
}

/// Names and paths that earlier databases took.
#[derive(Default)]
struct Seen {
    state_dir: Option<PathBuf>,
    names: Vec<DatabaseName>,
    paths: Vec<PathBuf>,
}

impl Seen {
    fn check(&mut self, section: &Section<'_>, name: Option<&DatabaseName>, path: Option<&PathBuf>) {
        if name.is_some_and(|name| self.names.contains(name)) {
            section.refuse("name", "another database has this name: names must be unique");
        }
        // Two workers on one file would break its pace and count its rows twice.
        if path.is_some_and(|path| self.paths.contains(path)) {
            let key = if section.has("glob") { "glob" } else { "path" };
            section.refuse(key, "another database has this path: add a [[database.table]] there instead");
        }
        // A plain read of a database's file would drop SQLite's locks on it.
        let among_ours = |path: &PathBuf| {
            path.extension().is_some_and(|extension| extension == "json")
                && self.state_dir.as_deref().is_some_and(|folder| path.parent() == Some(folder))
        };
        if path.is_some_and(among_ours) {
            section
                .refuse("path", "this is among keysweep's own files: no *.json of state_dir is a database");
        }
        self.names.extend(name.cloned());
        self.paths.extend(path.cloned());
    }
}

/// What both `[defaults]` and a database may set.
#[derive(Default)]
struct Options {
    timing: Option<Timing>,
    budget: Option<Duration>,
    batch: Option<Limit>,
    share: Option<Share>,
    busy_timeout: Option<Duration>,
    census: Option<Duration>,
    window: Option<Window>,
    max_share: Option<Share>,
    settle: Option<Duration>,
    checkpoint: Option<Checkpoint>,
    max_wal: Option<u64>,
    enabled: Option<bool>,
    retention: Option<Duration>,
}

impl Options {
    fn read(section: &Section<'_>) -> Self {
        Self {
            timing: timing(section),
            budget: section.read("budget", decode::some_time),
            batch: section.read("batch", decode::limit),
            share: section.read("share", decode::share),
            busy_timeout: section.read("busy_timeout", decode::duration),
            census: section.read("census", decode::some_time),
            window: section.read("window", decode::window),
            max_share: section.read("max_share", decode::share),
            settle: section.read("settle", decode::duration),
            checkpoint: section.read("checkpoint", decode::checkpoint),
            max_wal: section.read("max_wal", decode::size),
            enabled: section.read("enabled", decode::flag),
            retention: section.read("retention", decode::duration),
        }
    }

    fn or(self, defaults: &Self) -> Self {
        Self {
            timing: self.timing.or_else(|| defaults.timing.clone()),
            budget: self.budget.or(defaults.budget),
            batch: self.batch.or(defaults.batch),
            share: self.share.or(defaults.share),
            busy_timeout: self.busy_timeout.or(defaults.busy_timeout),
            census: self.census.or(defaults.census),
            window: self.window.or(defaults.window),
            max_share: self.max_share.or(defaults.max_share),
            settle: self.settle.or(defaults.settle),
            checkpoint: self.checkpoint.or(defaults.checkpoint),
            max_wal: self.max_wal.or(defaults.max_wal),
            enabled: self.enabled.or(defaults.enabled),
            retention: self.retention.or(defaults.retention),
        }
    }
}

fn timing(section: &Section<'_>) -> Option<Timing> {
    let schedule = section.read("schedule", decode::schedule).map(Timing::Cron);
    let every = section.read("every", decode::interval).map(Timing::Every);
    if section.has("schedule") && section.has("every") {
        section.refuse("every", "expected `schedule` or `every`, found both");
    }
    schedule.or(every)
}
