//! A database that is to be spoiled, beside a good one that must not suffer from it.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::command::run;
use crate::support::users::{User, give, permit, public_binary};
use crate::support::{Daemon, Database, Journal};

const FAST: &str = "[defaults]\nevery = '100ms'\ncensus = '100ms'\n";

/// A database that is to be spoiled, beside a good one; a due row in each.
pub struct Pair {
    pub bad: Database,
    good: Database,
    binary: PathBuf,
}

/// How keysweep is started.
#[derive(Clone, Copy)]
pub enum As {
    Root,
    User(User),
    /// Root, to whom the bad folder is on a read-only file system.
    ReadOnlyMount,
}

impl Pair {
    pub fn new(journal: Journal) -> Self {
        let due = || Database::with_keys(journal, [("due", "done", 1.0), ("open", "pending", 1.0)]);
        let (bad, good) = (due(), due());
        let binary = public_binary(good.folder());
        permit(bad.folder(), 0o755);
        Self { bad, good, binary }
    }

    /// Both databases belong to the user that keysweep runs as.
    pub fn of(user: User) -> Self {
        let pair = Self::new(Journal::Delete);
        for database in [&pair.bad, &pair.good] {
            give(database.folder(), user);
            give(&database.path(), user);
        }
        pair
    }

    pub fn keysweep(&self, start: As, rule: &str) -> Command {
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

    pub fn reports(&self, start: As, rule: &str) -> (i32, Vec<Value>) {
        let answer = run(self.keysweep(start, rule).arg("sweep"));
        let reports = answer.json_lines();
        assert_eq!(reports.len(), 2, "{answer:?}");
        (answer.status, reports)
    }

    /// Each command refuses the bad database in these words and nothing is created; the good one is
    /// swept, by the command and by the daemon.
    pub fn assert_refused(&self, start: As, rule: &str, held: Option<&str>, words: &[&str]) {
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
