//! A row that cannot be deleted stops neither the others of its batch nor those behind it.

use serde_json::{Value, json};

use crate::support::{Answer, Daemon, Database, Journal};

const JOURNALS: [Journal; 2] = [Journal::Wal, Journal::Delete];

/// `count` expired rows, `00000` and following, and this beside them.
pub fn expired(journal: Journal, count: u32, sql: &str) -> Database {
    let database = Database::with_keys(journal, []);
    let last = count - 1;
    database.shell(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {last}) \
         INSERT INTO keys SELECT printf('%05d', i), 'v1', 'done', '{{}}', 1 FROM n; {sql}"
    ));
    database
}

pub fn rule(references: &str) -> String {
    format!("[[database.table]]\ntable = 'keys'\nreferences = '{references}'\n")
}

pub fn report(answer: &Answer) -> Value {
    answer.json_lines().pop().unwrap_or_else(|| panic!("{answer:?}"))
}

/// The two lowest keys and one in the middle are refused by this trigger body.
fn assert_others_go(body: &str, reason: &str) {
    for journal in JOURNALS {
        let trigger = format!(
            "CREATE TABLE log(id); CREATE TRIGGER shield BEFORE DELETE ON keys \
             WHEN old.id IN ('00000', '00001', '00120') BEGIN INSERT INTO log VALUES (old.id); {body}; END;"
        );
        let database = expired(journal, 250, &trigger);
        let report = report(&database.sweep(&rule("skip"), &[]));
        assert_eq!(
            (&report["deleted"], &report["stop"]),
            (&json!(247), &json!("drained")),
            "{body}: {report}"
        );
        assert_eq!(report["skipped"], json!(3), "{report}");
        assert_eq!(database.ids(), ["00000", "00001", "00120"], "{body} {journal:?}");
        let daemon = Daemon::start(&database.config(&format!("every = '1h'\n{}", rule("skip"))));
        let sample =
            format!(r#"keysweep_skipped_rows_total{{database="app",reason="{reason}",table="keys"}}"#);
        daemon.wait_for_metric(&sample, 3.0);
    }
}

#[test]
fn a_row_that_a_trigger_aborts_is_skipped_for_a_constraint() {
    assert_others_go("SELECT RAISE(ABORT, 'kept')", "constraint");
}

#[test]
fn a_row_that_a_trigger_ignores_is_skipped_and_the_loop_ends() {
    assert_others_go("SELECT RAISE(IGNORE)", "ignored");
}

#[test]
fn a_row_whose_trigger_rolls_everything_back_costs_the_others_nothing() {
    assert_others_go("SELECT RAISE(ROLLBACK, 'kept')", "constraint");
}

#[test]
fn a_row_on_which_a_trigger_fails_half_way_leaves_nothing_done() {
    assert_others_go("SELECT RAISE(FAIL, 'kept')", "constraint");
    let fails = "CREATE TABLE log(id); CREATE TRIGGER late AFTER DELETE ON keys WHEN old.id = '00001' \
                 BEGIN INSERT INTO log VALUES (old.id); SELECT RAISE(FAIL, 'kept'); END;";
    let database = expired(Journal::Wal, 5, fails);
    assert_eq!(report(&database.sweep(&rule("skip"), &[]))["deleted"], json!(4));
    assert_eq!(database.ids(), ["00001"]);
    assert_eq!(database.shell("SELECT count(*) FROM log"), "0\n");
}

#[test]
fn a_row_on_which_a_trigger_errs_is_skipped_for_an_error() {
    assert_others_go("INSERT INTO log SELECT json_extract('{', '$.a')", "error");
}

#[test]
fn each_skipped_row_is_counted_once_a_sweep_by_its_reason() {
    let trigger =
        "CREATE TRIGGER shield BEFORE DELETE ON keys WHEN old.id < '00003' BEGIN SELECT RAISE(IGNORE); END;";
    let database = expired(Journal::Wal, 250, trigger);
    let daemon = Daemon::start(
        &database.config(&format!("every = '100ms'\nbudget = '1m'\nshare = 1.0\n{}", rule("skip"))),
    );
    let skipped = r#"keysweep_skipped_rows_total{database="app",reason="ignored",table="keys"}"#;
    let drained = r#"keysweep_sweeps_total{database="app",stop="drained",table="keys"}"#;
    daemon.wait_for_metric(r#"keysweep_deleted_rows_total{database="app",table="keys"}"#, 247.0);
    // In the middle of a sweep its batch is counted, and the sweep itself not yet.
    crate::support::wait_for("two sweeps, and three rows skipped in each", || {
        let page = daemon.get("/metrics").body;
        let value = |sample| crate::support::daemon::value_of(&page, sample).unwrap();
        (value(drained) >= 2.0 && value(skipped) == 3.0 * value(drained)).then_some(())
    });
}

#[test]
fn a_trigger_that_needs_a_function_of_the_application_holds_the_table_whatever_the_rule() {
    let trigger = "CREATE TRIGGER theirs AFTER DELETE ON keys BEGIN SELECT their_function(old.id); END;";
    let database = expired(Journal::Wal, 3, trigger);
    let report = report(&database.sweep(&rule("skip"), &[]));
    assert_eq!(report["held"], json!("schema"), "{report}");
    assert!(report["error"].as_str().unwrap().contains("their_function"), "{report}");
    database.shell("DROP TRIGGER theirs");
    assert_eq!(super::poison::report(&database.sweep(&rule("skip"), &[]))["deleted"], json!(3));
}
