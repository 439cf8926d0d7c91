//! Real tables of public projects: under a config as their operator would write it, exactly the
//! right rows go, at an instant that stands still. Written after their schemas, for SQLite.

mod outboxes;
mod queues;
mod records;
mod refused;

use std::path::Path;

use keysweep::config::parse;
use keysweep::plan::Rule;
use serde_json::{Value, json};

use crate::support::database::shell;
use crate::support::frozen::keysweep_frozen_at;
use crate::support::library::count_at;
use crate::support::{Database, Journal};

/// 2026-09-21T12:00:00Z.
const NOW: i64 = 1_789_992_000;

/// One project's table.
struct Case {
    name: &'static str,
    /// Whose it is, and where it lives.
    origin: &'static str,
    ddl: &'static str,
    /// The blocks below `[[database]]`.
    config: &'static str,
    rows: &'static [Rows],
    /// Under the first rule: how many rows are pending, unknown, unreadable.
    counts: (u64, u64, u64),
}

/// The rows of one rule.
struct Rows {
    /// The rule's label.
    rule: &'static str,
    /// The table and its columns.
    into: &'static str,
    /// The key as JSON, and the values: what goes at [`NOW`].
    goes: &'static [(&'static str, &'static str)],
    /// What does not.
    stays: &'static [&'static str],
}

impl Case {
    /// The rows that stay, then those that go: the table as it should be is the same without the latter.
    fn database(&self, journal: Journal, with_what_goes: bool) -> Database {
        let insert = |into: &str, values: &str| format!("INSERT INTO {into} VALUES ({values});\n");
        let mut sql = format!("{}\nBEGIN;\n", self.ddl);
        for rows in self.rows {
            sql.extend(rows.stays.iter().map(|values| insert(rows.into, values)));
        }
        for rows in self.rows.iter().filter(|_| with_what_goes) {
            sql.extend(rows.goes.iter().map(|(_, values)| insert(rows.into, values)));
        }
        Database::new(journal, &(sql + "COMMIT;"))
    }

    fn keys(&self) -> Vec<(String, String)> {
        let of_rule = |rows: &Rows| {
            let key = |key: &str| serde_json::from_str::<Value>(key).unwrap().to_string();
            rows.goes.iter().map(|(json, _)| (rows.rule.to_owned(), key(json))).collect::<Vec<_>>()
        };
        sorted(self.rows.iter().flat_map(of_rule).collect())
    }

    fn is_counted(&self, place: &str, database: &Database) {
        let config = std::fs::read(database.config(self.config)).unwrap();
        let rules = parse("keysweep.toml", &config, []).unwrap().blocks.remove(0).template.rules.rules(&[]);
        let of_first = |rule: &&Rule| rule.table == rules[0].table;
        let of_first: Vec<Rule> = rules.iter().filter(of_first).cloned().collect();
        let counts = count_at(&database.path(), &of_first, NOW as f64).unwrap();
        let unfinished = counts[0].unfinished.unwrap();
        let found = (unfinished.pending, unfinished.unknown, counts[0].unreadable);
        assert_eq!(found, self.counts, "{place}: counted as");
        let due = |label: &str| self.keys().iter().filter(|(rule, _)| rule == label).count() as u64;
        for (rule, counts) in of_first.iter().zip(counts) {
            assert!(counts.expired >= due(rule.label.as_str()), "{place}: {rule:?} {counts:?}");
        }
    }

    fn is_swept(&self, journal: Journal) {
        let place = format!("{} ({}), {journal:?}", self.name, self.origin);
        let database = self.database(journal, true);
        self.is_counted(&place, &database);
        let before = content(&database.path());
        let config = database.config(self.config);
        let sweep = ["--config", config.to_str().unwrap(), "sweep", "--json"];
        let dry = keysweep_frozen_at(NOW, "UTC", sweep.into_iter().chain(["--dry-run"]));
        assert_eq!(dry.status, 0, "{place}: {dry:?}");
        let (named, summaries): (Vec<Value>, Vec<Value>) =
            dry.json_lines().into_iter().partition(|line| line.get("key").is_some());
        let named =
            named.iter().map(|line| (line["table"].as_str().unwrap().into(), line["key"].to_string()));
        assert_eq!(sorted(named.collect()), self.keys(), "{place}: a dry run names others");
        assert!(summaries.iter().all(|line| line["now"] == json!(NOW as f64)), "{place}: {summaries:?}");
        assert_eq!(content(&database.path()), before, "{place}: a dry run changed the database");
        let swept = keysweep_frozen_at(NOW, "UTC", sweep);
        assert_eq!(swept.status, 0, "{place}: {swept:?}");
        for line in swept.json_lines() {
            let label = line["table"].as_str().unwrap();
            let due = self.keys().iter().filter(|(rule, _)| rule == label).count();
            assert_eq!(
                (&line["stop"], &line["deleted"]),
                (&json!("drained"), &json!(due)),
                "{place}: {line}"
            );
        }
        let meant = content(&self.database(journal, false).path());
        assert_eq!(content(&database.path()), meant, "{place}: other rows went");
    }
}

fn sorted(mut keys: Vec<(String, String)>) -> Vec<(String, String)> {
    keys.sort();
    keys
}

/// Every table and every row, as the distribution's `sqlite3` writes them.
fn content(path: &Path) -> String {
    let dump = shell(path, ".dump");
    dump.lines().filter(|line| !line.contains("sqlite_sequence")).collect::<Vec<_>>().join("\n")
}

#[test]
fn of_each_real_table_exactly_the_right_rows_go() {
    let cases = [queues::CASES, outboxes::CASES, records::CASES].concat();
    std::thread::scope(|scope| {
        for half in cases.chunks(cases.len().div_ceil(2)) {
            scope.spawn(|| {
                for (at, case) in half.iter().enumerate() {
                    case.is_swept([Journal::Wal, Journal::Delete][at % 2]);
                }
            });
        }
    });
}
