//! What is wrong with a config, and where.

use std::fmt;
use std::io;

/// A position in the file, both counted from 1; a column is a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// Where a problem is. In this order problems are shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A position in the file.
    At(Position),
    /// The environment variable of this name.
    Variable(String),
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    place: Place,
    key: String,
    message: String,
    file: String,
}

impl Problem {
    pub(super) fn new(file: &str, place: Place, key: &str, message: impl Into<String>) -> Self {
        Self { place, key: key.into(), message: message.into(), file: file.into() }
    }

    /// The same place, with these words.
    pub(super) fn saying(&self, message: String) -> Self {
        Self { message, ..self.clone() }
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The key path, such as `database[1].table[0].key`, counted from 0; empty where no key is concerned.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is wrong, and what is expected.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// One line: place, key path, what is wrong.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File => write!(f, "{}: ", self.file)?,
            Place::At(at) => write!(f, "{}:{}:{}: ", self.file, at.line, at.column)?,
            Place::Variable(name) => write!(f, "environment variable {name}: ")?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

/// A config that cannot be used: every problem that was found, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<Problem>,
    missing: bool,
}

impl ConfigError {
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort();
        problems.dedup();
        Self { problems, missing: false }
    }

    pub(super) fn unreadable(file: &str, error: &io::Error) -> Self {
        let missing = error.kind() == io::ErrorKind::NotFound;
        let message = if missing {
            "there is no such file".to_owned()
        } else {
            format!("the file cannot be read: {error}")
        };
        Self { problems: vec![Problem::new(file, Place::File, "", message)], missing }
    }

    /// The problems, at least one, in the order of the file.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether the only problem is that there is no such file.
    #[must_use]
    pub fn is_missing_file(&self) -> bool {
        self.missing
    }
}

/// One line a problem.
impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}
