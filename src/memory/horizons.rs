//! The horizons of each database: read, judged and written at every tick, because other processes do too.

use std::io;
use std::sync::atomic::Ordering;

use sha2::{Digest, Sha256};

use super::files::Folder;
use super::format::{File, HorizonsFormat};
use super::{ACCEPT_HORIZON, Remembered, Role, locked};
use crate::config::Database;
use crate::plan::{Horizon, Reading, Rule, Seen, TableLabel, Unsettled, hex};

const PREFIX: &str = "horizon-";
const SUFFIX: &str = ".json";
/// A file system takes names of 255 bytes.
const LONGEST: usize = 150;

type Tables = Vec<(Horizon, Seen)>;

impl Remembered {
    /// The tables of a database that are held by their horizon. Without a folder there is no such guard.
    pub(super) fn horizons(
        &self,
        database: &Database,
        rules: &[Rule],
        now: &Reading,
    ) -> Vec<(TableLabel, Unsettled)> {
        let Some(folder) = &self.folder else { return Vec::new() };
        let _alone = locked(&self.horizons);
        let name = database.name.as_str();
        let path = database.path.display().to_string();
        let before = load(folder, &file_name(name), name, &path);
        let mut tables = before.clone();
        look(&mut tables, rules, database, now);
        if self.is_accepted(folder, &tables) {
            accept(&mut tables);
        }
        let kept = if tables == before { Ok(()) } else { self.keep(folder, name, &path, &tables) };
        // What could not be kept is not accepted either: it would be forgotten, and nobody would know.
        let shown = if kept.is_ok() { &tables } else { &before };
        unsettled(shown, rules, database, folder, kept.err())
    }

    /// Whether a person accepts what is held now, in every database of the folder.
    fn is_accepted(&self, folder: &Folder, tables: &Tables) -> bool {
        let goes_on = self.role == Role::Command && self.accepted.load(Ordering::Relaxed);
        if !folder.has(ACCEPT_HORIZON) {
            return goes_on;
        }
        let others = self.accept_elsewhere(folder);
        let held = others || tables.iter().any(|(_, seen)| seen.waiting.is_some());
        let obeyed = self.obeys(ACCEPT_HORIZON, held);
        self.accepted.fetch_or(obeyed, Ordering::Relaxed);
        obeyed || goes_on
    }

    /// Accept what other databases show. Gives whether there was any.
    fn accept_elsewhere(&self, folder: &Folder) -> bool {
        let names = folder.names(PREFIX).unwrap_or_default();
        let mut held = false;
        for file in names {
            let Ok(Some(Ok(holds))) =
                folder.read::<File<HorizonsFormat>>(&file).map(|read| read.map(File::opened))
            else {
                continue;
            };
            let (database, path) = (holds.database.clone(), holds.path.clone());
            let Ok(mut tables) = holds.tables() else { continue };
            if tables.iter().any(|(_, seen)| seen.waiting.is_some()) {
                held = true;
                accept(&mut tables);
                if let Err(error) = self.keep(folder, &database, &path, &tables) {
                    tracing::warn!(database, error, "what was accepted cannot be kept: it is held on");
                }
            }
        }
        held
    }

    fn keep(&self, folder: &Folder, database: &str, path: &str, tables: &Tables) -> Result<(), String> {
        if self.role == Role::Onlooker {
            return Ok(());
        }
        let name = file_name(database);
        let failed =
            |error: io::Error| format!("{} cannot be written: {error}", folder.path(&name).display());
        folder.write(&name, &File::new(HorizonsFormat::new(database, path, tables))).map_err(failed)
    }
}

/// Look at every rule as it is configured now.
fn look(tables: &mut Tables, rules: &[Rule], database: &Database, now: &Reading) {
    for (horizon, retention) in rules.iter().filter_map(Horizon::of) {
        let known = tables.iter_mut().find(|(known, _)| *known == horizon);
        let seen = known.as_ref().map_or_else(Seen::default, |(_, seen)| seen.clone());
        let seen = seen.looked_at(retention, now, database.settle);
        match known {
            Some((_, known)) => *known = seen,
            None => tables.push((horizon, seen)),
        }
    }
}

fn accept(tables: &mut Tables) {
    tables.iter_mut().for_each(|(_, seen)| *seen = seen.accepted());
}

/// The rules that are held. `lost`: why what was seen now could not be kept.
fn unsettled(
    tables: &Tables,
    rules: &[Rule],
    database: &Database,
    folder: &Folder,
    lost: Option<String>,
) -> Vec<(TableLabel, Unsettled)> {
    let (settle, accept) = (database.settle, folder.touch(ACCEPT_HORIZON));
    let hold = |rule: &Rule| {
        let (horizon, retention) = Horizon::of(rule)?;
        let seen = tables.iter().find(|(known, _)| *known == horizon).map(|(_, seen)| seen);
        let from = seen.and_then(|seen| seen.accepted);
        let held = match &lost {
            None => seen?.unsettled(settle, &accept)?,
            Some(_) if settle.is_zero() || from.is_some_and(|from| retention >= from) => return None,
            Some(why) => Unsettled { retention, from, begins: Err(why.clone()), accept: accept.clone() },
        };
        Some((rule.label.clone(), held))
    };
    rules.iter().filter_map(hold).collect()
}

/// What is remembered of a database. What cannot be read was never seen, nor was another file under its
/// name: both hold its tables anew.
fn load(folder: &Folder, file: &str, database: &str, path: &str) -> Tables {
    let read = || match folder.read::<File<HorizonsFormat>>(file)? {
        Some(file) => file.opened().and_then(|holds| match holds.database == database {
            true if holds.path != path => Ok(Vec::new()),
            true => holds.tables(),
            false => Err(format!("it is of database `{}`", holds.database.escape_debug())),
        }),
        None => Ok(Vec::new()),
    };
    read().unwrap_or_else(|error| {
        let path = folder.path(file).display().to_string();
        tracing::warn!(database, path, error, "cannot be read: its tables count as never seen");
        Vec::new()
    })
}

/// A name that every file system takes, and that no other database has.
fn file_name(database: &str) -> String {
    let mut escaped = String::new();
    for byte in database.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02x}"));
        }
    }
    if escaped.len() > LONGEST {
        escaped = format!("%{}", hex(&Sha256::digest(database)));
    }
    format!("{PREFIX}{escaped}{SUFFIX}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_after_its_database_and_after_no_other() {
        assert_eq!(file_name("payments"), "horizon-payments.json");
        assert_eq!(file_name("tenants/a b"), "horizon-tenants%2fa%20b.json");
        assert_ne!(file_name("a%2fb"), file_name("a/b"));
        assert_ne!(file_name("../../etc"), "horizon-../../etc.json");
        let long = |last: char| file_name(&format!("{}{last}", "ü".repeat(200)));
        assert!(long('a').len() < 255 && long('a') != long('b'));
    }
}
