//! The walls between the rooms of the source, read from the source itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Whom each room may import. Everything flows one way.
const ROOMS: &[(&str, &[&str])] = &[
    ("plan", &[]),
    ("clock", &["plan"]),
    ("listener", &["plan"]),
    ("config", &["listener", "plan"]),
    ("memory", &["config", "plan"]),
    ("discover", &["config", "plan"]),
    ("store", &["plan"]),
    ("observe", &["listener", "plan"]),
    ("tick", &["plan", "store"]),
    ("census", &["plan", "store"]),
    ("schedule", &["clock", "config", "plan"]),
    ("record", &["clock", "plan", "store"]),
    (
        "daemon",
        &[
            "census", "clock", "config", "discover", "listener", "memory", "observe", "plan", "schedule",
            "store", "tick",
        ],
    ),
    (
        "cli",
        &[
            "census", "clock", "config", "daemon", "discover", "listener", "memory", "observe", "plan",
            "record", "schedule", "store", "tick",
        ],
    ),
];

const LONGEST_FILE: usize = 260;

/// A source file, without its comments and its tests.
struct Source {
    /// Below `src`.
    path: PathBuf,
    code: String,
}

impl Source {
    /// The room that the file is in; nothing for `main.rs` and `lib.rs`, which know everyone.
    fn room(&self) -> Option<String> {
        let first = Path::new(self.path.iter().next().unwrap()).with_extension("");
        let room = first.to_str().unwrap().to_owned();
        (room != "main" && room != "lib").then_some(room)
    }

    fn shown(&self) -> String {
        format!("src/{}", self.path.display())
    }
}

fn sources() -> Vec<Source> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    read_folder(&src, &src, &mut sources);
    assert!(sources.len() > 40, "only {} files: is this the source?", sources.len());
    sources
}

fn read_folder(src: &Path, folder: &Path, sources: &mut Vec<Source>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_folder(src, &path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            let code = code_of(&std::fs::read_to_string(&path).unwrap());
            sources.push(Source { path: path.strip_prefix(src).unwrap().into(), code });
        }
    }
}

fn code_of(text: &str) -> String {
    let product = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let code = product.lines().map(|line| if line.trim_start().starts_with("//") { "" } else { line });
    code.collect::<Vec<_>>().join("\n")
}

/// The rooms that this code names by a path from the crate's root.
fn imports(code: &str) -> BTreeSet<String> {
    let mut rooms = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(group) => rooms.extend(first_names(group)),
            None => rooms.extend(first_name(rest)),
        }
    }
    rooms
}

fn first_name(path: &str) -> Option<String> {
    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len());
    (end > 0).then(|| path[..end].to_owned())
}

/// The first names of a group's paths, up to its closing brace.
fn first_names(group: &str) -> Vec<String> {
    let (mut depth, mut names, mut expected) = (0, Vec::new(), true);
    for (position, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => expected = true,
            c if c.is_alphabetic() && expected => {
                names.extend(first_name(&group[position..]));
                expected = false;
            }
            _ => {}
        }
    }
    names
}

/// How many `super::` a path in this file may have before it leaves its room.
fn depth(path: &Path) -> usize {
    let below = path.components().count() - 1;
    if path.ends_with("mod.rs") { below - 1 } else { below }
}

fn no_faults(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// `src/x.rs says "…"` for each forbidden text in the files that are not excepted.
fn said(forbidden: &[&str], concerns: impl Fn(&Source) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for source in sources().into_iter().filter(concerns) {
        let code = source.code.to_lowercase();
        for word in forbidden.iter().filter(|word| code.contains(&word.to_lowercase())) {
            faults.push(format!("{} says {word:?}", source.shown()));
        }
    }
    faults
}

#[test]
fn a_room_imports_only_the_rooms_that_it_may_know() {
    let mut faults = Vec::new();
    for source in sources() {
        let Some(room) = source.room() else { continue };
        let Some((_, allowed)) = ROOMS.iter().find(|(known, _)| *known == room) else {
            faults.push(format!("{} is in no known room: say here whom `{room}` may import", source.shown()));
            continue;
        };
        for import in imports(&source.code) {
            if import != room && !allowed.contains(&import.as_str()) {
                faults.push(format!(
                    "{} imports crate::{import}: `{room}` may import {allowed:?}",
                    source.shown()
                ));
            }
        }
    }
    no_faults(&faults);
}

#[test]
fn no_path_leaves_a_room_by_the_back() {
    let leaves = |source: &Source| source.code.contains(&"super::".repeat(depth(&source.path) + 1));
    let faults: Vec<_> = sources()
        .iter()
        .filter(|source| source.room().is_some() && leaves(source))
        .map(|source| format!("{} leaves its room by `super::`: write `crate::`", source.shown()))
        .collect();
    no_faults(&faults);
}

#[test]
fn the_clocks_are_read_in_one_place() {
    let reads = [
        "SystemTime::now",
        "Utc::now",
        "Local::now",
        "UNIX_EPOCH.elapsed",
        "time::SystemTime",
        "clock_gettime",
        "boot_id",
    ];
    no_faults(&said(&reads, |source| source.path != Path::new("clock.rs")));
}

#[test]
fn the_sweep_side_touches_a_database_through_sqlite_alone() {
    let plain =
        ["fs::File", "File::", "OpenOptions", "std::fs", "tokio::fs", "fs::read", "fs::copy", "fs::open"];
    let sweeps = ["plan", "discover", "store", "tick", "census"];
    no_faults(&said(&plain, |source| source.room().is_some_and(|room| sweeps.contains(&room.as_str()))));
}

#[test]
fn files_of_ours_are_written_in_one_place() {
    let writes =
        ["fs::write", "File::create", "OpenOptions", "fs::rename", "remove_file", "create_dir", ".persist("];
    // `demo` has a folder of its own, which tempfile makes and removes.
    no_faults(&said(&writes, |source| source.room().is_none_or(|room| room != "memory")));
}

#[test]
fn a_database_is_never_mapped_vacuumed_or_given_an_index() {
    let never =
        ["mmap_size", "VACUUM", "CREATE INDEX", "CREATE UNIQUE INDEX", "ALTER TABLE", "SQLITE_OPEN_CREATE"];
    no_faults(&said(&never, |source| source.path.starts_with("store")));
}

#[test]
fn plan_does_no_work_of_its_own() {
    let work =
        ["async fn", "tokio", "rusqlite", "std::fs", "std::net", "Instant::now", "std::env", "tracing::"];
    no_faults(&said(&work, |source| source.path.starts_with("plan")));
}

#[test]
fn a_file_is_short_enough_to_be_read_at_once() {
    let long = |source: &Source| source.code.lines().count() > LONGEST_FILE;
    let faults: Vec<_> = sources()
        .iter()
        .filter(|source| long(source))
        .map(|source| {
            let lines = source.code.lines().count();
            format!("{} has {lines} lines without its tests: split it at {LONGEST_FILE}", source.shown())
        })
        .collect();
    no_faults(&faults);
}

#[test]
fn an_import_is_seen_in_every_form() {
    let code =
        "use crate::plan::{A, b::C};\nuse crate::{store::{sqlite, Leg}, tick};\nlet x = crate::clock::now();";
    let seen: Vec<String> = imports(code).into_iter().collect();
    assert_eq!(seen, ["clock", "plan", "store", "tick"]);
    assert_eq!(imports(&code_of("// crate::cli\n#[cfg(test)]\nmod tests { use crate::cli; }")).len(), 0);
}
