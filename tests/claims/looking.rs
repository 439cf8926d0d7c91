//! `pending` and `check`: what an operator asks before and beside the daemon.

use serde_json::Value;

use crate::support::lock::Lock;
use crate::support::{Answer, Database, Journal, keysweep, now};

fn ask(database: &Database, config: &str, args: &[&str]) -> Answer {
    let config = database.config_text(config);
    keysweep(["--config", config.to_str().unwrap()].iter().chain(args))
}

fn block(name: &str, database: &Database) -> String {
    format!("[[database]]\nname = '{name}'\npath = {:?}\n", database.path())
}

/// The lines of one severity in people's form.
fn lines<'a>(answer: &'a Answer, severity: &str) -> Vec<&'a str> {
    answer.stdout.lines().filter(|line| line.split(' ').next() == Some(severity)).collect()
}

#[test]
fn pending_lists_the_abandoned_rows_oldest_first() {
    let rows = [
        ("b-oldest", "pending", 10.0),
        ("c-middle", "pending", 20.0),
        ("a-newest", "pending", 30.0),
        ("in time", "pending", 9e9),
        ("done", "done", 1.0),
    ];
    let database = Database::with_keys(Journal::Wal, rows);
    let before = database.ids();
    let people = ask(&database, &block("app", &database), &["pending"]);
    let shown: Vec<&str> = people.stdout.lines().skip(1).collect();
    let expected = [
        ("1970-01-01T00:00:10Z", "b-oldest"),
        ("1970-01-01T00:00:20Z", "c-middle"),
        ("1970-01-01T00:00:30Z", "a-newest"),
    ];
    assert_eq!((people.status, shown.len()), (0, 3), "{people:?}");
    for (line, (since, key)) in shown.iter().zip(expected) {
        assert!(line.contains(since) && line.trim_end().ends_with(key), "{line}");
    }
    let json = ask(&database, &block("app", &database), &["--json", "pending"]).json_lines();
    let keys = ["b-oldest", "c-middle", "a-newest"].iter().zip([10.0, 20.0, 30.0]);
    let row = |(key, since): (&&str, f64)| serde_json::json!({ "database": "app", "table": "keys", "key": key, "abandoned_since": since });
    assert_eq!(json, keys.map(row).collect::<Vec<Value>>());
    assert_eq!(database.ids(), before);
}

#[test]
fn pending_shows_a_key_that_would_forge_a_line_as_one_line() {
    let database = Database::new(
        Journal::Wal,
        &format!(
            "{} INSERT INTO keys VALUES ('x' || char(10) || 'y' || char(27) || '[2J', 'v1', 'pending', NULL, 1), \
             (CAST(x'ff00' AS TEXT), 'v1', 'pending', NULL, 2);",
            crate::support::database::KEY_TABLE
        ),
    );
    let people = ask(&database, &block("app", &database), &["pending"]);
    assert_eq!((people.status, people.stdout.lines().count()), (0, 3), "{people:?}");
    assert!(!people.stdout.contains('\u{1b}'), "{people:?}");
    let json = ask(&database, &block("app", &database), &["--json", "pending"]).json_lines();
    assert_eq!(json[0]["key"], "x\ny\u{1b}[2J");
    assert_eq!(json[1]["key"], serde_json::json!({ "hex": "ff00" }));
}

#[test]
fn nothing_abandoned_is_an_answer() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0)]);
    let answer = ask(&database, &block("app", &database), &["--json", "pending"]);
    assert_eq!((answer.status, answer.stdout.as_str()), (0, ""), "{answer:?}");
}

#[test]
fn check_finds_a_good_database_fine_and_advises_on_what_stays_for_ever() {
    let tomorrow = now() + 86_400.0;
    let good = Database::with_keys(Journal::Wal, [("a", "done", tomorrow), ("b", "pending", tomorrow)]);
    let answer = ask(&good, &block("app", &good), &["check"]);
    assert_eq!((answer.status, lines(&answer, "ok").len()), (0, answer.stdout.lines().count()), "{answer:?}");
    assert!(answer.stdout.contains("1 pending, 1 done (0 expired), 0 unknown"), "{answer:?}");

    good.shell("INSERT INTO keys VALUES ('c', 'v1', 'DONE', NULL, 1), ('d', 'v1', 'pending', NULL, 1);");
    let answer = ask(&good, &block("app", &good), &["check"]);
    assert_eq!((answer.status, lines(&answer, "advice").len()), (0, 2), "{answer:?}");
    assert_eq!(remedies(&answer), 2);
}

