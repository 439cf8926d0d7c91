//! Databases that come and go: a pattern of files, and one file under several names.

use std::path::Path;

use crate::support::command::{BINARY, run};
use crate::support::database::shell;
use crate::support::tenants::{Tenants, deleted, up};
use crate::support::users::{APPLICATION, give, permit, public_binary};
use crate::support::{Daemon, has_open, keysweep, wait_for};

const OFTEN: &str = "every = '100ms'\ncensus = '100ms'";

fn has_series(daemon: &Daemon, label: &str) -> bool {
    daemon.get("/metrics").body.contains(&format!("database=\"{label}\""))
}

fn wait_until_gone(daemon: &Daemon, label: &str) {
    wait_for("the series to vanish", || (!has_series(daemon, label)).then_some(()));
}

#[test]
fn a_tenant_that_appears_is_swept_and_counted_and_one_that_is_gone_takes_its_series_with_it() {
    let tenants = Tenants::new(&["a"]);
    let daemon = Daemon::start(&tenants.config(&tenants.block(OFTEN)));
    daemon.wait_for_metric(&deleted("t/a"), 1.0);
    assert!(!has_series(&daemon, "t/b"));
    tenants.add("b");
    daemon.wait_for_metric(&deleted("t/b"), 1.0);
    daemon.wait_for_metric(r#"keysweep_rows{database="t/b",state="pending",table="keys"}"#, 1.0);
    assert_eq!((tenants.ids("a"), tenants.ids("b")), (vec!["open".into()], vec!["open".into()]));
    let file = tenants.path("b");
    tenants.remove("b");
    wait_until_gone(&daemon, "t/b");
    wait_for("the file to be closed", || (!has_open(daemon.pid(), &file)).then_some(()));
    for page in ["/status.json", "/"] {
        let body = daemon.get(page).body;
        assert!(body.contains("t/a") && !body.contains("t/b"), "{page}: {body}");
    }
    assert_eq!(daemon.metric(&deleted("t/a")), Some(1.0));
}

#[test]
fn a_tenant_that_comes_back_begins_anew() {
    let tenants = Tenants::new(&["a", "b"]);
    let daemon = Daemon::start(&tenants.config(&tenants.block(OFTEN)));
    daemon.wait_for_metric(&deleted("t/b"), 1.0);
    tenants.insert("b", "more");
    daemon.wait_for_metric(&deleted("t/b"), 2.0);
    tenants.remove("b");
    wait_until_gone(&daemon, "t/b");
    tenants.add("b");
    daemon.wait_for_metric(&deleted("t/b"), 1.0);
    assert_eq!(tenants.ids("b"), ["open"]);
}

#[test]
fn a_pattern_that_matches_nothing_is_no_error_and_waits() {
    let tenants = Tenants::new(&[]);
    let config = tenants.config(&tenants.block(OFTEN));
    let check = keysweep(["--config", config.to_str().unwrap(), "--json", "check"]);
    let line = check.json_lines().pop().unwrap();
    assert_eq!((check.status, &line["severity"], &line["database"]), (0, &"advice".into(), &"t".into()));
    let daemon = Daemon::start(&config);
    wait_for("it to be ready", || (daemon.get("/readyz").status == 200).then_some(()));
    tenants.add("a");
    daemon.wait_for_metric(&deleted("t/a"), 1.0);
}

#[test]
fn a_pattern_is_followed_by_the_calendar_too() {
    let tenants = Tenants::new(&["a"]);
    let daemon = Daemon::start(&tenants.config(&tenants.block("schedule = '* * * * * *'\ncensus = '1h'")));
    daemon.wait_for_metric(&deleted("t/a"), 1.0);
    tenants.add("b");
    daemon.wait_for_metric(&deleted("t/b"), 1.0);
    tenants.remove("a");
    wait_until_gone(&daemon, "t/a");
    tenants.insert("b", "more");
    daemon.wait_for_metric(&deleted("t/b"), 2.0);
}

#[test]
fn a_file_of_two_names_has_one_worker_and_no_row_is_counted_twice() {
    let tenants = Tenants::new(&["b"]);
    tenants.link("a", "b");
    let text = tenants.block(OFTEN) + &tenants.block_of("b", OFTEN);
    let daemon = Daemon::start(&tenants.config(&text));
    daemon.wait_for_metric(&deleted("b"), 1.0);
    for label in ["t/a", "t/b"] {
        daemon.wait_for_metric(&up(label), 0.0);
        let held = format!(r#"keysweep_held{{database="{label}",reason="ownership",table="keys"}}"#);
        assert_eq!(daemon.metric(&held), Some(1.0));
        assert_eq!(daemon.metric(&deleted(label)), Some(0.0));
    }
    daemon.wait_for_metric(r#"keysweep_rows{database="b",state="pending",table="keys"}"#, 1.0);
    let counted = daemon.get("/metrics").body;
    assert_eq!(counted.lines().filter(|line| line.starts_with("keysweep_rows{")).count(), 3, "{counted}");
    tenants.insert("b", "more");
    daemon.wait_for_metric(&deleted("b"), 2.0);
    let log = daemon.log();
    let held: Vec<_> = log.iter().filter(|line| line["reason"] == "ownership").collect();
    assert_eq!(held.len(), 2, "{held:?}");
    for line in held {
        assert!(line["error"].as_str().unwrap().contains("of `b`, which has it"), "{line}");
        assert!(line["remedy"].as_str().unwrap().contains("merge the two"), "{line}");
    }
}

#[test]
fn a_name_whose_file_becomes_its_own_is_swept_from_then_on() {
    let tenants = Tenants::new(&["a"]);
    tenants.link("b", "a");
    let daemon = Daemon::start(&tenants.config(&tenants.block(OFTEN)));
    daemon.wait_for_metric(&up("t/b"), 0.0);
    // In one step, so that no look finds the name gone, which would end the hold without a word.
    let own = Tenants::new(&["b"]);
    let beside = tenants.path("b").with_file_name("new");
    shell(&own.path("b"), &format!("VACUUM INTO '{}'", beside.display()));
    std::fs::rename(beside, tenants.path("b")).unwrap();
    daemon.wait_for_metric(&up("t/b"), 1.0);
    daemon.wait_for_metric(&deleted("t/b"), 1.0);
    daemon.wait_for_log("the end of the hold", |line| line["message"] == "no longer held");
}

#[test]
fn a_path_that_becomes_a_second_name_is_taken_from_its_worker() {
    let tenants = Tenants::new(&["a", "b"]);
    let text = tenants.block_of("a", OFTEN) + &tenants.block_of("b", OFTEN);
    let daemon = Daemon::start(&tenants.config(&text));
    daemon.wait_for_metric(&deleted("b"), 1.0);
    tenants.remove("b");
    tenants.link("b", "a");
    daemon.wait_for_metric(&up("b"), 0.0);
    daemon.wait_for_log("the hold", |line| line["database"] == "b" && line["reason"] == "ownership");
    tenants.insert("a", "more");
    daemon.wait_for_metric(&deleted("a"), 2.0);
    assert_eq!(daemon.metric(&deleted("b")), Some(1.0));
}

#[test]
fn sweep_and_check_follow_a_pattern_and_say_which_name_is_a_second_one() {
    let tenants = Tenants::new(&["a", "b"]);
    tenants.link("c", "a");
    let config = tenants.config(&tenants.block(""));
    let keysweep = |args: &[&str]| {
        let config = config.to_str().unwrap();
        let answer = keysweep(["--config", config, "--json"].iter().chain(args));
        (answer.status, answer.json_lines())
    };
    let (status, dry) = keysweep(&["sweep", "--dry-run", "--database", "t/b"]);
    assert_eq!((status, &dry[0]["key"], &dry[1]["would_delete"]), (0, &"due".into(), &1.into()), "{dry:?}");
    let (status, check) = keysweep(&["check"]);
    let held: Vec<_> = check.iter().filter(|line| line["severity"] == "hold").collect();
    assert_eq!((status, held.len()), (1, 1), "{check:?}");
    assert_eq!((&held[0]["database"], &held[0]["reason"]), (&"t/c".into(), &"ownership".into()));
    let (status, pending) = keysweep(&["pending", "--database", "t"]);
    let databases: Vec<_> = pending.iter().map(|line| line["database"].as_str().unwrap()).collect();
    assert_eq!((status, databases), (1, vec!["t/a", "t/b"]));
    let (status, swept) = keysweep(&["sweep", "--database", "t"]);
    let sum: Vec<_> =
        swept.iter().map(|line| (line["stop"].as_str().unwrap(), line["deleted"].as_u64())).collect();
    assert_eq!((status, sum), (1, vec![("drained", Some(1)), ("drained", Some(1)), ("held", Some(0))]));
    assert!(swept[2]["error"].as_str().unwrap().contains("a/app.db of `t/a`"), "{swept:?}");
    let (status, unknown) = keysweep(&["sweep", "--database", "t/d"]);
    assert_eq!((status, unknown.len()), (2, 0));
}

#[test]
fn a_tenant_that_is_no_database_or_locked_or_out_of_reach_does_not_stop_the_others() {
    let tenants = Tenants::new(&["locked", "good"]);
    std::fs::create_dir(tenants.folder().join("corrupt")).unwrap();
    std::fs::write(tenants.path("corrupt"), [7; 8192]).unwrap();
    std::fs::create_dir(tenants.folder().join("dangling")).unwrap();
    std::os::unix::fs::symlink("nowhere", tenants.path("dangling")).unwrap();
    let locked = rusqlite::Connection::open(tenants.path("locked")).unwrap();
    locked.execute_batch("BEGIN IMMEDIATE").unwrap();
    let daemon = Daemon::start(&tenants.config(&tenants.block("every = '100ms'\nbusy_timeout = '0s'")));
    daemon.wait_for_metric(&deleted("t/good"), 1.0);
    daemon.wait_for_metric(&up("t/corrupt"), 0.0);
    daemon.wait_for_metric(&up("t/locked"), 0.0);
    tenants.insert("good", "more");
    daemon.wait_for_metric(&deleted("t/good"), 2.0);
    let left_out = |line: &&serde_json::Value| line["message"] == "a file of a pattern is left out";
    let log = daemon.log();
    let [line] = log.iter().filter(left_out).collect::<Vec<_>>()[..] else { panic!("{log:?}") };
    assert!(line["error"].as_str().unwrap().contains("dangling/app.db is left out"), "{line}");
    locked.execute_batch("ROLLBACK").unwrap();
    daemon.wait_for_metric(&deleted("t/locked"), 1.0);
}

/// How many entries a folder of the process has.
fn count(daemon: &Daemon, folder: &str) -> usize {
    Path::new("/proc").join(daemon.pid().to_string()).join(folder).read_dir().unwrap().count()
}

#[test]
fn two_hundred_tenants_at_once_need_no_thread_each_and_leave_no_file_open() {
    let tenants = Tenants::new(&["0"]);
    let names: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    for name in &names[1..] {
        std::fs::create_dir(tenants.folder().join(name)).unwrap();
        std::fs::copy(tenants.path("0"), tenants.path(name)).unwrap();
    }
    let config = tenants.config(&tenants.block("schedule = '* * * * * *'\ncensus = '1h'"));
    let daemon = Daemon::start(&config);
    let (mut threads, mut files) = (0, 0);
    wait_for("every tenant to be swept", || {
        threads = threads.max(count(&daemon, "task"));
        files = files.max(count(&daemon, "fd"));
        let body = daemon.get("/metrics").body;
        let swept = |line: &&str| line.starts_with("keysweep_deleted_rows_total{") && line.ends_with(" 1");
        (body.lines().filter(swept).count() == names.len()).then_some(())
    });
    // Two of the runtime, eight that block, the log's, the main one; three files for each of 16 that are open.
    let inherited = std::fs::read_dir("/proc/self/fd").unwrap().count();
    assert!(threads <= 16 && files <= 64 + inherited, "{threads} threads, {files} files");
    names.iter().skip(1).for_each(|name| tenants.remove(name));
    wait_until_gone(&daemon, "t/150");
    wait_for("the files to be closed", || (count(&daemon, "fd") < 32).then_some(()));
}

#[test]
fn databases_that_wait_for_a_lock_keep_no_other_from_being_opened() {
    let names: Vec<String> = (0..20).map(|number| format!("locked{number}")).collect();
    let tenants = Tenants::new(&["locked0"]);
    names.iter().skip(1).for_each(|name| {
        std::fs::create_dir(tenants.folder().join(name)).unwrap();
        std::fs::copy(tenants.path("locked0"), tenants.path(name)).unwrap();
    });
    let hold = |name: &String| {
        let connection = rusqlite::Connection::open(tenants.path(name)).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        connection
    };
    let held: Vec<_> = names.iter().map(hold).collect();
    let daemon = Daemon::start(&tenants.config(&tenants.block("every = '1h'\nbusy_timeout = '10m'")));
    let is_open = |name: &&String| has_open(daemon.pid(), &tenants.path(name));
    wait_for("many to be open", || (names.iter().filter(is_open).count() >= 8).then_some(()));
    tenants.add("free");
    daemon.signal("HUP");
    daemon.wait_for_metric(&deleted("t/free"), 1.0);
    assert_eq!(daemon.metric(&deleted("t/locked0")), Some(0.0));
    drop(held);
    names.iter().for_each(|name| daemon.wait_for_metric(&deleted(&format!("t/{name}")), 1.0));
}

#[test]
fn a_process_that_may_open_no_further_file_says_so() {
    let tenants = Tenants::new(&["a"]);
    // The application has it open, so that a look cannot be at the file as it lies.
    let application = rusqlite::Connection::open(tenants.path("a")).unwrap();
    application.execute_batch("SELECT * FROM keys").unwrap();
    let config = tenants.config(&tenants.block("every = '1h'\ncensus = '1h'"));
    // How many files are open before ours depends on who started the tests: each limit is tried, until one is enough.
    let sweep = |limit: usize| {
        let shell = format!("ulimit -n {limit}; exec {BINARY} --config {} sweep --json", config.display());
        run(std::process::Command::new("sh").args(["-c", &shell]))
    };
    let refused: Vec<_> = (4..64).map(sweep).take_while(|answer| answer.status != 0).collect();
    assert!(refused.len() < 60, "{refused:?}");
    assert!(refused.iter().all(|answer| answer.status == 3), "{refused:?}");
    let (in_report, at_start): (Vec<_>, Vec<_>) =
        refused.iter().partition(|answer| !answer.stdout.is_empty());
    assert!(!in_report.is_empty() && !at_start.is_empty(), "{refused:?}");
    for answer in in_report {
        let report = answer.json_lines().remove(0);
        let error = report["error"].as_str().unwrap();
        assert!(error.contains("too many open files") && error.contains("LimitNOFILE"), "{error}");
    }
    assert!(at_start.iter().all(|answer| answer.stderr.contains("LimitNOFILE")), "{at_start:?}");
}

#[test]
fn a_folder_that_may_not_be_read_is_said_once_and_the_others_go_on() {
    let tenants = Tenants::new(&["a", "b"]);
    let config = tenants.config(&tenants.block("").replace("*/app.db", "*/*.db"));
    let binary = public_binary(tenants.folder());
    for name in ["a", "b"] {
        give(&tenants.path(name), APPLICATION);
        give(&tenants.folder().join(name), APPLICATION);
    }
    permit(&tenants.folder().join("b"), 0);
    let check = &["--config", config.to_str().unwrap(), "--json", "check"];
    let answer = run(APPLICATION.command(binary).args(check));
    let lines = answer.json_lines();
    let left_out: Vec<_> =
        lines.iter().filter(|line| line["what"].as_str().unwrap().contains("left out")).collect();
    assert_eq!((answer.status, left_out.len()), (1, 1), "{answer:?}");
    assert!(lines.iter().any(|line| line["database"] == "t/a/app" && line["table"] == "keys"), "{lines:?}");
}
