//! A config that cannot be used: said with its place, exit status 2, and the database is never opened.

use std::process::Command;

use super::ends;
use crate::support::command::{Answer, BINARY, run};
use crate::support::{Database, Journal};

/// Every command that reads the config.
const READERS: [&str; 4] = ["run", "sweep", "check", "pending"];

/// A database with something to delete, and what must be there of it afterwards.
struct Untouched {
    database: Database,
    bytes: Vec<u8>,
}

impl Untouched {
    fn new() -> Self {
        let database = Database::with_keys(Journal::Delete, [("a", "done", 1.0), ("p", "pending", 1.0)]);
        let bytes = std::fs::read(database.path()).unwrap();
        Self { database, bytes }
    }

    /// A config that begins with these lines, of which the first of the database's own is the fourth.
    fn with_lines(&self, lines: &str) -> String {
        format!("[[database]]\nname = 'app'\npath = {:?}\n{lines}\n", self.database.path())
    }

    /// Every command refuses this config; what the last one said.
    fn refuses(&self, text: &[u8]) -> String {
        let path = self.database.folder().join("keysweep.toml");
        std::fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        let mut said = String::new();
        for command in READERS {
            let answer = ends(["--config", path, command]);
            self.is_refusal(&answer);
            assert!(answer.stderr.contains(&format!("{path}:")), "{command}: {}", answer.stderr);
            said = answer.stderr;
        }
        said
    }

    fn is_refusal(&self, answer: &Answer) {
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{}", answer.stderr);
        assert!(std::fs::read(self.database.path()).unwrap() == self.bytes, "the database was changed");
        assert_eq!(self.database.files(), ["app.db", "keysweep.toml"]);
    }
}

#[test]
fn a_missing_config_is_named() {
    let untouched = Untouched::new();
    untouched.database.config("");
    for command in READERS {
        let answer = ends(["--config", "/nowhere/keysweep.toml", command]);
        untouched.is_refusal(&answer);
        assert_eq!(answer.stderr, "keysweep: /nowhere/keysweep.toml: there is no such file\n", "{command}");
    }
}

#[test]
fn one_wrong_value_is_refused_with_line_and_column_and_what_is_expected() {
    let untouched = Untouched::new();
    for (line, place, telling) in [
        ("batch = 0", ":4:9: ", "an integer from 1 to 100, found the integer 0"),
        ("batch = 101", ":4:9: ", "an integer from 1 to 100, found the integer 101"),
        ("batch = -1", ":4:9: ", "an integer from 1 to 100, found the integer -1"),
        ("batch = true", ":4:9: ", "an integer from 1 to 100, found the boolean true"),
        ("batch = \"10\"", ":4:9: ", "an integer from 1 to 100, found the text"),
        ("batch = 10.5", ":4:9: ", "an integer from 1 to 100, found"),
        ("batches = 10", ":4:1: ", "did you mean `batch`?"),
        ("every = 30", ":4:9: ", "expected a duration"),
        ("retention = \"24\"", ":4:13: ", "expected a duration"),
        ("schedule = \"0 0 0 31 2 *\"", ":4:12: ", "never rings"),
        ("[[database]]\nname = 'app'\npath = '/b'", ":5:8: ", "names must be unique"),
        ("batch =", ":4:8: ", "not TOML"),
    ] {
        let said = untouched.refuses(untouched.with_lines(line).as_bytes());
        assert!(said.contains(place) && said.contains(telling), "{line}: {said}");
        assert_eq!(said.lines().count(), 1, "{line}: {said}");
    }
}

#[test]
fn a_config_that_is_not_utf8_is_refused_with_line_and_column() {
    let untouched = Untouched::new();
    let text = [untouched.with_lines("").as_bytes(), b"# \xff\n"].concat();
    let said = untouched.refuses(&text);
    assert!(said.contains(":5:3: not UTF-8"), "{said}");
}

#[test]
fn several_errors_are_shown_together_each_on_a_line() {
    let untouched = Untouched::new();
    let lines = "batch = true\nevry = '1s'\nshare = 2\nenabled = 'yes'";
    let said = untouched.refuses(untouched.with_lines(lines).as_bytes());
    for place in [":4:9: ", ":5:1: ", ":6:9: ", ":7:11: "] {
        assert!(said.contains(place), "{place} is missing in {said}");
    }
    assert_eq!(said.lines().count(), 4, "{said}");
}

#[test]
fn a_wrong_variable_is_refused_by_its_name() {
    let untouched = Untouched::new();
    let config = untouched.database.config("");
    for (variable, value) in [
        ("KEYSWEEP__DEFAULTS__BATCH", "101"),
        ("KEYSWEEP__DEFAULTS__BATCH", "true"),
        ("KEYSWEEP__HTTP__LISTEN", "everywhere"),
        ("KEYSWEEP__HTTP__LISTN", "127.0.0.1:0"),
    ] {
        for command in READERS {
            let mut call = Command::new("timeout");
            call.args(["60", BINARY, "--config"]).arg(&config).arg(command);
            let answer = run(call.env(variable, value));
            untouched.is_refusal(&answer);
            assert!(answer.stderr.contains(variable), "{command}: {}", answer.stderr);
        }
    }
}

#[test]
fn a_variable_sets_what_the_file_does_not() {
    let database = Database::with_keys(Journal::Wal, [("a", "done", 1.0), ("b", "done", 1.0)]);
    let mut call = Command::new(BINARY);
    call.arg("--config").arg(database.config("")).args(["sweep", "--json"]);
    let answer = run(call.env("KEYSWEEP__DEFAULTS__BATCH", "1"));
    assert_eq!(answer.status, 0, "{answer:?}");
    assert_eq!(
        (&answer.json_lines()[0]["deleted"], &answer.json_lines()[0]["batches"]),
        (&2.into(), &2.into())
    );
}

#[test]
fn a_database_that_the_config_does_not_name_is_refused_with_those_it_names() {
    let untouched = Untouched::new();
    let config = untouched.database.config("");
    for command in ["sweep", "check", "pending"] {
        let answer = ends(["--config", config.to_str().unwrap(), command, "--database", "apq"]);
        untouched.is_refusal(&answer);
        assert!(answer.stderr.contains("`apq`") && answer.stderr.contains("`app`"), "{}", answer.stderr);
    }
}