fn remedies(answer: &Answer) -> usize {
    answer.stdout.lines().filter(|line| line.trim_start().starts_with("-> ")).count()
}

#[test]
fn check_says_what_would_hold_a_table_and_how_to_mend_it() {
    let faulty = Database::new(Journal::Wal, "CREATE TABLE orders(id INTEGER PRIMARY KEY);");
    let answer = ask(&faulty, &block("app", &faulty), &["check"]);
    let held = lines(&answer, "hold");
    assert_eq!((answer.status, held.len(), remedies(&answer)), (1, 1, 1), "{answer:?}");
    assert!(held[0].contains("app/keys: there is no table `keys`"), "{answer:?}");
    assert!(answer.stdout.contains("`orders`"), "the tables that are there: {answer:?}");
    let json = ask(&faulty, &block("app", &faulty), &["--json", "check"]).json_lines();
    let hold = json.iter().find(|line| line["severity"] == "hold").unwrap();
    assert_eq!(
        (&hold["database"], &hold["table"], &hold["reason"]),
        (&"app".into(), &"keys".into(), &"schema".into())
    );
    assert!(hold["what"].is_string() && hold["remedy"].is_string(), "{hold}");
}

#[test]
fn check_cannot_know_a_database_that_is_locked() {
    let database = Database::with_keys(Journal::Delete, [("a", "done", 1.0)]);
    let _lock = Lock::exclusive(&database.path());
    let config = format!("{}busy_timeout = '100ms'\n", block("app", &database));
    let answer = ask(&database, &config, &["check"]);
    assert_eq!((answer.status, lines(&answer, "down").len(), remedies(&answer)), (3, 1, 1), "{answer:?}");
    let json = ask(&database, &config, &["--json", "check"]).json_lines();
    assert_eq!(json.last().unwrap()["reason"], "busy");
}

#[test]
fn one_fault_does_not_stop_the_lines_of_the_others_and_unknown_beats_no() {
    let locked = Database::with_keys(Journal::Delete, []);
    let faulty = Database::new(Journal::Wal, "CREATE TABLE orders(id INTEGER PRIMARY KEY);");
    let good = Database::with_keys(Journal::Wal, [("a", "pending", 1.0)]);
    let gone = format!("[[database]]\nname = 'gone'\npath = {:?}\n", good.folder().join("gone.db"));
    let config = format!(
        "[defaults]\nbusy_timeout = '100ms'\n{}{}{gone}{}",
        block("locked", &locked),
        block("faulty", &faulty),
        block("good", &good)
    );
    let _lock = Lock::exclusive(&locked.path());
    let check = ask(&good, &config, &["check"]);
    assert_eq!(
        (check.status, lines(&check, "down").len(), lines(&check, "hold").len()),
        (3, 2, 1),
        "{check:?}"
    );
    assert!(check.stdout.contains("good/keys: 1 pending, 0 done"), "{check:?}");
    let pending = ask(&good, &config, &["--json", "pending"]);
    assert_eq!((pending.status, pending.json_lines().len()), (3, 1), "{pending:?}");
    for name in ["locked", "faulty", "gone"] {
        assert!(pending.stderr.contains(&format!("keysweep: {name}: ")), "{pending:?}");
    }
    let one = ask(&good, &config, &["check", "--database", "good"]);
    assert_eq!(one.status, 0, "{one:?}");
    let none = ask(&good, &config, &["check", "--database", "other"]);
    assert_eq!((none.status, none.stdout.as_str()), (2, ""), "{none:?}");
}

#[test]
fn a_name_in_the_schema_cannot_forge_a_line_of_the_answer() {
    let forged = "x\nok     app/keys: 0 pending, 5 done (5 expired), 0 unknown\u{1b}[2J";
    let database = Database::new(Journal::Wal, &format!("CREATE TABLE \"{forged}\"(id TEXT PRIMARY KEY);"));
    for command in ["check", "sweep", "pending"] {
        let answer = ask(&database, &block("app", &database), &[command]);
        let said = format!("{}{}", answer.stdout, answer.stderr);
        assert!(said.contains("app/keys: 0 pending"), "{command} names the table: {said}");
        assert!(!said.contains("\nok     app/keys: 0") && !said.contains('\u{1b}'), "{command}: {said}");
    }
}
