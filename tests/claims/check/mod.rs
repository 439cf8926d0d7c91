//! `check`: each finding is provoked, and goes when its remedy is applied.

mod files;
mod index;
mod rows;
mod unit;

use serde_json::Value;

use crate::support::{Answer, Database, keysweep};

/// What `check` found of a database beside what is in order.
#[derive(Debug)]
pub struct Checked {
    pub status: i32,
    found: Vec<Value>,
}

/// A finding: its severity, what was seen, and what to do.
pub type Found = (String, String, String);

impl Checked {
    /// `check` under a config of these lines for `[[database]]`.
    pub fn of(database: &Database, lines: &str) -> Self {
        let config = database.config(lines);
        Self::from(&keysweep(["--config", config.to_str().unwrap(), "--json", "check"]))
    }

    pub fn from(answer: &Answer) -> Self {
        let lines = answer.json_lines();
        assert!(!lines.is_empty(), "{answer:?}");
        let found: Vec<Value> = lines.into_iter().filter(|line| line["severity"] != "ok").collect();
        for line in &found {
            assert!(line["what"].is_string() && line["remedy"].is_string(), "{line}");
        }
        Self { status: answer.status, found }
    }

    /// The one finding that says this.
    pub fn one(&self, words: &str) -> Found {
        let said: Vec<Found> = self.all().into_iter().filter(|(_, what, _)| what.contains(words)).collect();
        assert_eq!(said.len(), 1, "{words:?} in {self:?}");
        said.into_iter().next().unwrap()
    }

    pub fn all(&self) -> Vec<Found> {
        let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
        self.found
            .iter()
            .map(|line| (text(line, "severity"), text(line, "what"), text(line, "remedy")))
            .collect()
    }

    /// No finding at all, and exit status 0.
    pub fn assert_fine(&self) {
        assert!(self.status == 0 && self.found.is_empty(), "{self:?}");
    }
}
