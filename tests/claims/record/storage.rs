//! A full disk and failing syncs: an error, nothing half-written, and a retry that is right.

use std::path::Path;
use std::process::Command;

use super::tables;
use crate::support::command::{Answer, BINARY, run};
use crate::support::database::shell;
use crate::support::keysweep;

const KEYS_RESERVE: [&str; 8] = ["keys", "reserve", "--key", "k", "--fingerprint", "v1", "--expires", "1e10"];
const KEYS_FINISH: [&str; 8] = ["keys", "finish", "--key", "k", "--fingerprint", "v1", "--response", "null"];
const COUNTER_ADD: [&str; 8] = ["counter", "add", "--scope", "u", "--key", "k2", "--amount", "50"];

/// A file with a counter at 50 and a pending key `f`, in this journal mode.
fn prepared(path: &Path, journal: &str) {
    shell(path, &format!("PRAGMA journal_mode = {journal};"));
    let db = path.to_str().unwrap();
    let add = keysweep(["counter", "add", "--db", db, "--scope", "u", "--key", "k1", "--amount", "50"]);
    assert_eq!(add.stdout, "50\n", "{}", add.stderr);
    assert_eq!(keysweep(["keys", "init", "--db", db]).status, 0);
}

/// The command with the sync that fails for the `nth` time.
fn with_failing_sync(command: &[&str], path: &Path, nth: usize) -> Answer {
    // The bundled engine calls fsync, never fdatasync.
    let inject = format!("inject=fsync:error=EIO:when={nth}");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", &inject, BINARY]);
    run(strace.args(command).arg("--db").arg(path))
}

fn with_db(command: &[&str], path: &Path) -> Answer {
    keysweep(command.iter().copied().chain(["--db", path.to_str().unwrap()]))
}

/// Every sync of `command` fails in turn; those of a folder and of a checkpoint do no harm. `before`
/// makes ready, `after` says what a retry may print.
fn every_failing_sync(command: &[&str], before: Option<&[&str]>, after: &[&str]) {
    let mut failures = 0;
    for (journal, nth) in
        ["wal", "delete"].into_iter().flat_map(|journal| (1..=6).map(move |nth| (journal, nth)))
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        prepared(&path, journal);
        before.iter().for_each(|before| assert_eq!(with_db(before, &path).status, 0));
        let answer = with_failing_sync(command, &path, nth);
        let place = format!("{journal}, sync {nth}: {answer:?}");
        assert!([0, 3].contains(&answer.status), "{place}");
        failures += usize::from(answer.status == 3);
        assert!(answer.status == 0 || answer.stderr.contains("not known"), "{place}");
        assert_eq!(shell(&path, "PRAGMA integrity_check;"), "ok\n", "{place}");
        let retry = with_db(command, &path);
        assert!(after.contains(&retry.stdout.as_str()), "{place}: the retry said {retry:?}");
    }
    assert!(failures >= 4, "only {failures} syncs failed");
}

#[test]
fn a_failing_sync_in_add_is_an_unknown_outcome_and_a_retry_adds_once() {
    every_failing_sync(&COUNTER_ADD, None, &["100\n"]);
}

#[test]
fn a_failing_sync_in_reserve_is_an_unknown_outcome_and_a_retry_is_answered() {
    // Whether the first one took effect is not known: the retry is told either, and one row is there.
    every_failing_sync(&KEYS_RESERVE, None, &["true\n", "false\n"]);
}

#[test]
fn a_failing_sync_in_finish_is_an_unknown_outcome_and_a_retry_is_answered() {
    every_failing_sync(&KEYS_FINISH, Some(&KEYS_RESERVE), &["true\n", "false\n"]);
}

/// Runs in a mount namespace of its own, on a file system of 1 MiB that is then filled up.
const FULL_DISK: &str = r#"
mount -t tmpfs -o size=1m tmpfs "$DIR"
cp "$SOURCE" "$DIR/app.db"
dd if=/dev/zero of="$DIR/filler" bs=4k status=none 2>/dev/null || true
"$@" --db "$DIR/app.db"; echo "status $?"
rm "$DIR/filler"
"$@" --db "$DIR/app.db"; echo "status $?"
cp "$DIR"/app.db* "$BACK"
"#;

/// What the command says on a full disk, what its retry says with room again, and the file after it.
fn on_a_full_disk(command: &[&str], source: &Path) -> (Vec<String>, tempfile::TempDir) {
    let (folder, back) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut bash = Command::new("unshare");
    bash.args(["-m", "bash", "-uc", FULL_DISK, "bash", BINARY]).args(command);
    bash.env("DIR", folder.path()).env("BACK", back.path()).env("SOURCE", source);
    let answer = run(&mut bash);
    assert_eq!(answer.status, 0, "{answer:?}");
    (answer.stdout.lines().map(String::from).collect(), back)
}

#[test]
fn a_full_disk_is_an_error_and_a_retry_with_room_is_right() {
    for journal in ["wal", "delete"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.db");
        prepared(&path, journal);
        for (command, retried) in [(&COUNTER_ADD, "100"), (&KEYS_RESERVE, "true")] {
            let (lines, back) = on_a_full_disk(command, &path);
            assert_eq!(lines, ["status 3", retried, "status 0"], "{journal}: {command:?}");
            let file = back.path().join("app.db");
            assert_eq!(shell(&file, "PRAGMA integrity_check;"), "ok\n");
            if retried == "100" {
                assert_eq!(tables(&file), "1|100\nu|k1|50|50\nu|k2|50|100\n");
            }
        }
        assert_eq!(with_db(&KEYS_RESERVE, &path).stdout, "true\n");
        let (lines, back) = on_a_full_disk(&KEYS_FINISH, &path);
        assert_eq!(lines, ["status 3", "true", "status 0"], "{journal}: finish");
        let db = back.path().join("app.db");
        assert_eq!(with_db(&["keys", "fetch", "--key", "k"], &db).stdout, "null\n");
    }
}
