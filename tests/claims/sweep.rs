//! The command `sweep`: what it says, what it takes, and its dry run.

use serde_json::{Value, json};

use crate::support::database::KEY_TABLE;
use crate::support::writer::Writer;
use crate::support::{Answer, Database, Journal, keysweep, now};

const FAR: f64 = 9_000_000_000.0;

fn mixed(journal: Journal) -> Database {
    let rows = [
        ("a", "done", 1.0),
        ("b", "pending", 1.0),
        ("c", "done", FAR),
        ("d", "DONE", 1.0),
        ("e", "done", -5.5),
    ];
    Database::with_keys(journal, rows)
}

fn only_line(answer: &Answer) -> Value {
    let lines = answer.json_lines();
    assert_eq!(lines.len(), 1, "{answer:?}");
    lines.into_iter().next().unwrap()
}

/// The keys that a dry run named, in its order.
fn named(answer: &Answer) -> Vec<String> {
    let key = |line: Value| line.get("key").map(|key| key.as_str().unwrap().to_owned());
    answer.json_lines().into_iter().filter_map(key).collect()
}

#[test]
fn it_reports_what_it_did_by_the_wall_clock() {
    let database = mixed(Journal::Wal);
    let before = now();
    let answer = database.sweep("retention = '90s'", &[]);
    let report = only_line(&answer);
    let instant = report["now"].as_f64().unwrap();
    assert!((before - 0.001..=now()).contains(&instant), "{report}");
    assert_eq!(report["cutoff"], json!(instant - 90.0));
    let rest = json!({
        "database": "app", "table": "keys", "now": instant, "cutoff": instant - 90.0, "deleted": 2,
        "batches": 1, "skipped": 0, "stop": "drained", "held": null, "error": null,
    });
    assert_eq!(report, rest);
    assert_eq!(answer.status, 0, "{answer:?}");
    assert_eq!(database.ids(), ["b", "c", "d"]);
}

#[test]
fn a_dry_run_names_exactly_what_the_sweep_then_deletes() {
    for journal in [Journal::Wal, Journal::Delete] {
        let database = Database::new(
            journal,
            &format!(
                "{KEY_TABLE} INSERT INTO keys
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
                 SELECT printf('k%05d', i * 7919 % 5003), 'v1',
                        CASE i % 3 WHEN 0 THEN 'done' WHEN 1 THEN 'pending' ELSE 'DONE' END, NULL,
                        CASE i % 2 WHEN 0 THEN {FAR} ELSE i END FROM n;"
            ),
        );
        let before = database.ids();
        let dry = database.sweep("", &["--dry-run"]);
        assert_eq!(dry.status, 0, "{dry:?}");
        let summary = dry.json_lines().pop().unwrap();
        let taken = named(&dry);
        assert_eq!((&summary["would_delete"], &summary["deleted"]), (&json!(taken.len()), &json!(0)));
        assert_eq!(taken.len(), 833, "{journal:?}");
        assert!(taken.is_sorted());
        assert_eq!(database.ids(), before);
        assert_eq!(only_line(&database.sweep("", &[]))["deleted"], json!(taken.len()));
        let left: Vec<_> = before.into_iter().filter(|id| !taken.contains(id)).collect();
        assert_eq!(database.ids(), left, "{journal:?}");
    }
}

#[test]
fn a_dry_run_changes_no_byte_of_the_file() {
    for journal in [Journal::Wal, Journal::Delete] {
        let database = mixed(journal);
        let before = std::fs::read(database.path()).unwrap();
        assert_eq!(named(&database.sweep("", &["--dry-run"])), ["a", "e"], "{journal:?}");
        assert!(std::fs::read(database.path()).unwrap() == before, "{journal:?}");
    }
}

#[test]
fn a_dry_run_takes_no_write_lock_so_a_writer_is_not_in_its_way() {
    for journal in [Journal::Wal, Journal::Delete] {
        let database = mixed(journal);
        let writer = Writer::begin(&database);
        let dry = database.sweep("busy_timeout = '0s'", &["--dry-run"]);
        assert_eq!((dry.status, named(&dry)), (0, vec!["a".into(), "e".into()]), "{journal:?} {dry:?}");
        let swept = database.sweep("busy_timeout = '0s'", &[]);
        let report = only_line(&swept);
        assert_eq!((swept.status, &report["stop"]), (3, &json!("failed")), "{report}");
        assert!(report["error"].as_str().unwrap().contains("lock"), "{report}");
        drop(writer);
        assert_eq!(database.ids().len(), 5, "{journal:?}");
    }
}

#[test]
fn a_disabled_database_is_left_alone_and_still_shows_what_is_due() {
    let database = mixed(Journal::Wal);
    let answer = database.sweep("enabled = false", &[]);
    let report = only_line(&answer);
    assert_eq!((answer.status, &report["stop"], &report["deleted"]), (0, &json!("disabled"), &json!(0)));
    assert_eq!(database.ids().len(), 5);
    assert_eq!(named(&database.sweep("enabled = false", &["--dry-run"])), ["a", "e"]);
}

#[test]
fn one_database_can_be_chosen_and_an_unknown_one_is_a_wrong_call() {
    let (one, other) = (mixed(Journal::Wal), mixed(Journal::Delete));
    let config = one.config_text(&format!(
        "[[database]]\nname = 'one'\npath = {:?}\n[[database]]\nname = 'other'\npath = {:?}\n",
        one.path(),
        other.path()
    ));
    let sweep = |args: &[&str]| {
        keysweep(["--config", config.to_str().unwrap(), "--json", "sweep"].iter().chain(args))
    };
    assert_eq!(only_line(&sweep(&["--database", "other"]))["database"], json!("other"));
    assert_eq!((one.ids().len(), other.ids().len()), (5, 3));
    let unknown = sweep(&["--database", "third"]);
    assert_eq!(unknown.status, 2, "{unknown:?}");
    assert!(unknown.stderr.contains("third") && unknown.stderr.contains("`one`"), "{unknown:?}");
    let both = sweep(&[]).json_lines();
    let deleted: Vec<_> = both.iter().map(|line| (&line["database"], &line["deleted"])).collect();
    assert_eq!(deleted, [(&json!("one"), &json!(2)), (&json!("other"), &json!(0))]);
}

#[test]
fn a_key_that_is_no_text_is_named_by_its_bytes() {
    let database = mixed(Journal::Wal);
    database.shell("INSERT INTO keys VALUES (x'00ff', 'v1', 'done', NULL, 1), (CAST(x'ff61' AS TEXT), 'v1', 'done', NULL, 1);");
    let lines = database.sweep("", &["--dry-run"]).json_lines();
    let keys: Vec<_> = lines.iter().filter_map(|line| line.get("key")).collect();
    assert_eq!(keys, [&json!("a"), &json!("e"), &json!({"hex": "ff61"}), &json!({"hex": "00ff"})]);
    assert_eq!(only_line(&database.sweep("", &[]))["deleted"], json!(4));
}
