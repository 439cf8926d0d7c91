//! What cannot be swept: one clear error, down in the metrics, nothing created, and the others go on.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::command::run;
use crate::support::users::{SWEEPER, User, give, permit, public_binary};
use crate::support::writer::Writer;
use crate::support::{Daemon, Database, Journal};

const FAST: &str = "[defaults]\nevery = '100ms'\ncensus = '100ms'\n";
const BAD_DELETED: &str = r#"keysweep_deleted_rows_total{database="bad",table="keys"}"#;

/// A database that is to be spoiled, beside a good one; a due row in each.
struct Pair {
    bad: Database,
    good: Database,
    binary: PathBuf,
}

/// How keysweep is started.
#[derive(Clone, Copy)]
enum As {
    Root,
    User(User),
    /// Root, to whom the bad folder is on a read-only file system.
    ReadOnlyMount,
}

impl Pair {
    fn new(journal: Journal) -> Self {
        let due = || Database::with_keys(journal, [("due", "done", 1.0), ("open", "pending", 1.0)]);
        let (bad, good) = (due(), due());
        let binary = public_binary(good.folder());
        permit(bad.folder(), 0o755);
        Self { bad, good, binary }
    }

    /// Both databases belong to the user that keysweep runs as.
    fn of(user: User) -> Self {
        let pair = Self::new(Journal::Delete);
        for database in [&pair.bad, &pair.good] {
            give(database.folder(), user);
            give(&database.path(), user);
        }
        pair
    }

    fn keysweep(&self, start: As, rule: &str) -> Command {
        let config = self.good.config_text(&format!(
            "{FAST}[[database]]\nname = 'bad'\npath = {:?}\n{rule}\n[[database]]\nname = 'good'\npath = {:?}\n",
            self.bad.path(),
            self.good.path()
        ));
        let mut command = match start {
            As::Root => Command::new(&self.binary),
            As::User(user) => user.command(&self.binary),
            As::ReadOnlyMount => {
                let mut command = Command::new("unshare");
                let script = r#"mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@""#;
                command.args(["-m", "sh", "-ec", script]).arg(self.bad.folder()).arg(&self.binary);
                command
            }
        };
        command.arg("--config").arg(config).arg("--json");
        command
    }

    fn reports(&self, start: As, rule: &str) -> (i32, Vec<Value>) {
        let answer = run(self.keysweep(start, rule).arg("sweep"));
        let reports = answer.json_lines();
        assert_eq!(reports.len(), 2, "{answer:?}");
        (answer.status, reports)
    }

    /// Each command refuses the bad database in these words and nothing is created; the good one is
    /// swept, by the command and by the daemon.
    fn assert_refused(&self, start: As, rule: &str, held: Option<&str>, words: &[&str]) {
        let before = self.bad.files();
        let (status, reports) = self.reports(start, rule);
        assert_eq!(status, if held.is_some() { 1 } else { 3 }, "{reports:?}");
        let (bad, good) = (&reports[0], &reports[1]);
        assert_eq!((&bad["deleted"], &bad["held"]), (&json!(0), &json!(held)), "{bad}");
        assert_eq!((&good["deleted"], &good["stop"]), (&json!(1), &json!("drained")), "{good}");
        assert_says(bad["error"].as_str().unwrap(), self, words);
        run(self.keysweep(start, rule).args(["sweep", "--dry-run"]));
        run(self.keysweep(start, rule).arg("pending"));
        let check = run(self.keysweep(start, rule).args(["check", "--database", "bad"]));
        assert_ne!(check.status, 0, "{check:?}");
        let faults: Vec<_> = check.json_lines();
        let fault = faults.iter().find(|line| line["severity"] != "ok").unwrap();
        assert_says(&format!("{}; {}", fault["what"], fault["remedy"]), self, words);
        self.assert_down_in_the_metrics(start, rule, held);
        assert_eq!(self.bad.files(), before);
    }

