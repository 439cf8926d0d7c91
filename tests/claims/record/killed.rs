//! Killed at every boundary of one addition: both tables have it, or neither.

use std::path::Path;
use std::process::Command;

use super::tables;
use crate::support::command::{BINARY, run};
use crate::support::database::shell;
use crate::support::keysweep;

/// The system calls that change a file, make it durable, or give the answer.
const CALLS: [&str; 6] = ["pwrite64", "write", "fsync", "fdatasync", "ftruncate", "unlink"];
/// More of one call than an addition makes.
const TOO_MANY: usize = 200;

fn prepared(journal: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.db");
    shell(&path, &format!("PRAGMA journal_mode = {journal};"));
    assert_eq!(add(&path, "k1").stdout, "50\n");
    (folder, path)
}

fn args<'a>(path: &'a Path, key: &'a str) -> [&'a str; 10] {
    ["counter", "add", "--db", path.to_str().unwrap(), "--scope", "u", "--key", key, "--amount", "50"]
}

fn add(path: &Path, key: &str) -> crate::support::Answer {
    keysweep(args(path, key))
}

/// Run one addition and kill it when it enters this call for the `nth` time. Whether it was killed.
fn killed_at(path: &Path, call: &str, nth: usize) -> bool {
    let inject = format!("inject={call}:signal=KILL:when={nth}");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject, BINARY]);
    let answer = run(strace.args(args(path, "k2")));
    assert!([0, -1, 137].contains(&answer.status), "{answer:?}");
    answer.status != 0
}

/// Kill an addition there. Whether it was recorded, or nothing when it ran to its end.
fn cut(journal: &str, call: &str, nth: usize) -> Option<bool> {
    let (_folder, path) = prepared(journal);
    if !killed_at(&path, call, nth) {
        return None;
    }
    let place = format!("{journal}, killed at {call} {nth}");
    let recorded = match tables(&path).as_str() {
        "1|50\nu|k1|50|50\n" => false,
        "1|100\nu|k1|50|50\nu|k2|50|100\n" => true,
        torn => panic!("{place}: {torn}"),
    };
    assert_eq!(add(&path, "k2").stdout, "100\n", "{place}");
    assert_eq!(tables(&path), "1|100\nu|k1|50|50\nu|k2|50|100\n", "{place}");
    assert_eq!(shell(&path, "PRAGMA integrity_check;"), "ok\n", "{place}");
    Some(recorded)
}

fn killed_at_any_call_both_tables_have_it_or_neither(journal: &str) {
    let cuts = CALLS.iter().flat_map(|call| (1..TOO_MANY).map_while(|nth| cut(journal, call, nth)));
    let cuts: Vec<bool> = cuts.collect();
    let recorded = cuts.iter().filter(|recorded| **recorded).count();
    // The answer itself is written after the commit, so both outcomes must have been met.
    assert!(recorded > 0 && cuts.len() - recorded > 3, "{journal}: {recorded} of {} cuts", cuts.len());
    println!("{journal}: {} cuts, {recorded} of them after the commit", cuts.len());
}

#[test]
fn killed_at_any_call_in_wal_mode_both_tables_have_it_or_neither_and_a_retry_is_right() {
    killed_at_any_call_both_tables_have_it_or_neither("wal");
}

#[test]
fn killed_at_any_call_in_rollback_mode_both_tables_have_it_or_neither_and_a_retry_is_right() {
    killed_at_any_call_both_tables_have_it_or_neither("delete");
}
