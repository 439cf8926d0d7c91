//! Tables that are not called `keys`, by config alone.

use serde_json::json;

use crate::support::database::KEY_TABLE;
use crate::support::{Daemon, Database, Journal, keysweep};

fn deleted(database: &Database, lines: &str) -> Vec<(String, u64)> {
    let answer = database.sweep(lines, &[]);
    assert_eq!(answer.status, 0, "{answer:?}");
    let label = |line: serde_json::Value| {
        (line["table"].as_str().unwrap().to_owned(), line["deleted"].as_u64().unwrap())
    };
    answer.json_lines().into_iter().map(label).collect()
}

#[test]
fn a_table_of_another_name_with_other_columns_is_swept_by_its_own_words() {
    let database = Database::new(
        Journal::Delete,
        "CREATE TABLE requests(request TEXT NOT NULL UNIQUE, phase INTEGER, ended INTEGER, n INTEGER PRIMARY KEY);
         INSERT INTO requests VALUES ('old', 2, 1000), ('failed', 3, 1000), ('running', 1, NULL),
             ('text', '2x', 1000), ('open', 2, NULL);"
            .replace("INSERT INTO requests", "INSERT INTO requests(request, phase, ended)")
            .as_str(),
    );
    let lines = "[[database.table]]
        table = 'requests'
        key = 'request'
        done = { column = 'phase', in = [2, 3] }
        pending = { column = 'phase', in = [1] }
        since = { column = 'ended', unit = 'ms' }
        retention = '24h'";
    assert_eq!(deleted(&database, lines), [("requests".into(), 2)]);
    assert_eq!(database.shell("SELECT request FROM requests ORDER BY 1"), "open\nrunning\ntext\n");
}

#[test]
fn names_that_need_quoting_are_names_and_nothing_else() {
    let database = Database::new(
        Journal::Wal,
        r#"CREATE TABLE "order ""by"" 'x'; --" ("se?lect" TEXT PRIMARY KEY, "st'atus [a]" TEXT, "wann fällig" REAL);
           INSERT INTO "order ""by"" 'x'; --" VALUES ('a', 'it''s "done"', 1), ('b', 'pending', 1), ('c', 'done', 1);"#,
    );
    let lines = r#"[[database.table]]
        table = "order \"by\" 'x'; --"
        key = "se?lect"
        done = { column = "st'atus [a]", in = ["it's \"done\""] }
        pending = { column = "st'atus [a]", in = ["pending"] }
        expires = { column = "wann fällig", unit = "unix_s" }"#;
    assert_eq!(deleted(&database, lines), [("order \"by\" 'x'; --".into(), 1)]);
    let left = database.shell(r#"SELECT "se?lect" FROM "order ""by"" 'x'; --" ORDER BY 1"#);
    assert_eq!(left, "b\nc\n");
}

#[test]
fn two_rules_on_one_table_each_take_their_own_rows() {
    let rows = [("a", "done", 1.0), ("b", "failed", 1.0), ("c", "pending", 1.0), ("d", "other", 1.0)];
    let database = Database::with_keys(Journal::Wal, rows);
    let lines = "[[database.table]]
        table = 'keys'
        [[database.table]]
        table = 'keys'
        name = 'keys-failed'
        done = { column = 'status', in = ['failed'] }
        retention = '1h'";
    assert_eq!(deleted(&database, lines), [("keys".into(), 1), ("keys-failed".into(), 1)]);
    assert_eq!(database.ids(), ["c", "d"]);
}

#[test]
fn a_bad_table_does_not_stop_the_good_one_beside_it() {
    let spoiled = [
        ("a missing table", ""),
        ("a view", "CREATE VIEW other AS SELECT * FROM keys;"),
        ("a view that is broken", "CREATE TABLE gone(id); CREATE VIEW other AS SELECT id, nope FROM gone;"),
        ("a table without the columns", "CREATE TABLE other(id TEXT PRIMARY KEY);"),
        ("a virtual table", "CREATE VIRTUAL TABLE other USING fts5(id);"),
        (
            "a virtual table of a module that only the application has",
            "PRAGMA writable_schema = ON;
             INSERT INTO sqlite_schema VALUES ('table', 'other', 'other', 0, 'CREATE VIRTUAL TABLE other USING theirs(id)');",
        ),
        ("a key that is not unique", "CREATE TABLE other(id, status, expires);"),
    ];
    for (what, sql) in spoiled {
        let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0)]);
        database.shell(sql);
        let lines = "[[database.table]]\ntable = 'other'\n[[database.table]]\ntable = 'keys'";
        let answer = database.sweep(lines, &[]);
        let reports = answer.json_lines();
        assert_eq!((&reports[0]["held"], &reports[0]["deleted"]), (&json!("schema"), &json!(0)), "{what}");
        let good = (&reports[1]["stop"], &reports[1]["deleted"]);
        assert_eq!(good, (&json!("drained"), &json!(1)), "{what}: {answer:?}");
        assert_eq!(answer.status, 1, "{what}");
    }
}

