//! Another file under the same name, other names for one file, and the locks of one process.

use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::Duration;

use keysweep::plan::Rule;
use keysweep::store::sqlite::{Access, Sqlite};
use keysweep::store::{Leg, Store};
use rusqlite::Connection;
use tokio_util::sync::CancellationToken;

use crate::support::{Daemon, Database, Journal, now};

const JOURNALS: [Journal; 2] = [Journal::Wal, Journal::Delete];
const DELETED: &str = r#"keysweep_deleted_rows_total{database="app",table="keys"}"#;

fn due(journal: Journal, id: &str) -> Database {
    Database::with_keys(journal, [(id, "done", 1.0), ("open", "pending", 1.0)])
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn store(database: &Database, access: Access) -> Sqlite {
    Sqlite::new(database.path(), access, Duration::ZERO, CancellationToken::new())
}

#[test]
fn a_file_that_is_moved_over_the_database_is_swept_and_the_unlinked_one_is_not() {
    for journal in JOURNALS {
        let (database, restored) = (due(journal, "old"), due(journal, "new"));
        let daemon = Daemon::start(&database.config("every = '100ms'\ncensus = '100ms'"));
        daemon.wait_for_metric(DELETED, 1.0);
        // The application has the old file open until the end.
        let application = Connection::open(database.path()).unwrap();
        application.execute_batch("INSERT INTO keys VALUES ('kept', 'v1', 'pending', NULL, 1)").unwrap();
        for name in database.files().iter().filter(|name| name.starts_with("app.db-")) {
            std::fs::rename(database.folder().join(name), database.folder().join("away")).unwrap();
        }
        std::fs::rename(restored.path(), database.path()).unwrap();
        application.execute_batch("UPDATE keys SET status = 'done' WHERE id = 'kept'").ok();
        daemon.wait_for_metric(DELETED, 2.0);
        daemon.wait_for_metric(r#"keysweep_database_up{database="app"}"#, 1.0);
        assert_eq!(database.ids(), ["open"], "{journal:?}");
        let kept: i64 = application
            .query_row("SELECT count(*) FROM keys WHERE id IN ('kept', 'open')", [], |row| row.get(0))
            .unwrap();
        assert_eq!(kept, 2, "{journal:?}");
    }
}

#[test]
fn a_file_that_is_replaced_in_the_middle_of_a_sweep_is_not_written_any_more() {
    for journal in JOURNALS {
        let (database, restored) = (due(journal, "old"), due(journal, "new"));
        let rule = Rule::key_table(Duration::ZERO);
        let cutoff = rule.cutoff(keysweep::plan::UnixTime::new(now()).unwrap()).unwrap();
        let mut store = store(&database, Access::Write);
        let bound = keysweep::plan::BatchBound { rows: 100, hold: Duration::from_secs(1), until: None };
        let failure = block_on(async {
            store.inspect(std::slice::from_ref(&rule)).await.unwrap();
            let step = store.search(&rule, cutoff, &Leg::default()).await.unwrap();
            assert_eq!(step.nominated.len(), 1);
            std::fs::rename(database.path(), database.folder().join("unlinked.db")).unwrap();
            std::fs::rename(restored.path(), database.path()).unwrap();
            store.delete_batch(&rule, cutoff, &step.nominated, bound).await.unwrap_err()
        });
        assert_eq!(failure.kind(), keysweep::plan::FailureKind::Replaced, "{journal:?} {failure}");
        drop(store);
        let rows =
            |path: &std::path::Path| crate::support::database::shell(path, "SELECT count(*) FROM keys");
        assert_eq!(rows(&database.folder().join("unlinked.db")), "2\n", "{journal:?}");
        assert_eq!(rows(&database.path()), "2\n", "{journal:?}");
    }
}

#[test]
fn a_symbolic_link_is_swept_with_the_journals_of_the_file_it_means() {
    for journal in JOURNALS {
        let (database, link) = (due(journal, "a"), tempfile::tempdir().unwrap());
        symlink(database.path(), link.path().join("link.db")).unwrap();
        let config = database
            .config_text(&format!("[[database]]\nname = 'app'\npath = {:?}\n", link.path().join("link.db")));
        let answer = crate::support::keysweep(["--config", config.to_str().unwrap(), "--json", "sweep"]);
        assert_eq!(answer.status, 0, "{answer:?}");
        assert_eq!(database.ids(), ["open"], "{journal:?}");
        assert_eq!(link.path().read_dir().unwrap().count(), 1, "{journal:?}");
    }
}

#[test]
fn a_file_of_two_names_is_refused_because_each_name_has_its_own_journal() {
    for journal in JOURNALS {
        let database = due(journal, "a");
        let other = database.folder().join("other.db");
        std::fs::hard_link(database.path(), &other).unwrap();
        let answer = database.sweep("", &[]);
        let report = answer.json_lines().pop().unwrap();
        assert_eq!((answer.status, report["held"].as_str()), (1, Some("ownership")), "{report}");
        assert!(report["error"].as_str().unwrap().contains("hard links"), "{report}");
        assert_eq!(database.files(), ["app.db", "keysweep.toml", "other.db"], "{journal:?}");
        std::fs::remove_file(&other).unwrap();
        assert_eq!(database.sweep("", &[]).status, 0);
        assert_eq!(database.ids(), ["open"], "{journal:?}");
    }
}

/// Whether the distribution's `sqlite3` gets the write lock at once.
fn another_process_may_write(database: &Database) -> bool {
    let mut shell = Command::new("/usr/bin/sqlite3");
    let shell = shell.arg(database.path()).arg("BEGIN IMMEDIATE; ROLLBACK;").stderr(Stdio::null());
    shell.status().unwrap().success()
}

#[test]
fn looking_at_a_database_drops_no_lock_that_this_process_holds_on_it() {
    for journal in JOURNALS {
        let database = due(journal, "a");
        let ours = Connection::open(database.path()).unwrap();
        ours.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(!another_process_may_write(&database));
        let rule = [Rule::key_table(Duration::ZERO)];
        block_on(async {
            for access in [Access::Read, Access::Write] {
                let mut store = store(&database, access);
                store.inspect(&rule).await.unwrap();
                store.count(&rule, keysweep::plan::UnixTime::new(now()).unwrap()).await.unwrap();
                store.space().await.unwrap();
            }
        });
        assert!(!another_process_may_write(&database), "{journal:?}");
        ours.execute_batch("ROLLBACK").unwrap();
        assert!(another_process_may_write(&database));
    }
}
