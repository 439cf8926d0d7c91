//! The index that is advised: it was tried, and the sweep takes it.

use super::Checked;
use crate::support::{Database, Journal};

const MANY: &str = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 10001)";

/// A table of 10,001 rows of which the first is due, and its rule.
struct Shape {
    name: &'static str,
    table: &'static str,
    /// Columns beside `id` and the clock column, and their values.
    state: (&'static str, &'static str),
    clock: &'static str,
    value: &'static str,
    rule: &'static str,
}

const SHAPES: [Shape; 7] = [
    Shape {
        name: "one text",
        table: "t",
        state: ("s TEXT", "'done'"),
        clock: "at",
        value: "unixepoch() - n % 7",
        rule: "done = { column = 's', in = ['done'] }\npending = { column = 's', in = ['open'] }",
    },
    Shape {
        name: "several values",
        table: "t",
        state: ("s", "CASE n % 2 WHEN 0 THEN 'done' ELSE 'failed' END"),
        clock: "at",
        value: "unixepoch() - n % 7",
        rule: "done = { column = 's', in = ['done', 'failed'] }\npending = { column = 's', in = ['open'] }",
    },
    Shape {
        name: "an integer",
        table: "t",
        state: ("s INTEGER", "2"),
        clock: "at",
        value: "unixepoch() - n % 7",
        rule: "done = { column = 's', in = [2] }\npending = { column = 's', in = [1] }",
    },
    Shape {
        name: "not null",
        table: "t",
        state: ("s", "n"),
        clock: "at",
        value: "unixepoch() - n % 7",
        rule: "done = { column = 's', is = 'not null' }",
    },
    Shape {
        name: "null",
        table: "t",
        state: ("s", "NULL"),
        clock: "at",
        value: "unixepoch() - n % 7",
        rule: "done = { column = 's', is = 'null' }",
    },
    Shape {
        name: "names to be quoted",
        table: "order \"x\" it's",
        state: ("\"gr\"\"oup\" TEXT", "'it''s'"),
        clock: "at \"s\"",
        value: "unixepoch() - n % 7",
        rule: "done = { column = 'gr\"oup', in = [\"it's\"] }\npending = { column = 'gr\"oup', in = ['open'] }",
    },
    Shape {
        name: "text of ISO 8601, every row",
        table: "t",
        state: ("s", "0"),
        clock: "at",
        value: "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')",
        rule: "done = 'every-row'",
    },
];

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn toml(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\\\""))
}

impl Shape {
    fn database(&self, rows: &str) -> Database {
        let (table, clock) = (quoted(self.table), quoted(self.clock));
        let (column, state) = self.state;
        Database::new(
            Journal::Wal,
            &format!(
                "CREATE TABLE {table}(id TEXT PRIMARY KEY, {column}, {clock});
                 INSERT INTO {table} {rows} SELECT printf('%06d', n), {state}, {} FROM c;",
                self.value
            ),
        )
    }

    fn rule(&self) -> String {
        let unit = if self.value.starts_with("strftime") { "iso8601" } else { "unix_s" };
        let (table, clock) = (toml(self.table), toml(self.clock));
        format!(
            "[[database.table]]\ntable = {table}\nkey = 'id'\n{}\nsince = {{ column = {clock}, unit = '{unit}' }}\nretention = '7d'\n",
            self.rule
        )
    }
}

const SLOW: &str = "no index finds the expired rows";

#[test]
fn the_advised_index_is_taken_by_the_sweep_and_the_advice_is_gone() {
    for shape in SHAPES {
        let database = shape.database(MANY);
        let checked = Checked::of(&database, &shape.rule());
        let (severity, what, remedy) = checked.one(SLOW);
        assert_eq!((checked.status, severity.as_str()), (0, "advice"), "{}", shape.name);
        assert!(
            what.contains("10001 rows") && remedy.starts_with("CREATE INDEX \"keysweep_"),
            "{what} {remedy}"
        );
        database.shell(&remedy);
        Checked::of(&database, &shape.rule()).assert_fine();
        database.shell(&format!(
            "UPDATE {} SET {} = '2001-09-09T01:46:40Z' WHERE {1} LIKE '2%Z' AND id <= '000003';
             UPDATE {0} SET {1} = 1000000000 WHERE typeof({1}) = 'integer' AND id <= '000003';",
            quoted(shape.table),
            quoted(shape.clock)
        ));
        let swept = database.sweep(&shape.rule(), &[]);
        assert_eq!(swept.json_lines()[0]["deleted"], 3, "{}: {swept:?}", shape.name);
    }
}

#[test]
fn the_smallest_index_that_the_search_takes_is_advised() {
    let wanted = [
        r#""t" ("at") WHERE "s" = 'done';"#,
        r#""t" ("at") WHERE "s" IN ('done', 'failed');"#,
        r#""t" ("at") WHERE "s" = 2;"#,
        r#""t" ("at") WHERE "s" IS NOT NULL;"#,
        r#""t" ("at") WHERE "s" IS NULL;"#,
        r#"("at ""s""") WHERE "gr""oup" = 'it''s';"#,
        r#""t" ("at");"#,
    ];
    for (shape, wanted) in SHAPES.iter().zip(wanted) {
        let (_, _, remedy) = Checked::of(&shape.database(MANY), &shape.rule()).one(SLOW);
        assert!(remedy.ends_with(wanted), "{}: {remedy}", shape.name);
    }
}

#[test]
fn a_small_table_needs_no_index_and_a_name_that_is_taken_is_not_advised() {
    let shape = &SHAPES[0];
    Checked::of(&shape.database(&MANY.replace("10001", "10000")), &shape.rule()).assert_fine();
    let database = shape.database(MANY);
    database.shell("CREATE INDEX keysweep_t_at ON t(s); ANALYZE;");
    let (_, _, remedy) = Checked::of(&database, &shape.rule()).one(SLOW);
    assert!(remedy.contains("\"keysweep_t_at_2\""), "{remedy}");
    database.shell(&remedy);
    Checked::of(&database, &shape.rule()).assert_fine();
}

#[test]
fn the_trial_leaves_the_database_as_it_was() {
    let database = SHAPES[0].database(MANY);
    let dump =
        || database.shell("SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2; PRAGMA schema_version;");
    let before = dump();
    Checked::of(&database, &SHAPES[0].rule()).one(SLOW);
    assert_eq!(dump(), before);
}