#[test]
fn a_row_that_one_rule_calls_pending_is_kept_by_every_rule_of_its_table() {
    let database = Database::with_keys(
        Journal::Wal,
        [("a", "pending", 1.0), ("b", "done", 1.0), ("c", "settled", 1.0), ("d", "other", 1.0)],
    );
    let rules = "[[database.table]]\ntable = 'keys'\n\
        [[database.table]]\ntable = 'keys'\nname = 'second'\n\
        done = { column = 'status', in = ['pending', 'settled'] }\npending = { column = 'status', in = ['x'] }";
    let swept = database.sweep(rules, &[]);
    assert_eq!(swept.status, 0, "{swept:?}");
    assert_eq!(database.ids(), ["a", "d"]);
}

#[test]
fn a_table_whose_child_key_points_nowhere_is_held_before_anything_is_tried() {
    let table = KEY_TABLE.replace("expires REAL NOT NULL", "expires REAL NOT NULL, p REFERENCES nosuch(z)");
    let database = Database::new(
        Journal::Wal,
        &format!("{table} INSERT INTO keys VALUES ('a', 'v', 'done', '', 1, NULL);"),
    );
    for args in [&["--dry-run"][..], &[]] {
        let line = &database.sweep("", args).json_lines()[0];
        assert_eq!((&line["stop"], &line["held"]), (&"held".into(), &"schema".into()), "{line}");
        assert!(line["error"].as_str().unwrap().contains("no row of it can be deleted"), "{line}");
    }
}

/// Ill-formed UTF-16 comes back as another text, behind which the same rows come again.
#[test]
fn a_database_that_keeps_its_text_as_utf16_is_held_and_walked_for_ever_by_nobody() {
    let database = Database::new(
        Journal::Delete,
        &format!(
            "PRAGMA encoding = 'UTF-16le'; {KEY_TABLE}
             WITH RECURSIVE n(i) AS (SELECT 10000 UNION ALL SELECT i + 1 FROM n WHERE i < 12600)
             INSERT INTO keys SELECT CAST(x'ffdf' || CAST('' || i AS BLOB) AS TEXT), '', 'done', '', 1 FROM n;"
        ),
    );
    let line = &database.sweep("", &[]).json_lines()[0];
    assert_eq!((&line["stop"], &line["held"]), (&"held".into(), &"schema".into()), "{line}");
    let purge = keysweep(["keys", "purge", "--db", database.path().to_str().unwrap()]);
    assert_eq!(purge.status, 2, "{purge:?}");
}

