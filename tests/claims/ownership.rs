//! keysweep beside an application of another user: its files stay the application's to use.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::support::command::{Answer, run};
use crate::support::database::KEY_TABLE;
use crate::support::users::{APPLICATION, SHARED_GROUP, SWEEPER, User, give, permit, public_binary};
use crate::support::{Daemon, Database, Journal, wait_for};

const JOURNALS: [Journal; 2] = [Journal::Wal, Journal::Delete];
const DELETED: &str = r#"keysweep_deleted_rows_total{database="app",table="keys"}"#;
const HANDED_DOWN: u32 = 0o2770;
const NOT_HANDED_DOWN: u32 = 0o770;

/// A database of the application's, and a folder of its own for the binary and the config.
struct Shared {
    database: Database,
    tools: Database,
    binary: PathBuf,
}

impl Shared {
    fn new(journal: Journal, folder_mode: u32, expired: u32) -> Self {
        let rows = format!(
            "{KEY_TABLE} INSERT INTO keys
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {expired})
             SELECT printf('k%06d', i), 'v1', 'done', '{{}}', 1000000000 FROM n;
             INSERT INTO keys VALUES ('mine', 'v1', 'pending', NULL, 1);"
        );
        let database = Database::new(journal, &rows);
        let tools = Database::new(Journal::Delete, "");
        let binary = public_binary(tools.folder());
        give(database.folder(), APPLICATION);
        give(&database.path(), APPLICATION);
        permit(&database.path(), 0o660);
        permit(database.folder(), folder_mode);
        Self { database, tools, binary }
    }

    /// The binary as a user, or as root, under a config with these further lines.
    fn keysweep(&self, user: Option<User>, lines: &str) -> Command {
        let text = format!("[[database]]\nname = 'app'\npath = {:?}\n{lines}\n", self.database.path());
        let config = self.tools.config_text(&text);
        let mut command = user.map_or_else(|| Command::new(&self.binary), |user| user.command(&self.binary));
        command.arg("--config").arg(config).arg("--json");
        command
    }

    fn run(&self, user: Option<User>, args: &[&str]) -> Answer {
        run(self.keysweep(user, "").args(args))
    }

    fn assert_usable(&self) {
        self.application_writes();
        assert_eq!(self.database.shell("PRAGMA integrity_check"), "ok\n");
    }

    /// The application opens its database anew, writes a row and takes it back, and closes it.
    fn application_writes(&self) {
        let program = "import sqlite3, sys
c = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
c.execute(\"INSERT INTO keys VALUES ('theirs', 'v1', 'pending', NULL, 1)\")
c.execute(\"DELETE FROM keys WHERE id = 'theirs'\")
assert c.execute(\"SELECT count(*) FROM keys WHERE id = 'mine'\").fetchone() == (1,)
c.close()";
        let mut python = APPLICATION.command("/usr/bin/python3");
        let answer = run(python.args(["-c", program]).arg(self.database.path()));
        assert_eq!(answer.status, 0, "{answer:?}; {:?}", self.database.files());
    }
}

#[test]
fn a_folder_that_hands_its_group_down_is_swept_and_stays_the_applications() {
    for journal in JOURNALS {
        let shared = Shared::new(journal, HANDED_DOWN, 250);
        for args in [&["sweep", "--dry-run"][..], &["check"], &["pending"]] {
            let answer = shared.run(Some(SWEEPER), args);
            assert_eq!(answer.status, 0, "{journal:?} {answer:?}");
            shared.assert_usable();
        }
        let answer = shared.run(Some(SWEEPER), &["sweep"]);
        assert_eq!((answer.status, &answer.json_lines()[0]["deleted"]), (0, &json!(250)), "{answer:?}");
        shared.assert_usable();
        assert_eq!(shared.database.ids(), ["mine"]);
    }
}

#[test]
fn files_of_ours_in_a_shared_folder_are_the_groups_to_write() {
    let shared = Shared::new(Journal::Wal, HANDED_DOWN, 1);
    assert_eq!(shared.run(Some(SWEEPER), &["sweep"]).status, 0);
    let ours: Vec<_> = shared.database.files().into_iter().filter(|name| name != "app.db").collect();
    assert_eq!(ours, ["app.db-shm", "app.db-wal"]);
    for name in ours {
        let file = shared.database.folder().join(&name).metadata().unwrap();
        assert_eq!((file.gid(), file.mode() & 0o777), (SHARED_GROUP, 0o660), "{name}");
    }
}

#[test]
fn the_application_can_write_after_a_kill_in_the_middle_of_a_sweep() {
    const ROWS: u32 = 20_000;
    for (journal, user) in
        JOURNALS.into_iter().flat_map(|journal| [(journal, Some(SWEEPER)), (journal, None)])
    {
        let shared = Shared::new(journal, HANDED_DOWN, ROWS);
        let daemon = Daemon::start_command(shared.keysweep(user, "batch = 10").arg("run"));
        wait_for("the first rows to be deleted", || (daemon.metric(DELETED)? >= 10.0).then_some(()));
        daemon.signal("KILL");
        daemon.ended();
        shared.assert_usable();
        let left = shared.database.ids().len() - 1;
        assert!((1..ROWS as usize).contains(&left), "{left} are left: the kill came too late or too early");
    }
}

/// The nth sync to disk of a thread kills the process before it takes place.
fn killed_at_sync(shared: &Shared, user: User, nth: u32) -> bool {
    let mut strace = user.command("/usr/bin/strace");
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync,fsync", "-e"]);
    strace.arg(format!("inject=fdatasync,fsync:signal=KILL:when={nth}"));
    let keysweep = shared.keysweep(None, "");
    let answer = run(strace.arg(keysweep.get_program()).args(keysweep.get_args()).arg("sweep"));
    answer.status == -1
}

#[test]
fn a_journal_that_a_kill_left_behind_is_the_applications_to_roll_back() {
    let mut left_behind = 0;
    for nth in 1..=4 {
        let shared = Shared::new(Journal::Delete, HANDED_DOWN, 250);
        assert!(killed_at_sync(&shared, SWEEPER, nth), "no {nth}. sync");
        left_behind += u32::from(shared.database.files().contains(&"app.db-journal".into()));
        shared.assert_usable();
        assert_eq!(shared.database.files(), ["app.db"], "{nth}. sync");
        assert!(shared.database.ids().contains(&"mine".into()));
    }
    assert!(left_behind > 0, "no kill came in the middle of a transaction");
}

#[test]
fn a_folder_that_does_not_is_refused_with_the_remedy_and_nothing_is_created() {
    for journal in JOURNALS {
        let shared = Shared::new(journal, NOT_HANDED_DOWN, 3);
        for args in [&["sweep"][..], &["sweep", "--dry-run"]] {
            let answer = shared.run(Some(SWEEPER), args);
            let lines = answer.json_lines();
            assert_eq!(
                (answer.status, &lines[0]["held"]),
                (1, &json!("ownership")),
                "{journal:?} {answer:?}"
            );
            let error = lines[0]["error"].as_str().unwrap();
            assert!(error.contains(shared.database.path().to_str().unwrap()), "{error}");
            assert!(error.contains("user 4001") && error.contains("chmod g+rwxs"), "{error}");
        }
        let check = shared.run(Some(SWEEPER), &["check"]);
        assert_eq!(check.status, 1, "{check:?}");
        assert!(check.stdout.contains("chmod g+rwxs"), "{check:?}");
        assert_ne!(shared.run(Some(SWEEPER), &["pending"]).status, 0);
        let daemon = Daemon::start_command(
            shared.keysweep(Some(SWEEPER), "every = '100ms'\ncensus = '100ms'").arg("run"),
        );
        daemon.wait_for_metric(r#"keysweep_database_up{database="app"}"#, 0.0);
        daemon.wait_for_metric(r#"keysweep_held{database="app",reason="ownership",table="keys"}"#, 1.0);
        assert_eq!(shared.database.files(), ["app.db"], "{journal:?}");
        assert_eq!(shared.database.ids().len(), 4);
        permit(shared.database.folder(), HANDED_DOWN);
        daemon.wait_for_metric(DELETED, 3.0);
        daemon.wait_for_metric(r#"keysweep_database_up{database="app"}"#, 1.0);
        shared.assert_usable();
    }
}

#[test]
fn what_root_creates_belongs_to_the_application() {
    for args in [&["sweep"][..], &["sweep", "--dry-run"], &["check"], &["pending"]] {
        let shared = Shared::new(Journal::Wal, NOT_HANDED_DOWN, 3);
        assert_eq!(shared.run(None, args).status, 0);
        for name in shared.database.files() {
            let file = shared.database.folder().join(&name).metadata().unwrap();
            let owner = (file.uid(), file.gid());
            assert_eq!(owner, (APPLICATION.uid, APPLICATION.gid), "{name} after {args:?}");
        }
        shared.assert_usable();
    }
}