    fn assert_down_in_the_metrics(&self, start: As, rule: &str, held: Option<&str>) {
        self.good.shell("INSERT INTO keys VALUES ('again', 'v1', 'done', NULL, 1)");
        let daemon = Daemon::start_command(self.keysweep(start, rule).arg("run"));
        daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="good",table="keys"}"#, 1.0);
        daemon.wait_for_metric(r#"keysweep_database_up{database="bad"}"#, 0.0);
        daemon.wait_for_metric(r#"keysweep_database_up{database="good"}"#, 1.0);
        if let Some(reason) = held {
            let sample = format!(r#"keysweep_held{{database="bad",reason="{reason}",table="keys"}}"#);
            daemon.wait_for_metric(&sample, 1.0);
        }
        assert_eq!(daemon.get("/readyz").status, 200);
    }
}

/// One line that names the path and says these words, the remedy among them.
fn assert_says(error: &str, pair: &Pair, words: &[&str]) {
    assert!(error.contains(pair.bad.path().to_str().unwrap()), "no path in {error:?}");
    assert!(!error.contains('\n'), "{error:?}");
    for word in words {
        assert!(error.contains(word), "no {word:?} in {error:?}");
    }
}

#[test]
fn a_missing_file() {
    let pair = Pair::new(Journal::Wal);
    fs::remove_file(pair.bad.path()).unwrap();
    pair.assert_refused(As::Root, "", None, &["there is no file", "correct `path`"]);
}

#[test]
fn a_directory() {
    let pair = Pair::new(Journal::Wal);
    fs::remove_file(pair.bad.path()).unwrap();
    fs::create_dir(pair.bad.path()).unwrap();
    pair.assert_refused(As::Root, "", None, &["is a directory", "set `path` to"]);
}

#[test]
fn a_pipe() {
    let pair = Pair::new(Journal::Wal);
    fs::remove_file(pair.bad.path()).unwrap();
    assert_eq!(run(Command::new("mkfifo").arg(pair.bad.path())).status, 0);
    pair.assert_refused(As::Root, "", None, &["is no regular file", "set `path` to"]);
}

#[test]
fn a_file_that_is_no_database() {
    for text in ["no database\n".repeat(500), "SQLite format 3\0".into(), "x".into()] {
        let pair = Pair::new(Journal::Wal);
        fs::write(pair.bad.path(), &text).unwrap();
        pair.assert_refused(As::Root, "", None, &["not a database", "set `path` to an SQLite database"]);
        assert!(fs::read(pair.bad.path()).unwrap() == text.as_bytes());
    }
}

#[test]
fn an_empty_file() {
    let pair = Pair::new(Journal::Wal);
    fs::write(pair.bad.path(), "").unwrap();
    pair.assert_refused(As::Root, "", None, &["is empty", "`path`"]);
    assert_eq!(pair.bad.path().metadata().unwrap().len(), 0);
}

#[test]
fn a_missing_table_also_where_nobody_has_the_database_open() {
    for journal in [Journal::Wal, Journal::Delete] {
        let pair = Pair::new(journal);
        pair.bad.shell("ALTER TABLE keys RENAME TO kyes");
        let words = ["there is no table `keys`", "set `table` to", "`kyes`"];
        pair.assert_refused(As::Root, "", Some("schema"), &words);
        assert_eq!(pair.bad.files(), ["app.db"], "{journal:?}");
    }
}

#[test]
fn a_missing_column() {
    let pair = Pair::new(Journal::Wal);
    pair.bad.shell("ALTER TABLE keys RENAME COLUMN expires TO expiry");
    let words = ["no column `expires`", "correct the column", "`expiry`"];
    pair.assert_refused(As::Root, "", Some("schema"), &words);
}

#[test]
fn a_misspelt_column_that_would_equal_every_row_were_it_a_text() {
    let rules = [
        "done = { column = 'done', in = ['done'] }",
        "done = { column = 'staus', in = ['staus'] }",
        "pending = { column = 'nope', in = ['pending'] }",
        "key = 'due'",
        "expires = { column = '1', unit = 'unix_s' }",
        "abandoned = { column = 'wehn', unit = 'ms', after = '1h' }",
    ];
    for rule in rules {
        let pair = Pair::new(Journal::Wal);
        let rule = format!("[[database.table]]\n{rule}");
        pair.assert_refused(As::Root, &rule, Some("schema"), &["has no column", "correct the column"]);
        assert_eq!(pair.bad.ids(), ["due", "open"], "{rule}");
    }
}

#[test]
fn a_view_and_a_virtual_table() {
    let spoiled = [
        ("CREATE VIEW keys AS SELECT * FROM other", "is a view"),
        ("CREATE VIRTUAL TABLE keys USING fts5(id, status, expires)", "is a virtual table"),
    ];
    for (sql, words) in spoiled {
        let pair = Pair::new(Journal::Wal);
        pair.bad.shell(&format!("ALTER TABLE keys RENAME TO other; {sql};"));
        pair.assert_refused(As::Root, "", Some("schema"), &[words, "table"]);
    }
}

#[test]
fn a_file_or_folder_that_keysweeps_user_may_not_use() {
    let remedy = "give keysweep's user read and write access";
    for (file, folder, words) in [
        (0o000, 0o755, "may not read"),
        (0o400, 0o755, "may not write"),
        (0o600, 0o555, "may not create a journal in the folder"),
        (0o600, 0o000, "Permission denied"),
    ] {
        let pair = Pair::of(SWEEPER);
        permit(&pair.bad.path(), file);
        permit(pair.bad.folder(), folder);
        pair.assert_refused(As::User(SWEEPER), "", None, &[words, remedy]);
        assert_eq!(pair.bad.ids(), ["due", "open"]);
    }
}

#[test]
fn a_read_only_file_system() {
    let pair = Pair::new(Journal::Delete);
    let words = ["may not write", "Read-only file system", "ReadWritePaths"];
    pair.assert_refused(As::ReadOnlyMount, "", None, &words);
    assert_eq!(pair.bad.ids(), ["due", "open"]);
}

#[test]
fn a_wal_database_that_may_only_be_read_gets_no_file_beside_it() {
    let pair = Pair::of(SWEEPER);
    pair.bad.shell("PRAGMA journal_mode = wal");
    permit(&pair.bad.path(), 0o400);
    pair.assert_refused(As::User(SWEEPER), "", None, &["may not write"]);
    permit(&pair.bad.path(), 0o600);
    assert_eq!(pair.reports(As::User(SWEEPER), "").1[0]["deleted"], json!(1));
}

#[test]
fn it_recovers_by_itself_once_the_fault_is_mended() {
    let spoil_and_mend: [(fn(&Database), fn(&Database)); 2] = [
        (
            |bad| fs::rename(bad.path(), bad.folder().join("away")).unwrap(),
            |bad| fs::rename(bad.folder().join("away"), bad.path()).unwrap(),
        ),
        (
            |bad| drop(bad.shell("ALTER TABLE keys RENAME TO away")),
            |bad| drop(bad.shell("ALTER TABLE away RENAME TO keys")),
        ),
    ];
    for (spoil, mend) in spoil_and_mend {
        let pair = Pair::new(Journal::Wal);
        spoil(&pair.bad);
        let daemon = Daemon::start_command(pair.keysweep(As::Root, "").arg("run"));
        daemon.wait_for_metric(r#"keysweep_database_up{database="bad"}"#, 0.0);
        mend(&pair.bad);
        daemon.wait_for_metric(BAD_DELETED, 1.0);
        daemon.wait_for_metric(r#"keysweep_database_up{database="bad"}"#, 1.0);
        daemon.wait_for_metric(r#"keysweep_held{database="bad",reason="schema",table="keys"}"#, 0.0);
        assert_eq!(pair.bad.ids(), ["open"]);
    }
}

#[test]
fn a_database_whose_sweep_alone_fails_is_down_until_one_succeeds() {
    let pair = Pair::new(Journal::Wal);
    let writer = Writer::begin(&pair.bad);
    let daemon = Daemon::start_command(pair.keysweep(As::Root, "busy_timeout = '0s'").arg("run"));
    daemon.wait_for_metric(r#"keysweep_rows{database="bad",state="done",table="keys"}"#, 1.0);
    daemon.wait_for_metric(r#"keysweep_database_up{database="bad"}"#, 0.0);
    drop(writer);
    daemon.wait_for_metric(BAD_DELETED, 1.0);
    daemon.wait_for_metric(r#"keysweep_database_up{database="bad"}"#, 1.0);
}
