//! Where the file lies: mounts, and a log that has grown.

use std::process::Command;

use super::Checked;
use crate::support::command::{BINARY, run};
use crate::support::{Database, Journal, now};

fn good(journal: Journal) -> Database {
    Database::with_keys(journal, [("a", "done", now()), ("b", "pending", now() + 86_400.0)])
}

/// `check` of a database `app.db` in a folder that this script sets up, in a mount namespace of its own. `$0` is
/// the application's folder and `$1` the one in which keysweep looks.
fn check_within(database: &Database, script: &str) -> Checked {
    let ours = tempfile::tempdir().unwrap();
    let path = ours.path().join("app.db");
    let text = format!("[[database]]\nname = 'app'\npath = {path:?}\n");
    let config = database.config_text(&text);
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-ec", &format!(r#"{script}; shift; exec "$@""#)]);
    command
        .arg(database.folder())
        .arg(ours.path())
        .arg(BINARY)
        .arg("--config")
        .arg(config)
        .args(["--json", "check"]);
    Checked::from(&run(&mut command))
}

const FILE: &str = r#"touch "$1/app.db"; mount --bind "$0/app.db" "$1/app.db""#;
const FOLDER: &str = r#"mount --bind "$0" "$1""#;

#[test]
fn a_file_that_is_mounted_without_its_folder_is_a_fault_until_the_folder_is() {
    for (journal, beside) in
        [(Journal::Wal, "the -wal and -shm beside it"), (Journal::Delete, "the -journal beside it")]
    {
        let database = good(journal);
        let checked = check_within(&database, FILE);
        let (severity, what, remedy) = checked.one("is mounted by itself");
        assert_eq!((checked.status, severity.as_str()), (1, "fault"), "{checked:?}");
        assert!(what.contains(beside) && remedy.contains("mount the folder"), "{what} {remedy}");
        check_within(&database, FOLDER).assert_fine();
    }
}

#[test]
fn a_read_only_file_system_is_named_until_it_can_be_written() {
    let database = good(Journal::Wal);
    let checked = check_within(&database, &format!(r#"{FOLDER}; mount -o remount,bind,ro "$1""#));
    let (severity, what, remedy) = checked.one("Read-only file system");
    assert_eq!((checked.status, severity.as_str()), (1, "down"), "{what}");
    assert!(remedy.contains("mount the file system so that it can be written"), "{remedy}");
    check_within(&database, FOLDER).assert_fine();
}

#[test]
fn a_huge_log_is_advised_on_until_it_is_moved() {
    let database = good(Journal::Wal);
    let wal = std::fs::File::create(database.folder().join("app.db-wal")).unwrap();
    wal.set_len(256 << 20).unwrap();
    drop(wal);
    let checked = Checked::of(&database, "");
    let (severity, what, remedy) = checked.one("has grown to 256 MiB");
    assert_eq!((checked.status, severity.as_str()), (0, "advice"), "{what}");
    let command = remedy.split('`').nth(1).unwrap();
    assert_eq!(run(Command::new("sh").args(["-ec", command])).status, 0, "{command}");
    Checked::of(&database, "").assert_fine();
}