/// Oban's shape: each state has its own clock column and horizon, and one census counts the table.
#[test]
fn rules_of_one_table_each_take_their_own_rows_and_their_counts_add_up() {
    let database = Database::new(
        Journal::Wal,
        "CREATE TABLE jobs(id INTEGER PRIMARY KEY, state TEXT, completed_at TEXT, cancelled_at TEXT);
         INSERT INTO jobs VALUES
           (1, 'completed', '2020-01-01T00:00:00.000000', NULL), (2, 'completed', '2999-01-01T00:00:00', NULL),
           (3, 'cancelled', NULL, '2020-01-01 00:00:00'), (4, 'cancelled', '2020-01-01T00:00:00', NULL),
           (5, 'available', '2020-01-01T00:00:00', NULL), (6, 'executing', NULL, NULL), (7, 'odd', NULL, NULL);",
    );
    let rules = "census = '100ms'
        [[database.table]]
        table = 'jobs'
        name = 'completed'
        key = 'id'
        done = { column = 'state', in = ['completed'] }
        pending = { column = 'state', in = ['available', 'executing'] }
        since = { column = 'completed_at', unit = 'iso8601' }
        retention = '1d'
        [[database.table]]
        table = 'jobs'
        name = 'cancelled'
        key = 'id'
        done = { column = 'state', in = ['cancelled'] }
        since = { column = 'cancelled_at', unit = 'iso8601' }
        retention = '7d'";
    let swept = database.sweep(rules, &[]);
    assert_eq!(swept.json_lines().iter().map(|line| line["deleted"].clone()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(database.shell("SELECT group_concat(id, ' ') FROM jobs"), "2 4 5 6 7\n");
    let daemon = Daemon::start(&database.config(rules));
    let rows = |state: &str, table: &str| {
        format!(r#"keysweep_rows{{database="app",state="{state}",table="{table}"}}"#)
    };
    daemon.wait_for_metric(&rows("pending", "completed"), 2.0);
    daemon.wait_for_metric(&rows("unknown", "completed"), 1.0);
    daemon.wait_for_metric(&rows("done", "completed"), 1.0);
    daemon.wait_for_metric(&rows("done", "cancelled"), 1.0);
    assert_eq!(daemon.metric(&rows("pending", "cancelled")), None);
    daemon.wait_for_metric(r#"keysweep_unreadable_rows{database="app",table="cancelled"}"#, 1.0);
}

#[test]
fn a_list_of_tables_is_one_shape_for_each() {
    let table = |name: &str| KEY_TABLE.replace("keys", name);
    let rows = |name: &str| {
        format!("INSERT INTO {name} VALUES ('a', 'v', 'done', '', 1), ('b', 'v', 'pending', '', 1);")
    };
    let sql = table("inbox")
        + &table("outbox")
        + &table("other")
        + &rows("inbox")
        + &rows("outbox")
        + &rows("other");
    let database = Database::new(Journal::Wal, &sql);
    let swept = database.sweep("[[database.table]]\ntable = ['inbox', 'outbox']\nname = 'old'", &[]);
    let labels: Vec<_> = swept.json_lines().iter().map(|line| line["table"].clone()).collect();
    assert_eq!(labels, ["old/inbox", "old/outbox"]);
    let left =
        "SELECT (SELECT count(*) FROM inbox), (SELECT count(*) FROM outbox), (SELECT count(*) FROM other)";
    assert_eq!(database.shell(left), "1|1|2\n");
}

#[test]
fn a_pattern_of_tables_is_found_again_at_each_tick() {
    let table = |name: &str| KEY_TABLE.replace("keys", name);
    let due = |name: &str| {
        format!("INSERT INTO {name} VALUES ('a', 'v', 'done', '', 1), ('b', 'v', 'pending', '', 1);")
    };
    let sql = table("outbox_a")
        + &due("outbox_a")
        + &table("outbox")
        + &due("outbox")
        + "CREATE VIEW outbox_v AS SELECT 1;";
    let database = Database::new(Journal::Wal, &sql);
    let rules = "every = '100ms'\ncensus = '100ms'\n[[database.table]]\ntable = 'outbox_*'";
    let dry: Vec<_> = database.sweep(rules, &["--dry-run"]).json_lines();
    assert_eq!((dry.len(), &dry[0]["table"], &dry[0]["key"]), (2, &json!("outbox_a"), &json!("a")));
    let daemon = Daemon::start(&database.config(rules));
    let deleted = |table: &str| format!(r#"keysweep_deleted_rows_total{{database="app",table="{table}"}}"#);
    let pending = |table: &str| format!(r#"keysweep_rows{{database="app",state="pending",table="{table}"}}"#);
    daemon.wait_for_metric(&deleted("outbox_a"), 1.0);
    daemon.wait_for_metric(&pending("outbox_a"), 1.0);
    database.shell(&(table("outbox_b") + &due("outbox_b")));
    daemon.wait_for_metric(&deleted("outbox_b"), 1.0);
    daemon.wait_for_metric(&pending("outbox_b"), 1.0);
    assert_eq!(daemon.metric(&deleted("outbox_a")), Some(1.0), "a table that stays keeps its counters");
    database.shell("DROP TABLE outbox_a;");
    crate::support::wait_for("the series of a table that is gone to vanish", || {
        daemon.metric(&deleted("outbox_a")).is_none().then_some(())
    });
    assert_eq!(database.shell("SELECT count(*) FROM outbox"), "2\n");
}

#[test]
fn a_pattern_whose_tables_cannot_be_listed_says_why() {
    let database = Database::new(Journal::Wal, KEY_TABLE);
    let lines = "[[database.table]]\ntable = 'outbox_*'";
    std::fs::write(database.path(), "no database at all, however long one reads. ".repeat(40)).unwrap();
    let answer = database.sweep(lines, &[]);
    let line = &answer.json_lines()[0];
    assert_eq!((answer.status, &line["table"], &line["stop"]), (3, &json!("outbox_*"), &json!("failed")));
    assert!(line["error"].as_str().unwrap().contains("not a database"), "{line}");
}

/// `a` and `A` are two rows of the index and one key to a walk, which would go on behind both.
#[test]
fn a_key_that_is_unique_only_by_another_collation_than_its_columns_is_held() {
    let rows = "INSERT INTO keys VALUES ('a', 'done', 1), ('A', 'done', 1);";
    for (declared, index) in [
        ("id TEXT COLLATE NOCASE, status, expires", "CREATE UNIQUE INDEX u ON keys(id COLLATE BINARY);"),
        ("id TEXT COLLATE NOCASE, status, expires, PRIMARY KEY(id COLLATE BINARY)", ""),
    ] {
        let walked = "CREATE INDEX by_id ON keys(id);";
        let sql = format!("CREATE TABLE keys({declared});{index}{walked}{rows}");
        let database = Database::new(Journal::Wal, &sql);
        let line = &database.sweep("", &[]).json_lines()[0];
        assert_eq!((&line["stop"], &line["held"]), (&"held".into(), &"schema".into()), "{line}");
        assert!(line["error"].as_str().unwrap().contains("that has their collation"), "{line}");
    }
    let coarser = "CREATE TABLE keys(id TEXT, status, expires); CREATE INDEX by_id ON keys(id);
        CREATE UNIQUE INDEX u ON keys(id COLLATE NOCASE); INSERT INTO keys VALUES ('a', 'done', 1);";
    let database = Database::new(Journal::Wal, coarser);
    assert_eq!(database.sweep("", &[]).json_lines()[0]["deleted"], 1);
}

#[test]
fn a_row_that_two_rules_call_done_is_kept_as_the_first_one_says() {
    let database = Database::new(
        Journal::Wal,
        "CREATE TABLE keys(id TEXT PRIMARY KEY, status, expires, f);
         INSERT INTO keys VALUES ('both', 'done', unixepoch() - 7200, 'x'), ('second', 'odd', unixepoch() - 7200, 'x');",
    );
    let rules = "[[database.table]]\ntable = 'keys'\nname = 'long'\nretention = '72h'
        [[database.table]]\ntable = 'keys'\nname = 'short'\nretention = '1h'\ndone = { column = 'f', in = ['x'] }";
    assert_eq!(deleted(&database, rules), [("long".to_owned(), 0), ("short".to_owned(), 1)]);
    assert_eq!(database.ids(), ["both"]);
}
